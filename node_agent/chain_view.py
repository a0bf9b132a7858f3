"""What the agent reads from the chain, in the core's words."""

from __future__ import annotations

from collections.abc import Container

from node_agent.core.values import Lease
from offchain.link.typed import GantryChain, LeaseOfTask
from offchain.schema._generated_chain import (
    LeaseStateActive,
    LeaseStatePending,
    LeaseStateSuspended,
    TaskKind,
    VerificationPolicyAcceptance,
)
from offchain.schema.escrow import ends_at

LIVE = (LeaseStatePending, LeaseStateActive, LeaseStateSuspended)


async def live_leases(
    chain: GantryChain, host: str, at: bytes, known: Container[int] = frozenset()
) -> tuple[Lease, ...]:
    """The live leases of this host at a block but for the known ones, with what their tasks and escrows say."""
    numbers = [number for number in await chain.leases_of_host(host, at=at) if number not in known]
    found = await chain.leases(numbers, at=at)
    live = [lease for lease in found.values() if isinstance(lease.record.state, LIVE) and lease.record.host == host]
    record = await chain.host(host, at=at) if live else None
    downtime_ms = 0 if record is None else record.downtime_ms
    return tuple(_lease(lease, downtime_ms) for lease in live)


def _lease(lease: LeaseOfTask, downtime_ms: int) -> Lease:
    record, spec = lease.record, lease.task.spec
    return Lease(
        number=lease.id,
        task=lease.task.id,
        pod=record.pod,
        attempt=record.generation,
        plain_job=spec.kind is TaskKind.JOB and isinstance(spec.verification, VerificationPolicyAcceptance),
        devices=tuple(record.devices),
        cpu_milli=spec.resources.cpu_milli,
        memory_mib=spec.resources.memory_mib,
        manifest_digest=spec.manifest_digest,
        max_duration_ms=spec.max_duration_ms,
        created_at_ms=record.created_at,
        started=record.started_at is not None,
        depletes_at_ms=ends_at(record.escrow, downtime_ms, record.reclaim_at),
    )
