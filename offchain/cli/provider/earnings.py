"""What a host has coming: for each task that is not paid out, what the chain would pay its provider now. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from offchain.adapters.chain.typed import LeaseOfTask
from offchain.schema.chain_types._generated_chain import Escrow, TaskKind
from offchain.schema.chain_types.escrow import owed_by

PPM = 1_000_000
AT_SETTLEMENT = ("Reported", "Verified")


@dataclass(frozen=True, slots=True)
class LeaseEarnings:
    """One lease. Amounts in base units, the provider's part (the protocol's fee is off).

    `owed`: not paid yet; `payable`: the part of it that a call pays out now; `call`: which, "" for none.
    """

    lease: int
    task: int
    kind: str
    state: str
    owed: int
    payable: int
    call: str
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class PaymentTerms:
    """The chain's terms and time, in ms."""

    now: int
    downtime: int
    held_back_ms: int
    dispute_window_ms: int


def lease_earnings(leases: Iterable[LeaseOfTask], terms: PaymentTerms) -> tuple[LeaseEarnings, ...]:
    """What these leases of the host have coming, in their order; those with nothing are left out."""
    found = (_due(lease, terms) for lease in leases)
    return tuple(one for one in found if one is not None and one.owed > 0)


def _due(lease: LeaseOfTask, terms: PaymentTerms) -> LeaseEarnings | None:
    record, task = lease.record, lease.task
    if not record.escrow.open:
        return None
    kind, state = task.spec.kind, task.record.state.tag
    owed = _share(owed_by(record.escrow, terms.now, terms.downtime) - record.escrow.paid, record.escrow)
    about = (lease.id, task.id, kind.value, record.state.tag, owed)
    left_ms = task.record.changed_at + terms.dispute_window_ms - terms.now if state == "Reported" else 0
    if left_ms > 0:
        return LeaseEarnings(
            *about, payable=0, call="", why_not=f"the tenant may dispute for {-(-left_ms // 1000)} s more"
        )
    if state in AT_SETTLEMENT:
        return LeaseEarnings(*about, payable=owed, call="Tasks.settle")
    if state == "Disputed":
        return LeaseEarnings(*about, payable=0, call="", why_not="the result is disputed")
    if kind is TaskKind.JOB:
        return LeaseEarnings(*about, payable=0, call="", why_not="a job is paid when it has ended")
    # What came in the last while is held back, in case it is disputed.
    free = owed_by(record.escrow, terms.now - terms.held_back_ms, terms.downtime) - record.escrow.paid
    payable = _share(free, record.escrow)
    return LeaseEarnings(
        *about, payable=payable, call="Leases.settle" if payable else "", why_not="" if payable else "held back"
    )


def _share(amount: int, escrow: Escrow) -> int:
    amount = max(0, amount)
    return amount - amount * escrow.fee_ppm // PPM
