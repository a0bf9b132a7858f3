"""Coins on hold by lease, on SQLite and PostgreSQL."""

import json
from dataclasses import replace

import pytest

from offchain.indexer.rows import LeaseRow, TaskRow
from offchain.schema.chain_types.ids import lease_id
from tests.support.history_api import history_api
from tests.support.history_blocks import TENANTS

MUCH = 10**30
"""More than 64 bits, and more than a float holds exactly."""


@pytest.fixture
async def api(address):
    async with history_api(address, 40, requests_per_s=1000) as client:
        yield client


def path(tenant):
    return f"/v1/accounts/{tenant}/escrows"


async def test_each_lease_that_is_not_settled_holds_its_deposit(api):
    settled = {row.task for row in api.db.rows(TaskRow) if row.state == "Settled"}
    assert settled
    of_tasks = {row.task: row.tenant for row in api.db.rows(TaskRow)}
    found = 0
    for tenant in TENANTS:
        mine = [row for row in api.db.rows(LeaseRow) if of_tasks[row.task] == tenant]
        # A lost pod is requeued with a bill, and a settled task has paid: their deposits went back.
        wanted = [row for row in mine if row.task not in settled and row.deposited != row.paid + row.refunded]
        held = await api.all(f"{path(tenant)}?limit=2")
        assert [(one["lease"], one["task"], one["held"]) for one in held] == [
            (str(row.lease), row.task, str(row.deposited)) for row in reversed(wanted)
        ]
        assert held == (await api.all(f"{path(tenant)}?order=oldest"))[::-1]
        assert {one["ended_ms"] is None for one in held if one["state"] == "Active"} <= {True}
        found += len(held)
    live = sum(len(json.loads(row.live)) for row in api.db.rows(TaskRow))
    reported = sum(row.state == "Reported" for row in api.db.rows(TaskRow))
    assert found == live + reported > 10


async def test_a_part_that_was_paid_is_held_no_longer(api):
    row = next(row for row in api.db.rows(LeaseRow) if row.state == "Active")
    (task,) = [one for one in api.db.rows(TaskRow) if one.task == row.task]
    api.db.upsert(LeaseRow, [replace(row, deposited=MUCH, paid=MUCH - 12, refunded=5)])
    (found,) = [one for one in await api.all(path(task.tenant)) if one["lease"] == str(row.lease)]
    assert (found["deposited"], found["paid"], found["held"]) == (str(MUCH), str(MUCH - 12), "7")
    for rest in (12, 13):
        # The first release's events had no deposits: less than what was paid.
        api.db.upsert(LeaseRow, [replace(row, deposited=MUCH, paid=MUCH - 12, refunded=rest)])
        assert str(row.lease) not in {one["lease"] for one in await api.all(path(task.tenant))}


async def test_the_rest_of_a_deposit_goes_to_the_lease_with_which_the_pod_goes_on(api):
    row = next(row for row in api.db.rows(LeaseRow) if row.state == "Active")
    (task,) = [one for one in api.db.rows(TaskRow) if one.task == row.task]
    moved = replace(row, lease=lease_id(row.task, row.pod, row.generation + 1), generation=row.generation + 1)
    other = replace(row, lease=lease_id(row.task, row.pod + 1, 0), generation=0, pod=row.pod + 1)
    api.db.upsert(LeaseRow, [replace(row, deposited=100, paid=30), replace(moved, deposited=70), other])
    held = {one["lease"]: one["held"] for one in await api.all(f"{path(task.tenant)}?limit=1")}
    assert str(row.lease) not in held
    assert held[str(moved.lease)] == "70"
    assert held[str(other.lease)] == str(row.deposited)


async def test_strangers_hold_nothing_and_odd_accounts_are_refused(api):
    assert await api.all(path("5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY")) == []
    assert (await api.get(path("5Nobody"), 400))["field"] == "account"
    assert (await api.get(f"{path(TENANTS[0])}?after=WzFd.&x=1", 400))["code"] == "invalid_parameter"
