"""What a lease is to cost, as a receipt says it: the chain's rules of billing on one of its records.

The chain's `EndReason::billing` and `Escrow::stop` say the same; see docs/protocol.md, section 1.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Final

from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.escrow import billed_ms, depletes_at, owed
from offchain.schema.protocol.receipt import Bill


class Billing(Enum):
    """How the last segment of a lease is billed at its end. FORFEIT: nothing more than is paid."""

    BY_UNIT = "by unit"
    PRO_RATA = "pro rata"
    FORFEIT = "forfeit"


_PRO_RATA: Final = frozenset({"GangAborted", "Reclaimed", "Preempted"})
_BY_KIND: Final = frozenset({"HostRefused", "StartTimeout", "HostLost"})


def billings_of(state: gen.LeaseState, kind: gen.TaskKind) -> tuple[Billing, ...]:
    """How a lease in this state may have been billed at its end; several where its state does not tell."""
    if not isinstance(state, gen.LeaseStateEnded):
        return (Billing.BY_UNIT, Billing.PRO_RATA)
    reason = state.value.tag
    if reason == "Moved":
        # By the unit where its tenant left a host that was in order.
        return (Billing.BY_UNIT, Billing.PRO_RATA)
    if reason == "DisputeLost" or (reason in _BY_KIND and kind is gen.TaskKind.JOB):
        return (Billing.FORFEIT,)
    return (Billing.PRO_RATA if reason in _PRO_RATA | _BY_KIND else Billing.BY_UNIT,)


def amount(bill: Bill, escrow: gen.Escrow, billing: Billing = Billing.BY_UNIT) -> int:
    """What is owed for a bill's segments, out of the escrow's deposit: never under what is paid, in base units."""
    if billing is Billing.FORFEIT:
        return escrow.paid
    if bill.since_ms is None:
        return max(bill.accrued, escrow.paid)
    pro_rata = billing is Billing.PRO_RATA
    rest = max(0, escrow.deposit - bill.accrued)
    running = owed(bill.unit, rest, bill.rate_per_hour, bill.billed_ms, host_at_fault=pro_rata)
    return max(bill.accrued + running, escrow.paid)


def running_bill(lease: gen.Lease, until_ms: int, host_downtime: int, measured_ms: int | None = None) -> Bill:
    """The bill of a lease that has not ended, up to a moment.

    `measured_ms`: where the pod ended with a result, the time its host is about to report.
    """
    return _bill(lease.escrow, _billed_to(lease, until_ms), host_downtime, measured_ms, Billing.BY_UNIT)


def ended_bill(lease: gen.Lease, kind: gen.TaskKind, last: gen.Escrow | None, host_downtime: int) -> Bill:
    """The bill of a lease that has ended: what the chain says is owed, and the time that makes it.

    `last`: its escrow as it was before, None where nobody saw it: then its time counts as one segment, which is right
    for all but rentals that were stopped in between. Where no time by the rules makes what is owed (a host's downtime
    that came to light later, a verdict), the bill tells the amount alone, as accrued.
    """
    due = max(lease.escrow.accrued, lease.escrow.paid)
    if lease.started_at is not None and lease.ended_at is not None:
        if last is None or last.since is None:
            last = replace(lease.escrow, since=lease.started_at, accrued=0)
        measured = lease.result.usage.wall_ms if lease.result is not None else None
        if measured is None and kind is not gen.TaskKind.JOB and last.rate_per_hour > 0:
            # The host's downtime has given the tenant that much more time.
            last = replace(last, until=depletes_at(last, host_downtime) or last.until)
        last = replace(last, paid=lease.escrow.paid)
        for billing in billings_of(lease.state, kind):
            bill = _bill(last, _billed_to(lease, lease.ended_at), host_downtime, measured, billing)
            if bill.owed == due:
                return bill
    return _bill(replace(lease.escrow, since=None), 0, host_downtime, None, Billing.BY_UNIT)


def _billed_to(lease: gen.Lease, moment_ms: int) -> int:
    return moment_ms if lease.reclaim_at is None else min(moment_ms, lease.reclaim_at)


def _bill(escrow: gen.Escrow, now: int, host_downtime: int, measured_ms: int | None, billing: Billing) -> Bill:
    # Where there is a result, its host's silence takes nothing off.
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
