"""Reading how a service follows its load: a share of what its pods have, or a number that they tell by themselves."""

from __future__ import annotations

import re

from offchain.schema.manifest import keys
from offchain.schema.manifest.nodes import Field, Reader
from offchain.schema.manifest.types import WHOLE_GPU, Metric, PodMetric, ScalingSpec
from offchain.schema.manifest.values import parse_duration

_METRICS: dict[str, Metric] = {"cpu": "cpu", "gpu": "gpu", "memory": "memory"}
_PERCENT = re.compile(r"(\d{1,3}) ?%", re.ASCII)
_NUMBER = re.compile(r"(\d{1,9})(?:\.(\d{1,3}))?", re.ASCII)
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*", re.ASCII)
_PATH = re.compile(r"/[!-~]*", re.ASCII)
_STABILISATION_MS = 300_000
_SHORT = "Write scaling: {metric: cpu, target: 70%, stabilisation: 5m}"
_OWN = "Write metric: {port: 8080, path: /metrics, name: requests_waiting, target_per_pod: 10}"


def read_scaling(field: Field | None, gpu_count: int, gpu_milli: int, reader: Reader) -> ScalingSpec | None:
    """How a service follows its load; None where it does not, or there is a problem."""
    if field is None:
        return None
    entries = reader.mapping(field, keys.SCALING, {})
    if field.kind != "map":
        return None
    if "metric" not in entries:
        reader.problem(field, "metric is missing", _SHORT)
    stabilisation_ms: int | None = _STABILISATION_MS
    if "stabilisation" in entries:
        stabilisation_ms = reader.parsed(entries["stabilisation"], parse_duration, "Write for example 5m")
    at = entries.get("metric")
    if at is not None and at.kind == "map":
        return _by_own_number(at, entries.get("target"), stabilisation_ms, reader)
    word = reader.choice(at, dict.fromkeys(_METRICS)) if at is not None else None
    if at is not None and word == "gpu" and not gpu_count:
        reader.problem(at, "the service has no GPU to follow", "Write cpu or memory")
    elif at is not None and word == "gpu" and gpu_milli < WHOLE_GPU:
        remedy = "Write cpu or memory, or a number that each pod tells (metric: {port, path, name, target_per_pod})"
        reader.problem(at, "what one pod uses of a GPU that it shares is not known", remedy)
    target = None
    if "target" in entries:
        target = reader.parsed(entries["target"], _percent, "Write a share of what a pod has: 70%")
    else:
        reader.problem(field, "target is missing", _SHORT)
    if word is None or target is None or stabilisation_ms is None:
        return None
    return ScalingSpec(_METRICS[word], target, stabilisation_ms)


def _by_own_number(
    field: Field, target: Field | None, stabilisation_ms: int | None, reader: Reader
) -> ScalingSpec | None:
    if target is not None:
        reader.problem(target, "a number of the pod's own has no share", "Remove it, and write metric.target_per_pod")
    entries = reader.mapping(field, keys.POD_METRIC, {})
    for key in ("port", "name", "target_per_pod"):
        if key not in entries:
            reader.problem(field, f"{key} is missing", _OWN)
    port = reader.integer(entries["port"], 1, 65535) if "port" in entries else None
    path: str | None = "/metrics"
    if "path" in entries:
        path = reader.parsed(entries["path"], _path, "Write a path with its slash: /metrics")
    name = reader.parsed(entries["name"], _name, _OWN) if "name" in entries else None
    target_milli = None
    if "target_per_pod" in entries:
        remedy = "Write how much of it one pod is to have: 10, or 2.5"
        target_milli = reader.parsed(entries["target_per_pod"], _milli, remedy)
    if port is None or path is None or name is None or target_milli is None or stabilisation_ms is None:
        return None
    return ScalingSpec(PodMetric(port, path, name, target_milli), None, stabilisation_ms)


def _percent(text: str) -> int:
    match = _PERCENT.fullmatch(text)
    if match is None or not 1 <= int(match[1]) <= 100:
        raise ValueError(f'"{text}" is not a share from 1% to 100%')
    return int(match[1])


def _milli(text: str) -> int:
    match = _NUMBER.fullmatch(text)
    milli = int(match[1]) * 1000 + int((match[2] or "").ljust(3, "0")) if match is not None else 0
    if not milli:
        raise ValueError(f'"{text}" is not a number from 0.001 to 999999999')
    return milli


def _path(text: str) -> str:
    if _PATH.fullmatch(text) is None or len(text) > 1024:
        raise ValueError(f'"{text[:80]}" is not the path of a page')
    return text


def _name(text: str) -> str:
    if _NAME.fullmatch(text) is None or len(text) > 200:
        raise ValueError(f'"{text[:80]}" is not the name of a number on a Prometheus page')
    return text
