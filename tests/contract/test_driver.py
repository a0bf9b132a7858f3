"""One suite for every driver: what holds for the fake holds for Docker. Programs, their endings, logs, restarts."""

import asyncio
import dataclasses
from contextlib import aclosing

import driver_cases as case
import pytest

from node_agent.core.values import EndKind
from node_agent.drivers.port import ImageCannotRun, ImageUnavailable, PodGone
from offchain.schema.manifest.types import ResultSpec


async def read_all(stream) -> bytes:
    return b"".join([chunk async for chunk in stream])


async def test_output_exit_code_and_usage_of_a_program(setup):
    spec = setup.pod(case.HELLO)
    handle = await case.up(setup.driver, spec)
    ending = await case.ended(setup.driver, handle)
    assert (ending.kind, ending.exit_code, ending.oom_killed) == (EndKind.SELF, 0, False)
    assert ending.usage.wall_ms > 0
    collected = await setup.driver.collect(handle, spec.result)
    assert (collected.data, collected.note) == (b"out\n", "")
    lines = (await read_all(setup.driver.logs(spec.lease, follow=False))).splitlines()
    assert {line.partition(b" ")[2] for line in lines} == {b"out", b"err"}
    assert all(line.partition(b"T")[0].count(b"-") == 2 for line in lines)


async def test_the_last_lines_of_a_log(setup):
    spec = setup.pod(case.COUNT)
    await case.ended(setup.driver, await case.up(setup.driver, spec))
    for tail, wanted in ((0, []), (2, [b"two", b"three"]), (9, [b"one", b"two", b"three"])):
        lines = (await read_all(setup.driver.logs(spec.lease, follow=False, tail=tail))).splitlines()
        assert [line.partition(b" ")[2] for line in lines] == wanted


async def test_any_exit_code_is_the_programs_own(setup):
    ending = await case.ended(setup.driver, await case.up(setup.driver, setup.pod(case.EXIT_3)))
    assert (ending.kind, ending.exit_code) == (EndKind.SELF, 3)


async def test_the_memory_limit_is_the_programs_own_end(setup):
    ending = await case.ended(setup.driver, await case.up(setup.driver, setup.pod(case.OOM)))
    assert (ending.kind, ending.exit_code, ending.oom_killed) == (EndKind.SELF, 137, True)


async def test_a_kill_from_outside_is_told_apart(setup):
    handle = await case.up(setup.driver, setup.pod(case.SLEEP))
    assert (await setup.driver.inspect(handle)).running
    waiting = asyncio.create_task(case.ended(setup.driver, handle))
    await asyncio.sleep(0)
    setup.kill(handle)
    ending = await waiting
    assert (ending.kind, ending.exit_code, ending.oom_killed) == (EndKind.KILLED, 137, False)


async def test_a_removed_container_is_gone(setup):
    handle = await case.up(setup.driver, setup.pod(case.SLEEP))
    waiting = asyncio.create_task(case.ended(setup.driver, handle))
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
    assert await case.output(setup.driver, spec) == b"result"


async def test_a_missing_result_file_is_empty_with_a_note(setup):
    handle = await case.up(setup.driver, setup.pod(case.EXIT_3))
    await case.ended(setup.driver, handle)
    collected = await setup.driver.collect(handle, ResultSpec("file", "/none.bin"))
    assert collected.data == b""
    assert "/none.bin" in collected.note


async def test_start_is_repeatable_and_adopts(setup):
    spec = setup.pod(case.SLEEP)
    first = await case.up(setup.driver, spec)
    assert await case.up(setup.driver, spec) == first
    second_driver = await setup.again()
    assert await case.up(second_driver, spec) == first
    assert [found.handle for found in await second_driver.recover()] == [first]
    await second_driver.close()


async def test_a_later_start_replaces_the_container(setup):
    spec = setup.pod(case.SLEEP)
    first = await case.up(setup.driver, spec)
    second = await setup.driver.start(spec, "main", 2)
    assert second.reference != first.reference
    assert [found.handle for found in await setup.driver.recover()] == [second]


