"""What a worker's metrics say about a chain, a scheduler and an outbox that really run."""

from __future__ import annotations

import asyncio
import os
import signal

from toy_network import NOT_QUEUED, WORKER, Toy

from offchain.adapters.metrics.chain import AccountMetrics, OutboxMetrics
from offchain.services.runner import serve
from offchain.services.worker_metrics import SchedulerMetrics, ViewMetrics
from offchain.services.worker_state import WorkerState
from tests.support.chain_records import GTY


def values(source):
    return {(one.metric.name, *one.labels): one.value for one in source()}


async def until(toy, task, reached):
    async with asyncio.timeout(60):  # cycles run in a thread
        while not await reached():
            await toy.block()
            await toy.quiet(task)


async def ended(task):
    os.kill(os.getpid(), signal.SIGTERM)
    await task


async def test_queues_placements_and_calls_are_counted():
    toy, state = Toy(), WorkerState()
    cycles = []
    state.scheduled.on_cycle = cycles.append
    scheduler, view = SchedulerMetrics(state), ViewMetrics(state)
    outbox = OutboxMetrics(toy.store, WORKER.address, state.outbox)
    toy.host(gpus=1)
    await toy.block()
    await scheduler.refresh()
    assert values(view) == {}
    assert ("gantry_scheduler_unschedulable_tasks",) not in values(scheduler)
    task = asyncio.create_task(serve(["scheduler"], toy.chain, toy.store, WORKER, kept=state))
    await toy.quiet(task)
    await toy.submit(3)

    async def one_is_placed():
        await scheduler.refresh()
        return values(scheduler).get(("gantry_scheduler_assignments_total", "accepted")) == 1

    await until(toy, task, one_is_placed)
    found = values(scheduler)
    assert found["gantry_scheduler_waiting_tasks", "default"] == 2
    assert found["gantry_scheduler_unschedulable_tasks",] == 2
    assert found["gantry_scheduler_pods_placed_total",] == 1
    assert found["gantry_scheduler_assignments_total", "refused"] == 0
    assert len(cycles) > 1
    assert min(cycles) > 0
    calls = values(outbox)
    assert calls["gantry_outbox_outcomes_total", "included"] >= 1
    assert calls["gantry_outbox_extrinsics_total",] >= 1
    assert calls["gantry_outbox_calls", "dead"] == 0
    assert 0 < values(view)["gantry_worker_processed_block",] <= (await toy.chain.finalized_head()).number
    await ended(task)
    await scheduler.refresh()
    assert ("gantry_scheduler_waiting_tasks", "default") not in values(scheduler)


async def test_refused_assignments_are_counted():
    toy, state = Toy(), WorkerState()
    toy.verdict = lambda call: NOT_QUEUED if call.function == "assign" else None
    scheduler, outbox = SchedulerMetrics(state), OutboxMetrics(toy.store, WORKER.address, state.outbox)
    toy.host()
    await toy.block()
    task = asyncio.create_task(serve(["scheduler"], toy.chain, toy.store, WORKER, kept=state))
    await toy.quiet(task)
    await toy.submit()

    async def one_is_refused():
        return values(scheduler)["gantry_scheduler_assignments_total", "refused"] >= 1

    await until(toy, task, one_is_refused)
    assert values(outbox)["gantry_outbox_outcomes_total", "rejected"] >= 1
    assert values(scheduler)["gantry_scheduler_assignments_total", "accepted"] == 0
    await ended(task)


async def test_the_balance_is_read_twice_a_minute_at_most_and_kept_while_the_node_is_away(monkeypatch):
    toy = Toy()
    toy.put("System", "Account", WORKER.address, value={"data": {"free": 5 * GTY, "reserved": GTY, "frozen": 0}})
    await toy.block()
    balance = AccountMetrics(toy.chain, WORKER.address)
    assert values(balance) == {}
    await balance.refresh()
    wanted = {("gantry_account_balance_gty", "free"): 5, ("gantry_account_balance_gty", "held"): 1}
    assert values(balance) == wanted
    toy.chain.unreachable = True
    await balance.refresh()
    monkeypatch.setattr("offchain.adapters.metrics.chain.BALANCE_EVERY_S", 0.0)
    await balance.refresh()
    assert values(balance) == wanted
