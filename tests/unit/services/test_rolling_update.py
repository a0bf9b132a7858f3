"""Updates of a service over a chain in memory: what is called, in which order, and that it goes on from anywhere."""

import asyncio
import contextlib
import random

import pytest

from offchain.adapters.keys.signer import from_uri
from offchain.adapters.outbox.store import Store
from offchain.core.rollout import least_surge
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.task_spec import (
    ReplacedTask,
    manifest_digest,
    replaced_task,
    with_replaced_task,
    without_replaced_task,
)
from offchain.services.rolling_update import RollingUpdate, UpdateLimits, run_with_outbox, submit_version
from offchain.services.service_versions import ServiceError, find_service, services_of
from tests.support.inline import Inline
from tests.support.service_world import HOST, MANIFEST, NEXT, TENANT, ServiceWorld

MANY_LOOKS = 200


@pytest.fixture
def world():
    return ServiceWorld()


async def begun(world, pods=3, text=NEXT, base=MANIFEST):
    """A service with a new version beside it."""
    world.submit(base, pods)
    (service,) = await services_of(world.typed, TENANT)
    await submit_version(world.typed, world, TENANT, service.current, text, ())
    (service,) = await services_of(world.typed, TENANT)
    return service


def rollout(world, service, *, undo=False, **changes):
    old, new = service.current.task.spec, service.coming.task.spec
    surge = least_surge(service.coming.place.pods, old.pods_min, new.pods_min, new.pods_max)
    limits = UpdateLimits(**({"surge": surge, "unavailable": 0, "settle_ms": 4_000, "patience_ms": 60_000} | changes))
    return RollingUpdate(world.typed, world, world.well, service, limits, world.told.append, undo=undo)


async def ended(world, update):
    for _ in range(MANY_LOOKS):
        result = await update.look()
        if result is not None:
            return result
        world.block()
    raise AssertionError(world.told)


async def test_pods_are_replaced_one_by_one_and_the_old_version_ends_last(world):
    service = await begun(world)
    result = await ended(world, rollout(world, service))
    assert (result.task, result.pods, result.failed) == (1, 3, None)
    assert world.done == [
        ("submit", None),
        ("scale", 0, 2),
        ("scale", 1, 2),
        ("scale", 0, 1),
        ("scale", 1, 3),
        ("end", 0),
    ]
    assert world.told[0] == "task 0 (old): 3 of 3 pods; task 1 (new): 0 of 1 pods"
    (service,) = await services_of(world.typed, TENANT)
    assert (service.current.id, service.coming) == (1, None)


async def test_a_pod_counts_only_when_it_has_settled_and_its_checks_pass(world):
    service = await begun(world, pods=1)
    update = rollout(world, service)
    world.sick.add(1)
    for _ in range(5):
        world.block()
        assert await update.look() is None
    assert world.done == [("submit", None)]
    world.sick.clear()
    assert (await ended(world, update)).task == 1


@pytest.mark.parametrize("trouble", ["sick", "mute", "stuck"])
async def test_a_version_without_progress_is_rolled_back(world, trouble):
    getattr(world, trouble).add(1)
    service = await begun(world)
    result = await ended(world, rollout(world, service))
    assert (result.task, result.pods) == (0, 3)
    assert result.failed == "only 0 of 1 pods of the new version are healthy, without progress for 60 s"
    assert world.done[-1] == ("cancel" if trouble == "stuck" else "end", 1)
    assert [line for line in world.told if line.startswith("Rolling back to task 0")]


async def test_a_rollback_restores_old_pods_before_it_removes_new_ones(world):
    service = await begun(world)
    world.sick.add((1, 1))
    result = await ended(world, rollout(world, service))
    assert (result.task, result.failed) == (
        0,
        "only 1 of 2 pods of the new version are healthy, without progress for 60 s",
    )
    assert world.done[3:] == [("scale", 0, 3), ("scale", 1, 1), ("end", 1)]


async def test_a_version_that_ended_by_itself_is_rolled_back(world):
    service = await begun(world)
    world.tasks.change(1, state=gen.TaskState.decode({"Failed": "AttemptsExhausted"}))
    result = await ended(world, rollout(world, service))
    assert (result.task, result.failed) == (0, "the new version, task 1, is Failed")


async def test_a_version_that_never_found_a_host_is_replaced_too(world):
    world.stuck.add(0)
    service = await begun(world, pods=2)
    assert (await ended(world, rollout(world, service))).task == 1
    assert world.done[-1] == ("cancel", 0)


async def test_a_refused_call_is_tried_again(world):
    service = await begun(world, pods=1)
    world.refusals = ["Tasks.NotRunning: no"]
    assert (await ended(world, rollout(world, service))).task == 1
    assert [name for name, *_ in world.done] == ["submit", "end", "end"]
    assert any("refused to end task 0: Tasks.NotRunning: no" in line for line in world.told)


