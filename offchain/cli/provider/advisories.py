"""Known vulnerabilities of the components that isolate containers, and whether a host's versions are affected.

`advisories.json` beside this module is the data. A version decides whether a component is affected. A distribution adds
fixes to an old version instead; the changelog of its package names them.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

    `refuse`: a tenant can exploit it with an image alone, and the agent cannot prevent that.
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
    """An installed program. `package`: the distribution's version of it, empty if unknown.

    `package_fixes`: the CVEs in the package's changelog; None without a changelog.
    """

    name: str
    version: str
    package: str = ""
    package_fixes: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class ComponentAdvisories:
    """Advisories for one component: open ones, and those that its package may have fixed."""

    component: Component
    open: tuple[Advisory, ...] = ()
    unclear: tuple[Advisory, ...] = ()
    understood: bool = True
    """False if the version could not be parsed."""


def parse_version(text: str) -> UpstreamVersion | None:
    """Return the version at the start of `text`; None without one."""
    found = _VERSION.match(text)
    if found is None:
        return None
    candidate = found[4]
    numbers = int(found[1]), int(found[2]), int(found[3] or 0)
    return (*numbers, 1, 0) if candidate is None else (*numbers, 0, int(candidate))


def is_affected(advisory: Advisory, version: UpstreamVersion) -> bool:
    """Whether an unpatched component of this version has the vulnerability.

    A branch (major and minor) without its own fix is fixed if it is newer than every branch with one.
    """
    if advisory.since is not None and version < advisory.since:
        return False
    own = [fixed for fixed in advisory.fixed if fixed[:2] == version[:2]]
    return version < (min(own) if own else max(advisory.fixed))


def component_advisories(component: Component, advisories: Sequence[Advisory]) -> ComponentAdvisories:
    """Return the advisories for a component."""
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
    """Return the advisories of this release of the agent."""
    return tuple(_advisories(_document()))


@cache
def upgrade_hints() -> dict[str, str]:
    """Return how to upgrade each component."""
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


TOOLKIT: Final = "NVIDIA container toolkit"
_ENGINE_NAMES: Final = {"Engine": "Docker", "containerd": "containerd", "runc": "runc"}
"""Component by its name in the engine's answer."""
_PACKAGES: Final = {"Docker": "docker.io", "containerd": "containerd", "runc": "runc"}
"""Package of Debian and Ubuntu by component. Packages of the makers have upstream versions without extra fixes."""
_CVE: Final = re.compile(r"CVE-\d{4}-\d{4,7}")
_ASK_S: Final = 10.0
_CHANGELOG_BYTES: Final = 4 << 20


def engine_components(version: Mapping[str, Any]) -> tuple[Component, ...]:
    """Return the components in an engine's answer to `GET /version`, without their packages."""
    found = []
    for entry in version.get("Components") or ():
        name = _ENGINE_NAMES.get(str(entry.get("Name")))
        if name is not None:
            found.append(Component(name, str(entry.get("Version") or "")))
    return tuple(found)


def installed_toolkit() -> Component | None:
    """Return NVIDIA's container toolkit; None if it is not installed."""
    text = _output("nvidia-ctk", "--version")
    found = re.search(r"version\s+(\S+)", text or "")
    return Component(TOOLKIT, found[1]) if found else None


def with_packages(components: Iterable[Component], docs: Path = Path("/usr/share/doc")) -> tuple[Component, ...]:
    """Add the packages of this machine. A package of another version than the component does not count."""
    return tuple(_with_package(component, docs) for component in components)


def _with_package(component: Component, docs: Path) -> Component:
    name = _PACKAGES.get(component.name)
    version = _output("dpkg-query", "-W", "-f=${Version}", name) if name else None
    if name is None or not version:
        return component
    upstream = version.partition(":")[2] or version
    if parse_version(upstream) is None or parse_version(upstream) != parse_version(component.version):
        return component
    return Component(component.name, component.version, version, fixes_of(docs / name / "changelog.Debian.gz"))


def fixes_of(changelog: Path) -> frozenset[str] | None:
    """Return the CVEs in a package's changelog; None if it cannot be read."""
    try:
        with gzip.open(changelog, "rt", encoding="utf-8", errors="replace") as file:
            return frozenset(_CVE.findall(file.read(_CHANGELOG_BYTES)))
    except (OSError, EOFError):
        return None


def _output(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_ASK_S)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
