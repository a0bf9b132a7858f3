"""One suite for every driver: what holds for the fake holds for Docker."""

import asyncio
import dataclasses
import os

import driver_cases as case
import pytest
from driver_fixtures import docker_api, shell_image  # noqa: F401  (fixtures)

from node_agent.core.values import EndKind, PodSpec
from node_agent.drivers.docker import DockerDriver
from node_agent.drivers.fake import FakeDriver, FakeEngine
from node_agent.ports import ImageInvalid, ImageUnavailable, PodGone
from offchain.schema.manifest_types import ImageRef, ResultSpec


class Setup:
    """A driver, a way to make a second one on the same engine, and a way to act behind its back."""

    def __init__(self, driver, image, again, kill, remove):
        self.driver, self.image, self.again, self.kill, self.remove = driver, image, again, kill, remove
        self.leases = []

    def pod(self, command, **options) -> PodSpec:
        spec = case.pod(command, self.image, **options)
        self.leases.append(spec.lease)
        return spec


@pytest.fixture(params=["fake", pytest.param("docker", marks=pytest.mark.docker)])
async def setup(request):
    if request.param == "fake":
        engine = FakeEngine(case.fake_program)

        async def again(host=case.HOST):
            return FakeDriver(engine, host)

        driver, image = await again(), ImageRef("any", "sha256:" + "1" * 64)

        def kill(handle):
            engine.kill(case.HOST, handle.lease)

        def remove(handle):
            engine.remove(case.HOST, handle.lease)
    else:
        image, api = request.getfixturevalue("shell_image"), request.getfixturevalue("docker_api")
        url = os.environ["GANTRY_DOCKER_HOST"]

        async def again(host=case.HOST):
            return await DockerDriver.connect(url, host)

        driver = await again()

        def kill(handle):
            api.kill(handle.reference)

        def remove(handle):
            api.remove_container(handle.reference, force=True)

    made = Setup(driver, image, again, kill, remove)
    yield made
    for lease in made.leases:
        await driver.destroy(lease)
    await driver.close()


async def read_all(stream) -> bytes:
    return b"".join([chunk async for chunk in stream])


async def test_output_exit_code_and_usage_of_a_program(setup):
    spec = setup.pod(case.HELLO)
    handle = await setup.driver.start(spec)
    ending = await setup.driver.wait(handle)
    assert (ending.kind, ending.exit_code, ending.oom_killed) == (EndKind.SELF, 0, False)
    assert ending.usage.wall_ms > 0
    collected = await setup.driver.collect(handle, spec.result)
    assert (collected.data, collected.note) == (b"out\n", "")
    lines = (await read_all(setup.driver.logs(spec.lease, follow=False))).splitlines()
    assert {line.partition(b" ")[2] for line in lines} == {b"out", b"err"}
    assert all(line.partition(b"T")[0].count(b"-") == 2 for line in lines)


async def test_any_exit_code_is_the_programs_own(setup):
    handle = await setup.driver.start(setup.pod(case.EXIT_3))
    ending = await setup.driver.wait(handle)
    assert (ending.kind, ending.exit_code) == (EndKind.SELF, 3)


async def test_the_memory_limit_is_the_programs_own_end(setup):
    handle = await setup.driver.start(setup.pod(case.OOM))
    ending = await setup.driver.wait(handle)
    assert (ending.kind, ending.exit_code, ending.oom_killed) == (EndKind.SELF, 137, True)


async def test_a_kill_from_outside_is_told_apart(setup):
    handle = await setup.driver.start(setup.pod(case.SLEEP))
    assert (await setup.driver.inspect(handle)).running
    waiting = asyncio.create_task(setup.driver.wait(handle))
    await asyncio.sleep(0)
    setup.kill(handle)
    ending = await waiting
    assert (ending.kind, ending.exit_code, ending.oom_killed) == (EndKind.KILLED, 137, False)


