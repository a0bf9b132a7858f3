"""A task's manifest: a Docker Compose file with an `x-gantry` section, parsed into frozen values.

What is parsed is the exact text that goes on the chain: variables are put in before, by
:func:`offchain.schema.manifest_variables.resolve`. What Compose allows and Gantry does not support is refused.
"""

from __future__ import annotations

import re

import yaml

from offchain.schema import manifest_keys as keys
from offchain.schema.manifest_nodes import Field, Reader
from offchain.schema.manifest_service import absolute_path, read_service
from offchain.schema.manifest_types import (
    GpuNeed,
    ImageRef,
    Manifest,
    ManifestError,
    PlacementSpec,
    Problem,
    ResultSpec,
    ServiceSpec,
    Tier,
    TmpfsMount,
)
from offchain.schema.manifest_values import (
    check_address,
    parse_amount,
    parse_duration,
    parse_size,
    parse_time,
)

__all__ = [
    "MAX_BYTES",
    "GpuNeed",
    "ImageRef",
    "Manifest",
    "ManifestError",
    "PlacementSpec",
    "Problem",
    "ResultSpec",
    "ServiceSpec",
    "TmpfsMount",
    "parse_manifest",
]

MAX_BYTES = 16_384
"""The longest manifest the chain keeps."""

MIB = 1024**2
GIB = 1024**3
_U32 = 2**32 - 1
_QUEUE = re.compile(r"[a-z0-9][a-z0-9-]{0,31}", re.ASCII)


def parse_manifest(data: bytes, *, source: str = "manifest") -> Manifest:
    """The manifest in these bytes. Raises ManifestError with every problem; `source` names the file in messages."""
    reader = Reader()
    root = _document(data, reader)
    manifest = _manifest(root, reader) if root is not None else None
    if reader.problems or manifest is None:
        raise ManifestError(source, reader.problems)
    return manifest


def _document(data: bytes, reader: Reader) -> Field | None:
    def refuse(line: int, message: str, remedy: str) -> None:
        reader.problems.append(Problem(line, "", message, remedy))

    if len(data) > MAX_BYTES:
        refuse(1, f"the manifest is {len(data)} bytes long", f"Keep it to {MAX_BYTES} bytes; put data into the image")
        return None
    try:
        node = yaml.compose(data.decode("utf-8"), Loader=yaml.SafeLoader)
    except UnicodeDecodeError as error:
        refuse(data[: error.start].count(b"\n") + 1, "the text is not UTF-8", "Save the file as UTF-8")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        about = ", ".join(part for part in (error.problem, error.context) if part)
        refuse(mark.line + 1 if mark else 1, f"this is not YAML: {about}", "Mend the line; keep to one document")
    except yaml.YAMLError as error:
        refuse(1, f"this is not YAML: {' '.join(str(error).split())}", "Mend the file")
    except RecursionError:
        refuse(1, "the YAML is nested too deeply", "Flatten it")
    else:
        if node is not None:
            return Field(node, node.start_mark.line + 1, "")
        refuse(1, "the manifest is empty", "Start from examples/primes.yaml")
    return None


def _manifest(root: Field, reader: Reader) -> Manifest | None:
    top = reader.mapping(root, keys.TOP, keys.TOP_REFUSED, extensions=True)
    if reader.problems and not top:
        return None
    name = reader.text(top["name"], max_bytes=64) if "name" in top else None
    services, gpu_count = _services(root, top, reader)
    gantry = top.get("x-gantry")
    if gantry is None:
        remedy = "Add at least: x-gantry: {price: {max_per_hour: 1 GTY}, duration: 10m}"
        reader.problem(Field(root.node, root.line, "x-gantry"), "the section is missing", remedy)
        return None
    return _gantry(gantry, reader, name, services, gpu_count)


def _services(root: Field, top: dict[str, Field], reader: Reader) -> tuple[tuple[ServiceSpec, ...], int]:
    if "services" not in top:
        reader.problem(
            Field(root.node, root.line, "services"), "the section is missing", "Add services: with one service"
        )
        return (), 0
    entries = reader.any_mapping(top["services"])
    if not entries and isinstance(top["services"].node, yaml.MappingNode):
        reader.problem(top["services"], "there is no service", "Add one service with an image")
    for extra in list(entries.values())[1:]:
        reader.problem(extra, "a task has one service for now", "Submit the others as tasks of their own")
    parsed = [read_service(name, field, reader) for name, field in entries.items()]
    return tuple(spec for spec, _ in parsed if spec is not None), sum(count for _, count in parsed)


