"""Which calls go together, and as what."""

from __future__ import annotations

import pytest

from offchain.adapters.outbox.batching import batch_limit, batch_size, make_batch
from offchain.ports import Call


def tasks(function: str, **args: object) -> Call:
    return Call("Tasks", function, args)


def test_a_single_call_stays_as_it_is():
    alone = tasks("settle", task=7)
    assert make_batch([alone]) == alone


def test_reports_of_every_sort_go_together_in_their_order():
    reports = [
        tasks("report_started", lease=1),
        tasks("report_result", lease=2, result={"exit_code": 0}),
        tasks("report_failed", lease=3, reason="DriverError"),
    ]
    assert batch_size(reports) == 3
    items = [(1, "Started"), (2, {"Result": {"exit_code": 0}}), (3, {"Failed": "DriverError"})]
    assert make_batch(reports) == tasks("report_batch", reports=items)


def test_a_lease_is_in_a_batch_once():
    reports = [tasks("report_started", lease=1), tasks("report_failed", lease=1, reason="DriverError")]
    assert batch_size(reports) == 1


def test_a_call_of_another_kind_ends_the_batch():
    calls = [tasks("settle", task=1), tasks("settle", task=2), tasks("expire", task=3), tasks("settle", task=4)]
    assert batch_size(calls) == 2


def test_a_batch_stays_far_from_filling_a_block():
    assigns = [tasks("assign", task=n, pods=[]) for n in range(600)]
    assert batch_size(assigns) == batch_limit(assigns[0]) == 256
    assert make_batch(assigns[:2]) == tasks("assign_batch", assignments=[(0, []), (1, [])])


@pytest.mark.parametrize("call", [tasks("cancel", task=1), Call("Hosts", "settle", {}), Call("Hosts", "heartbeat", {})])
def test_other_calls_go_alone(call):
    assert batch_limit(call) == 1
    assert batch_size([call, call]) == 1
