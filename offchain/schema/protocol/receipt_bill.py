"""The bill of a lease in a receipt: the chain's billing rules applied to the lease's record.

The chain's `EndReason::billing` and `Escrow::stop` have the same rules; see docs/protocol.md, section 1.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Final

from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.escrow import billed_ms, depletes_at, owed
from offchain.schema.protocol.receipt import Bill


class LeaseEndBilling(Enum):
    """Billing of the last segment of a lease at its end. FORFEIT: nothing beyond what is paid."""

    BY_UNIT = "by unit"
    PRO_RATA = "pro rata"
    FORFEIT = "forfeit"


_PRO_RATA: Final = frozenset({"GangAborted", "Reclaimed", "Preempted"})
_BY_KIND: Final = frozenset({"HostRefused", "StartTimeout", "HostLost"})


def billings_of(state: gen.LeaseState, kind: gen.TaskKind) -> tuple[LeaseEndBilling, ...]:
    """Return how a lease in this state may have been billed at its end; several if the state does not determine it."""
    if not isinstance(state, gen.LeaseStateEnded):
        return (LeaseEndBilling.BY_UNIT, LeaseEndBilling.PRO_RATA)
    reason = state.value.tag
    if reason == "Moved":
        # By the unit if its tenant left a healthy host.
        return (LeaseEndBilling.BY_UNIT, LeaseEndBilling.PRO_RATA)
    if reason == "DisputeLost" or (reason in _BY_KIND and kind is gen.TaskKind.JOB):
        return (LeaseEndBilling.FORFEIT,)
    return (LeaseEndBilling.PRO_RATA if reason in _PRO_RATA | _BY_KIND else LeaseEndBilling.BY_UNIT,)


def amount(bill: Bill, escrow: gen.Escrow, billing: LeaseEndBilling = LeaseEndBilling.BY_UNIT) -> int:
    """Return the base units owed for a bill's segments, at most the escrow's deposit and at least what is paid."""
    if billing is LeaseEndBilling.FORFEIT:
        return escrow.paid
    if bill.since_ms is None:
        return max(bill.accrued, escrow.paid)
    pro_rata = billing is LeaseEndBilling.PRO_RATA
    rest = max(0, escrow.deposit - bill.accrued)
    running = owed(bill.unit, rest, bill.rate_per_hour, bill.billed_ms, host_at_fault=pro_rata)
    return max(bill.accrued + running, escrow.paid)


def running_bill(lease: gen.Lease, until_ms: int, host_downtime: int, measured_ms: int | None = None) -> Bill:
    """Return the bill of a lease that has not ended, up to `until_ms`.

    `measured_ms`: if the pod ended with a result, the time that its host is about to report.
    """
    return _bill(lease.escrow, _billed_to(lease, until_ms), host_downtime, measured_ms, LeaseEndBilling.BY_UNIT)


def ended_bill(lease: gen.Lease, kind: gen.TaskKind, last: gen.Escrow | None, host_downtime: int) -> Bill:
    """Return the bill of a lease that has ended: the amount owed on the chain, and the time that explains it.

    `last`: its escrow before the end, None if it is not known: then its time is one segment, which is correct for all
    but rentals that were stopped in between. If no time explains the amount by the rules (downtime of the host that was
    found later, a verdict), the bill has the amount alone, as accrued.
    """
    due = max(lease.escrow.accrued, lease.escrow.paid)
    if lease.started_at is not None and lease.ended_at is not None:
        if last is None or last.since is None:
            last = replace(lease.escrow, since=lease.started_at, accrued=0)
        measured = lease.result.usage.wall_ms if lease.result is not None else None
        if measured is None and kind is not gen.TaskKind.JOB and last.rate_per_hour > 0:
            # The host's downtime has extended the tenant's time.
            last = replace(last, until=depletes_at(last, host_downtime) or last.until)
        last = replace(last, paid=lease.escrow.paid)
        for billing in billings_of(lease.state, kind):
            bill = _bill(last, _billed_to(lease, lease.ended_at), host_downtime, measured, billing)
            if bill.owed == due:
                return bill
    return _bill(replace(lease.escrow, since=None), 0, host_downtime, None, LeaseEndBilling.BY_UNIT)


def _billed_to(lease: gen.Lease, moment_ms: int) -> int:
    return moment_ms if lease.reclaim_at is None else min(moment_ms, lease.reclaim_at)


def _bill(escrow: gen.Escrow, now: int, host_downtime: int, measured_ms: int | None, billing: LeaseEndBilling) -> Bill:
    # With a result, the silence of its host reduces nothing.
    time_ms = billed_ms(escrow, now, host_downtime if measured_ms is None else escrow.downtime_mark)
    bill = Bill(
        rate_per_hour=escrow.rate_per_hour,
        unit=escrow.unit,
        accrued=escrow.accrued,
        since_ms=escrow.since,
        billed_ms=time_ms if measured_ms is None else min(time_ms, measured_ms),
        owed=0,
    )
    return replace(bill, owed=amount(bill, escrow, billing))
