"""The bill of a lease, computed again from its record by the rules of docs/protocol.md, section 1."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from offchain.core.pricing import fee
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.durations import HOUR_MS
from offchain.schema.protocol.receipt_bill import ended_bill, running_bill


class BillBasis(StrEnum):
    """Where the amount owed for a lease comes from."""

    RUNNING = "running"
    """The lease has not ended: the amount is what is owed up to the block."""
    TIME = "time"
    """The billed time at the lease's rate."""
    PLACEMENT = "placement_charge"
    """The charge for a lease that its tenant ended before its start."""
    NOTHING = "nothing_owed"
    """The lease never started, and nothing is owed for it."""
    RECORD = "record_only"
    """The amount on the chain follows from more than the record of the lease: retained data, a rental that was
    stopped in between, a verdict, or downtime that was found later."""


@dataclass(frozen=True, slots=True)
class LeaseBillCheck:
    """The bill of a lease in base units. `billed_ms`: None where no time explains the amount.

    `owed`: what the rules give; `recorded`: what the chain's record has; they differ if the bill is wrong.
    `fee_by_rule`: the protocol fee of one payment of `paid`; the fee of several payments is rounded down at each.
    """

    lease: int
    host: str
    basis: BillBasis
    billed_ms: int | None
    rate_per_hour: int
    unit: str
    deposit: int
    owed: int
    recorded: int
    paid: int
    fee: int
    fee_by_rule: int
    is_open: bool

    @property
    def refunded(self) -> int:
        """The part of the deposit that the tenant got back; 0 while the escrow is open."""
        return 0 if self.is_open else self.deposit - self.paid

    @property
    def agrees(self) -> bool | None:
        """Return whether the rules give what the record has; None where they need more than the record."""
        if self.basis is BillBasis.RECORD:
            return None
        return self.owed == self.recorded and self.paid <= self.owed and self.fee <= self.fee_by_rule


def check_bill(
    number: int, lease: gen.Lease, kind: gen.TaskKind, host_downtime_ms: int, now_ms: int, min_charge_ms: int
) -> LeaseBillCheck:
    """Compute the bill of a lease again. `min_charge_ms`: the parameter of the pallet Tasks."""
    escrow = lease.escrow
    recorded = max(escrow.accrued, escrow.paid)
    fee_by_rule = fee(escrow.paid, escrow.fee_ppm)
    owed, billed_ms, basis = recorded, None, BillBasis.RECORD
    if lease.ended_at is None:
        bill = running_bill(lease, now_ms, host_downtime_ms)
        owed = recorded = bill.owed
        billed_ms, basis = bill.billed_ms, BillBasis.RUNNING
    elif lease.started_at is None:
        charged_ms = max(min_charge_ms, lease.ended_at - lease.created_at)
        charge = min(escrow.deposit, escrow.rate_per_hour * charged_ms // HOUR_MS)
        if recorded == 0:
            basis = BillBasis.NOTHING
        elif recorded == charge:
            basis, billed_ms, fee_by_rule = BillBasis.PLACEMENT, charged_ms, charge
    else:
        # A bill is at least what is paid already; without that floor, the time alone has to give the amount.
        bill = ended_bill(replace(lease, escrow=replace(escrow, paid=0)), kind, None, host_downtime_ms)
        if bill.since_ms is not None:
            owed, billed_ms, basis = bill.owed, bill.billed_ms, BillBasis.TIME
    return LeaseBillCheck(
        lease=number,
        host=lease.host,
        basis=basis,
        billed_ms=billed_ms,
        rate_per_hour=escrow.rate_per_hour,
        unit=escrow.unit.value.lower(),
        deposit=escrow.deposit,
        owed=owed,
        recorded=recorded,
        paid=escrow.paid,
        fee=escrow.fee,
        fee_by_rule=fee_by_rule,
        is_open=escrow.open,
    )
