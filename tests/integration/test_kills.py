"""Any part may be killed at any moment: the task is still settled, and paid once."""

import pytest

from tests.support.jobs import OUTPUT
from tests.support.local_network import Net, Pods, sha256


async def settled_and_paid_once(net: Net, task: int) -> None:
    await net.until(task, {"Settled"})
    await net.assert_paid_once(task)
    (lease,) = await net.leases(task)
    assert lease.result is not None
    assert lease.result.exit_code == 0
    assert lease.result.digest.hex() == sha256(OUTPUT)


async def test_the_container_is_killed(net: Net, pods: Pods):
    task = await net.submit_until_signal()
    await net.until(task, {"Running"})
    (killed,) = pods.of(task)
    killed.kill()

    async def another_runs() -> bool:
        return [one.id for one in pods.of(task)] not in ([], [killed.id])

    await net.each_block(another_runs, f"another container of task {task}")
    await net.end_pod(task, pods)
    await settled_and_paid_once(net, task)


@pytest.mark.parametrize("name", ["agent", "workers", "node"])
async def test_a_process_is_killed_while_the_task_runs(net: Net, pods: Pods, name: str):
    task = await net.submit_until_signal()
    await net.until(task, {"Running"})
    killed = net.kill(name)
    await net.end_pod(task, pods)
    await settled_and_paid_once(net, task)
    assert net.pid(name) != killed


async def test_the_workers_are_killed_before_the_task_is_assigned(net: Net, pods: Pods):
    killed = net.kill("workers")
    task = await net.submit_until_signal()
    await net.end_pod(task, pods)
    await settled_and_paid_once(net, task)
    assert net.pid("workers") != killed


async def test_the_agent_is_killed_before_it_starts_the_task(net: Net, pods: Pods):
    task = await net.submit_until_signal()
    await net.until(task, {"Assigned", "Running"})
    net.kill("agent")
    await net.end_pod(task, pods)
    await settled_and_paid_once(net, task)


async def test_the_workers_are_killed_when_the_result_is_in(net: Net, pods: Pods):
    task = await net.submit_until_signal()
    await net.end_pod(task, pods)
    await net.until(task, {"Reported", "Settled"})
    net.kill("workers")
    await settled_and_paid_once(net, task)
