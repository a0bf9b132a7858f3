"""What is left to do to join, to leave, and to be paid."""

import pytest

from offchain.adapters.chain.typed import TaskAndSpec
from offchain.cli.provider.host_lifecycle import LeaveStep, next_leave_step
from offchain.cli.provider.join import JoinState, JoinStep, is_online, remaining_steps, why_not_online
from offchain.errors import GantryError
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id
from offchain.services.earnings import PaymentTerms, lease_earnings, payouts
from tests.support.chain_records import escrow, host_record, lease, task_record, task_spec

GTY = 10**12
HOUR = 3_600_000
TERMS = PaymentTerms(now=HOUR, downtime=0, held_back_ms=HOUR // 4, dispute_window_ms=HOUR // 2)


def situation(status=None, *, running=True, provider="5P"):
    record = None if status is None else host_record("5P", status=status)
    return JoinState("5Host", provider, record, running)


def test_the_way_to_a_paid_host():
    everything = (JoinStep.REGISTER, JoinStep.SERVICE, JoinStep.ONLINE)
    assert remaining_steps(situation(running=False)) == remaining_steps(situation()) == everything
    assert remaining_steps(situation(gen.HostStatusUnverified(), running=False)) == (JoinStep.SERVICE, JoinStep.ONLINE)
    assert remaining_steps(situation(gen.HostStatusOnline())) == (JoinStep.ONLINE,)


@pytest.mark.parametrize(
    "now",
    [
        situation(gen.HostStatusRetired()),
        situation(gen.HostStatusRetiring(5)),
        situation(gen.HostStatusOnline(), provider="5Other"),
    ],
)
def test_hosts_that_cannot_be_joined(now):
    with pytest.raises(GantryError, match="--state"):
        remaining_steps(now)


def test_when_a_host_is_online_and_what_is_in_its_way():
    assert not is_online(None)
    for status, online, blocked in [
        (gen.HostStatusOnline(), True, False),
        (gen.HostStatusDraining(), True, False),
        (gen.HostStatusVerified(), False, False),
        (gen.HostStatusOffline(), False, False),
        (gen.HostStatusUnverified(), False, True),
        (gen.HostStatusSuspended(gen.SuspendReason.BY_ROOT), False, True),
    ]:
        record = host_record("5P", status=status)
        assert (is_online(record), bool(why_not_online(record))) == (online, blocked)


@pytest.mark.parametrize(
    ("status", "leases", "step"),
    [
        (gen.HostStatusOnline(), 3, LeaveStep.DRAIN),
        (gen.HostStatusDraining(), 3, LeaveStep.WAIT),
        (gen.HostStatusDraining(), 0, LeaveStep.RETIRE),
        (gen.HostStatusOffline(), 1, LeaveStep.WAIT),
        (gen.HostStatusVerified(), 0, LeaveStep.RETIRE),
        (gen.HostStatusRetiring(9), 0, LeaveStep.STOP),
        (gen.HostStatusRetired(), 0, LeaveStep.STOP),
    ],
)
def test_the_way_out(status, leases, step):
    assert next_leave_step(host_record("5P", status=status, live_leases=leases)) is step


def leased(number, state, kind=gen.TaskKind.JOB, *, changed_at=0, **money):
    terms = {"deposit": 10 * GTY, "rate_per_hour": GTY, "fee_ppm": 50_000}
    record = lease("5Host", state=gen.LeaseStateActive(), escrow=escrow(**{**terms, **money}))
    task = TaskAndSpec(
        number, task_record("5T", state=state, changed_at=changed_at, leases=(record,)), task_spec(kind=kind)
    )
    (found,) = task.leases
    return found


def test_what_a_host_has_coming():
    done = leased(1, gen.TaskStateVerified(), accrued=GTY)
    waits = leased(2, gen.TaskStateReported(), accrued=GTY, changed_at=HOUR - 1000)
    over = leased(3, gen.TaskStateReported(), accrued=GTY, changed_at=HOUR // 2)
    fought = leased(4, gen.TaskStateDisputed(), accrued=GTY)
    runs = leased(5, gen.TaskStateRunning(), since=0)
    service = leased(6, gen.TaskStateRunning(), gen.TaskKind.SERVICE, since=0, paid=GTY // 4)
    fresh = leased(7, gen.TaskStateRunning(), gen.TaskKind.RENTAL, since=HOUR - 1000)
    paid = leased(8, gen.TaskStateSettled(), accrued=GTY, paid=GTY, open=False)
    share = GTY * 95 // 100
    found = {one.task: one for one in lease_earnings([done, waits, over, fought, runs, service, fresh, paid], TERMS)}
    assert {task: (one.owed, one.payable, one.call) for task, one in found.items()} == {
        1: (share, share, "Tasks.settle"),
        2: (share, 0, ""),
        3: (share, share, "Tasks.settle"),
        4: (share, 0, ""),
        5: (share, 0, ""),
        6: (share * 3 // 4, share // 2, "Leases.settle"),
        7: (GTY // 3600 - GTY // 3600 // 20, 0, ""),
    }
    assert "1799 s more" in found[2].why_not
    assert found[1].lease == lease_id(1, 0, 0)


def test_claims_are_made_with_few_calls():
    verified = [leased(number, gen.TaskStateVerified(), accrued=GTY) for number in range(70)]
    rentals = [leased(100 + number, gen.TaskStateRunning(), gen.TaskKind.RENTAL, since=0) for number in range(3)]
    made = list(payouts(lease_earnings([*verified, *rentals], TERMS)))
    assert [call.function for call, _ in made] == ["settle_batch", "settle_batch", "force_batch"]
    assert [len(part) for _, part in made] == [64, 6, 3]
    (single,) = payouts(lease_earnings(verified[:1], TERMS))
    assert single[0] == gen.calls.tasks_settle(task=0)


def test_unit_prices_are_owed_in_advance():
    hourly = leased(
        1, gen.TaskStateRunning(), gen.TaskKind.SERVICE, since=HOUR - 1, unit=gen.BillingUnit.HOUR, fee_ppm=0
    )
    (one,) = lease_earnings([hourly], TERMS)
    assert one.owed == GTY
