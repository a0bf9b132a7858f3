"""Derived rows. Every event is encoded and decoded by the chain's types first, so that it has their form."""

from pathlib import Path

import pytest

from offchain.adapters.chain.runtime import ChainRuntime
from offchain.indexer.block_rows import read_block
from offchain.indexer.projection import Projection
from offchain.indexer.rows import BillRow, HostRow, LeaseRow, MentionRow, TaskRow, TransferRow
from offchain.indexer.tables import DERIVED_ROWS
from offchain.ports import Block, BlockRef, ChainEvent
from offchain.schema.chain_types.ids import lease_id
from tests.support.history_blocks import HOSTS, PROVIDERS, TENANTS, History

TENANT, HOST, OTHER, PROVIDER = TENANTS[0], HOSTS[0], HOSTS[1], PROVIDERS[0]
LEASE, SECOND = lease_id(7, 0, 0), lease_id(7, 1, 0)
DIGEST = bytes(range(32))
SUBMITTED = (
    "Tasks",
    "Submitted",
    {"first": 7, "count": 1, "tenant": TENANT, "kind": "Service", "manifest_digest": DIGEST},
)
REGISTERED = ("Hosts", "Registered", {"host": HOST, "provider": PROVIDER})
ASSIGNED = (
    "Tasks",
    "Assigned",
    {"task": 7, "generation": 0, "leases": [(LEASE, HOST, 100, 1000), (SECOND, OTHER, 100, 500)], "state": "Assigned"},
)
STARTED = ("Tasks", "PodStarted", {"task": 7, "lease": LEASE, "depletes_at": 99, "state": "Running"})


@pytest.fixture(scope="module")
def runtime():
    metadata = Path(__file__).resolve().parents[3] / "chain" / "metadata" / "gantry.scale"
    return ChainRuntime(metadata.read_bytes(), "gantry", 0, 0)


@pytest.fixture
def after(runtime):
    """The rows after these events, one a block."""

    def fold(*events):
        made = Projection()
        for number, (pallet, name, fields) in enumerate(events, start=1):
            made.apply(read_block(block_of(runtime, number, pallet, name, fields)).indexed)
        return made

    return fold


def block_of(runtime, number, pallet, name, fields):
    entry = runtime.entry("System", "Events").value
    value = {name: fields} if fields else name
    record = {"phase": {"ApplyExtrinsic": 0}, "event": {pallet: value}, "topics": []}
    events = tuple(runtime.decode_events(runtime.encode(entry, [record])))
    return Block(BlockRef(number, bytes(32)), bytes(32), number * 1000, events, ())


def task(fold):
    return fold.state[TaskRow][7,]


def lease(fold, number=LEASE):
    return fold.state[LeaseRow][number,]


