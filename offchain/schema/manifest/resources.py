"""Reading what a service needs of a host: processors, memory, processes, GPUs."""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from offchain.schema.manifest import keys
from offchain.schema.manifest.nodes import Field, Reader
from offchain.schema.manifest.values import parse_cpus, parse_size

DEFAULT_PIDS = 512
MAX_GPUS = 16
"""The most devices that one pod can have; the chain's limit."""
_MIB = 1024**2
_U32 = 2**32 - 1
_LIMITS_REMEDY = 'Add deploy: {resources: {limits: {cpus: "1", memory: 512M}}}; the price depends on them'


@dataclass(frozen=True, slots=True)
class Needs:
    """What a service asks for. `amd`: where it names AMD's driver, None where it does not."""

    cpu_milli: int
    memory_mib: int
    pids: int
    gpu_count: int
    amd: Field | None


def read_needs(service: Field, deploy: dict[str, Field], reader: Reader) -> Needs:
    """The resources under a service's `deploy`."""
    resources = reader.mapping(deploy["resources"], keys.RESOURCES, {}) if "resources" in deploy else {}
    if "limits" in resources:
        limits = reader.mapping(resources["limits"], keys.LIMITS, {})
        for key in ("cpus", "memory"):
            if key not in limits:
                reader.problem(resources["limits"], f"{key} is missing", _LIMITS_REMEDY)
    else:
        nothing = Field(service.node, service.line, f"{service.path}.deploy.resources.limits")
        reader.problem(nothing, "the limits are missing", _LIMITS_REMEDY)
        limits = {}
    pids = reader.integer(limits["pids"], 1, 4_194_304) if "pids" in limits else DEFAULT_PIDS
    gpu_count, amd = _gpus(resources["reservations"], reader) if "reservations" in resources else (0, None)
    return Needs(
        _cpu_milli(limits.get("cpus"), reader), _memory_mib(limits.get("memory"), reader), pids or 0, gpu_count, amd
    )


def _cpu_milli(field: Field | None, reader: Reader) -> int:
    milli = reader.parsed(field, parse_cpus, 'Write a number of cores: "1.5"') if field is not None else None
    if field is not None and milli is not None and not 10 <= milli <= _U32:
        reader.problem(field, f"{milli / 1000} cores is out of range", "Write at least 0.01 cores")
    return milli or 0


def _memory_mib(field: Field | None, reader: Reader) -> int:
    size = reader.parsed(field, parse_size, "Write a size: 512M or 2GiB") if field is not None else None
    mib = -(-size // _MIB) if size is not None else None
    if field is not None and mib is not None and not 6 <= mib <= _U32:
        reader.problem(field, f"{mib} MiB is out of range", "Write at least 6M")
    return mib or 0


def _gpus(reservations: Field, reader: Reader) -> tuple[int, Field | None]:
    """How many, and where AMD's driver is named."""
    entries = reader.mapping(reservations, keys.RESERVATIONS, keys.RESERVATIONS_REFUSED)
    items = reader.sequence(entries["devices"]) if "devices" in entries else []
    for extra in items[1:]:
        reader.problem(extra, "GPUs are asked for twice", "Add the counts up in one entry")
    if not items:
        return 0, None
    device = items[0]
    fields = reader.mapping(device, keys.DEVICE, keys.DEVICE_REFUSED)
    driver = None
    if "driver" in fields:
        refused = "Write nvidia or amd; how devices reach the container is the host's affair"
        driver = reader.choice(fields["driver"], {"nvidia": None, "amd": None, "amdgpu": None, "cdi": refused})
    amd = fields["driver"] if driver in ("amd", "amdgpu") else None
    if "capabilities" not in fields:
        reader.problem(device, "capabilities is missing", "Add capabilities: [gpu]")
    for capability in reader.sequence(fields["capabilities"]) if "capabilities" in fields else []:
        reader.choice(capability, {"gpu": None})
    if "count" not in fields:
        reader.problem(device, "count is missing", "Add count: 1, or how many GPUs a pod needs")
        return 0, amd
    count = fields["count"]
    if isinstance(count.node, yaml.ScalarNode) and count.node.value == "all":
        reader.problem(count, '"all" is not a number of GPUs', "Write how many: hosts differ, and so does the price")
        return 0, amd
    return reader.integer(count, 1, MAX_GPUS) or 0, amd
