"""Jurors execute a job with every driver as its host did: the same output has the same digest."""

import asyncio
import hashlib
import os
from dataclasses import replace

import driver_cases as case
import pytest

from node_agent.runtime.job_execution import ExecutionSettings, PodExecutor, docker_executor
from offchain.adapters.chain.typed import LeaseOfTask, TaskAndSpec
from offchain.errors import ExecutionFailed
from offchain.ports import ExecutedResult
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.types import Manifest
from tests.support.chain_records import NO_GPU, task_record, task_spec
from tests.support.dispute_records import ended_lease

TEXT = f"""
services:
  job:
    image: tool@sha256:{"ab" * 32}
    deploy: {{resources: {{limits: {{cpus: "1", memory: 64MiB}}}}}}
x-gantry:
  price: {{max_per_hour: "1 GTY"}}
  duration: 10m
  verification: deterministic
""".encode()


def job(setup, command) -> tuple[LeaseOfTask, Manifest]:
    """The lease of an ended job with this command, and its manifest."""
    manifest = parse_manifest(TEXT)
    service = replace(manifest.main, image=setup.image, command=command)
    task, pod, generation = lease_parts(setup.pod(command).lease)
    spec = task_spec(resources=gen.Resources(1_000, 64, 1, NO_GPU))
    record = replace(ended_lease(case.HOST, bytes(32)), pod=pod, generation=generation)
    found = TaskAndSpec(task, task_record("5Tenant", leases=(record,)), spec)
    return LeaseOfTask(setup.leases[-1], found, record), replace(manifest, services=(service,))


async def test_an_execution_gives_what_a_host_reports_and_leaves_nothing(setup):
    executor = PodExecutor(setup.driver, case.HOST)
    lease, manifest = job(setup, case.HELLO)
    for _ in range(2):
        found = await executor.execute(lease, manifest)
        assert found == ExecutedResult(hashlib.sha256(b"out\n").digest(), 0)
    assert lease.id not in await setup.driver.leases()


async def test_the_exit_code_is_part_of_the_result(setup):
    lease, manifest = job(setup, case.EXIT_3)
    assert (await PodExecutor(setup.driver, case.HOST).execute(lease, manifest)).exit_code == 3


async def test_an_interrupted_execution_leaves_nothing_and_the_next_one_starts_anew(setup):
    executor = PodExecutor(setup.driver, case.HOST)
    lease, manifest = job(setup, case.SLEEP)
    running = asyncio.create_task(executor.execute(lease, manifest))
    async with asyncio.timeout(60):
        while not await setup.driver.recover(lease.id):  # noqa: ASYNC110  (the engine announces no containers of others)
            await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert lease.id not in await setup.driver.leases()


async def test_what_a_killed_process_has_left_is_removed(setup):
    lease, _ = job(setup, case.SLEEP)
    spec = setup.pod(case.SLEEP, lease=lease.id)
    await case.up(setup.driver, spec)
    assert lease.id in await setup.driver.leases()
    await PodExecutor(await setup.again(), case.HOST).remove_leftovers()
    assert lease.id not in await setup.driver.leases()


async def test_an_image_that_is_nowhere_is_no_execution(setup):
    lease, manifest = job(setup, case.HELLO)
    missing = replace(manifest, services=(replace(manifest.main, image=case.MISSING),))
    with pytest.raises(ExecutionFailed) as failed:
        await PodExecutor(setup.driver, case.HOST).execute(lease, missing)
    assert failed.value.message


async def test_more_than_the_lease_was_for_is_not_executed(setup):
    lease, manifest = job(setup, case.HELLO)
    greedy = replace(manifest, services=(replace(manifest.main, memory_mib=65),))
    with pytest.raises(ExecutionFailed, match="The manifest asks for 65 MiB of memory, the lease is for 64"):
        await PodExecutor(setup.driver, case.HOST).execute(lease, greedy)


@pytest.mark.docker
async def test_the_worker_opens_an_executor_on_an_engine_and_removes_leftovers(driver, shell_image, tmp_path):
    """Pods that it executes have no network."""
    left = case.pod(case.SLEEP, shell_image)
    await case.up(driver, left)
    settings = ExecutionSettings(
        folder=tmp_path, account=case.HOST, docker_host=os.environ["GANTRY_DOCKER_HOST"], runtime=None
    )
    manifest = parse_manifest(TEXT)
    command = ("sh", "-c", "ls /sys/class/net")
    service = replace(manifest.main, image=shell_image, command=command)
    task, pod, generation = lease_parts(left.lease)
    record = replace(ended_lease(case.HOST, bytes(32)), pod=pod, generation=generation)
    spec = task_spec(resources=gen.Resources(1_000, 64, 1, NO_GPU))
    lease = LeaseOfTask(left.lease, TaskAndSpec(task, task_record("5Tenant", leases=(record,)), spec), record)
    async with docker_executor(settings) as executor:
        assert left.lease not in await driver.leases()
        found = await executor.execute(lease, replace(manifest, services=(service,)))
    assert found == ExecutedResult(hashlib.sha256(b"lo\n").digest(), 0)


async def test_an_engine_that_does_not_answer_is_named_with_what_to_do(tmp_path):
    settings = ExecutionSettings(folder=tmp_path, account=case.HOST, docker_host=f"unix://{tmp_path}/none.sock")
    with pytest.raises(ExecutionFailed, match="--driver none"):
        async with docker_executor(settings):
            raise AssertionError("there is no engine")