def bill(number, paid, fee, refunded):
    shares = {"scheduler_fee": fee // 5, "settler_fee": fee // 10}
    return {"lease": number, "paid": paid, "fee": fee, **shares, "refunded": refunded}


def subjects(fold):
    return {row.subject for row in fold.appended[MentionRow]}


def test_a_submitted_task_is_queued(after):
    found = task(after(SUBMITTED))
    assert (found.state, found.tenant, found.kind, found.submitted_ms) == ("Queued", TENANT, "Service", 1000)
    assert found.manifest_digest == f"0x{DIGEST.hex()}"


def test_tasks_of_one_submission_have_a_row_each(after):
    fold = after(("Tasks", "Submitted", {**SUBMITTED[2], "count": 3, "kind": "Job"}))
    assert [row.task for row in fold.state[TaskRow].values()] == [7, 8, 9]
    assert {"7", "8", "9", TENANT} <= subjects(fold)


def test_an_assignment_opens_leases_on_hosts(after):
    fold = after(REGISTERED, SUBMITTED, ASSIGNED)
    assert task(fold).state == "Assigned"
    assert task(fold).live == f"[{LEASE}, {SECOND}]"
    assert (lease(fold).host, lease(fold).rate_per_hour, lease(fold).deposited) == (HOST, 100, 1000)
    assert lease(fold, SECOND).pod == 1
    assert fold.state[HostRow][HOST,].leases == 1


def test_a_pod_that_starts_and_ends(after):
    usage = {"wall_ms": 5, "cpu_ms": 4, "memory_peak_mib": 3}
    result = {"digest": DIGEST, "exit_code": -2, "usage": usage}
    reported = ("Tasks", "PodReported", {"task": 7, "lease": LEASE, "result": result, "state": "Running"})
    fold = after(SUBMITTED, ASSIGNED, STARTED, reported)
    found = lease(fold)
    assert (found.state, found.started_ms, found.ended_ms) == ("Ended", 3000, 4000)
    assert (found.exit_code, found.wall_ms, found.result_digest) == (-2, 5, f"0x{DIGEST.hex()}")
    assert task(fold).live == f"[{SECOND}]"
    assert HOST in subjects(fold)


def test_the_closing_bill_includes_earlier_payments(after):
    shares = {"scheduler_fee": 2, "settler_fee": 0}
    paid = ("Leases", "Paid", {"lease": LEASE, "until": 9, "share": 90, "fee": 10, **shares})
    settled = ("Tasks", "Settled", {"task": 7, "bills": [bill(LEASE, 300, 30, 700), bill(SECOND, 0, 0, 500)]})
    fold = after(REGISTERED, SUBMITTED, ASSIGNED, STARTED, paid, settled)
    assert [(row.paid, row.fee, row.refunded) for row in fold.appended[BillRow]] == [
        (100, 10, 0),
        (200, 20, 700),
        (0, 0, 500),
    ]
    assert [(row.scheduler_fee, row.settler_fee) for row in fold.appended[BillRow]] == [(2, 0), (4, 3), (0, 0)]
    assert (lease(fold).fee, lease(fold).scheduler_fee, lease(fold).settler_fee) == (30, 6, 3)
    assert (task(fold).paid, task(fold).fee, task(fold).refunded, task(fold).state) == (300, 30, 1200, "Settled")
    assert fold.state[HostRow][HOST,].earned == 270
    assert lease(fold).state == lease(fold, SECOND).state == "Ended"


def test_an_extension_increases_the_deposit(after):
    fold = after(
        SUBMITTED,
        ASSIGNED,
        ("Leases", "Extended", {"lease": LEASE, "amount": 50, "ends_at": 1}),
        ("Leases", "ToppedUp", {"lease": LEASE, "amount": 7, "depletes_at": 1}),
        ("Leases", "DataKept", {"lease": LEASE, "until": 1, "rate_per_hour": 3, "amount": 3}),
    )
    assert lease(fold).deposited == 1060
    assert lease(fold).paid == 0


def test_retained_data_paid_at_once_by_an_earlier_release_increases_the_deposit():
    kept = ("Leases", "DataKept", {"lease": LEASE, "until": 1, "share": 2, "fee": 1})
    events = tuple(ChainEvent(*event, 0) for event in (SUBMITTED, ASSIGNED, kept))
    fold = Projection()
    fold.apply(read_block(Block(BlockRef(1, bytes(32)), bytes(32), 1000, events, ())).indexed)
    assert (lease(fold).deposited, lease(fold).paid) == (1003, 3)


def test_coins_held_for_storage_are_not_in_the_closing_bill(after):
    shares = {"scheduler_fee": 1, "settler_fee": 0}
    fold = after(
        SUBMITTED,
        ASSIGNED,
        ("Leases", "DataKept", {"lease": LEASE, "until": 1, "rate_per_hour": 3, "amount": 100}),
        ("Leases", "StoragePaid", {"lease": LEASE, "share": 36, "fee": 4, **shares, "refunded": 60}),
        ("Tasks", "Settled", {"task": 7, "bills": [bill(LEASE, 340, 34, 700), bill(SECOND, 0, 0, 500)]}),
    )
    assert (lease(fold).deposited, lease(fold).paid, lease(fold).refunded) == (1100, 340, 760)
    assert [(row.paid, row.refunded) for row in fold.appended[BillRow]] == [(40, 60), (300, 700), (0, 500)]
    assert (task(fold).paid, task(fold).refunded) == (340, 1260)


def test_a_rental_is_suspended_and_resumed(after):
    about = {"lease": LEASE, "rate_per_hour": 5, "owed": 0, "ends_at": 1}
    assert lease(after(SUBMITTED, ASSIGNED, STARTED, ("Leases", "Suspended", about))).state == "Suspended"
    again = after(SUBMITTED, ASSIGNED, STARTED, ("Leases", "Suspended", about), ("Leases", "Resumed", about))
    assert (lease(again).state, lease(again).rate_per_hour) == ("Active", 5)


@pytest.mark.parametrize(
    ("event", "state", "reasons"),
    [
        (("LeaseEnded", {"lease": LEASE, "reason": "Expired", "bills": [], "state": "Running"}), "Running", "Expired"),
        (
            ("LeaseEnded", {"lease": LEASE, "reason": "DurationExceeded", "bills": [bill(LEASE, 1, 0, 999)],
                            "state": {"Failed": "DurationExceeded"}}),
            "Failed(DurationExceeded)",
            "DurationExceeded",
        ),
        (
            ("PodLost", {"lease": LEASE, "reason": "HostLost", "bills": [bill(LEASE, 0, 0, 1000)], "failures": 1,
                         "state": "Running"}),
            "Running",
            "HostLost",
        ),
        (
            ("Requeued", {"lease": LEASE, "reason": {"HostRefused": "DriverError"}, "failures": 2, "state": "Queued",
                          "bills": [bill(LEASE, 0, 0, 1000), bill(SECOND, 0, 0, 500)]}),
            "Queued",
            "HostRefused(DriverError)",
        ),
        (("Cancelled", {"bills": [bill(LEASE, 1, 0, 999)]}), "Cancelled", "Cancelled"),
        (("Scaled", {"pods": 1, "bills": [bill(LEASE, 1, 0, 999)], "state": "Running"}), "Running", "ScaledDown"),
        (("Stopped", {"state": "Reported"}), "Reported", "TenantEnded"),
        (("Preempted", {"wanting": 8, "bills": [bill(LEASE, 1, 0, 999)], "state": "Queued"}), "Queued", "Preempted"),
        (("Preempted", {"wanting": 8, "bills": [], "state": "Reported"}), "Reported", "Preempted"),
        (("NotVerified", {"bills": [bill(LEASE, 0, 0, 1000)]}), "Failed(NoAgreement)", "NoAgreement"),
        (
            ("DisputeResolved", {"upheld": True, "bills": [bill(LEASE, 0, 0, 1000)],
                                 "state": {"Failed": "DisputeLost"}}),
            "Failed(DisputeLost)",
            "DisputeLost",
        ),
    ],
)  # fmt: skip
def test_the_end_of_a_task_gives_its_leases_a_reason(after, event, state, reasons):
    name, fields = event
    fold = after(SUBMITTED, ASSIGNED, STARTED, ("Tasks", name, {"task": 7, **fields}))
    assert task(fold).state == state
    assert (lease(fold).state, lease(fold).reason, lease(fold).ended_ms) == ("Ended", reasons, 4000)
    assert str(LEASE) not in task(fold).live


def test_a_lost_pod_ends_the_leases_of_its_gang(after):
    lost = {
        "task": 7, "lease": LEASE, "reason": "StartTimeout", "failures": 1, "state": "Queued",
        "bills": [bill(LEASE, 0, 0, 1000), bill(SECOND, 0, 0, 500)],
    }  # fmt: skip
    fold = after(SUBMITTED, ASSIGNED, ("Tasks", "Requeued", lost))
    assert (lease(fold).reason, lease(fold, SECOND).reason) == ("StartTimeout", "GangAborted")
    assert task(fold).failures == 1


def test_a_moved_pod_keeps_the_rest_of_its_deposit(after):
    third = lease_id(7, 0, 1)
    moved = {
        "task": 7, "from": LEASE, "to": third, "host": OTHER, "rate_per_hour": 90, "deposit": 700,
        "bill": bill(LEASE, 300, 30, 0), "reason": {"HostRefused": "DriverError"},
    }  # fmt: skip
    fold = after(REGISTERED, SUBMITTED, ASSIGNED, STARTED, ("Tasks", "LeaseMoved", moved))
    old, new = lease(fold), lease(fold, third)
    assert (old.state, old.reason, old.ended_ms) == ("Ended", "HostRefused(DriverError)", 5000)
    assert (old.paid, old.refunded) == (300, 0)
    assert (new.state, new.pod, new.host, new.rate_per_hour, new.deposited) == ("Pending", 0, OTHER, 90, 700)
    assert (task(fold).state, task(fold).live, task(fold).paid) == ("Running", f"[{SECOND}, {third}]", 300)
    assert fold.state[HostRow][HOST,].earned == 270
    assert {"7", HOST, OTHER} <= subjects(fold)


def test_a_standby_and_a_checkpoint_are_only_mentioned(after):
    before = after(SUBMITTED, ASSIGNED, STARTED)
    for name, fields in (
        ("StandbyNamed", {"lease": LEASE, "host": OTHER}),
        ("Checkpointed", {"lease": LEASE, "digest": DIGEST, "bytes": 5}),
    ):
        fold = after(SUBMITTED, ASSIGNED, STARTED, ("Tasks", name, fields))
        assert (task(fold), lease(fold)) == (task(before), lease(before))
        assert [row.subject for row in fold.appended[MentionRow] if row.block == 4 and row.subject == "7"] == ["7"]


def test_purged_moved_and_lost_data_changes_the_state_of_the_lease(after):
    start = (SUBMITTED, ASSIGNED, STARTED)
    for event in (
        ("Tasks", "Purged", {"task": 7, "lease": LEASE, "receipt": DIGEST}),
        ("Tasks", "DataLost", {"task": 7, "lease": LEASE}),
        ("Tasks", "DataMoved", {"from": LEASE, "to": SECOND}),
        ("Leases", "PurgedWithoutReceipt", {"lease": LEASE}),
    ):
        assert lease(after(*start, event)).state == "Purged", event


def test_ratings_disputes_and_pruning(after):
    start = (SUBMITTED, ASSIGNED, STARTED)
    assert lease(after(*start, ("Tasks", "Rated", {"task": 7, "lease": LEASE, "stars": 4}))).stars == 4
    assert task(after(*start, ("Tasks", "Disputed", {"task": 7}))).state == "Disputed"
    assert task(after(*start, ("Tasks", "ResultAccepted", {"task": 7}))).state == "Verified"
    assert task(after(*start, ("Tasks", "Pruned", {"task": 7, "digest": DIGEST}))).pruned == 1


def test_events_of_a_host_change_its_row(after):
    slashed = ("Hosts", "Slashed", {"host": HOST, "fault": "LostPod", "amount": 5})
    suspended = ("Hosts", "StatusChanged", {"host": HOST, "from": "Online", "to": {"Suspended": "Slashed"}})
    hardware = ("Hosts", "HardwareChanged", {"host": HOST, "generation": 3, "bond_required": 9})
    scored = ("Reputation", "Scored", {"host": HOST, "score_ppm": 700_000})
    found = after(REGISTERED, slashed, suspended, hardware, scored).state[HostRow][HOST,]
    assert (found.provider, found.status, found.slashed) == (PROVIDER, "Suspended(Slashed)", 5)
    assert (found.generation, found.score_ppm) == (3, 700_000)
    absent = ("Hosts", "AbsenceReported", {"host": HOST, "reporter": TENANT, "bounty": 2, "forfeited": 3})
    assert after(REGISTERED, slashed, absent).state[HostRow][HOST,].slashed == 10


def test_movements_of_coins_are_transfers(after):
    reason = {"Billing": "Escrow"}
    fold = after(
        ("Balances", "Transfer", {"from": TENANT, "to": HOST, "amount": 2**100}),
        ("Balances", "Held", {"reason": reason, "who": TENANT, "amount": 5}),
        ("Balances", "Released", {"reason": reason, "who": TENANT, "amount": 4}),
        ("Balances", "TransferOnHold", {"reason": reason, "source": TENANT, "dest": HOST, "amount": 3}),
        ("Balances", "Deposit", {"who": HOST, "amount": 2}),
        ("TransactionPayment", "TransactionFeePaid", {"who": TENANT, "actual_fee": 9, "tip": 1}),
    )
    assert [(row.kind, row.sender, row.receiver, row.amount, row.reason) for row in fold.appended[TransferRow]] == [
        ("Transfer", TENANT, HOST, 2**100, None),
        ("Held", TENANT, None, 5, "Billing(Escrow)"),
        ("Released", None, TENANT, 4, "Billing(Escrow)"),
        ("TransferOnHold", TENANT, HOST, 3, "Billing(Escrow)"),
        ("Deposit", None, HOST, 2, None),
        ("Fee", TENANT, None, 9, None),
    ]


def test_events_without_a_known_creation_are_only_mentioned(after):
    settled = ("Tasks", "Settled", {"task": 8, "bills": [bill(lease_id(8, 0, 0), 1, 0, 0)]})
    shares = {"scheduler_fee": 0, "settler_fee": 0}
    fold = after(STARTED, settled, ("Leases", "Paid", {"lease": LEASE, "until": 9, "share": 9, "fee": 1, **shares}))
    assert not any(rows for rows in fold.state.values())
    assert subjects(fold) == {"7", "8"}


def test_events_of_the_first_release_are_mentioned():
    """They had other fields: a task's leases without terms, bills in events of their own."""
    old = [
        ChainEvent("Tasks", "Submitted", {"task": 7, "tenant": TENANT}, 0),
        ChainEvent("Tasks", "Assigned", {"task": 7, "leases": [(LEASE, HOST)]}, 0),
        ChainEvent("Billing", "EscrowOpened", {"lease": 3, "rate_per_hour": 1, "deposit": 1}, 0),
        ChainEvent("Leases", "Ended", {"lease": 3, "reason": "Completed"}, 0),
    ]
    fold = Projection()
    fold.apply(read_block(Block(BlockRef(1, bytes(32)), bytes(32), 1000, tuple(old), ())).indexed)
    assert {"7", TENANT, HOST} <= subjects(fold)


def test_generated_histories_fit_the_types_of_the_chain(runtime):
    entry = runtime.entry("System", "Events").value
    for block in History(2).blocks(30, 60):
        records = [
            {"phase": {"ApplyExtrinsic": 1}, "event": {event.pallet: {event.name: dict(event.fields)}}, "topics": []}
            for event in block.events
        ]
        again = runtime.decode_events(runtime.encode(entry, records))
        assert [event.name for event in again] == [event.name for event in block.events]


def test_every_table_has_a_key_of_its_columns():
    for table in DERIVED_ROWS:
        assert set(table.KEY) <= set(table.__slots__)
