"""Which hosts are for which scheduler."""

from __future__ import annotations

import numpy as np
import pytest
from core_builders import host, task

from offchain.core.planning.desk import Desk
from offchain.core.planning.once import InTurn
from offchain.core.planning.parts import STILL_MS, Parts
from offchain.core.planning.planner import Planner
from offchain.core.planning.shifts import HANDOVER_MS, SHIFT_MS

ALL = ("ann", "bob", "cy", "dee")
NAMES = [f"host{number}" for number in range(200)]
LATE = SHIFT_MS - 1
"""Well after the handover of the first shift."""


def crew():
    found = {account: Parts(account) for account in ALL}
    for parts in found.values():
        parts.schedulers(ALL)
    return found


def open_to(parts, now_ms=LATE, at_work=ALL, busy_since_ms=None, names=NAMES):
    closed = parts.closed(now_ms, names, at_work, now_ms if busy_since_ms is None else busy_since_ms)
    return set(np.flatnonzero(~closed).tolist())


def test_each_host_is_for_one_scheduler_and_each_has_about_its_share():
    found = [open_to(parts) for parts in crew().values()]
    assert sum(map(len, found)) == len(set().union(*found)) == len(NAMES)
    assert all(25 <= len(part) <= 75 for part in found)


def test_parts_stay_as_they_are_from_shift_to_shift():
    parts = crew()["ann"]
    assert len({frozenset(open_to(parts, LATE + shift * SHIFT_MS)) for shift in range(5)}) == 1


def test_the_only_one_at_work_has_all_hosts():
    assert open_to(crew()["ann"], at_work=("ann",)) == set(range(len(NAMES)))


def test_of_those_who_have_nothing_to_do_only_ones_own_are_left_alone():
    busy = [open_to(parts, at_work=("ann", "bob")) for account, parts in crew().items() if account in ("ann", "bob")]
    assert sum(map(len, busy)) == len(set().union(*busy)) == len(NAMES)


def test_what_was_anothers_in_the_shift_before_is_closed_during_the_handover():
    parts = crew()["ann"]
    own = open_to(parts)
    assert open_to(parts, SHIFT_MS, at_work=("ann",)) == own
    assert open_to(parts, SHIFT_MS + HANDOVER_MS, at_work=("ann",)) == set(range(len(NAMES)))


def test_whoever_was_not_there_in_the_shift_before_waits_for_the_handover():
    parts = crew()["ann"]
    open_to(parts)
    assert open_to(parts, 3 * SHIFT_MS) == set()


def test_room_that_nobody_takes_is_for_one_more_in_each_shift_and_for_all_in_time():
    parts = crew()
    own = {account: open_to(one, busy_since_ms=0) for account, one in parts.items()}
    now_ms = LATE + STILL_MS
    more = {account: open_to(one, now_ms, busy_since_ms=0) - own[account] for account, one in parts.items()}
    assert all(more.values())
    assert sum(map(len, more.values())) == len(set().union(*more.values())), "two of them are let in at once"
    for shift in range(40):
        own["ann"] |= open_to(parts["ann"], now_ms + shift * SHIFT_MS, busy_since_ms=0)
    assert own["ann"] == set(range(len(NAMES)))


@pytest.mark.parametrize("why", ["its room has changed", "nothing waited"])
def test_room_is_kept_for_its_scheduler_where(why):
    parts = crew()["ann"]
    own, now_ms = open_to(parts), LATE + STILL_MS
    if why == "its room has changed":
        parts.changed(range(len(NAMES)))
        assert open_to(parts, now_ms, busy_since_ms=0) == own
    else:
        assert open_to(parts, now_ms, busy_since_ms=now_ms - STILL_MS + 1) == own


def test_new_hosts_and_new_schedulers_move_few_hosts():
    parts = Parts("ann")
    parts.schedulers(ALL[:3])
    before = open_to(parts, names=NAMES[:100])
    more = open_to(parts)
    assert before == {row for row in more if row < 100}
    parts.schedulers(ALL)
    assert open_to(parts) < more


def test_nothing_is_placed_on_closed_hosts_until_they_are_open_again():
    planner = Planner(b"seed")
    planner.put_hosts([host("a"), host("b")])
    planner.close(np.array([True, False]))
    assert placed(planner, task(1), task(2)) == {"b"}
    planner.put_hosts([host("c")])
    planner.close(np.array([True, True]))
    assert placed(planner, task(3)) == {"c"}
    planner.close(np.zeros(0, dtype=np.bool_))
    assert placed(planner, task(4), *map(task, range(5, 13))) == {"a", "b", "c"}


def placed(planner, *tasks):
    return {place.host for places in planner.plan(InTurn(tasks)).placements.values() for place in places}


def test_whose_fellows_have_left_has_all_hosts_again():
    desk = Desk(b"seed", account="ann")
    desk.schedulers(ALL)
    desk.put_hosts([host(f"h{number}") for number in range(8)])
    desk.put_task(task(1))
    desk.round(0)
    desk.schedulers(["ann"])
    for number in range(2, 40):
        desk.put_task(task(number))
    assert len({place.host for places in desk.round(1).placements.values() for place in places}) == 8
