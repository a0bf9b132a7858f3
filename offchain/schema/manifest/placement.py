"""Reading where a task may run."""

from __future__ import annotations

from typing import Literal

from offchain.schema.manifest import keys
from offchain.schema.manifest.nodes import Field, Reader
from offchain.schema.manifest.types import PlacementSpec, Tier
from offchain.schema.manifest.values import MAX_LATENCY_MS, check_address, parse_latency, parse_size

_MIB = 1024**2
_U32 = 2**32 - 1


def read_placement(
    field: Field | None, reader: Reader, gpu_count: int, pods: int
) -> tuple[PlacementSpec, tuple[str, ...], int, Field | None]:
    """The placement, the GPU models, the least memory of a GPU in MiB, and where the models are written."""
    entries = reader.mapping(field, keys.PLACEMENT, {}) if field is not None else {}
    for key in ("models", "min_vram", "verified_only"):
        if key in entries and not gpu_count:
            remedy = "Remove it, or ask for GPUs under deploy.resources.reservations.devices"
            reader.problem(entries[key], f"{key} without a GPU", remedy)
    vram = reader.parsed(entries["min_vram"], parse_size, "Write a size: 24GiB") if "min_vram" in entries else 0
    min_vram_mib = -(-(vram or 0) // _MIB)
    if min_vram_mib > _U32:
        reader.problem(entries["min_vram"], f"{min_vram_mib} MiB is out of range", "Write a size like 24GiB")
    for key in ("spread", "pack"):
        if key in entries and pods == 1:
            reader.problem(entries[key], f"{key} with one pod", "Remove it, or ask for more under x-gantry.pods")
    network = reader.integer(entries["min_network_mbps"], 1, _U32) if "min_network_mbps" in entries else 0
    latency_remedy = f"Write a time from 1ms to {MAX_LATENCY_MS}ms: 50ms"
    latency = reader.parsed(entries["max_latency"], parse_latency, latency_remedy) if "max_latency" in entries else 0
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
        min_network_mbps=network or 0,
        spread=_spread(entries.get("spread"), reader),
        pack=bool(reader.boolean(entries["pack"])) if "pack" in entries else False,
        max_latency_ms=latency or 0,
        sandboxed="isolation" in entries and reader.choice(entries["isolation"], {"sandboxed": None}) is not None,
    )
    if placement.spread and placement.pack:
        reader.problem(entries["pack"], "pack and spread exclude each other", "Remove one of them")
    models = _several(entries.get("models"), reader, 4, 64)
    return placement, models, min_vram_mib, entries.get("models") if models else None


def _spread(field: Field | None, reader: Reader) -> Literal["hosts", "providers"] | None:
    words: dict[str, Literal["hosts", "providers"]] = {"hosts": "hosts", "providers": "providers"}
    found = reader.choice(field, dict.fromkeys(words)) if field is not None else None
    return words[found] if found else None


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
