"""Any part may be killed at any moment: the task is still settled, and paid once."""

from __future__ import annotations

import pytest
from local_network import Net, Pods, sha256, steps_output

STEPS = 8


async def settled_and_paid_once(net: Net, task: int) -> None:
    await net.until(task, {"Settled"})
    await net.assert_paid_once(task)
    (lease,) = await net.leases(task)
    assert lease.result is not None
    assert lease.result.exit_code == 0
    assert lease.result.digest.hex() == sha256(steps_output(STEPS))


async def test_the_container_is_killed(net: Net, pods: Pods):
    task = await net.submit(STEPS)
    await net.until(task, {"Running"})
    (container,) = pods.of(task)
    container.kill()
    await settled_and_paid_once(net, task)


@pytest.mark.parametrize("name", ["agent", "workers", "node"])
async def test_a_process_is_killed_while_the_task_runs(net: Net, name: str):
    task = await net.submit(STEPS)
    await net.until(task, {"Running"})
    killed = net.kill(name)
    await settled_and_paid_once(net, task)
    assert net.pid(name) != killed


async def test_the_workers_are_killed_before_the_task_is_assigned(net: Net):
    killed = net.kill("workers")
    task = await net.submit(STEPS)
    await settled_and_paid_once(net, task)
    assert net.pid("workers") != killed


async def test_the_agent_is_killed_before_it_starts_the_task(net: Net):
    task = await net.submit(STEPS)
    await net.until(task, {"Assigned", "Running"})
    net.kill("agent")
    await settled_and_paid_once(net, task)


async def test_the_workers_are_killed_when_the_result_is_in(net: Net):
    task = await net.submit(STEPS)
    await net.until(task, {"Reported"})
    net.kill("workers")
    await settled_and_paid_once(net, task)
