"""From sums and a chain's record to a receipt. Pure."""

from __future__ import annotations

from dataclasses import replace

from node_agent.metering.book import Entry
from offchain.adapters.chain.typed import LeaseOfTask
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.protocol.receipt import Receipt, Totals
from offchain.schema.protocol.receipt_bill import ended_bill, running_bill


def receipt_of(
    entry: Entry, lease: LeaseOfTask, host: gen.HostRecord | None, *, genesis_hash: bytes, now_ms: int, final: bool
) -> Receipt:
    """The next receipt of a lease. `now_ms`: the chain's time of the block whose records these are."""
    record = lease.record
    downtime_ms = _downtime_ms(host, now_ms)
    reported = record.result.usage if record.result is not None else entry.reported
    if final:
        bill = ended_bill(record, lease.task.spec.kind, entry.escrow, downtime_ms)
    else:
        bill = running_bill(record, now_ms, downtime_ms, None if reported is None else reported.wall_ms)
    return Receipt(
        genesis_hash=genesis_hash,
        task=lease.task.id,
        lease=lease.id,
        host=record.host,
        tenant=lease.task.record.tenant,
        seq=entry.seq + 1,
        from_ms=record.created_at,
        until_ms=record.ended_at if final and record.ended_at is not None else now_ms,
        totals=at_least(entry.metered.totals, reported),
        bill=bill,
        reported=reported,
        final=final,
    )


def at_least(totals: Totals, reported: gen.Usage | None) -> Totals:
    """The sums, and no less than what the host reports: the ends of runs lie between two samples."""
    if reported is None:
        return totals
    return replace(
        totals,
        wall_ms=max(totals.wall_ms, reported.wall_ms),
        cpu_ms=max(totals.cpu_ms, reported.cpu_ms),
        memory_peak_mib=max(totals.memory_peak_mib, reported.memory_peak_mib),
    )


def ended(record: gen.Lease) -> bool:
    """Whether what is owed for it is known. Where results are compared, that is when its own is revealed."""
    if record.ended_at is None:
        return False
    completed = isinstance(record.state, gen.LeaseStateEnded) and record.state.value.tag == "Completed"
    return record.result is not None or not completed


def _downtime_ms(host: gen.HostRecord | None, now_ms: int) -> int:
    if host is None:
        return 0
    away_ms = max(0, now_ms - host.last_heartbeat) if isinstance(host.status, gen.HostStatusOffline) else 0
    return host.downtime_ms + away_ms
