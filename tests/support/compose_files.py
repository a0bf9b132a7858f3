"""Services of several compose files, merged as Compose does it for what they use."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml


def merged(*files: Path) -> dict[str, dict[str, Any]]:
    """Return the services of the files; mappings and lists of later files are added, other values replace."""
    services: dict[str, dict[str, Any]] = {}
    for file in files:
        for name, service in yaml.safe_load(file.read_text(encoding="utf-8"))["services"].items():
            services[name] = _merged(services.get(name, {}), service)
    return services


def _merged(first: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(first)
    for key, value in later.items():
        old = found.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            found[key] = _merged(old, value)
        elif isinstance(old, list) and isinstance(value, list) and key in ("volumes", "ports", "secrets"):
            found[key] = [*old, *value]
        else:
            found[key] = value
    return found
