"""Reading how a service lives: its health check, when it is started again, how it is stopped, what it waits for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

import yaml

from offchain.schema.manifest import keys
from offchain.schema.manifest.nodes import Field, Reader
from offchain.schema.manifest.types import Dependency, HealthCheck, Restart, RestartPolicy
from offchain.schema.manifest.values import parse_pause

_SECOND = 1000
_HOUR = 3_600_000
_DAY = 24 * _HOUR
_MAX_GRACE_MS = 60_000
_MAX_ATTEMPTS = 1000
_SIGNALS = ("TERM", "INT", "QUIT", "HUP", "KILL", "USR1", "USR2", "WINCH", "PWR")
_REAL_TIME_SIGNAL = re.compile(r"RTMIN\+([0-9]|1[0-5])", re.ASCII)
_RESTARTS: Mapping[str, Restart] = {
    "no": "no",
    "on-failure": "on-failure",
    "always": "always",
    "unless-stopped": "always",
}
_CONDITIONS: Mapping[str, Restart] = {"none": "no", "on-failure": "on-failure", "any": "always"}
_RESTART_REMEDY = 'Write "no", on-failure, on-failure:3 or always'
_UNTIL: Mapping[str, Literal["started", "healthy", "completed"]] = {
    "service_started": "started",
    "service_healthy": "healthy",
    "service_completed_successfully": "completed",
}
_NEVER = RestartPolicy("no", None)


def read_healthcheck(field: Field | None, reader: Reader) -> HealthCheck | None:
    """The check, with Compose's defaults; None where there is none or it is switched off."""
    if field is None:
        return None
    entries = reader.mapping(field, keys.HEALTHCHECK, keys.HEALTHCHECK_REFUSED)
    if "disable" in entries and reader.boolean(entries["disable"]):
        return None
    test: tuple[str, ...] | None = ()
    if "test" in entries:
        test = _test(entries["test"], reader)
    elif isinstance(field.node, yaml.MappingNode):
        reader.problem(field, "test is missing", "Add test: [CMD, /bin/check], or disable: true")
    found = HealthCheck(
        test=test or (),
        interval_ms=_span(entries.get("interval"), reader, 30 * _SECOND, _SECOND, _HOUR),
        timeout_ms=_span(entries.get("timeout"), reader, 30 * _SECOND, _SECOND // 10, _HOUR),
        retries=(reader.integer(entries["retries"], 1, 100) if "retries" in entries else 3) or 0,
        start_period_ms=_span(entries.get("start_period"), reader, 0, 0, _DAY),
    )
    return found if test else None


def _test(field: Field, reader: Reader) -> tuple[str, ...] | None:
    """The command as words; None for NONE, which switches the check off."""
    remedy = "Write [CMD, /bin/check, -v], or a text for the container's shell"
    if not isinstance(field.node, yaml.SequenceNode):
        text = reader.text(field)
        return ("/bin/sh", "-c", text) if text is not None else ()
    items = reader.sequence(field)
    words = [reader.text(item, empty=index > 0) for index, item in enumerate(items)]
    how, rest = (words[0], tuple(word for word in words[1:] if word is not None)) if words else (None, ())
    if None in words:
        return ()
    if how == "NONE" and not rest:
        return None
    if how == "CMD" and rest and rest[0]:
        return rest
    if how == "CMD-SHELL" and len(rest) == 1 and rest[0]:
        return ("/bin/sh", "-c", rest[0])
    if how in ("CMD", "CMD-SHELL", "NONE"):
        wanted = {"CMD": "a program after it", "CMD-SHELL": "exactly one text after it", "NONE": "nothing after it"}
        reader.problem(field, f"{how} takes {wanted[how]}", remedy)
    else:
        reader.problem(field, "the test does not begin with CMD, CMD-SHELL or NONE", remedy)
    return ()


def _span(field: Field | None, reader: Reader, default_ms: int, low_ms: int, high_ms: int) -> int:
    if field is None:
        return default_ms
    found = reader.parsed(field, parse_pause, "Write for example 500ms, 30s or 1m30s")
    if found is not None and not low_ms <= found <= high_ms:
        remedy = f"Write a time from {_seconds(low_ms)} to {_seconds(high_ms)}"
        reader.problem(field, f"{_seconds(found)} is out of range", remedy)
    return found or 0


def _seconds(ms: int) -> str:
    return f"{ms / 1000:g}s"


def read_restart(restart: Field | None, policy: Field | None, reader: Reader) -> RestartPolicy:
    """`restart`, or Compose's longer `deploy.restart_policy`."""
    if restart is not None and policy is not None:
        reader.problem(policy, "restart and deploy.restart_policy say the same thing", "Keep restart")
        return _NEVER
    if policy is not None:
        return _restart_policy(policy, reader)
    if restart is None:
        return _NEVER
    # An unquoted no is a boolean to YAML 1.1, and what everybody writes.
    text = restart.node.value if isinstance(restart.node, yaml.ScalarNode) else ""
    word, colon, number = text.partition(":")
    when = _RESTARTS.get(word)
    if when is None or (colon and when != "on-failure"):
        said = f'"{text}"' if text else restart.shape
        reader.problem(restart, f"{said} is not a restart policy", _RESTART_REMEDY)
        return _NEVER
    if not colon:
        return RestartPolicy(when, None)
    counted = Field(yaml.ScalarNode(restart.node.tag, number), restart.line, restart.path)
    return RestartPolicy(when, reader.integer(counted, 1, _MAX_ATTEMPTS))


def _restart_policy(field: Field, reader: Reader) -> RestartPolicy:
    entries = reader.mapping(field, keys.RESTART_POLICY, keys.RESTART_POLICY_REFUSED)
    word = reader.choice(entries["condition"], dict.fromkeys(_CONDITIONS)) if "condition" in entries else "any"
    attempts = reader.integer(entries["max_attempts"], 1, _MAX_ATTEMPTS) if "max_attempts" in entries else None
    when = _CONDITIONS[word] if word is not None else "no"
    return RestartPolicy(when, attempts if when != "no" else None)


def read_stop_signal(field: Field | None, reader: Reader) -> str | None:
    """The signal's name with SIG; None: what the image says."""
    text = reader.text(field) if field is not None else None
    if field is None or text is None:
        return None
    name = text.removeprefix("SIG")
    if name not in _SIGNALS and _REAL_TIME_SIGNAL.fullmatch(name) is None:
        remedy = f"Write one of {', '.join(f'SIG{known}' for known in _SIGNALS)}, SIGRTMIN+3"
        reader.problem(field, f'"{text}" is not a signal that stops a container', remedy)
        return None
    return f"SIG{name}"


def read_stop_grace(field: Field | None, reader: Reader) -> int:
    """Milliseconds between the signal and the kill."""
    return _span(field, reader, 10 * _SECOND, 0, _MAX_GRACE_MS)


def read_dependencies(field: Field | None, reader: Reader) -> tuple[tuple[Field, Dependency], ...]:
    """What this service waits for, each with its place in the file. Whether they exist is checked with all services."""
    if field is None:
        return ()
    if isinstance(field.node, yaml.SequenceNode):
        names = [(item, reader.text(item)) for item in reader.sequence(field)]
        found = [(item, Dependency(name, "started")) for item, name in names if name is not None]
    else:
        found = [(item, Dependency(name, _until(item, reader))) for name, item in reader.any_mapping(field).items()]
    seen: set[str] = set()
    for item, dependency in found:
        if dependency.service in seen:
            reader.problem(item, f'"{dependency.service}" is named twice', "Name each service once")
        seen.add(dependency.service)
    return tuple(found)


def _until(field: Field, reader: Reader) -> Literal["started", "healthy", "completed"]:
    entries = reader.mapping(field, keys.DEPENDENCY, keys.DEPENDENCY_REFUSED)
    if "condition" not in entries:
        if isinstance(field.node, yaml.MappingNode):
            reader.problem(field, "condition is missing", "Add condition: service_started")
        return "started"
    word = reader.choice(entries["condition"], dict.fromkeys(_UNTIL))
    return _UNTIL[word] if word is not None else "started"
