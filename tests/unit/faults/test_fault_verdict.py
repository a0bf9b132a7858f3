"""The fault run finds what is wrong: its verdict over histories with one thing wrong in each."""

from collections import Counter
from dataclasses import replace

import pytest

from offchain.ports import Block, BlockRef, ChainEvent
from offchain.schema.chain_types.ids import lease_id
from tests.benchmarks.faults.plan import Plan
from tests.benchmarks.faults.verdict import Expected, Ledger, summary

TENANT, HOST = "5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty", "5FLSigC9HGRKVhB9FiEo4Y3koPsNmBmLJbpXg2mp1hXcS59Y"
PROVIDER = "5DAAnrj7VHTznn2AWBemMuyBwZWs6FNFjdyVXUeYum3PTXFy"
DIGEST = bytes(32)
EXPECTED = Expected(1, DIGEST.hex())


def event(name, **fields):
    return ChainEvent("Tasks", name, fields, 0)


def good(task=0, generation=0):
    """A task from its submission to its settlement."""
    lease = lease_id(task, 0, generation)
    usage = {"wall_ms": 1, "cpu_ms": 1, "memory_peak_mib": 1}
    result = {"digest": DIGEST, "exit_code": 0, "usage": usage}
    bill = {"lease": lease, "paid": 30, "fee": 1, "refunded": 70}
    return [
        event("Submitted", first=task, count=1, tenant=TENANT, kind="Job", manifest_digest=DIGEST),
        event("Assigned", task=task, generation=generation, leases=[(lease, HOST, 1, 100)], state="Assigned"),
        event("PodStarted", task=task, lease=lease, depletes_at=9, state="Running"),
        event("PodReported", task=task, lease=lease, result=result, state="Reported"),
        event("Settled", task=task, bills=[bill]),
    ]


def judged(events, expected=EXPECTED):
    ledger = Ledger()
    ledger.add(Block(BlockRef(1, bytes(32)), bytes(32), 1, tuple(events), ()))
    return ledger.judge(expected)


def changed(place, **fields):
    events = good()
    events[place] = replace(events[place], fields={**events[place].fields, **fields})
    return events


def test_a_good_run_is_clean():
    assert judged(good()).said == []


@pytest.mark.parametrize(
    ("events", "what"),
    [
        ([], "knows of 0"),
        (good()[:-1], "is Reported"),
        ([good()[0], event("Cancelled", task=0, bills=[])], "is Cancelled"),
        (changed(3, result={**good()[3].fields["result"], "exit_code": 1}), "without its result"),
        (changed(3, result={**good()[3].fields["result"], "digest": b"\1" * 32}), "without its result"),
        (changed(4, bills=[]), "nobody was paid"),
    ],
)
def test_a_lost_task_is_found(events, what):
    findings = judged(events)
    assert what in findings.lost[0]
    assert not findings.doubled


@pytest.mark.parametrize(
    ("events", "what"),
    [
        (good() + good(1), "the chain has 2"),
        (good() + good()[-1:], "ended 2 times"),
        (good()[:4] + good()[3:], "2 results"),
        (good()[:4] + good(0, 1)[1:4] + [
            event("Settled", task=0, bills=[
                {"lease": lease_id(0, 0, n), "paid": 30, "fee": 1, "refunded": 70} for n in (0, 1)
            ])
        ], "paid for 2 leases"),
    ],
)  # fmt: skip
def test_what_was_done_twice_is_found(events, what):
    findings = judged(events)
    assert what in findings.doubled[0]


def test_coins_that_are_missing_are_counted():
    bill = {"lease": lease_id(0, 0, 0), "paid": 30, "fee": 1, "refunded": 60}
    assert judged(changed(4, bills=[bill])).coins_off == 10


def test_a_result_that_was_not_the_paid_one_is_found():
    wrong = [event("PodReported", task=0, lease=lease_id(0, 0, 0), result={
        "digest": b"\1" * 32, "exit_code": 0, "usage": {"wall_ms": 1, "cpu_ms": 1, "memory_peak_mib": 1}
    }, state="Reported")]  # fmt: skip
    bill = {"lease": lease_id(0, 0, 0), "paid": 30, "fee": 1, "refunded": 70}
    events = [*good()[:3], *wrong, *good(0, 1)[1:4], event("Settled", task=0, bills=[bill])]
    assert "nobody was paid for its result" in judged(events).lost[0]


def test_what_accounts_must_have_gained_follows_from_bills_fees_and_bonds():
    registered = ChainEvent("Hosts", "Registered", {"host": HOST, "provider": PROVIDER}, 0)
    slashed = ChainEvent("Balances", "TransferOnHold", {
        "reason": {"Hosts": "Bond"}, "source": PROVIDER, "dest": TENANT, "amount": 5
    }, 1)  # fmt: skip
    fee = ChainEvent("TransactionPayment", "TransactionFeePaid", {"who": TENANT, "actual_fee": 7, "tip": 2}, 0)
    ledger = Ledger()
    ledger.add(Block(BlockRef(1, bytes(32)), bytes(32), 1, (registered, *good(), fee, slashed), ()))
    assert ledger.gains() == {TENANT: -30 - 7 + 5, PROVIDER: 29 - 5}


def test_a_plan_is_repeated_by_its_seed_and_leaves_nobody_out():
    plan = Plan(kills=30, tasks=20, hosts=3, seed=5)
    assert plan.blows() == plan.blows() != replace(plan, seed=6).blows()
    assert set(plan.victims()) == {blow.victim for blow in plan.blows()[:8]}
    assert len(plan.blows()) == 30
    wanted = [plan.wanted_tasks(kills) for kills in range(31)]
    assert wanted == sorted(wanted)
    assert wanted[0] >= 6
    assert wanted[29] == wanted[30] == 20


def test_the_last_line_counts():
    said = summary(judged([]), {"seed": 1}, ["node", "agent-0", "agent-1"], 1)
    assert (said["kills"], said["tasks"], said["lost"], said["seed"]) == (3, 1, 1, 1)
    assert said["killed"] == Counter(agent=2, node=1)
