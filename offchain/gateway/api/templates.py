"""Ready manifests to begin with: the examples of this release."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from offchain.gateway.api.manifest_models import TemplateList, TemplateResource, TemplateVariableResource
from offchain.schema.manifest.parse import MAX_BYTES

_INSTALLED: Final = Path(__file__).resolve().parents[1] / "examples"
"""Where setup.py puts the examples of an installed package."""
FOLDER: Final = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).resolve().parents[3] / "examples"
"""The examples of an installed package, a clone or an image."""
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_VARIABLE: Final = re.compile(r"(?<!\$)\$(?:\{([A-Za-z_]\w*)(?::?-([^}]*)|[^}]*)\}|([A-Za-z_]\w*))", re.ASCII)
_COMMAND: Final = "  "


def templates(values: Callable[[], Mapping[str, str]]) -> TemplateList:
    """Return the templates. `values`: those of variables that the network sets, as its demo's image."""
    known = values()
    return TemplateList(data=[_with_values(one, known) for one in _all()])


def _with_values(template: TemplateResource, known: Mapping[str, str]) -> TemplateResource:
    found = [one.model_copy(update={"value": known.get(one.name, one.value)}) for one in template.variables]
    return template.model_copy(update={"variables": found})


@cache
def _all() -> tuple[TemplateResource, ...]:
    return tuple(read(path) for path in sorted(FOLDER.glob("*.yaml")) if _is_manifest(path))


def _is_manifest(path: Path) -> bool:
    return path.is_file() and path.stat().st_size <= MAX_BYTES and "x-gantry:" in path.read_text(encoding="utf-8")


def read(path: Path) -> TemplateResource:
    """Return the template in a file: the comment at its beginning describes it."""
    lines = path.read_text(encoding="utf-8").split("\n")
    body = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    text = "\n".join(lines[body:]).lstrip("\n")
    about = " ".join(_prose(lines[:body]))
    title, *rest = _SENTENCE.split(about, maxsplit=1)
    return TemplateResource(
        name=path.stem,
        title=title,
        description=rest[0] if rest else "",
        manifest=text,
        variables=list(_variables(text)),
    )


def _prose(comment: list[str]) -> Iterator[str]:
    """Yield the lines of a comment without its commands."""
    for line in comment:
        text = line.removeprefix("#").removeprefix(" ").rstrip()
        if text and not text.startswith(_COMMAND):
            yield text


def _variables(text: str) -> Iterator[TemplateVariableResource]:
    seen: set[str] = set()
    for match in _VARIABLE.finditer(text):
        name = match[1] or match[3]
        if name not in seen:
            seen.add(name)
            yield TemplateVariableResource(name=name, value=match[2])
