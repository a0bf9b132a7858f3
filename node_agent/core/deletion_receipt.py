"""The record of data that is deleted; its SHA-256 goes on the chain as receipt. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from node_agent.core.values import HostLease
from node_agent.drivers.port import Volume
from offchain.schema.protocol.messages import canonical_json
from offchain.schema.protocol.snapshots import Snapshot


def deletion_record(
    host: str, lease: HostLease, volumes: Iterable[Volume], snapshots: Iterable[Snapshot] = ()
) -> bytes:
    """What is deleted, for whom and by whom, as canonical JSON (docs/agent.md)."""
    return canonical_json(
        {
            "v": 1,
            "what": "gantry/deletion",
            "host": host,
            "task": lease.task,
            "lease": lease.number,
            "opened_ms": lease.created_at_ms,
            "retained_until_ms": lease.retained_until_ms,
            "volumes": [
                {"name": volume.name, "created": volume.created, "bytes": volume.size_bytes}
                for volume in sorted(volumes, key=lambda volume: volume.name)
            ],
            "snapshots": [
                {"name": one.name, "created_ms": one.created_ms, "bytes": one.size_bytes, "digest": one.digest}
                for one in sorted(snapshots, key=lambda one: one.name)
            ],
        }
    )