@pytest.mark.parametrize("seed", range(6))
async def test_an_update_killed_at_any_step_can_continue_or_be_undone(world, seed):
    """Every look is one of a new process; at some moment the tenant may want it undone."""
    chance = random.Random(seed)  # noqa: S311
    pods = chance.randint(1, 4)
    service = await begun(world, pods=pods)
    undo_at = chance.choice([None, chance.randint(0, 12)])
    undo = False
    for number in range(MANY_LOOKS):
        (service, *others) = await services_of(world.typed, TENANT)
        assert others == []
        if service.coming is None:
            break
        undo = undo or number == undo_at
        await rollout(world, service, undo=undo).look()
        for _ in range(chance.randint(0, 3)):
            world.block()
    assert service.coming is None
    assert (service.current.id, service.current.task.record.pods_wanted) == (0 if undo else 1, pods)
    assert [name for name, *_ in world.done].count("submit") == 1
    assert [name for name, *_ in world.done].count("end") + [name for name, *_ in world.done].count("cancel") == 1


async def test_a_rollback_to_an_ended_version_is_refused(world):
    service = await begun(world)
    world.tasks.change(0, state=gen.TaskStateReported())
    with pytest.raises(ServiceError, match="Task 0, the target of the rollback, is Reported"):
        await ended(world, rollout(world, service, undo=True))


async def test_a_rollback_without_progress_stops_and_changes_nothing_more(world):
    service = await begun(world)
    world.mute.add(0)
    world.start(1)
    with pytest.raises(ServiceError, match="Only 0 of 3 pods of the old version are healthy"):
        await ended(world, rollout(world, service, undo=True))
    assert world.done == [("submit", None)]


async def test_a_submission_interrupted_by_a_kill_is_sent_once(world, tmp_path):
    """The process ends before any block has the new version; the next one finds what the first has begun."""
    world.submit(MANIFEST)
    asyncio.get_running_loop().set_default_executor(Inline())
    world.chain.effects = lambda call, _account: world.apply(call) and []
    (service,) = await services_of(world.typed, TENANT)
    broadcast, sent = world.chain.broadcast, asyncio.Event()

    async def told(extrinsic):
        await broadcast(extrinsic)
        sent.set()

    world.chain.broadcast = told

    @contextlib.asynccontextmanager
    async def process():
        async def begin(acts, _ways):
            return await submit_version(world.typed, acts, TENANT, service.current, NEXT, ())

        with contextlib.closing(Store(tmp_path / "worker.db")) as store:
            work = asyncio.create_task(run_with_outbox(world.chain, store, from_uri("//Charlie"), (), begin))
            yield work
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async with process():
        await sent.wait()
    async with process() as work:
        while not work.done():
            await world.chain.produce()
            await asyncio.sleep(0)
        assert work.result().id == 1
    assert [call.function for call, _, _ in world.chain.executed] == ["submit"]


async def test_a_submission_that_is_refused_says_so(world):
    world.submit(MANIFEST)
    (service,) = await services_of(world.typed, TENANT)
    world.refusals = ["Tasks.NoFunds: no coins"]
    with pytest.raises(ServiceError, match=r"refused: Tasks\.NoFunds"):
        await submit_version(world.typed, world, TENANT, service.current, NEXT, ())


async def test_the_replaced_task_is_named_in_the_manifest(world):
    service = await begun(world, pods=2)
    place = ReplacedTask(0, 2, manifest_digest(MANIFEST))
    assert service.coming.place == place
    assert service.coming.text == with_replaced_task(NEXT, place)
    assert without_replaced_task(service.coming.text) == NEXT
    later = with_replaced_task(service.coming.text, ReplacedTask(1, 3, bytes(32)))
    assert (replaced_task(later), without_replaced_task(later)) == (ReplacedTask(1, 3, bytes(32)), NEXT)
    assert replaced_task(NEXT) is None
    assert parse_manifest(later, source="x") == parse_manifest(NEXT, source="x")
    for text in (b'{"a": 1}', b"a: |\n  text", b"a: b\n...", b"a: b\n\n"):
        assert without_replaced_task(with_replaced_task(text, place)) == text


async def test_services_are_known_by_name_or_number(world):
    world.submit(MANIFEST)
    world.submit(MANIFEST.replace(b"hello", b"other"))
    world.submit(MANIFEST.replace(b"name: hello\n", b""))
    world.submit(MANIFEST, tenant=HOST)
    world.tasks.change(world.submit(MANIFEST), state=gen.TaskStateReported())
    services = await services_of(world.typed, TENANT)
    assert [service.text for service in services] == ["hello", "other", "task 2"]
    assert find_service(services, "hello").current.id == 0
    assert find_service(services, "2").current.id == 2
    with pytest.raises(ServiceError, match="Live are: hello, other, task 2"):
        find_service(services, "4")
    world.submit(MANIFEST)
    with pytest.raises(ServiceError, match="Tasks 0 and 5 are both called 'hello'"):
        find_service(await services_of(world.typed, TENANT), "hello")
