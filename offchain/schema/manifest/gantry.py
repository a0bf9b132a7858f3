"""Reading the `x-gantry` section, and putting the manifest together."""

from __future__ import annotations

import re
from collections.abc import Sequence

from offchain.schema.manifest import keys, kinds
from offchain.schema.manifest.checkpoint import read_checkpoint
from offchain.schema.manifest.gpu import read_gpu
from offchain.schema.manifest.inputs import read_inputs
from offchain.schema.manifest.login import read_registry_login
from offchain.schema.manifest.mounts import Declared
from offchain.schema.manifest.nodes import Field, Reader
from offchain.schema.manifest.placement import read_placement
from offchain.schema.manifest.pod import check_amd, check_pod
from offchain.schema.manifest.scaling import read_scaling
from offchain.schema.manifest.service import Draft
from offchain.schema.manifest.types import Billing, GpuNeed, Manifest
from offchain.schema.manifest.values import parse_amount, parse_duration, parse_size, parse_time

_GIB = 1024**3
_U32 = 2**32 - 1
_QUEUE = re.compile(r"[a-z0-9][a-z0-9-]*(/[a-z0-9][a-z0-9-]*)*", re.ASCII)
_UNITS: dict[str, Billing] = {"second": "second", "hour": "hour", "day": "day"}


def read_gantry(
    field: Field,
    name: str | None,
    volumes: tuple[str, ...],
    declared: Declared,
    drafts: Sequence[Draft],
    reader: Reader,
) -> Manifest | None:
    """The whole manifest; None where there is a problem."""
    entries = reader.mapping(field, keys.GANTRY, {})
    kind = kinds.read_kind(entries, reader)
    read_inputs(entries.get("inputs"), drafts, declared.secrets, reader)
    check_pod(drafts, reader)
    kinds.check_kind(kind, drafts, reader)
    gpu_count = sum(draft.spec.gpu_count for draft in drafts)
    verification, replicas = kinds.read_verification(entries.get("verification"), reader)
    pods_min, pods = kinds.read_pods(kind, entries.get("pods"), replicas, entries.get("scaling"), reader)
    placement, models, min_vram_mib, models_at = read_placement(entries.get("placement"), reader, gpu_count, pods)
    check_amd(drafts, models_at, reader)
    milli = read_gpu(entries.get("gpu"), gpu_count, reader)
    manifest = Manifest(
        name=name,
        services=kinds.finished(kind, drafts),
        kind=kind,
        result=kinds.read_result(
            entries.get("result"), drafts[0] if drafts else None, compared=replicas is not None, reader=reader
        ),
        gpus=GpuNeed(count=gpu_count, milli=milli, min_vram_mib=min_vram_mib, models=models),
        disk_gib=_disk_gib(entries.get("disk"), reader),
        pods=pods,
        duration_ms=_duration_ms(field, entries.get("duration"), reader),
        max_rate_per_hour=_price(field, entries.get("price"), reader),
        billing=_billing(entries.get("billing"), reader),
        deadline_ms=_deadline_ms(entries.get("deadline"), reader),
        priority=(reader.integer(entries["priority"], 0, 255) if "priority" in entries else 100) or 0,
        queue=_queue(entries.get("queue"), reader),
        verification=verification,
        placement=placement,
        pods_min=pods_min,
        volumes=volumes,
        scaling=read_scaling(entries.get("scaling"), gpu_count, milli, reader),
        ssh=kinds.read_ssh(entries.get("ssh"), drafts, reader),
        data_from=kinds.read_data_from(entries, volumes, reader),
        snapshot=kinds.read_snapshot(entries, reader),
        spot=kinds.read_spot(entries.get("spot"), reader, compared=replicas is not None),
        survival=kinds.read_survival(entries.get("survival"), kind, reader, compared=replicas is not None),
        checkpoint=read_checkpoint(entries.get("checkpoint"), kind, drafts, reader, compared=replicas is not None),
        registry_login=read_registry_login(entries.get("registry_login"), drafts, declared.secrets, reader),
    )
    return None if reader.problems else manifest


def _price(gantry: Field, field: Field | None, reader: Reader) -> int:
    remedy = "Write price: {max_per_hour: 2.5 GTY}, the most one pod may cost in an hour"
    if field is None:
        reader.problem(gantry, "price is missing", remedy)
        return 0
    entries = reader.mapping(field, keys.PRICE, {})
    if "max_per_hour" in entries:
        return reader.parsed(entries["max_per_hour"], parse_amount, remedy) or 0
    if field.kind == "map":
        reader.problem(field, "max_per_hour is missing", remedy)
    return 0


def _duration_ms(gantry: Field, field: Field | None, reader: Reader) -> int:
    if field is None:
        reader.problem(gantry, "duration is missing", "Add the longest time a pod may run, duration: 10m")
        return 0
    return reader.parsed(field, parse_duration, "Write for example 90s, 10m, 1h30m or 2d") or 0


def _billing(field: Field | None, reader: Reader) -> Billing:
    word = reader.choice(field, dict.fromkeys(_UNITS)) if field is not None else None
    return _UNITS[word or "second"]


def _deadline_ms(field: Field | None, reader: Reader) -> int | None:
    remedy = "Write a time with its zone: 2030-01-31T18:00:00Z"
    return reader.parsed(field, parse_time, remedy) if field is not None else None


def _queue(field: Field | None, reader: Reader) -> str:
    queue = reader.text(field, max_bytes=32) if field is not None else None
    if field is not None and queue is not None and _QUEUE.fullmatch(queue) is None:
        reader.problem(
            field,
            f'"{queue}" is not a queue',
            "Use small letters, digits and dashes, and a slash before the part of a queue",
        )
    return queue or "default"


def _disk_gib(field: Field | None, reader: Reader) -> int:
    if field is None:
        return 1
    size = reader.parsed(field, parse_size, "Write a size: 1GiB")
    disk_gib = -(-size // _GIB) if size is not None else 0
    if disk_gib > _U32 or size == 0:
        reader.problem(field, f"{disk_gib} GiB is out of range", "Write at least 1GiB")
    return disk_gib
