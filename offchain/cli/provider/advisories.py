"""Known vulnerabilities of what separates containers from the machine: which of them a host has. Pure but for its data.

`advisories.json` beside this module is the data. Whether a component is affected follows from its version. A
distribution adds fixes to an old version instead; what its package has fixed is read in the package's changelog.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

UpstreamVersion = tuple[int, int, int, int, int]
"""Major, minor, patch, 0 for a release candidate and 1 for a release, number of the candidate."""

FORMAT: Final = 1
_VERSION: Final = re.compile(r"v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?(?:[-~]rc\.?(\d{1,6}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Advisory:
    """One vulnerability. `fixed`: the first fixed version of each branch. `since`: the first affected version.

    `refuse`: a tenant exploits it with an image alone, and nothing that the agent does prevents it.
    """

    id: str
    component: str
    fixed: tuple[UpstreamVersion, ...]
    since: UpstreamVersion | None
    severity: Literal["low", "medium", "high", "critical"]
    about: str
    refuse: bool


@dataclass(frozen=True, slots=True)
class Component:
    """A program that is installed. `package`: the distribution's version of it, empty where no package is known.

    `package_fixes`: the CVEs that the package's changelog names; None where there is no changelog.
    """

    name: str
    version: str
    package: str = ""
    package_fixes: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class ComponentAdvisories:
    """What the advisories say of one component: the open ones, and those that a package may have fixed."""

    component: Component
    open: tuple[Advisory, ...] = ()
    unclear: tuple[Advisory, ...] = ()
    understood: bool = True
    """False where the version could not be read."""


def parse_version(text: str) -> UpstreamVersion | None:
    """Return the version at the start of `text`; None where there is none."""
    found = _VERSION.match(text)
    if found is None:
        return None
    candidate = found[4]
    numbers = int(found[1]), int(found[2]), int(found[3] or 0)
    return (*numbers, 1, 0) if candidate is None else (*numbers, 0, int(candidate))


def is_affected(advisory: Advisory, version: UpstreamVersion) -> bool:
    """Whether an unpatched component of this version has the vulnerability.

    A branch (major and minor) without a fix of its own is fixed where it is newer than every branch that has one.
    """
    if advisory.since is not None and version < advisory.since:
        return False
    own = [fixed for fixed in advisory.fixed if fixed[:2] == version[:2]]
    return version < (min(own) if own else max(advisory.fixed))


def component_advisories(component: Component, advisories: Sequence[Advisory]) -> ComponentAdvisories:
    """Return what the advisories say of a component."""
    version = parse_version(component.version)
    if version is None:
        return ComponentAdvisories(component, understood=False)
    fixes = component.package_fixes
    affected = [one for one in advisories if one.component == component.name and is_affected(one, version)]
    left = [one for one in affected if fixes is None or one.id not in fixes]
    if component.package:
        return ComponentAdvisories(component, unclear=tuple(left))
    return ComponentAdvisories(component, open=tuple(left))


@cache
def known_advisories() -> tuple[Advisory, ...]:
    """The advisories of this release of the agent."""
    return tuple(_advisories(_document()))


@cache
def upgrade_hints() -> dict[str, str]:
    """By component: how it is upgraded."""
    return {str(name): str(text) for name, text in _document()["remedies"].items()}


def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    if document["format"] != FORMAT:
        raise ValueError(f"advisories.json has format {document['format']}, this module reads {FORMAT}")
    return document


def _advisories(document: dict[str, Any]) -> Iterator[Advisory]:
    for entry in document["advisories"]:
        yield Advisory(
            id=entry["id"],
            component=entry["component"],
            fixed=tuple(_version(text) for text in entry["fixed"]),
            since=_version(entry["since"]) if "since" in entry else None,
            severity=entry["severity"],
            about=entry["about"],
            refuse=entry.get("refuse", False),
        )


def _version(text: str) -> UpstreamVersion:
    version = parse_version(text)
    if version is None:
        raise ValueError(f"{text!r} in advisories.json is not a version")
    return version
