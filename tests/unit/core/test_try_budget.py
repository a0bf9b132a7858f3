"""The bound on failed tries of an account in a cycle."""

from __future__ import annotations

from offchain.core.scheduler.state import SchedulerState
from offchain.core.scheduler.try_budget import MOST_FAILED_TRIES, TryBudget
from offchain.core.values import Capacity
from tests.support.core_builders import host, pod, task
from tests.support.scheduler_events import put, put_hosts, run_cycle

FIRST_MS = 1_000


def test_each_request_is_tried_once_in_a_round():
    budget, keys = TryBudget(), [bytes([number >> 8, number & 255]) for number in range(2 * MOST_FAILED_TRIES + 5)]
    rounds = []
    for _ in range(4):
        budget.begin()
        tried = [key for key in keys if budget.admits(["ann"], key) and budget.note_failed(["ann"], key) is None]
        rounds.append(len(tried))
    assert rounds == [MOST_FAILED_TRIES, MOST_FAILED_TRIES, 5, MOST_FAILED_TRIES]


def test_other_accounts_are_not_limited_with_it():
    budget = TryBudget()
    budget.begin()
    for number in range(MOST_FAILED_TRIES):
        assert budget.admits(["ann"], bytes([number]))
        budget.note_failed(["ann"], bytes([number]))
    assert not budget.admits(["ann"], b"next")
    assert budget.admits(["bob"], b"next")
    assert budget.has_left


def test_a_request_of_several_accounts_is_tried_while_one_of_them_has_room():
    budget = TryBudget()
    budget.begin()
    for number in range(MOST_FAILED_TRIES):
        budget.note_failed(["ann"], bytes([number]))
    assert budget.admits(["ann", "bob"], b"next")
    budget.note_failed(["ann", "bob"], b"next")
    for number in range(MOST_FAILED_TRIES):
        budget.note_failed(["bob"], bytes([number]))
    assert not budget.admits(["ann", "bob"], b"other")


def test_a_few_requests_are_tried_in_each_cycle():
    budget = TryBudget()
    for _ in range(3):
        budget.begin()
        assert budget.admits(["ann"], b"one")
        budget.note_failed(["ann"], b"one")
        assert not budget.has_left


def test_a_request_among_many_that_fit_nowhere_is_placed_within_a_round():
    state = SchedulerState(b"seed", account="ann")
    put_hosts(state, [host("h", free=Capacity(1_000, 8_192, 100))])
    count = 5 * MOST_FAILED_TRIES
    for number in range(1, count + 1):
        put(state, task(number, resources=pod(cpu_milli=1_000 + number), submitted_at=number))
    put(state, task(count + 1, resources=pod(cpu_milli=500), submitted_at=count + 1))
    placed, now = set(), FIRST_MS
    for _ in range(6):
        placed |= run_cycle(state, now).placements.keys()
        upcoming = state.next_ms(now)
        now = now + 2_000 if upcoming is None else max(upcoming, now + 1)
    assert placed == {count + 1}
