"""Python functions as tasks: the source of a function, its arguments and a small program go into a manifest.

Arguments and return values are JSON, and like every manifest they are public. The container needs Python 3.9 or later
and what the function imports; nothing of this machine is sent but the function's own source.
"""

from __future__ import annotations

import functools
import inspect
import json
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, Final

from offchain.errors import OurError

RESULT_FILE: Final = "/tmp/gantry-result.json"  # noqa: S108  (in the task's container)
_PROGRAM: Final = """\
import json, os
names = {{}}
exec(os.environ["GANTRY_FUNCTION"], names)
given = json.loads(os.environ["GANTRY_ARGUMENTS"])
returned = names[{name!r}](*given[0], **given[1])
with open({file!r}, "w") as result:
    json.dump(returned, result)
"""


class BadFunction(OurError):  # noqa: N818
    """A function cannot be sent as a task."""

    code = "bad_function"


class RemoteFunction:
    """A function that :meth:`gantry.Network.call` runs as a task. Called directly it runs here."""

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._options = options
        self._source = _source_of(function)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the function on this machine."""
        return self._function(*args, **named)

    def manifest(self, *args: Any, **named: Any) -> bytes:
        """Return the manifest of a task that calls the function with these arguments. Raises BadFunction."""
        name = self._function.__name__
        try:
            inspect.signature(self._function).bind(*args, **named)
            arguments = json.dumps([args, named])
        except (TypeError, ValueError) as error:
            raise BadFunction(f"{name} cannot be called so: {error}.", "Arguments are values of JSON.") from None
        options = self._options
        limits: dict[str, Any] = {"cpus": str(options["cpus"]), "memory": options["memory"]}
        resources: dict[str, Any] = {"limits": limits}
        if options["gpus"]:
            resources["reservations"] = {"devices": [{"count": options["gpus"], "capabilities": ["gpu"]}]}
        service = {
            "image": options["image"],
            "entrypoint": [options["python"], "-c", _PROGRAM.format(name=name, file=RESULT_FILE)],
            "environment": {"GANTRY_FUNCTION": self._source, "GANTRY_ARGUMENTS": arguments},
            "deploy": {"resources": resources},
        }
        terms = {
            "kind": "job",
            "price": {"max_per_hour": options["max_per_hour"]},
            "duration": options["duration"],
            "result": RESULT_FILE,
            **options["terms"],
        }
        # YAML is a superset of JSON, so this is a manifest.
        return json.dumps({"services": {"main": service}, "x-gantry": terms}, indent=1).encode() + b"\n"

    @staticmethod
    def returned(data: bytes) -> Any:
        """Return the value in the result of such a task."""
        return json.loads(data)


def function(
    *,
    image: str,
    max_per_hour: str,
    cpus: float = 1.0,
    memory: str = "512M",
    gpus: int = 0,
    duration: str = "1h",
    python: str = "python3",
    terms: Mapping[str, Any] | None = None,
) -> Callable[[Callable[..., Any]], RemoteFunction]:
    """Make a function one that :meth:`gantry.Network.call` runs as a task.

    `image`: with its digest, as in a manifest; it has `python`. `max_per_hour`: the most that a pod may cost, such as
    "1 GTY". `duration`: the longest time it may run. `terms`: further keys of the x-gantry section. The function must
    be written in a file, use nothing from outside of itself but what it imports, take and return values of JSON.
    """
    options = {
        "image": image,
        "max_per_hour": max_per_hour,
        "cpus": cpus,
        "memory": memory,
        "gpus": gpus,
        "duration": duration,
        "python": python,
        "terms": dict(terms or {}),
    }
    return lambda plain: RemoteFunction(plain, options)


def _source_of(function: Callable[..., Any]) -> str:
    """Return the source of a function without its decorators. Raises BadFunction."""
    name = getattr(function, "__name__", "?")
    code = getattr(function, "__code__", None)
    if code is not None and code.co_freevars:
        raise BadFunction(
            f"{name} uses {', '.join(code.co_freevars)} of the function around it.", "Pass these as arguments."
        )
    try:
        lines = textwrap.dedent(inspect.getsource(function)).splitlines(keepends=True)
    except (OSError, TypeError):
        raise BadFunction(f"the source of {name} cannot be found.", "Write the function in a file.") from None
    first = next((number for number, line in enumerate(lines) if line.startswith("def ")), None)
    if first is None:
        raise BadFunction(f"{name} is not a plain function.", "Use def; a lambda or a coroutine cannot be sent.")
    return "".join(lines[first:])
