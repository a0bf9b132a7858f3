"""gantry task report-scheduler: a scheduler that favoured its own host is reported with a host that was cheaper."""

from __future__ import annotations

from typing import Any

import pytest
from cli_world import BOB, CHARLIE, HOST, RATE, World, the_host

from offchain.adapters.keys import signer
from offchain.ports import Call
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import GTY, Tasks, escrow, lease, task_spec, tasks_params

WHO = ("--account", "//Charlie")
OWN = signer.from_uri("//Own").address
ASSIGNED_AT = 1_000_000
KNOWN_MS, EVIDENCE_MS = 60_000, 600_000
PAID = 2 * RATE
LEASE = lease_id(0, 0, 0)


def put_host(world: World, **changes: Any) -> None:
    world.put(
        "Hosts",
        "Hosts",
        HOST,
        the_host(**{"offered_since": ASSIGNED_AT - KNOWN_MS, "last_heartbeat": ASSIGNED_AT, **changes}),
    )


def put_task(world: World, **changes: Any) -> None:
    """Task 0 runs on a host of its scheduler, Bob, for twice what the other host asks."""
    tasks = Tasks(world.chain)
    tasks.clear()
    tasks.submit(CHARLIE, task_spec(), now=1)
    values = {
        "state": gen.LeaseStateActive(),
        "created_at": ASSIGNED_AT,
        "assigned_by": BOB,
        "self_assigned_ppm": 400_000,
        "escrow": escrow(rate_per_hour=PAID),
        **changes,
    }
    tasks.change(0, state=gen.TaskStateRunning(), leases=(lease(OWN, **values),))


@pytest.fixture
def sent(world: World) -> list[Call]:
    calls: list[Call] = []

    def effects(call: Call, _account: str) -> list[Any]:
        calls.append(call)
        punished = {"who": BOB, "lease": LEASE, "cheaper": HOST, "to_tenant": GTY, "to_treasury": GTY}
        return [("Tasks", "SchedulerPunished", punished)]

    world.put("Tasks", "Params", (), tasks_params(evidence_ms=EVIDENCE_MS, offer_known_ms=KNOWN_MS))
    world.put("Timestamp", "Now", (), ASSIGNED_AT + 10)
    world.put("Hosts", "Hosts", OWN, the_host())
    put_host(world)
    put_task(world)
    world.chain.effects = effects
    return calls


def test_the_cheapest_host_that_was_as_good_is_named(world: World, sent: list[Call]) -> None:
    _, out, err = world.run("task", "report-scheduler", 0, *WHO)
    assert sent == [Call("Tasks", "report_self_assignment", {"lease": LEASE, "host": HOST, "devices": b"\0"})]
    assert f"Scheduler {BOB} placed lease {LEASE} on a host of its own" in err
    assert "of its bond went to the tenant" in out


def test_task_why_points_to_the_report(world: World, sent: list[Call]) -> None:
    assert "gantry task report-scheduler 0 reports it" in " ".join(world.run("task", "why", 0)[1].split())
    put_task(world, self_assigned_ppm=None)
    assert "report-scheduler" not in world.run("task", "why", 0)[1]
    assert sent == []


@pytest.mark.parametrize(
    ("lease_changes", "host_changes", "now", "code"),
    [
        ({"self_assigned_ppm": None}, {}, ASSIGNED_AT, "not_self_assigned"),
        ({}, {}, ASSIGNED_AT + EVIDENCE_MS + 1, "too_late"),
        ({}, {"offered_since": ASSIGNED_AT - KNOWN_MS + 1}, ASSIGNED_AT, "no_cheaper_host"),
        ({}, {"last_heartbeat": 0}, ASSIGNED_AT + 400_000, "no_cheaper_host"),
        ({}, {"free": gen.Capacity(0, 0, 0).encode()}, ASSIGNED_AT, "no_cheaper_host"),
        ({"self_assigned_ppm": 999_999}, {}, ASSIGNED_AT, "no_cheaper_host"),
        ({"escrow": escrow(rate_per_hour=RATE)}, {}, ASSIGNED_AT, "no_cheaper_host"),
    ],
)
def test_a_report_that_the_chain_would_refuse_is_not_sent(
    world: World, sent: list[Call], lease_changes: Any, host_changes: Any, now: int, code: str
) -> None:
    put_task(world, **lease_changes)
    put_host(world, **host_changes)
    world.put("Timestamp", "Now", (), now)
    status, out, _ = world.run("task", "report-scheduler", 0, *WHO, "--json")
    assert (status, f'"code": "{code}"' in out, sent) == (1, True, [])


def test_a_scheduler_is_not_reported_twice_for_the_same_time(world: World, sent: list[Call]) -> None:
    world.put("Tasks", "PunishedUntil", BOB, ASSIGNED_AT)
    status, _, err = world.run("task", "report-scheduler", 0, *WHO)
    assert (status, "was punished for a later placement" in err, sent) == (1, True, [])
