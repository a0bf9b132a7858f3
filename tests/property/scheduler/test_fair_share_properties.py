"""Properties of the fair-share queue: limits hold, shares follow weights, no starvation, equal states, equal orders."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import offchain.core.scheduler.fair_share
from offchain.core.scheduler import queue_usage
from offchain.core.scheduler.fair_share import FairShareQueue, QueuedTask
from offchain.core.scheduler.fair_share_selection import BATCH_SHARE
from offchain.core.scheduler.pod_request import NO_RESOURCES, ResourceAmount, dominant_share
from offchain.core.scheduler.queue_definitions import AgeingPolicy, QueueDefinition, ResourceLimit, queue_tree
from offchain.schema.durations import HOUR_MS
from tests.support.examples import examples
from tests.support.queue_samples import GPU, TOTALS, SampleQueue, fill, queued, sample_queue, take, usage_of

AMOUNTS = (GPU, ResourceAmount(1000, 2000, 4000), ResourceAmount(4000, 1000, 0), ResourceAmount(500, 9000, 500))
NAMES = ("default", "lab/one", "lab/two", "shop", "nowhere")
ACCOUNTS = ("alice", "bob", "carol")
DROP_ALWAYS = -1000
"""As the number of targets from which on idle accounts are dropped."""

limits = (
    st.none()
    | st.builds(ResourceLimit, fraction=st.sampled_from((0.2, 0.5)))
    | st.builds(ResourceLimit, gpu_milli=st.integers(0, 9000))
)
ageings = st.none() | st.builds(
    AgeingPolicy, per_hour=st.sampled_from((0, 1, 3600)), up_to=st.sampled_from((0, 2, 255))
)


@st.composite
def trees(draw):
    return queue_tree(
        QueueDefinition(
            name,
            weight=draw(st.sampled_from((0.5, 1.0, 3.0))),
            borrow=draw(st.booleans()),
            limit=draw(limits),
            account_limit=draw(limits),
            ageing=draw(ageings),
        )
        for name in ("lab", "lab/one", "lab/two", "shop", "default")
    )


def entitlements_of(of):
    """What each part holds and has a right to."""
    parts = {of.leaf(queue, account) for queue in NAMES for account in ACCOUNTS}
    entitlements = of.entitlements()
    return sorted((entitlements.share(part), round(entitlements.entitlement(part), 9)) for part in parts)


@st.composite
def queued_tasks(draw, most=25):
    return [
        queued(
            number,
            draw(st.sampled_from(ACCOUNTS)),
            queue=draw(st.sampled_from(NAMES)),
            amount=draw(st.sampled_from(AMOUNTS)),
            priority=draw(st.integers(0, 3)),
            submitted_at=draw(st.integers(0, 5)) * 1000,
        )
        for number in range(draw(st.integers(1, most)))
    ]


frees = st.builds(
    ResourceAmount,
    cpu_milli=st.integers(0, 40_000),
    memory_mib=st.integers(0, 40_000),
    gpu_milli=st.integers(0, 12_000),
)


@settings(max_examples=examples(80))
@given(queues=trees(), waiting=queued_tasks(), free=frees)
def test_a_cycle_ends_only_when_every_waiting_task_is_infeasible_or_over_quota(queues, waiting, free):
    found = SampleQueue(queues, TOTALS, (), waiting, 5000)
    placed = set(fill(found, free))
    left = free
    for one in waiting:
        left = left.minus(one.amount) if one.id in placed else left
    for one in waiting:
        if one.id not in placed:
            assert not one.amount.fits_in(left) or found.quota_exceeded(one.id) is not None


@settings(max_examples=examples(80))
@given(queues=trees(), waiting=queued_tasks(most=40))
def test_no_limit_is_ever_exceeded(queues, waiting):
    found = SampleQueue(queues, TOTALS, (), waiting, 5000)
    placed = set(take(found, len(waiting)))
    of_account: dict[tuple[str, str], ResourceAmount] = {}
    of_queue: dict[str, ResourceAmount] = {}
    for one in waiting:
        if one.id in placed:
            for queue in queues.path(queues.leaf_of(one.queue, one.account).queue):
                key = (queue.name, one.account)
                of_account[key] = of_account.get(key, NO_RESOURCES).plus(one.amount)
                of_queue[queue.name] = of_queue.get(queue.name, NO_RESOURCES).plus(one.amount)
    for (name, _), held in of_account.items():
        most = queues.queues[name].account_limit
        assert most is None or held.fits_in(most.of(TOTALS))
    for name, held in of_queue.items():
        limit = queues.limit_of(name, TOTALS)
        assert limit is None or held.fits_in(limit)


@settings(max_examples=examples(60))
@given(
    weights=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    accounts=st.integers(1, 3),
    rounds=st.integers(1, 60),
)
def test_two_queues_with_constant_demand_stay_within_one_task_of_their_weights(weights, accounts, rounds):
    """One of them has parts: its weight is what it gets by, not how many parts or accounts it has."""
    queues = (
        QueueDefinition("lab", weight=weights[0]),
        QueueDefinition("lab/one"),
        QueueDefinition("lab/two"),
        QueueDefinition("shop", weight=weights[1]),
    )
    waiting = [
        queued(number, f"account {number % accounts}", queue=name)
        for number, name in enumerate(name for _ in range(60) for name in ("lab/one", "lab/two", "shop"))
    ]
    found = sample_queue(*waiting, queues=queues, totals=ResourceAmount(60_000, 60_000, 60_000))
    by_id = {one.id: one.queue for one in waiting}
    lab = sum(by_id[number] != "shop" for number in take(found, rounds))
    assert abs(lab - rounds * weights[0] / sum(weights)) < 1


@settings(max_examples=examples(30))
@example(priority=255, per_hour=10)
@given(
    priority=st.integers(1, 255),
    per_hour=st.sampled_from((1, 10, 100)),
)
def test_no_task_starves_behind_a_stream_of_higher_priority(priority, per_hour):
    """Two come for each one that is placed. It is, behind those from before it was as important as they are."""
    queues = (QueueDefinition("lab", ageing=AgeingPolicy(per_hour=per_hour)),)
    found = sample_queue(queued(0, queue="lab", priority=0), queues=queues)
    head_start_ms = priority * HOUR_MS / per_hour
    bound = 2 * (int(head_start_ms // HOUR_MS) + 2) + 1
    for turns in range(bound):
        now_ms = turns * HOUR_MS
        for number in (2 * turns + 1, 2 * turns + 2):
            found.add(queued(number, queue="lab", priority=priority, submitted_at=now_ms))
        found.begin_cycle(now_ms)
        if take(found, 1) == [0]:
            return
    raise AssertionError(f"still waiting after {bound} turns")


def test_an_account_that_comes_back_after_it_was_dropped_is_behind_one_that_waits():
    with patch.object(queue_usage, "FEW_TARGETS", DROP_ALWAYS):
        found = sample_queue()
        for turn in range(1, 4):
            now_ms = 1000 * turn
            found.begin_cycle(now_ms)
            found.add(queued(turn, "alice", submitted_at=now_ms))
            assert take(found, 1) == [turn]
            found.release(usage_of(queued(turn, "alice")))
        found.add(queued(9, "bob", submitted_at=4000))
        found.begin_cycle(4000)
        found.add(queued(4, "alice", submitted_at=4000))
        assert take(found, 2) == [9, 4]


@settings(max_examples=examples(80))
@given(waiting=queued_tasks(most=30), ageing=ageings, now_s=st.integers(5, 400))
def test_in_a_queue_the_effective_priority_decides(waiting, ageing, now_s):
    ageing = ageing or AgeingPolicy()
    lab = [queued(one.id, queue="lab", **_rest(one)) for one in waiting]
    found = sample_queue(*lab, queues=(QueueDefinition("lab", ageing=ageing),), now_ms=now_s * 1000)
    by_id = {one.id: one for one in lab}
    order = [by_id[number] for number in take(found, len(lab))]
    assert len(order) == len(lab)

    def place(one):
        return (-ageing.effective_priority(one.priority, one.submitted_at, now_s * 1000), one.submitted_at, one.id)

    assert order == sorted(lab, key=place)


def _rest(one):
    return {"amount": one.amount, "priority": one.priority, "submitted_at": one.submitted_at}


@settings(max_examples=examples(80))
@given(queues=trees(), waiting=queued_tasks(), later=queued_tasks(), drops=st.booleans(), data=st.data())
def test_a_queue_kept_over_cycles_equals_a_new_one(queues, waiting, later, drops, data):
    with patch.object(queue_usage, "FEW_TARGETS", DROP_ALWAYS if drops else queue_usage.FEW_TARGETS):
        _compare_with_new_ones(queues, waiting, later, data)


def _compare_with_new_ones(queues, waiting, later, data):
    found = SampleQueue(queues, TOTALS, (), waiting, 5000)
    there = {one.id: one for one in waiting}
    running = []
    for now_ms in (5000, 6000, 7000):
        found.begin_cycle(now_ms)
        running += [there.pop(number) for number in fill(found, data.draw(frees))]
        for one in data.draw(st.lists(st.sampled_from(running), unique_by=id)) if running else ():
            running.remove(one)
            found.release(usage_of(one))
        for number in data.draw(st.sets(st.sampled_from(sorted(there)))) if there else ():
            found.remove(number)
            del there[number]
        for one in later[:5]:
            new = queued(one.id + 100 * now_ms, one.account, queue=one.queue, **_rest(one))
            there[new.id] = new
            found.add(new)
        del later[:5]
        totals = data.draw(st.sampled_from((TOTALS, TOTALS.scaled(0.7))))
        found.begin_cycle(now_ms + 500, totals)
        shuffled = data.draw(st.permutations(list(there.values())))
        anew = SampleQueue(queues, totals, map(usage_of, running), shuffled, now_ms + 500, history=found.history)
        assert entitlements_of(found) == entitlements_of(anew)
        room = data.draw(frees)
        placed = fill(found, room)
        assert placed == fill(anew, room)
        assert entitlements_of(found) == entitlements_of(anew)
        running += [there.pop(number) for number in placed]


batch_steps = st.lists(
    st.tuples(st.sampled_from(("batch", "remove", "add", "ask")), st.integers(0, 40)), min_size=5, max_size=30
)


@settings(max_examples=examples(150))
@given(waiting=queued_tasks(most=40), steps=batch_steps, sweep=st.sampled_from((0, 1, 100)))
def test_tasks_that_left_in_a_batch_no_longer_wait(waiting, steps, sweep):
    found = sample_queue(*waiting)
    model = {one.id: one for one in waiting}
    gone = {}
    with patch.object(offchain.core.scheduler.fair_share, "_SWEEP_RATIO", sweep):
        for step, number in steps:
            if step == "batch" and (batch := found.next_batch()) is not None:
                some = batch.tasks[: number % 4]
                found.commit_batch(len(some))
                gone |= {one: model.pop(one) for one in some}
            elif step == "remove" and number in model:
                found.remove(number)
                gone[number] = model.pop(number)
            elif step == "add" and number in gone:
                model[number] = gone.pop(number)
                found.add(model[number])
            elif step == "ask":
                assert list(found) == list(model)
                assert found.among(range(41)) == sorted(model)
            assert len(found) == len(model)
            assert [one for one in range(41) if one in found] == sorted(model)
            if number in gone:
                with pytest.raises(ValueError, match=f"task {number} does not wait"):
                    found.remove(number)
                with pytest.raises(KeyError):
                    found.class_of(number)


batch_tasks = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.integers(0, 3), st.integers(0, 10**6)), max_size=40
)
BATCH_AMOUNTS = (ResourceAmount(1, 1, 0), ResourceAmount(3, 2, 0), ResourceAmount(1, 1, 2))
LARGE_TOTALS = ResourceAmount(4096, 8192, 2048)


@given(batch_tasks)
def test_batches_keep_shares_within_a_slice_and_take_each_task_once(of: list[tuple[str, int, int, int]]):
    waiting = [
        QueuedTask(number, "default", account, class_id, BATCH_AMOUNTS[class_id], priority, at)
        for number, (account, class_id, priority, at) in enumerate(of)
    ]
    queue = FairShareQueue(queue_tree([QueueDefinition("default")]), LARGE_TOTALS)
    for task in waiting:
        queue.add(task)
    queue.begin_cycle(10**6)
    seen: list[int] = []
    used: dict[str, ResourceAmount] = {account: ResourceAmount() for account in "abc"}
    by_id = {task.id: task for task in waiting}
    while batch := queue.next_batch():
        ready = {task.account for task in waiting if task.id not in seen}
        poorest = min(dominant_share(used[account], LARGE_TOTALS) for account in ready)
        assert queue.next() == batch.tasks[0]
        amount = by_id[batch.tasks[0]].amount
        assert sum(batch.leaf_counts) == len(batch.tasks)
        start = 0
        for many in batch.leaf_counts:
            part = [by_id[number] for number in batch.tasks[start : start + many]]
            start += many
            assert {(task.account, task.amount) for task in part} == {(part[0].account, amount)}
            for task in part:
                used[task.account] = used[task.account].plus(amount)
                seen.append(task.id)
            share = dominant_share(used[part[0].account], LARGE_TOTALS)
            assert share <= poorest + max(BATCH_SHARE, dominant_share(amount, LARGE_TOTALS)) + 1e-9
        queue.commit_batch(len(batch.tasks))
    assert sorted(seen) == list(range(len(waiting)))
    assert len(queue) == 0
