"""A pod that cannot start in time is given back before the start timeout, with what it waited for."""

import asyncio
from dataclasses import replace

import pytest
from agent_builders import MANIFEST, Player, a_lease, a_pod
from agent_world import World

from node_agent.chain.records import start_by_ms
from node_agent.core import commands as cmd
from node_agent.core import events as ev
from node_agent.core.admission import read_manifest
from node_agent.core.states import AgentState, Phase
from node_agent.core.values import HostFailure
from node_agent.drivers.port import DriverError, ImageTooSlow, ImageUnavailable, PullProgress
from node_agent.images.logins import ImageAccess
from node_agent.images.policy import STALLED_MS, delay_cause, progress_text
from node_agent.images.store import MAX_PULLS, ImageInventory, ImageStore
from node_agent.logs.pod_notes import StartProgress
from offchain.schema.chain_types._generated_chain import LeaseStatePending
from offchain.schema.manifest.types import ImageRef
from tests.support.chain_records import tasks_params
from tests.support.fake_engine import FakeProgram
from tests.support.fake_images import FakeImages

START_BY = 50_000
IMAGE = "demo/shell@sha256:" + "1" * 64
WITH_SECRET = b"""\
services:
  main:
    image: demo/shell@sha256:%s
    secrets: [api-key]
    deploy:
      resources:
        limits: {cpus: "0.5", memory: 64M, pids: 32}
secrets:
  api-key: {external: true}
x-gantry:
  kind: job
  price: {max_per_hour: 1 GTY}
  duration: 10m
""" % (b"1" * 64)


def a_player(phase, **changes):
    play = Player()
    pod = a_pod(lease=a_lease(1, start_by_ms=START_BY))
    play.state = AgentState(play.state.host, {1: replace(pod, phase=phase, **changes)})
    return play


def late(play, now_ms=START_BY):
    play.now_ms = now_ms
    return play(ev.Tick())


def test_a_pod_whose_files_are_not_delivered_is_given_back_as_its_tenants():
    play = a_player(Phase.AWAITING)
    assert late(play, START_BY - 1) == []
    refused, destroyed = late(play)
    assert isinstance(refused, cmd.SubmitFailed)
    assert refused.reason is HostFailure.INPUT_MISSING
    assert isinstance(destroyed, cmd.DestroyPod)
    assert play.state.phase(1) is Phase.REFUSING


def test_a_pod_that_is_still_prepared_is_given_back_with_what_its_driver_says():
    play = a_player(Phase.PREPARING)
    assert late(play, START_BY - 1) == []
    (asked,) = late(play)
    assert isinstance(asked, cmd.ExplainLateStart)
    refused, _ = play(ev.DriverFailed(1, None, HostFailure.IMAGE_TOO_SLOW, "1 of 2 GiB", transient=False))
    assert (refused.reason, refused.message) == (HostFailure.IMAGE_TOO_SLOW, "1 of 2 GiB")


def test_a_pod_that_was_prepared_just_in_time_starts():
    play = a_player(Phase.PREPARING)
    late(play)
    play(ev.PodPrepared(1))
    assert play(ev.DriverFailed(1, None, HostFailure.IMAGE_TOO_SLOW, "", transient=False)) == []
    assert play.state.phase(1) is Phase.STARTING


@pytest.mark.parametrize("phase", [Phase.AWAITING, Phase.PREPARING])
def test_a_pod_that_has_started_before_has_no_start_timeout(phase):
    assert late(a_player(phase, started_known=True), 10 * START_BY) == []


def test_the_agent_asks_for_a_tick_when_the_start_is_due():
    play = Player()
    lease = a_lease(1, start_by_ms=START_BY)
    play(ev.LeaseAssigned(lease))
    assert cmd.ScheduleRetry(1, START_BY) in play(ev.ManifestFetched(1, read_manifest(MANIFEST)))


@pytest.mark.parametrize(
    ("timeout_ms", "margin_ms"), [(900_000, 90_000), (60_000, 10_000), (300_000, 30_000), (12_000, 6_000), (1, 0)]
)
def test_the_report_has_time_to_be_included(timeout_ms, margin_ms):
    assert start_by_ms(1_000, timeout_ms) == 1_000 + timeout_ms - margin_ms


# --- why ------------------------------------------------------------------------------------------------------------


def a_pull(**changes):
    return replace(PullProgress(IMAGE, 0, 0, None, 1), **changes)


@pytest.mark.parametrize(
    ("pulls", "kind"),
    [
        ([a_pull()], ImageUnavailable),
        ([a_pull(done_bytes=5, total_bytes=9, idle_ms=STALLED_MS)], ImageUnavailable),
        ([a_pull(done_bytes=5, total_bytes=9, idle_ms=STALLED_MS - 1)], ImageTooSlow),
        ([a_pull(tries=0)], ImageTooSlow),
        ([a_pull(tries=0), a_pull()], ImageUnavailable),
        ([], DriverError),
    ],
)
def test_the_cause_of_a_delay_follows_from_the_pulls(pulls, kind):
    assert type(delay_cause(pulls)) is kind


def test_the_reason_says_what_the_registry_did():
    said = str(delay_cause([a_pull(tries=3, trouble="connection refused")]))
    assert said == (
        f"the image {IMAGE} could not be pulled before the start timeout: "
        "its registry sent nothing in 3 tries (connection refused)"
    )


