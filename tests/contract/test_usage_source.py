"""One suite for every usage source of pods' containers: what holds for the fake holds for Docker."""

import dataclasses
import os
from contextlib import AsyncExitStack

import driver_cases as case
import pytest
from driver_fixtures import docker_driver

from node_agent.core.values import ContainerSpec
from node_agent.metering.docker import DockerUsageSource
from node_agent.metering.usage import MeteredUsage, PodSample, fold
from offchain.clock import unix_ms
from offchain.schema.manifest.types import ImageRef
from tests.support.fake_driver import FakeDriver
from tests.support.fake_engine import FakeEngine
from tests.support.fake_usage import FakeUsageSource


class Setup:
    """A driver, and usage sources of the same engine."""

    def __init__(self, driver, image, source, other_hosts_source):
        self.driver, self.image, self.source, self.other_hosts_source = driver, image, source, other_hosts_source

    async def run(self, lease):
        (run,) = (await self.source.read({lease}))[lease]
        return run


@pytest.fixture(params=["fake", pytest.param("docker", marks=pytest.mark.docker)])
async def setup(request, tmp_path):
    async with AsyncExitStack() as stack:
        if request.param == "fake":
            engine = FakeEngine(case.FakePrograms())
            driver, image = FakeDriver(engine, case.HOST), ImageRef("any", "sha256:" + "1" * 64)
            sources = [FakeUsageSource(engine, host) for host in (case.HOST, "5Other")]
        else:
            image = request.getfixturevalue("shell_image")
            driver = await stack.enter_async_context(docker_driver(tmp_path))
            url = os.environ["GANTRY_DOCKER_HOST"]
            sources = [DockerUsageSource(url, host, now_ms=unix_ms) for host in (case.HOST, "5Other")]
        for source in sources:
            stack.push_async_callback(source.close)
        yield Setup(driver, image, *sources)


async def test_a_running_container_has_one_run_whose_counters_do_not_fall(setup):
    spec = case.pod(case.SLEEP, setup.image)
    await case.up(setup.driver, spec)
    first, second = await setup.run(spec.lease), await setup.run(spec.lease)
    assert first.name == second.name
    assert first.own
    assert 0 <= first.age_ms <= second.age_ms
    assert 0 < first.cpu_us <= second.cpu_us
    assert 0 < first.memory_bytes < 64 << 20
    assert first.received_bytes <= second.received_bytes


async def test_only_what_is_asked_for_and_ours_is_read(setup):
    one, other = (case.pod(case.SLEEP, setup.image) for _ in range(2))
    for spec in (one, other):
        await case.up(setup.driver, spec)
    assert set(await setup.source.read({one.lease})) == {one.lease}
    assert set(await setup.source.read({one.lease, other.lease, 1})) == {one.lease, other.lease}
    assert not await setup.other_hosts_source.read({one.lease})


async def test_what_has_ended_is_not_read(setup):
    spec = case.pod(case.EXIT_3, setup.image)
    await case.ended(setup.driver, await case.up(setup.driver, spec))
    assert not await setup.source.read({spec.lease})


async def test_a_run_in_the_same_container_has_a_name_of_its_own_and_adds_up(setup):
    spec = case.pod(case.WELL, setup.image)
    handle = await case.up(setup.driver, spec)
    first = await setup.run(spec.lease)
    await setup.driver.stop_container(handle)
    ending = await case.ended(setup.driver, handle)
    again = await setup.driver.start(spec, handle.service, 2, follows=ending.mark)
    assert again.reference == handle.reference
    second = await setup.run(spec.lease)
    assert second.name != first.name
    metered = MeteredUsage()
    for moment, run in enumerate((first, second)):
        metered = fold(metered, PodSample(boot="b", steady_ms=moment, runs=(run,)))
    assert metered.cpu_us == first.cpu_us + second.cpu_us


async def test_every_container_of_a_pod_is_read(setup):
    spec = case.pod(case.SLEEP, setup.image)
    services = [case.a_service(case.SLEEP, setup.image, name=name) for name in ("web", "db")]
    spec = dataclasses.replace(spec, containers=tuple(ContainerSpec(one) for one in services))
    await setup.driver.prepare(spec)
    for name in ("web", "db"):
        await setup.driver.start(spec, name, 1)
    runs = (await setup.source.read({spec.lease}))[spec.lease]
    assert len([run for run in runs if run.own]) == 2
    assert all(run.cpu_us == run.memory_bytes == 0 for run in runs if not run.own)


async def test_an_engine_without_the_pod_says_nothing_of_it(setup):
    assert not await setup.source.read({1, 2})
    assert not await setup.source.read(())


@pytest.mark.docker
async def test_the_network_of_a_pod_is_counted_in_its_own_words(docker_api, shell_image, tmp_path):
    """A pod of several containers: what they send goes through the pod sandbox."""
    del docker_api
    talk = ("bash", "-c", "while sleep 0.2; do echo x > /dev/udp/198.51.100.1/9; done")
    async with docker_driver(tmp_path) as driver:
        services = [case.a_service(talk, shell_image, name=name) for name in ("web", "db")]
        spec = dataclasses.replace(
            case.pod(case.SLEEP, shell_image), containers=tuple(ContainerSpec(one) for one in services)
        )
        await driver.prepare(spec)
        for name in ("web", "db"):
            await driver.start(spec, name, 1)
        source = DockerUsageSource(os.environ["GANTRY_DOCKER_HOST"], case.HOST, now_ms=lambda: 0)
        try:
            runs = (await source.read({spec.lease}))[spec.lease]
            (sandbox,) = [run for run in runs if not run.own]
            while sandbox.sent_bytes == 0:
                (sandbox,) = [run for run in (await source.read({spec.lease}))[spec.lease] if not run.own]
            assert all(run.sent_bytes == run.received_bytes == 0 for run in runs if run.own)
        finally:
            await source.close()
