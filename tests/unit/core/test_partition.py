"""Work partition between schedulers: classes by time slot, hosts by shard."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from offchain.core.scheduler.partition import HANDOVER_MS, IDLE_MS, SLOT_MS, HostShards, WorkPartition
from offchain.core.scheduler.placement import Planner
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import Capacity
from tests.support.core_builders import host, pod, task
from tests.support.plan_once import InOrder
from tests.support.scheduler_events import put, put_hosts, run_cycle, set_schedulers

ACCOUNTS = ("ann", "bob", "cy", "dee")
KINDS = [bytes([number]) * 16 for number in range(200)]


def partitions(*accounts):
    found = {account: WorkPartition(account) for account in accounts}
    for shifts in found.values():
        shifts.set_schedulers(accounts)
    return found


def test_a_single_scheduler_has_all_classes():
    shifts = WorkPartition("ann")
    shifts.set_schedulers(["ann"])
    assert all(shifts.is_mine(kind, now) for kind in KINDS[:5] for now in range(0, 3 * SLOT_MS, 500))
    assert shifts.next_ms(5) is None


def test_at_most_one_scheduler_has_a_class_and_after_the_handover_exactly_one():
    all_of_them = partitions(*ACCOUNTS)
    for now in range(0, 20 * SLOT_MS, 500):
        for kind in KINDS[:20]:
            count = sum(shifts.is_mine(kind, now) for shifts in all_of_them.values())
            assert count == 1 if now % SLOT_MS >= HANDOVER_MS else count <= 1


def test_each_scheduler_has_about_its_share_of_classes():
    all_of_them = partitions(*ACCOUNTS)
    for shifts in all_of_them.values():
        count = sum(shifts.is_mine(kind, SLOT_MS - 1) for kind in KINDS)
        assert 25 <= count <= 75


def test_classes_of_a_dead_scheduler_fall_to_others_in_later_slots():
    alive = [shifts for account, shifts in partitions(*ACCOUNTS).items() if account != "dee"]
    for kind in KINDS[:50]:
        ends = range(SLOT_MS - 1, 20 * SLOT_MS, SLOT_MS)
        assert any(shifts.is_mine(kind, now) for shifts in alive for now in ends)


def test_the_next_slot_is_never_reported_late():
    shifts = partitions(*ACCOUNTS)["ann"]
    for kind in KINDS[:10]:
        was, now = shifts.is_mine(kind, 0), 0
        while now < 10 * SLOT_MS:
            following = shifts.next_ms(now)
            assert following is not None
            assert now < following <= now + SLOT_MS
            for between in range(now, following, 250):
                assert shifts.is_mine(kind, between) == was
            now, was = following, shifts.is_mine(kind, following)


def test_several_schedulers_share_the_work_without_conflicts():
    states = {account: SchedulerState(account.encode(), account=account) for account in ACCOUNTS}
    tasks = [task(number, resources=pod(cpu_milli=number)) for number in range(1, 61)]
    for state in states.values():
        set_schedulers(state, ACCOUNTS)
        put_hosts(state, [host(f"h{number}", free=Capacity(64_000, 131_072, 100)) for number in range(20)])
        for one in tasks:
            put(state, one)
    made = [run_cycle(state, SLOT_MS - 1).placements for state in states.values()]
    assert sorted(number for placed in made for number in placed) == [one.id for one in tasks]
    used = [{place.host for places in placed.values() for place in places} for placed in made]
    assert sum(map(len, used)) == len(set().union(*used)), "two of them use the same host"
    assert all(state.next_ms(SLOT_MS - 1) in (None, SLOT_MS) for state in states.values())


def test_a_class_key_is_equal_in_every_process():
    code = (
        "import sys; sys.path[:0] = sys.argv[1:]\n"
        "from tests.support.core_builders import pod, task, wants\n"
        "from offchain.core.scheduler.pod_request import PodRequest\n"
        "from offchain.core.scheduler.partition import class_key_of\n"
        "models = (b'A100', b'H200', b'T4', b'V100')\n"
        "print(class_key_of(PodRequest.of(task(1, resources=pod(gpus=wants(models=models)))), 1, 1).hex())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code, *sys.path],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": s},
        ).stdout
        for s in ("1", "2")
    }
    assert len(found) == 1


ACCOUNTS_OF_HOSTS = ("ann", "bob", "cy", "dee")
NAMES = [f"host{number}" for number in range(200)]
LATE = SLOT_MS - 1
"""Well after the handover of the first shift."""


def shards():
    found = {account: HostShards(account) for account in ACCOUNTS_OF_HOSTS}
    for parts in found.values():
        parts.set_schedulers(ACCOUNTS_OF_HOSTS)
    return found


def open_to(parts, now_ms=LATE, at_work=ACCOUNTS_OF_HOSTS, busy_since_ms=None, names=NAMES, *, gang=False):
    closed = parts.closed(now_ms, names, at_work, now_ms if busy_since_ms is None else busy_since_ms, has_gang=gang)
    return set(np.flatnonzero(~closed).tolist())


def test_each_host_belongs_to_one_scheduler_and_each_has_about_its_share():
    found = [open_to(parts) for parts in shards().values()]
    assert sum(map(len, found)) == len(set().union(*found)) == len(NAMES)
    assert all(25 <= len(part) <= 75 for part in found)


def test_shards_are_stable_between_slots():
    parts = shards()["ann"]
    assert len({frozenset(open_to(parts, LATE + shift * SLOT_MS)) for shift in range(5)}) == 1


def test_the_only_scheduler_with_work_has_all_hosts():
    assert open_to(shards()["ann"], at_work=("ann",)) == set(range(len(NAMES)))


def test_hosts_of_schedulers_without_work_are_shared():
    busy = [open_to(parts, at_work=("ann", "bob")) for account, parts in shards().items() if account in ("ann", "bob")]
    assert sum(map(len, busy)) == len(set().union(*busy)) == len(NAMES)


def test_hosts_of_another_scheduler_are_closed_during_the_handover():
    parts = shards()["ann"]
    own = open_to(parts)
    assert open_to(parts, SLOT_MS, at_work=("ann",)) == own
    assert open_to(parts, SLOT_MS + HANDOVER_MS, at_work=("ann",)) == set(range(len(NAMES)))


def test_a_new_scheduler_waits_for_the_handover():
    parts = shards()["ann"]
    open_to(parts)
    assert open_to(parts, 3 * SLOT_MS) == set()


def test_an_idle_host_is_open_to_one_more_scheduler_in_each_slot():
    parts = shards()
    own = {account: open_to(one, busy_since_ms=0) for account, one in parts.items()}
    now_ms = LATE + IDLE_MS
    more = {account: open_to(one, now_ms, busy_since_ms=0) - own[account] for account, one in parts.items()}
    assert all(more.values())
    assert sum(map(len, more.values())) == len(set().union(*more.values())), "two of them are let in at once"
    for shift in range(40):
        own["ann"] |= open_to(parts["ann"], now_ms + shift * SLOT_MS, busy_since_ms=0)
    assert own["ann"] == set(range(len(NAMES)))


def test_hosts_idle_for_long_are_open_to_the_scheduler_of_a_gang():
    parts = shards()["ann"]
    own = open_to(parts, busy_since_ms=0, gang=True)
    assert len(own) < 75
    assert open_to(parts, LATE + 2 * IDLE_MS - 1, busy_since_ms=0, gang=True) < set(range(len(NAMES)))
    assert open_to(parts, LATE + 2 * IDLE_MS, busy_since_ms=0, gang=True) == set(range(len(NAMES)))


@pytest.mark.parametrize("why", ["its room has changed", "nothing waited"])
def test_hosts_stay_closed_to_others_while(why):
    parts = shards()["ann"]
    own, now_ms = open_to(parts), LATE + IDLE_MS
    if why == "its room has changed":
        parts.on_changed(range(len(NAMES)))
        assert open_to(parts, now_ms, busy_since_ms=0) == own
    else:
        assert open_to(parts, now_ms, busy_since_ms=now_ms - IDLE_MS + 1) == own


def test_new_hosts_and_new_schedulers_move_few_hosts():
    parts = HostShards("ann")
    parts.set_schedulers(ACCOUNTS_OF_HOSTS[:3])
    before = open_to(parts, names=NAMES[:100])
    more = open_to(parts)
    assert before == {row for row in more if row < 100}
    parts.set_schedulers(ACCOUNTS_OF_HOSTS)
    assert open_to(parts) < more


def test_nothing_is_placed_on_closed_hosts_until_they_are_open_again():
    planner = Planner(b"seed")
    planner.update_hosts([host("a"), host("b")])
    planner.scores.close(np.array([True, False]))
    assert placed(planner, task(1), task(2)) == {"b"}
    planner.update_hosts([host("c")])
    planner.scores.close(np.array([True, True]))
    assert placed(planner, task(3)) == {"c"}
    planner.scores.close(np.zeros(0, dtype=np.bool_))
    assert placed(planner, task(4), *map(task, range(5, 13))) == {"a", "b", "c"}


def placed(planner, *tasks):
    return {place.host for places in planner.plan(InOrder(tasks)).placements.values() for place in places}


def test_the_last_remaining_scheduler_has_all_hosts():
    state = SchedulerState(b"seed", account="ann")
    set_schedulers(state, ACCOUNTS_OF_HOSTS)
    put_hosts(state, [host(f"h{number}") for number in range(8)])
    put(state, task(1))
    run_cycle(state, 0)
    set_schedulers(state, ["ann"])
    for number in range(2, 40):
        put(state, task(number))
    assert len({place.host for places in run_cycle(state, 1).placements.values() for place in places}) == 8