async def test_a_removed_container_is_gone(setup):
    handle = await setup.driver.start(setup.pod(case.SLEEP))
    waiting = asyncio.create_task(setup.driver.wait(handle))
    await asyncio.sleep(0)
    setup.remove(handle)
    with pytest.raises(PodGone):
        await waiting
    with pytest.raises(PodGone):
        await setup.driver.inspect(handle)
    with pytest.raises(PodGone):
        await read_all(setup.driver.logs(handle.lease, follow=False))


async def test_a_file_as_result(setup):
    spec = setup.pod(case.FILE)
    handle = await setup.driver.start(spec)
    await setup.driver.wait(handle)
    assert (await setup.driver.collect(handle, spec.result)).data == b"result"


async def test_a_missing_result_file_is_empty_with_a_note(setup):
    handle = await setup.driver.start(setup.pod(case.EXIT_3))
    await setup.driver.wait(handle)
    collected = await setup.driver.collect(handle, ResultSpec("file", "/none.bin"))
    assert collected.data == b""
    assert "/none.bin" in collected.note


async def test_start_is_repeatable_and_adopts(setup):
    spec = setup.pod(case.SLEEP)
    first = await setup.driver.start(spec)
    assert await setup.driver.start(spec) == first
    second_driver = await setup.again()
    assert await second_driver.start(spec) == first
    assert [found.handle for found in await second_driver.recover()] == [first]
    await second_driver.close()


async def test_a_later_start_replaces_the_container(setup):
    spec = setup.pod(case.SLEEP)
    first = await setup.driver.start(spec)
    second = await setup.driver.start(dataclasses.replace(spec, start=2))
    assert second.reference != first.reference
    assert [found.handle for found in await setup.driver.recover()] == [second]


async def test_an_ended_container_is_recovered_with_its_ending(setup):
    spec = setup.pod(case.EXIT_3)
    handle = await setup.driver.start(spec)
    await setup.driver.wait(handle)
    later = await setup.again()
    (found,) = await later.recover()
    assert (found.handle, found.running) == (handle, False)
    assert (await later.wait(found.handle)).exit_code == 3
    await later.close()


async def test_stop_and_destroy_leave_nothing_and_may_be_repeated(setup):
    spec = setup.pod(case.SLEEP)
    handle = await setup.driver.start(spec)
    await setup.driver.stop(spec.lease, 0)
    assert not (await setup.driver.inspect(handle)).running
    await setup.driver.destroy(spec.lease)
    await setup.driver.destroy(spec.lease)
    await setup.driver.stop(spec.lease, 0)
    assert await setup.driver.recover() == ()


async def test_an_image_that_is_nowhere(setup):
    spec = dataclasses.replace(case.pod(case.HELLO, case.MISSING), lease=setup.pod(case.HELLO).lease)
    with pytest.raises(ImageUnavailable):
        await setup.driver.start(spec)
    assert await setup.driver.recover() == ()


async def test_a_program_that_is_not_in_the_image_is_the_tenants_own_failure(setup):
    handle = await setup.driver.start(setup.pod(case.NO_SUCH_PROGRAM))
    ending = await setup.driver.wait(handle)
    assert (ending.kind, ending.exit_code) == (EndKind.SELF, 127)


async def test_a_user_that_is_not_in_the_image(setup):
    with pytest.raises(ImageInvalid):
        await setup.driver.start(setup.pod(case.HELLO, user=case.NO_SUCH_USER))
    assert await setup.driver.recover() == ()


async def test_pods_of_another_host_do_not_exist(setup):
    spec = setup.pod(case.SLEEP)
    await setup.driver.start(spec)
    stranger = await setup.again("5SomebodyElse")
    assert await stranger.recover() == ()
    await stranger.stop(spec.lease, 0)
    await stranger.destroy(spec.lease)
    assert len(await setup.driver.recover()) == 1
    await stranger.close()


async def test_following_logs_ends_with_the_pod(setup):
    spec = setup.pod(case.SLEEP)
    await setup.driver.start(spec)
    reading = asyncio.create_task(read_all(setup.driver.logs(spec.lease, follow=True)))
    await asyncio.sleep(0)
    await setup.driver.stop(spec.lease, 0)
    assert await reading == b""


async def test_fingerprint_names_the_driver(setup):
    assert (await setup.driver.fingerprint()).driver == setup.driver.name
