"""gantry task why."""

from __future__ import annotations

import pytest
from cli_world import CHARLIE, GTY, HOST, World, the_host

from offchain.schema import _generated_chain as gen
from tests.chain_records import Tasks, lease, task_spec


@pytest.fixture
def submitted(world: World) -> World:
    Tasks(world.chain).submit(CHARLIE, task_spec(max_rate_per_hour=10 * GTY))
    return world


def test_a_waiting_task_is_told_which_rule_excludes_how_many_hosts(submitted: World) -> None:
    submitted.put("Hosts", "Hosts", HOST, the_host(free=gen.Capacity(100, 8192, 100).encode()))
    found = submitted.json("task", "why", 0)
    assert found["waits"]
    assert found["state"] == "Queued"
    assert found["excluded_now"] == {"too little free cpu": 1}
    status, out, _ = submitted.run("task", "why", 0)
    assert status == 0
    assert "Not now    1 too little free cpu" in out
    assert "Later      1 more when what runs there has ended" in out


def test_a_task_that_nobody_knows_is_said_to_be(world: World) -> None:
    status, _, err = world.run("task", "why", 7)
    assert status == 1
    assert "task 7 is final or unknown" in err
    assert "gantry chain inspect task 7" in err


def test_a_pod_whose_gpu_is_out_of_order_is_said_to_be_at_risk(world: World) -> None:
    tasks = Tasks(world.chain)
    number = tasks.submit(CHARLIE, task_spec(max_rate_per_hour=10 * GTY))
    there = lease(HOST, devices=b"\0", state=gen.LeaseStateActive())
    tasks.change(number, state=gen.TaskStateRunning(), leases=(there,))
    assert world.json("task", "why", number)["at_risk"] == []
    worn = {**the_host()["devices"][0], "healthy": False}
    world.put("Hosts", "Hosts", HOST, the_host(devices=[worn]))
    reason = "a GPU of its is out of order"
    assert world.json("task", "why", number)["at_risk"] == [{"pod": 0, "host": HOST, "reason": reason}]
    _, out, _ = world.run("task", "why", number)
    assert f"At risk  pod 0: {reason}" in out
