"""Whatever waits and runs: nobody is held without a limit, none is broken, shares come out, a state has one order."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import offchain.core.queues.turn
from offchain.core.queues.ageing import HOUR_MS, Ageing
from offchain.core.queues.amount import NOTHING, Amount
from offchain.core.queues.tree import Most, Queue, tree
from tests.support.examples import examples
from tests.support.queue_samples import GPU, TOTALS, Told, claim, fill, holding, take, turn

AMOUNTS = (GPU, Amount(1000, 2000, 4000), Amount(4000, 1000, 0), Amount(500, 9000, 500))
NAMES = ("default", "lab/one", "lab/two", "shop", "nowhere")
ACCOUNTS = ("alice", "bob", "carol")

mosts = st.none() | st.builds(Most, part=st.sampled_from((0.2, 0.5))) | st.builds(Most, gpu_milli=st.integers(0, 9000))
ageings = st.none() | st.builds(Ageing, per_hour=st.sampled_from((0, 1, 3600)), up_to=st.sampled_from((0, 2, 255)))


@st.composite
def trees(draw):
    return tree(
        Queue(
            name,
            weight=draw(st.sampled_from((0.5, 1.0, 3.0))),
            borrow=draw(st.booleans()),
            most=draw(mosts),
            account_most=draw(mosts),
            ageing=draw(ageings),
        )
        for name in ("lab", "lab/one", "lab/two", "shop", "default")
    )


def said(of):
    """What each part holds and has a right to."""
    parts = {of.part(queue, account) for queue in NAMES for account in ACCOUNTS}
    rights = of.rights()
    return sorted((rights.share(part), round(rights.right(part), 9)) for part in parts)


@st.composite
def claims(draw, most=25):
    return [
        claim(
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
    Amount, cpu_milli=st.integers(0, 40_000), memory_mib=st.integers(0, 40_000), gpu_milli=st.integers(0, 12_000)
)


@settings(max_examples=examples(80))
@given(queues=trees(), waiting=claims(), free=frees)
def test_a_round_ends_only_when_nothing_fits_that_no_limit_holds(queues, waiting, free):
    found = Told(queues, TOTALS, (), waiting, 5000)
    placed = set(fill(found, free))
    left = free
    for one in waiting:
        left = left.minus(one.amount) if one.id in placed else left
    for one in waiting:
        if one.id not in placed:
            assert not one.amount.within(left) or found.held(one.id) is not None


@settings(max_examples=examples(80))
@given(queues=trees(), waiting=claims(most=40))
def test_no_limit_is_ever_broken(queues, waiting):
    found = Told(queues, TOTALS, (), waiting, 5000)
    placed = set(take(found, len(waiting)))
    of_account: dict[tuple[str, str], Amount] = {}
    of_queue: dict[str, Amount] = {}
    for one in waiting:
        if one.id in placed:
            for queue in queues.path(queues.part_of(one.queue, one.account).queue):
                key = (queue.name, one.account)
                of_account[key] = of_account.get(key, NOTHING).plus(one.amount)
                of_queue[queue.name] = of_queue.get(queue.name, NOTHING).plus(one.amount)
    for (name, _), held in of_account.items():
        most = queues.queues[name].account_most
        assert most is None or held.within(most.of(TOTALS))
    for name, held in of_queue.items():
        limit = queues.limit(name, TOTALS)
        assert limit is None or held.within(limit)


@settings(max_examples=examples(60))
@given(
    weights=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    accounts=st.integers(1, 3),
    rounds=st.integers(1, 60),
)
def test_two_queues_that_always_want_stay_within_one_task_of_their_weights(weights, accounts, rounds):
    """One of them has parts: its weight is what it gets by, not how many parts or accounts it has."""
    queues = (Queue("lab", weight=weights[0]), Queue("lab/one"), Queue("lab/two"), Queue("shop", weight=weights[1]))
    waiting = [
        claim(number, f"account {number % accounts}", queue=name)
        for number, name in enumerate(name for _ in range(60) for name in ("lab/one", "lab/two", "shop"))
    ]
    found = turn(*waiting, queues=queues, totals=Amount(60_000, 60_000, 60_000))
    by_id = {one.id: one.queue for one in waiting}
    lab = sum(by_id[number] != "shop" for number in take(found, rounds))
    assert abs(lab - rounds * weights[0] / sum(weights)) < 1


@settings(max_examples=examples(30))
@example(priority=255, per_hour=10)
@given(
    priority=st.integers(1, 255),
    per_hour=st.sampled_from((1, 10, 100)),
)
def test_nobody_waits_for_ever_behind_a_stream_of_higher_priority(priority, per_hour):
    """Two come for each one that is placed. It is, behind those from before it was as important as they are."""
    queues = (Queue("lab", ageing=Ageing(per_hour=per_hour)),)
    found = turn(claim(0, queue="lab", priority=0), queues=queues)
    head_start_ms = priority * HOUR_MS / per_hour
    bound = 2 * (int(head_start_ms // HOUR_MS) + 2) + 1
    for turns in range(bound):
        now_ms = turns * HOUR_MS
        for number in (2 * turns + 1, 2 * turns + 2):
            found.add(claim(number, queue="lab", priority=priority, submitted_at=now_ms))
        found.begin(now_ms)
        if take(found, 1) == [0]:
            return
    raise AssertionError(f"still waiting after {bound} turns")


@settings(max_examples=examples(80))
@given(waiting=claims(most=30), ageing=ageings, now_s=st.integers(5, 400))
def test_in_a_queue_the_effective_priority_decides(waiting, ageing, now_s):
    ageing = ageing or Ageing()
    lab = [claim(one.id, queue="lab", **_rest(one)) for one in waiting]
    found = turn(*lab, queues=(Queue("lab", ageing=ageing),), now_ms=now_s * 1000)
    by_id = {one.id: one for one in lab}
    order = [by_id[number] for number in take(found, len(lab))]
    assert len(order) == len(lab)

    def place(one):
        return (-ageing.effective(one.priority, one.submitted_at, now_s * 1000), one.submitted_at, one.id)

    assert order == sorted(lab, key=place)


def _rest(one):
    return {"amount": one.amount, "priority": one.priority, "submitted_at": one.submitted_at}


@settings(max_examples=examples(80))
@given(queues=trees(), waiting=claims(), later=claims(), data=st.data())
def test_kept_over_rounds_it_is_the_same_as_made_anew(queues, waiting, later, data):
    found = Told(queues, TOTALS, (), waiting, 5000)
    there = {one.id: one for one in waiting}
    running = []
    for now_ms in (5000, 6000, 7000):
        found.begin(now_ms)
        running += [there.pop(number) for number in fill(found, data.draw(frees))]
        for one in data.draw(st.lists(st.sampled_from(running), unique_by=id)) if running else ():
            running.remove(one)
            found.release(holding(one))
        for number in data.draw(st.sets(st.sampled_from(sorted(there)))) if there else ():
            found.remove(number)
            del there[number]
        for one in later[:5]:
            new = claim(one.id + 100 * now_ms, one.account, queue=one.queue, **_rest(one))
            there[new.id] = new
            found.add(new)
        del later[:5]
        totals = data.draw(st.sampled_from((TOTALS, TOTALS.part(0.7))))
        found.begin(now_ms + 500, totals)
        shuffled = data.draw(st.permutations(list(there.values())))
        anew = Told(queues, totals, map(holding, running), shuffled, now_ms + 500, memory=found.memory)
        assert said(found) == said(anew)
        room = data.draw(frees)
        placed = fill(found, room)
        assert placed == fill(anew, room)
        assert said(found) == said(anew)
        running += [there.pop(number) for number in placed]


steps_of_runs = st.lists(
    st.tuples(st.sampled_from(("run", "remove", "add", "ask")), st.integers(0, 40)), min_size=5, max_size=30
)


@settings(max_examples=examples(150))
@given(waiting=claims(most=40), steps=steps_of_runs, sweep=st.sampled_from((0, 1, 100)))
def test_who_left_in_a_run_waits_no_more(waiting, steps, sweep):
    found = turn(*waiting)
    model = {one.id: one for one in waiting}
    gone = {}
    with patch.object(offchain.core.queues.turn, "_SWEEP", sweep):
        for step, number in steps:
            if step == "run" and (run := found.run()) is not None:
                some = run.tasks[: number % 4]
                found.ran(len(some))
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
                    found.shape(number)