async def test_an_ended_container_is_recovered_with_its_ending(setup):
    spec = setup.pod(case.EXIT_3)
    handle = await case.up(setup.driver, spec)
    await case.ended(setup.driver, handle)
    later = await setup.again()
    (found,) = await later.recover()
    assert (found.handle, found.running) == (handle, False)
    assert (await case.ended(later, found.handle)).exit_code == 3
    await later.close()


async def test_a_signal_reaches_the_pods_containers_and_no_others(setup):
    listening, other = setup.pod(case.LISTEN), setup.pod(case.SLEEP)
    handles = [await case.up(setup.driver, spec) for spec in (listening, other)]
    async with aclosing(setup.driver.logs(listening.lease, follow=True)) as seen:
        async for piece in seen:
            if b"up" in piece:
                break
    await setup.driver.signal(listening.lease, "SIGUSR1")
    ending = await case.ended(setup.driver, handles[0])
    assert (ending.kind, ending.exit_code) == (EndKind.SELF, 7)
    assert (await setup.driver.inspect(handles[1])).running
    await setup.driver.signal(listening.lease, "SIGUSR1")


async def test_who_has_to_leave_finds_until_when_and_who_need_not_finds_nothing(setup):
    first, second = (dataclasses.replace(setup.pod(case.TOLD), receives_notices=True) for _ in range(2))
    handles = [await case.up(setup.driver, spec) for spec in (first, second)]
    await setup.driver.set_notice(first.lease, b"soon")
    assert (await case.ended(setup.driver, handles[0])).exit_code == 0
    assert (await setup.driver.collect(handles[0], first.result)).data == b"soon"
    assert (await setup.driver.inspect(handles[1])).running
    # Also in a container that comes later, and no longer when it is taken back.
    again = await setup.driver.start(first, "main", 2)
    assert (await case.ended(setup.driver, again)).exit_code == 0
    await setup.driver.set_notice(first.lease, None)
    await setup.driver.set_notice(first.lease, None)
    again = await setup.driver.start(first, "main", 3)
    assert (await setup.driver.inspect(again)).running


async def test_stop_and_destroy_leave_nothing_and_may_be_repeated(setup):
    spec = setup.pod(case.SLEEP)
    handle = await case.up(setup.driver, spec)
    await setup.driver.stop(spec.lease)
    assert not (await setup.driver.inspect(handle)).running
    await setup.driver.destroy(spec.lease, keep_data=False)
    await setup.driver.destroy(spec.lease, keep_data=False)
    await setup.driver.stop(spec.lease)
    assert await setup.driver.recover() == ()


async def test_an_image_that_is_nowhere(setup):
    spec = dataclasses.replace(case.pod(case.HELLO, case.MISSING), lease=setup.pod(case.HELLO).lease)
    with pytest.raises(ImageUnavailable):
        await case.up(setup.driver, spec)
    assert await setup.driver.recover() == ()


async def test_a_program_that_is_not_in_the_image_is_the_tenants_own_failure(setup):
    ending = await case.ended(setup.driver, await case.up(setup.driver, setup.pod(case.NO_SUCH_PROGRAM)))
    assert (ending.kind, ending.exit_code) == (EndKind.SELF, 127)


async def test_a_user_that_is_not_in_the_image(setup):
    with pytest.raises(ImageCannotRun):
        await case.up(setup.driver, setup.pod(case.HELLO, user=case.NO_SUCH_USER))
    assert await setup.driver.recover() == ()


async def test_pods_of_another_host_do_not_exist(setup):
    spec = setup.pod(case.SLEEP)
    await case.up(setup.driver, spec)
    stranger = await setup.again("5SomebodyElse")
    assert await stranger.recover() == ()
    await stranger.stop(spec.lease)
    await stranger.destroy(spec.lease, keep_data=False)
    assert len(await setup.driver.recover()) == 1
    await stranger.close()


