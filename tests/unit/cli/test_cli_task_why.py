"""gantry task why."""

from __future__ import annotations

import pytest
from cli_world import CHARLIE, GTY, HOST, World, the_host

from offchain.schema import _generated_chain as gen
from tests.chain_records import Tasks, task_spec


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
