"""Stories told from events alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_world import BOB, CHARLIE, HOST, LEASE, PAID, RATE, Pallets, World

from offchain.adapters.keys.signer import from_uri
from offchain.cli.kit.failures import CliError
from offchain.cli.operator.chain import EventHistory, host_history, lease_history, task_history
from offchain.core.scheduler.queue_definitions import queue_tree
from offchain.errors import BadReply
from offchain.ports import Call, ChainEvent
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id, task_key, tasks_of_event
from offchain.services.event_text import TaskBill, event_text, state_after
from tests.support import _generated_events as typed_events
from tests.support.chain_records import GTY, Tasks, host_record, task_spec
from tests.support.fake_chain import FakeChain

ANYBODY = from_uri("//Dave")


class History:
    """A chain to which one event after another is done, each in a block of its own."""

    def __init__(self) -> None:
        self.chain = FakeChain()
        self.chain.effects = lambda call, _account: call.args["events"]
        self.tasks = Tasks(self.chain)

    async def block(self, *events: tuple[str, str, dict[str, Any]]) -> None:
        nonce = await self.chain.next_nonce(ANYBODY.address)
        call = Call("Test", "happen", {"events": events})
        await self.chain.broadcast(await self.chain.sign(call, ANYBODY, nonce))
        await self.chain.produce()

    async def submit(self, count: int = 1) -> int:
        first = self.tasks.submit(CHARLIE, task_spec(), count)
        await self.block(("Tasks", "Submitted", {"first": first, "count": count, "tenant": CHARLIE, "kind": "Job"}))
        return first

    async def go(self, task: int, to: gen.TaskState, name: str, **fields: Any) -> None:
        self.tasks.change(task, state=to)
        await self.block(("Tasks", name, {"task": task, **fields}))

    async def assign(self, task: int) -> None:
        opened = [(lease_id(task, 0, 0), HOST, RATE, RATE)]
        await self.go(task, gen.TaskStateAssigned(), "Assigned", generation=0, leases=opened, state="Assigned")

    async def settle(self, task: int) -> None:
        bill = {"lease": lease_id(task, 0, 0), "paid": PAID, "fee": 7, "refunded": RATE - PAID}
        await self.go(task, gen.TaskStateSettled(), "Settled", bills=[bill])

    async def prune(self, task: int) -> None:
        self.tasks.put(task, None)
        await self.block(("Tasks", "Pruned", {"task": task, "digest": bytes(32)}))


def names(story: EventHistory) -> list[str]:
    return [entry.event.name for entry in story.entries]


async def told(history: History, task: int, from_block: int | None = None) -> EventHistory:
    return await task_history(history.chain, task, from_block, lambda _: None)


async def test_a_history_has_every_event_of_the_task_and_no_other():
    history = History()
    await history.chain.produce(3)
    await history.submit()
    task = await history.submit(count=2) + 1
    await history.assign(0)
    await history.assign(task)
    await history.settle(task)
    story = await told(history, task)
    assert names(story) == ["Submitted", "Assigned", "Settled"]
    assert [entry.block for entry in story.entries] == [5, 7, 8]
    assert (story.state, story.complete, story.pruned) == ("Settled", True, False)


async def test_the_bill_is_added_up_from_events():
    history = History()
    task = await history.submit()
    await history.assign(task)
    await history.block(("Leases", "Paid", {"lease": LEASE, "until": 9, "share": 90, "fee": 10, **SHARES}))
    assert (await told(history, task)).bill.paid == 100
    await history.settle(task)
    bill = (await told(history, task)).bill.plain()
    assert (bill["paid"], bill["fee"], bill["refunded"]) == (PAID, 7, RATE - PAID)
    (lease,) = bill["leases"]
    assert (lease["lease"], lease["host"], lease["deposited"]) == (LEASE, HOST, RATE)
    assert bill["paid"] + bill["refunded"] == lease["deposited"]


async def test_a_pruned_task_still_has_its_history():
    history = History()
    task = await history.submit()
    await history.settle(task)
    await history.chain.produce(50)
    await history.go(task, gen.TaskStateSettled(), "Rated", lease=lease_id(task, 0, 0), stars=5)
    history.tasks.change(task, pods_wanted=2)  # a change that no event tells
    await history.chain.produce(50)
    await history.prune(task)
    await history.chain.produce(50)
    story = await told(history, task)
    assert names(story)[:2] == ["Submitted", "Settled"]
    assert names(story)[-1] == "Pruned"
    assert story.pruned


async def test_events_of_the_first_release_are_understood():
    history = History()
    history.tasks.submit(CHARLIE, task_spec(), 2)
    await history.block(("Tasks", "Submitted", {"task": 1, "tenant": CHARLIE, "kind": "Job"}))
    await history.block(
        ("Leases", "Opened", {"lease": 5, "task": 1, "host": HOST}),
        ("Billing", "EscrowOpened", {"lease": 5, "tenant": CHARLIE, "deposit": RATE, "rate_per_hour": RATE}),
        ("Billing", "EscrowOpened", {"lease": 6, "tenant": CHARLIE, "deposit": 1, "rate_per_hour": 1}),
        ("Tasks", "Assigned", {"task": 1, "attempt": 0, "leases": [(5, HOST)]}),
        ("Tasks", "StateChanged", {"task": 1, "from": "Queued", "to": "Assigned"}),
    )
    await history.block(("Tasks", "PodStarted", {"task": 1, "lease": 5}))
    await history.block(
        ("Billing", "EscrowClosed", {"lease": 5, "paid": PAID, "fee": 7, "refunded": RATE - PAID}),
        ("Billing", "EscrowClosed", {"lease": 6, "paid": 1, "fee": 0, "refunded": 0}),
        ("Tasks", "StateChanged", {"task": 1, "from": "Verified", "to": "Settled"}),
        ("Tasks", "Settled", {"task": 1, "paid": PAID}),
    )
    story = await told(history, 1, from_block=0)
    assert (story.state, story.bill.paid, list(story.bill.leases)) == ("Settled", PAID, [5])
    assert "PodStarted" in names(story)
    assert story.entries[-1].text.startswith("Tasks.Settled: task 1")
    assert names(await told(history, 0, from_block=0)) == []


async def test_a_history_can_begin_in_the_middle():
    history = History()
    task = await history.submit()
    await history.assign(task)
    story = await told(history, task, from_block=2)
    assert names(story) == ["Assigned"]
    assert not story.complete


async def test_blocks_that_the_node_has_pruned_are_left_out():
    class Forgetful(FakeChain):
        async def query(self, pallet: str, item: str, params: Any = (), at: bytes | None = None) -> Any:
            if at is not None and self._at(at).block.ref.number < 2:
                raise BadReply("It is gone.", code="state_pruned")
            return await super().query(pallet, item, params, at)

    history = History()
    history.chain.__class__ = Forgetful
    task = await history.submit()
    await history.assign(task)
    await history.settle(task)
    story = await told(history, task)
    assert names(story) == ["Assigned", "Settled"]
    assert not story.complete


async def test_a_task_that_was_never_submitted_has_no_history():
    with pytest.raises(CliError, match="no task 7"):
        await told(History(), 7)


async def test_a_lease_has_the_events_that_name_it():
    history = History()
    task = await history.submit()
    await history.assign(task)
    await history.go(task, gen.TaskStateRunning(), "PodStarted", lease=LEASE, depletes_at=1, state="Running")
    await history.settle(task)
    story = await lease_history(history.chain, LEASE, None, lambda _: None)
    assert names(story) == ["Assigned", "PodStarted", "Settled"]
    assert story.bill.paid == PAID
    with pytest.raises(CliError, match="no event"):
        await lease_history(history.chain, LEASE + 1, None, lambda _: None)


async def test_a_host_has_its_own_events_and_those_of_its_leases():
    history = History()
    history.chain.storage["Hosts", "Hosts"][HOST,] = host_record(BOB).encode()
    await history.block(("Hosts", "Registered", {"host": HOST, "provider": BOB}))
    await history.submit(count=2)
    await history.assign(0)
    await history.settle(0)
    elsewhere = [(lease_id(1, 0, 0), BOB, 1, 1)]
    await history.go(1, gen.TaskStateAssigned(), "Assigned", generation=0, leases=elsewhere, state="Assigned")
    story = await host_history(history.chain, HOST, None, lambda _: None)
    assert names(story) == ["Registered", "Assigned", "Settled"]
    assert story.bill.paid == PAID
    assert story.complete


def test_the_command_prints_text_and_json(world: World, manifest: Path) -> None:
    world.chain.effects = Pallets(world.chain, window_is_open=False).effects
    assert world.run("submit", manifest, "--account", "//Charlie")[0] == 0
    found = world.json("chain", "inspect", "task", "0")
    assert [event["event"] for event in found["events"]] == [
        "Tasks.Submitted",
        "Tasks.Assigned",
        "Tasks.PodStarted",
        "Tasks.PodReported",
        "Tasks.Settled",
    ]
    assert found["events"][0]["fields"]["manifest_digest"] == "0x" + "00" * 32
    assert found["bill"]["paid"] == PAID
    status, out, _ = world.run("chain", "inspect", "task", "0")
    assert status == 0
    assert "Settled." in out
    assert world.run("chain", "inspect", "lease", str(LEASE))[0] == 0
    assert world.run("chain", "inspect", "host", HOST, "--from-block", "0")[0] == 0


def test_the_message_about_a_removed_task_names_the_command_for_its_history(world: World) -> None:
    world.put("Tasks", "NextTaskId", (), 3)
    status, out, err = world.run("task", "show", "2", "--json")
    assert status == 1
    assert json.loads(out)["error"]["code"] == "pruned"
    assert "gantry chain inspect task 2" in err


SHARES = {"scheduler_fee": 2 * 10**10, "settler_fee": 10**10}
LOST = {"lease": lease_id(1, 3, 0), "reason": "HostLost", "failures": 2, "bills": [], "state": "Running"}
REPORTED = {"lease": LEASE, "result": {"exit_code": 1, "digest": b"\1"}, "state": "Reported"}
GIVEN_UP = LOST | {"state": {"Failed": "AttemptsExhausted"}}
MOVED = {
    "task": 1,
    "from": 16973824,
    "to": 16973825,
    "host": "5Host",
    "rate_per_hour": 2 * 10**12,
    "deposit": 10**12,
    "bill": {"lease": 16973824, "paid": 10**12, "fee": 10**11, **SHARES, "refunded": 0},
    "reason": "HostLost",
}
MOVED_TOLD = (
    "Pod 3 moved to 5Host, 1 GTY deposited (lease 16973825); lease 16973824 ended: "
    "the host was lost. "
    "1 GTY paid, 0.1 GTY of it protocol fee (0.02 GTY to schedulers, 0.01 GTY to settlers); "
    "0 GTY refunded to the tenant."
)
FOR_EVER = {"lease": 0, "amount": 10**12, "depletes_at": 2**64 - 1}


@pytest.mark.parametrize(
    ("event", "state", "text"),
    [
        (("Tasks", "Expired", {"task": 1}), "Expired", "Expired: it was not assigned before its deadline."),
        (
            ("Tasks", "PreemptionNoticed", {"task": 1, "wanting": 2, "ends_at": 0}),
            None,
            "Will be preempted by task 2 of a higher priority; runs until 1970-01-01 00:00:00.",
        ),
        (
            ("Tasks", "PreemptionWithdrawn", {"task": 1, "wanting": 2}),
            None,
            "The preemption was withdrawn: task 2 does not need its place, or does not fit.",
        ),
        (
            ("Tasks", "Preempted", {"task": 1, "wanting": 2, "bills": [], "state": "Queued"}),
            "Queued",
            "Preempted by task 2.",
        ),
        (
            ("Tasks", "PodLost", LOST),
            "Running",
            "Pod 3 was lost (lease 16973824): the host was lost; failures by different providers: 2.",
        ),
        (
            ("Tasks", "LeaseMoved", MOVED),
            None,
            MOVED_TOLD,
        ),
        (("Tasks", "PodReported", REPORTED), "Reported", "Pod 0 ended with exit code 1, result sha256 01."),
        (
            ("Tasks", "Requeued", GIVEN_UP),
            "Failed(AttemptsExhausted)",
            "Lease 16973824 was given up: the host was lost; failures by different providers: 2.",
        ),
        (("Leases", "Cranked", {"entries": 4}), None, "Leases.Cranked: entries 4."),
        (("Leases", "ToppedUp", FOR_EVER), None, "1 GTY deposited for lease 0; it lasts until the end of time."),
    ],
)
def test_an_event_is_a_sentence(event, state, text):
    made = ChainEvent(*event, extrinsic=None)
    assert (state_after(made), event_text(made)) == (state, text)


def test_the_bill_of_a_moved_pod_counts_each_coin_once():
    bill = TaskBill()
    opened = {"leases": [(16973824, "5First", 10**12, 3 * 10**12)]}
    settled = {"bills": [{"lease": 16973825, "paid": 5 * 10**11, "fee": 0, "refunded": 15 * 10**11}]}
    for name, fields in (("Assigned", opened), ("LeaseMoved", MOVED), ("Settled", settled)):
        bill.note(ChainEvent("Tasks", name, fields, None))
    plain = bill.plain()
    assert (plain["paid"], plain["fee"], plain["refunded"]) == (15 * 10**11, 10**11, 15 * 10**11)
    assert [(one["host"], one["deposited"]) for one in plain["leases"]] == [("5First", 3 * 10**12), ("5Host", 10**12)]


def test_every_event_about_tasks_and_hosts_has_a_sentence():
    for pallet, name in typed_events._EVENTS:
        if pallet in ("Tasks", "Leases", "Hosts") and name not in UNTOLD:
            fields = gen_fields(pallet, name)
            assert f"{pallet}.{name}" not in event_text(ChainEvent(pallet, name, fields, None)), name


UNTOLD = {
    "BatchDone", "Cranked", "DueFailed", "ParamsChanged", "QueuesPublished", "SchedulerBonded", "SchedulerLeaving",
    "SchedulerUnbonded",
}  # fmt: skip


def gen_fields(pallet: str, name: str) -> dict[str, Any]:
    """Some value for each field of an event."""
    made = getattr(typed_events, f"{pallet}{name}")
    fields: dict[str, Any] = {}
    for field in made.__dataclass_fields__:
        empty = {"bills": [], "leases": [], "wrong": [], "ask": {}, "unhealthy": b""}
        fields[field.rstrip("_")] = empty.get(field, 1)
    if "result" in fields:
        fields["result"] = {"exit_code": 0, "digest": b""}
    if "bill" in fields:
        fields["bill"] = {"lease": 1, "paid": 0, "fee": 0, "refunded": 0}
    return fields


def test_events_of_verifiers_belong_to_the_task_they_verify():
    def about(matter):
        return tasks_of_event({"matter": matter, "who": BOB, "vote": "Yes"})

    assert about({"Dispute": 7}) == about({"Results": 7}) == {7}
    assert about({"Challenge": 7}) == frozenset()


def test_the_key_of_a_task_is_its_number_in_order():
    assert [task_key(task) for task in (1, 256)] == [b"\0" * 7 + b"\1", b"\0" * 6 + b"\1\0"]


@pytest.mark.parametrize(
    ("digest", "phrase"),
    [(None, "not published"), (bytes(32), "other definitions"), (queue_tree().digest(), "same definitions")],
)
def test_schedulers_are_compared_by_their_queue_definitions(world: World, digest: bytes | None, phrase: str) -> None:
    world.chain.storage["Tasks", "Schedulers"][(BOB,)] = 5 * GTY
    if digest is not None:
        world.chain.storage["Tasks", "QueueDigests"][(BOB,)] = digest
    status, out, _ = world.run("chain", "schedulers")
    assert (status, BOB in out, phrase in out) == (0, True, True)
    _, out, _ = world.run("chain", "schedulers", "--json")
    (listed,) = json.loads(out)["schedulers"]
    assert listed == {
        "account": BOB,
        "bond": 5 * GTY,
        "queues": None if digest is None else digest.hex(),
        "same_queues": phrase == "same definitions",
    }