async def test_following_logs_ends_with_the_pod(setup):
    spec = setup.pod(case.SLEEP)
    await case.up(setup.driver, spec)
    reading = asyncio.create_task(read_all(setup.driver.logs(spec.lease, follow=True)))
    await asyncio.sleep(0)
    await setup.driver.stop(spec.lease)
    assert await reading == b""


async def test_fingerprint_names_the_driver(setup):
    assert (await setup.driver.fingerprint()).driver == setup.driver.name


# --- runs in the same container ---------------------------------------------------------------------------------------


async def test_a_container_goes_on_in_place_after_the_run_that_is_named(setup):
    spec = setup.pod(case.TWICE)
    first = await case.up(setup.driver, spec)
    ending = await case.ended(setup.driver, first)
    assert ending.exit_code == 3
    again = await setup.driver.start(spec, "main", 2, ending.mark)
    assert (again.reference, again.start) == (first.reference, 2)
    second = await case.ended(setup.driver, again)
    assert second.exit_code == 7
    assert second.mark != ending.mark
    # The same command once more, as after a crash: that run was made, and ended.
    repeated = await setup.driver.start(spec, "main", 2, ending.mark)
    assert await case.ended(setup.driver, repeated) == second


async def test_a_start_in_place_of_a_container_that_is_gone_makes_a_new_one(setup):
    spec = setup.pod(case.SLEEP)
    first = await case.up(setup.driver, spec)
    setup.kill(first)
    ending = await case.ended(setup.driver, first)
    setup.remove(first)
    again = await setup.driver.start(spec, "main", 2, ending.mark)
    assert (await setup.driver.inspect(again)).running


async def test_a_stopped_pod_says_which_run_ended_and_goes_on(setup):
    spec = setup.pod(case.SLEEP)
    handle = await case.up(setup.driver, spec)
    await setup.driver.stop(spec.lease)
    (found,) = await setup.driver.recover(spec.lease)
    assert not found.running
    again = await setup.driver.start(spec, "main", 2, found.mark)
    assert again.reference == handle.reference
    assert (await setup.driver.inspect(again)).running


async def test_health_is_told_when_the_check_has_passed(setup):
    spec = setup.pod(case.WELL, healthcheck=case.CHECK)
    handle = await case.up(setup.driver, spec)
    async with aclosing(setup.driver.watch(handle)) as seen:
        async for now in seen:
            if now.healthy:
                break
    assert now.running
    await setup.driver.stop_container(handle)
    await setup.driver.stop_container(handle)
    assert not (await setup.driver.inspect(handle)).running


# --- pods of several containers ---------------------------------------------------------------------------------------


async def test_containers_of_a_pod_come_and_go_each_by_itself(setup):
    spec = setup.pod_of(main=case.SLEEP, helper=case.HELLO)
    await setup.driver.prepare(spec)
    helper = await setup.driver.start(spec, "helper", 1)
    main = await setup.driver.start(spec, "main", 1)
    assert (await case.ended(setup.driver, helper)).exit_code == 0
    assert (await setup.driver.inspect(main)).running
    assert {found.handle.service for found in await setup.driver.recover(spec.lease)} == {"main", "helper"}
    log = await read_all(setup.driver.logs(spec.lease, follow=False))
    assert {line.partition(b" ")[2] for line in log.splitlines()} == {b"helper | out", b"helper | err"}
    assert b"|" not in await read_all(setup.driver.logs(spec.lease, follow=False, service="helper"))
    again = await setup.driver.start(spec, "helper", 2)
    assert again.reference != helper.reference
    assert (await setup.driver.inspect(main)).running
    await setup.driver.destroy(spec.lease, keep_data=False)
    assert await setup.driver.recover() == ()
    assert spec.lease not in await setup.driver.leases()


async def test_a_pod_that_was_only_prepared_is_found_and_removed(setup):
    spec = setup.pod_of(main=case.SLEEP, helper=case.HELLO)
    await setup.driver.prepare(spec)
    await setup.driver.prepare(spec)
    later = await setup.again()
    assert spec.lease in await later.leases()
    await later.destroy(spec.lease, keep_data=False)
    assert spec.lease not in await later.leases()
    await later.close()
