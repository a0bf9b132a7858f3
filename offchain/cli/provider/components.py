"""Finds the versions of what separates containers from the machine, and what a distribution's package has fixed."""

from __future__ import annotations

import gzip
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from offchain.cli.provider.advisories import Component, parse_version

TOOLKIT: Final = "NVIDIA container toolkit"
_ENGINE_NAMES: Final = {"Engine": "Docker", "containerd": "containerd", "runc": "runc"}
"""By name in the engine's answer: the component."""
_PACKAGES: Final = {"Docker": "docker.io", "containerd": "containerd", "runc": "runc"}
"""By component: the package of Debian and Ubuntu. Packages of the makers have upstream versions and no fixes beside."""
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
    """Return NVIDIA's container toolkit; None where there is none."""
    text = _output("nvidia-ctk", "--version")
    found = re.search(r"version\s+(\S+)", text or "")
    return Component(TOOLKIT, found[1]) if found else None


def with_packages(components: Iterable[Component], docs: Path = Path("/usr/share/doc")) -> tuple[Component, ...]:
    """Add what this machine's package manager knows. A package of another version than the component is another one."""
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
    """Return the CVEs that a package's changelog names; None where it cannot be read."""
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
