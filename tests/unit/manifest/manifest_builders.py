"""Manifests for tests: the smallest one, and changes to it."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.types import Manifest, ManifestError, ServiceSpec

DIGEST = "sha256:" + "ab" * 32
ALICE = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"
BOB = "5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty"

BASE: dict[str, Any] = {
    "services": {
        "train": {
            "image": f"registry.example:5000/lab/train@{DIGEST}",
            "deploy": {"resources": {"limits": {"cpus": "1.5", "memory": "512M"}}},
        }
    },
    "x-gantry": {"price": {"max_per_hour": "2.5 GTY"}, "duration": "10m"},
}

Change = Callable[[dict[str, Any]], None]


def manifest(change: Change | None = None) -> bytes:
    data = copy.deepcopy(BASE)
    if change is not None:
        change(data)
    return yaml.safe_dump(data, sort_keys=False).encode()


def service(**entries: Any) -> Change:
    return lambda data: data["services"]["train"].update(entries)


def gantry(**entries: Any) -> Change:
    return lambda data: data["x-gantry"].update(entries)


def limits(**entries: Any) -> Change:
    return lambda data: data["services"]["train"]["deploy"]["resources"]["limits"].update(entries)


def devices(*entries: Any) -> Change:
    def change(data: dict[str, Any]) -> None:
        data["services"]["train"]["deploy"]["resources"]["reservations"] = {"devices": list(entries)}

    return change


def gpu(**entries: Any) -> Change:
    return devices({"count": 1, "capabilities": ["gpu"]} | entries)


def parse(change: Change | None = None) -> Manifest:
    return parse_manifest(manifest(change))


def train(*changes: Change) -> ServiceSpec:
    return parse(together(*changes)).services[0]


def problems(data: bytes) -> list[tuple[str, str, str]]:
    with pytest.raises(ManifestError) as caught:
        parse_manifest(data, source="task.yaml")
    for problem in caught.value.problems:
        assert problem.line >= 1
        assert problem.message
        assert problem.hint
    for line in caught.value.lines():
        assert line.startswith("task.yaml:")
    return [(problem.path, problem.message, problem.hint) for problem in caught.value.problems]


def together(*changes: Change) -> Change:
    def change(data: dict[str, Any]) -> None:
        for one in changes:
            one(data)

    return change


def helper(name: str = "db", **entries: Any) -> Change:
    resources = {"resources": {"limits": {"cpus": "0.5", "memory": "64M"}}}
    made = {"image": f"lab/{name}@{DIGEST}", "deploy": resources} | entries
    return lambda data: data["services"].update({name: made})


def top(**entries: Any) -> Change:
    return lambda data: data.update(entries)


def refused(change: Change, path: str | None = None, says: str = "") -> tuple[str, str, str]:
    """Path, message and hint of the one problem, which is at this path and says this."""
    (found,) = problems(manifest(change))
    assert path in (None, found[0]), found
    assert says in found[1], found
    return found
