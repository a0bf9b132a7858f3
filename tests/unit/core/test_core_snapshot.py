from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from offchain.core.snapshot import Read, Touched, advance, changed, only, touched, union
from offchain.schema.chain_types.ids import lease_id
from tests.support.core_builders import host, lease, snapshot, task


@dataclass(frozen=True)
class Happened:
    pallet: str
    name: str
    fields: dict[str, Any]


def test_events_name_the_records_to_read_again():
    events = [
        Happened("Hosts", "Registered", {"host": "a", "provider": "p"}),
        Happened("Tasks", "Submitted", {"first": 7, "count": 3, "tenant": "t"}),
        Happened("Tasks", "Assigned", {"task": 20, "leases": [(lease_id(20, 0, 0), "b", 1, 2)]}),
        Happened("Balances", "Transfer", {"from": "x"}),
    ]
    assert touched(snapshot(), events) == Touched(frozenset("ab"), frozenset({7, 8, 9, 20}))


def test_what_happens_to_a_task_touches_the_hosts_of_its_leases():
    held = task(3, lease(lease_id(3, 0, 1), host="b"))
    found = touched(snapshot(held), [Happened("Tasks", "Cancelled", {"task": 3})])
    assert found == Touched(frozenset("b"), frozenset({3}))


def test_a_pod_that_goes_on_elsewhere_touches_both_hosts():
    held = task(3, lease(lease_id(3, 0, 1), host="b"))
    moved = {"task": 3, "from": lease_id(3, 0, 1), "to": lease_id(3, 0, 2), "host": "c"}
    assert touched(snapshot(held), [Happened("Tasks", "LeaseMoved", moved)]) == Touched(frozenset("bc"), frozenset({3}))


def test_a_lease_names_its_task():
    paid = Happened("Leases", "Paid", {"lease": lease_id(3, 1, 4), "until": 9})
    assert touched(snapshot(), [paid]).tasks == {3}


def test_changed_parameters_are_read_again():
    assert touched(snapshot(), [Happened("Tasks", "ParamsChanged", {})]).params


def test_a_block_of_strangers_touches_nothing():
    assert not touched(snapshot(), [Happened("System", "ExtrinsicSuccess", {})]).anything


def test_advancing_replaces_and_drops_and_leaves_the_old_alone():
    old = snapshot(host("a"), host("b"), task(1))
    new = advance(old, 2, 2_000, Read(hosts={"a": host("a", live_leases=1), "b": None}, tasks={1: None}))
    assert dict(new.hosts) == {"a": host("a", live_leases=1)}
    assert not new.tasks
    assert (new.number, new.now_ms) == (2, 2_000)
    assert set(old.hosts) == {"a", "b"}


def test_a_union_names_what_any_part_names():
    parts = (Touched(hosts=frozenset("a")), Touched(frozenset("b"), frozenset({1}), params=True))
    assert union(parts) == Touched(frozenset("ab"), frozenset({1}), params=True)
    assert union(()) == Touched()


def test_only_keeps_what_is_named():
    read = Read(hosts={"a": host("a"), "b": None}, tasks={1: task(1), 2: None})
    assert only(read, Touched(hosts=frozenset("b"), tasks=frozenset({2}))) == Read(hosts={"b": None}, tasks={2: None})


def test_records_that_came_went_or_differ_are_changed():
    before = Read(hosts={"a": host("a"), "b": host("b")}, tasks={1: task(1)})
    after = Read(hosts={"a": host("a", live_leases=1), "b": host("b")}, tasks={2: task(2)})
    assert changed(before, after) == Touched(frozenset("a"), frozenset({1, 2}))