def _gantry(
    field: Field, reader: Reader, name: str | None, services: tuple[ServiceSpec, ...], gpu_count: int
) -> Manifest | None:
    entries = reader.mapping(field, keys.GANTRY, {})
    later = "Use job: a container that runs to its end and leaves a result"
    kinds = {"job": None, "service": later, "rental": later}
    if "kind" in entries:
        reader.choice(entries["kind"], kinds)
    rate = _price(field, entries.get("price"), reader)
    if "duration" in entries:
        duration = reader.parsed(entries["duration"], parse_duration, "Write for example 90s, 10m, 1h30m or 2d")
    else:
        reader.problem(field, "duration is missing", "Add the longest time a pod may run, duration: 10m")
        duration = None
    billing = (
        reader.choice(entries["billing"], dict.fromkeys(("second", "hour", "day")))
        if "billing" in entries
        else "second"
    )
    deadline = None
    if "deadline" in entries:
        deadline = reader.parsed(entries["deadline"], parse_time, "Write a time with its zone: 2030-01-31T18:00:00Z")
    queue: str | None = "default"
    if "queue" in entries:
        queue = reader.text(entries["queue"], max_bytes=32)
    if queue is not None and _QUEUE.fullmatch(queue) is None:
        reader.problem(entries["queue"], f'"{queue}" is not a queue', "Use small letters, digits and dashes")
    if "verification" in entries:
        refused = "Use acceptance: you accept the result, or the dispute window passes"
        reader.choice(entries["verification"], {"acceptance": None, "redundant": refused, "replicas": refused})
    priority = reader.integer(entries["priority"], 0, 255) if "priority" in entries else 100
    pods = reader.integer(entries["pods"], 1, 16) if "pods" in entries else 1
    disk_gib = 1
    if "disk" in entries:
        size = reader.parsed(entries["disk"], parse_size, "Write a size: 1GiB")
        disk_gib = -(-size // GIB) if size is not None else 0
        if disk_gib > _U32 or size == 0:
            reader.problem(entries["disk"], f"{disk_gib} GiB is out of range", "Write at least 1GiB")
    result = _result(entries.get("result"), reader)
    placement, models, min_vram_mib = _placement(entries.get("placement"), reader, gpu_count)
    if reader.problems:
        return None
    return Manifest(
        name=name,
        services=services,
        kind="job",
        result=result,
        gpus=GpuNeed(count=gpu_count, milli=1000, min_vram_mib=min_vram_mib, models=models),
        disk_gib=disk_gib,
        pods=pods or 1,
        duration_ms=duration or 0,
        max_rate_per_hour=rate or 0,
        billing="day" if billing == "day" else "hour" if billing == "hour" else "second",
        deadline_ms=deadline,
        priority=priority or 0,
        queue=queue or "default",
        verification="acceptance",
        placement=placement,
        pods_min=pods or 1,
    )


def _price(gantry: Field, field: Field | None, reader: Reader) -> int | None:
    remedy = "Write price: {max_per_hour: 2.5 GTY}, the most one pod may cost in an hour"
    if field is None:
        reader.problem(gantry, "price is missing", remedy)
        return None
    entries = reader.mapping(field, keys.PRICE, {})
    if "max_per_hour" not in entries:
        if isinstance(field.node, yaml.MappingNode):
            reader.problem(field, "max_per_hour is missing", remedy)
        return None
    return reader.parsed(entries["max_per_hour"], parse_amount, remedy)


def _result(field: Field | None, reader: Reader) -> ResultSpec:
    text = reader.text(field) if field is not None else "stdout"
    if field is None or text in (None, "stdout"):
        return ResultSpec("stdout", None)
    if text is not None and not text.startswith("/"):
        reader.problem(
            field, f'"{text}" is not a result', "Write stdout, or the path of a file in the container: /out/result"
        )
        return ResultSpec("stdout", None)
    return ResultSpec("file", absolute_path(field, reader))


def _placement(field: Field | None, reader: Reader, gpu_count: int) -> tuple[PlacementSpec, tuple[str, ...], int]:
    entries = reader.mapping(field, keys.PLACEMENT, {}) if field is not None else {}
    for key in ("models", "min_vram", "verified_only"):
        if key in entries and not gpu_count:
            remedy = "Remove it, or ask for GPUs under deploy.resources.reservations.devices"
            reader.problem(entries[key], f"{key} without a GPU", remedy)
    vram = reader.parsed(entries["min_vram"], parse_size, "Write a size: 24GiB") if "min_vram" in entries else 0
    min_vram_mib = -(-(vram or 0) // MIB)
    if min_vram_mib > _U32:
        reader.problem(entries["min_vram"], f"{min_vram_mib} MiB is out of range", "Write a size like 24GiB")
    providers = reader.mapping(entries["providers"], keys.PROVIDERS, {}) if "providers" in entries else {}
    provider_remedy = "Write a provider's account; gantry host list shows each host's"
    placement = PlacementSpec(
        regions=_several(entries.get("regions"), reader, 4, 32),
        hosts=_addresses(entries.get("hosts"), reader, "Write a host's address; gantry host list shows them"),
        providers_allowed=_addresses(providers.get("allow"), reader, provider_remedy),
        providers_denied=_addresses(providers.get("deny"), reader, provider_remedy),
        tiers=_tiers(entries.get("tiers"), reader),
        verified_only=bool(reader.boolean(entries["verified_only"])) if "verified_only" in entries else False,
        allow_simulated=bool(reader.boolean(entries["allow_simulated"])) if "allow_simulated" in entries else False,
    )
    return placement, _several(entries.get("models"), reader, 4, 64), min_vram_mib


def _several(field: Field | None, reader: Reader, most: int, max_bytes: int) -> tuple[str, ...]:
    items = reader.sequence(field) if field is not None else []
    if len(items) > most:
        reader.problem(items[most], f"{len(items)} entries are too many", f"Keep it to {most}")
    texts = [reader.text(item, max_bytes=max_bytes) for item in items]
    return tuple(text for text in texts if text is not None)


def _addresses(field: Field | None, reader: Reader, remedy: str) -> tuple[str, ...]:
    found = _several(field, reader, 8, 64)
    for item in reader.sequence(field) if field is not None and found else []:
        reader.parsed(item, check_address, remedy)
    return found


def _tiers(field: Field | None, reader: Reader) -> tuple[Tier, ...]:
    names: dict[str, Tier] = {"consumer": "consumer", "professional": "professional", "datacenter": "datacenter"}
    found = [
        reader.choice(item, dict.fromkeys(names)) for item in (reader.sequence(field) if field is not None else [])
    ]
    if field is not None and len(set(found)) < len(found):
        reader.problem(field, "a tier is named twice", "Name each once")
    return tuple(names[name] for name in found if name is not None)
