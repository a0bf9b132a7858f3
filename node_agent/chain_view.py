"""What the agent reads from the chain, in the core's words."""

from __future__ import annotations

from node_agent.core.values import Lease
from offchain.link.typed import GantryChain
from offchain.schema._generated_chain import LeaseStateActive, LeaseStatePending, LeaseStateSuspended

LIVE = (LeaseStatePending, LeaseStateActive, LeaseStateSuspended)


async def live_lease(chain: GantryChain, host: str, number: int, at: bytes) -> Lease | None:
    """One live lease of this host with what its task and escrow say, at a block; None where it is not live."""
    record = await chain.lease(number, at=at)
    if record is None or not isinstance(record.state, LIVE) or record.host != host:
        return None
    task = await chain.task(record.task, at=at)
    escrow = await chain.escrow(number, at=at)
    if task is None:
        return None
    return Lease(
        number=number,
        task=record.task,
        pod=record.pod,
        attempt=record.attempt,
        devices=tuple(record.devices),
        cpu_milli=record.resources.cpu_milli,
        memory_mib=record.resources.memory_mib,
        manifest_digest=task.spec.manifest_digest,
        max_duration_ms=task.spec.max_duration_ms,
        created_at_ms=record.created_at,
        started=record.started_at is not None,
        depletes_at_ms=None if escrow is None else escrow.depletes_at,
    )


async def live_leases(chain: GantryChain, host: str, at: bytes) -> tuple[Lease, ...]:
    """All live leases of this host at a block."""
    leases = [await live_lease(chain, host, number, at) for number in await chain.leases_of_host(host, at=at)]
    return tuple(lease for lease in leases if lease is not None)