def test_progress_names_sizes():
    assert progress_text(a_pull(done_bytes=1_288_490_189, total_bytes=3_650_722_202, idle_ms=0)) == (
        f"the image {IMAGE} is being pulled: 1.2 GiB of 3.4 GiB"
    )
    assert progress_text(a_pull()) == f"the image {IMAGE} is being pulled: no data yet"


async def test_the_store_reports_queued_and_stalled_pulls(tmp_path):
    now_ms = [1_000]
    engine = FakeImages(gate=asyncio.Event())
    store = ImageStore(
        engine, ImageInventory(tmp_path / "images.json"), mirror=None, quota_bytes=1 << 40, now_ms=lambda: now_ms[0]
    )
    images = [ImageRef("lab/demo", f"sha256:{number:064}") for number in range(MAX_PULLS + 1)]
    waiting = [
        asyncio.create_task(store.ensure(image, ImageAccess(f"account {number}")))
        for number, image in enumerate(images)
    ]
    for _ in range(100):
        await asyncio.sleep(0)
    assert len(engine.pulls) == MAX_PULLS
    assert store.progress(images[0]) == PullProgress(images[0].reference, 0, 0, None, 1)
    assert store.progress(images[-1], f"account {MAX_PULLS}") == PullProgress(images[-1].reference, 0, 0, None, 0)
    engine.on_progress[images[0].reference](5, 9)
    now_ms[0] += 700
    assert store.progress(images[0]) == PullProgress(images[0].reference, 5, 9, 700, 1)
    for task in waiting:
        task.cancel()
    await store.close()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert [store.progress(image) for image in images] == [None] * len(images)


# --- the agent ------------------------------------------------------------------------------------------------------


async def until_refused(world, agent):
    """Make blocks until the agent has given a lease back. Timers of the loop do not follow the chain's time here."""
    await world.until(lambda: agent.emit(ev.Tick()) or world.reports)


async def log_of(world, agent, number):
    async with world.asking(agent) as client:
        return b"".join([piece async for piece in client.logs(number)]).decode()


async def test_a_silent_registry_does_not_keep_the_lease_until_its_start_timeout(tmp_path):
    world = World(tmp_path / "agent", lambda *_: FakeProgram())
    world.table("Tasks", "Params")[()] = tasks_params(start_timeout_ms=40_000)
    world.engine.pulls = (a_pull(),)
    async with world.agent() as agent:
        number = world.open_lease()
        await world.until(lambda: agent.state.phase(number) is Phase.PREPARING)
        assert world.tasks.lease(number).state == LeaseStatePending()
        opened_ms = world.tasks.lease(number).created_at
        await until_refused(world, agent)
        assert world.reports == [(number, HostFailure.IMAGE_UNAVAILABLE)]
        assert world.now_ms - opened_ms < 40_000
        await world.until(lambda: agent.state.phase(number) is Phase.ABSENT)
        said = await log_of(world, agent, number)
    assert "the host gave this pod back (image_unavailable): the image" in said


async def test_the_log_of_a_pod_that_waits_for_a_secret_says_how_to_deliver_it(tmp_path):
    world = World(tmp_path / "agent", lambda *_: FakeProgram())
    world.table("Tasks", "Params")[()] = tasks_params(start_timeout_ms=40_000)
    async with world.agent() as agent:
        number = world.open_lease(WITH_SECRET)
        await world.until(lambda: agent.state.phase(number) is Phase.AWAITING)
        said = await log_of(world, agent, number)
        await until_refused(world, agent)
        assert world.reports == [(number, HostFailure.INPUT_MISSING)]
        await world.until(lambda: agent.state.phase(number) is Phase.ABSENT)
        ended = await log_of(world, agent, number)
    assert "this pod waits for its tenant until " in said
    assert "gantry deliver 0 api-key FILE" in said
    assert ended.startswith(said)
    assert "(input_missing): the tenant did not deliver in time: api-key" in ended


async def test_the_log_of_a_pod_says_how_far_its_image_is(tmp_path):
    world = World(tmp_path / "agent", lambda *_: FakeProgram())
    world.engine.pulls = (a_pull(done_bytes=1 << 20, total_bytes=3 << 20, idle_ms=0),)
    async with world.agent() as agent:
        number = world.open_lease()
        await world.until(lambda: agent.state.phase(number) is Phase.PREPARING)
        StartProgress(agent._driver, lambda: agent.state.pods, agent._notes.say).report()
        assert "is being pulled: 1.0 MiB of 3.0 MiB" in await log_of(world, agent, number)
        world.engine.pulls = ()
        world.engine.pulled.set()
        await world.until(lambda: world.reports)


async def test_an_agent_that_was_killed_meanwhile_gives_the_lease_back_in_time(tmp_path):
    world = World(tmp_path / "agent", lambda *_: FakeProgram())
    world.table("Tasks", "Params")[()] = tasks_params(start_timeout_ms=40_000)
    async with world.agent() as agent:
        number = world.open_lease(WITH_SECRET)
        opened_ms = world.tasks.lease(number).created_at
        await world.until(lambda: agent.state.phase(number) is Phase.AWAITING)
    async with world.agent() as agent:
        assert agent.state.phase(number) is Phase.AWAITING
        await until_refused(world, agent)
    assert world.reports == [(number, HostFailure.INPUT_MISSING)]
    assert world.now_ms - opened_ms < 40_000
