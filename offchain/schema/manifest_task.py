"""What a manifest says to the chain: the `TaskSpec` of docs/protocol.md, in plain form."""

from __future__ import annotations

import hashlib
from typing import Any

from offchain.schema.manifest_types import Manifest

_UNITS = {"second": "Second", "hour": "Hour", "day": "Day"}


def manifest_digest(text: bytes) -> bytes:
    """SHA-256 of the manifest's exact bytes."""
    return hashlib.sha256(text).digest()


def task_spec(manifest: Manifest, digest: bytes) -> dict[str, Any]:
    """The `TaskSpec` for a manifest whose bytes have this digest."""
    return {
        "kind": "Job",
        "manifest_digest": digest,
        "resources": {
            "cpu_milli": manifest.cpu_milli,
            "memory_mib": manifest.memory_mib,
            "disk_gib": manifest.disk_gib,
            "gpus": {
                "count": manifest.gpus.count,
                "milli": manifest.gpus.milli,
                "min_vram_mib": manifest.gpus.min_vram_mib,
                "models": [model.encode() for model in manifest.gpus.models],
            },
        },
        "pods_min": manifest.pods,
        "pods_max": manifest.pods,
        "max_rate_per_hour": manifest.max_rate_per_hour,
        "unit": _UNITS[manifest.billing],
        "max_duration_ms": manifest.duration_ms,
        "deadline": manifest.deadline_ms,
        "priority": manifest.priority,
        "queue": manifest.queue.encode(),
        "verification": "Acceptance",
        "placement": {
            "regions": [region.encode() for region in manifest.placement.regions],
            "hosts": list(manifest.placement.hosts),
            "allow_simulated": manifest.placement.allow_simulated,
        },
    }
