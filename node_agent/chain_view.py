"""What the agent reads from the chain, in the core's words."""

from __future__ import annotations

from collections.abc import Container

from node_agent.core.values import Lease, LeaseStatus
from offchain.link.typed import GantryChain, LeaseOfTask
from offchain.schema._generated_chain import (
    LeaseStateRetained,
    VerificationPolicyAcceptance,
)
from offchain.schema.escrow import ends_at

HOLDING = frozenset(status.value for status in LeaseStatus)
"""The states of leases that hold something of their host."""


async def live_leases(
    chain: GantryChain, host: str, at: bytes, known: Container[int] = frozenset()
) -> tuple[Lease, ...]:
    """The leases that hold something of this host at a block, but for the known ones, joined with their tasks."""
    numbers = [number for number in await chain.leases_of_host(host, at=at) if number not in known]
    found = await chain.leases(numbers, at=at)
    live = [lease for lease in found.values() if lease.record.state.tag in HOLDING and lease.record.host == host]
    record = await chain.host(host, at=at) if live else None
    downtime_ms = 0 if record is None else record.downtime_ms
    return tuple(_lease(lease, downtime_ms) for lease in live)


def _lease(lease: LeaseOfTask, downtime_ms: int) -> Lease:
    record, spec = lease.record, lease.task.spec
    told = lease.task.record.preemption if lease.task.record.state.tag == "Running" else None
    return Lease(
        number=lease.id,
        task=lease.task.id,
        pod=record.pod,
        attempt=record.generation,
        kind=spec.kind,
        redundant=not isinstance(spec.verification, VerificationPolicyAcceptance),
        status=LeaseStatus(record.state.tag),
        devices=tuple(record.devices),
        cpu_milli=spec.resources.cpu_milli,
        memory_mib=spec.resources.memory_mib,
        disk_gib=spec.resources.disk_gib,
        manifest_digest=spec.manifest_digest,
        max_duration_ms=spec.max_duration_ms,
        created_at_ms=record.created_at,
        started=record.started_at is not None,
        depletes_at_ms=ends_at(record.escrow, downtime_ms, record.reclaim_at),
        retained_until_ms=record.state.value if isinstance(record.state, LeaseStateRetained) else None,
        data_from=spec.data_from,
        notice_ends_ms=None if told is None else told.ends_at,
    )
