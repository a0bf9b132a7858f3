"""Hosts give each other the saved folders of pods, over real endpoints, by what the chain says and not otherwise."""

import contextlib

import driver_cases as case
import pytest
from checkpoint_sites import ARCHIVE, DIGEST, NOW_MS, PATH, TENANT, Net, Site, done, spec_of, stands_by
from driver_fixtures import docker_driver

from node_agent.core.containers import Container, Stage
from node_agent.core.states import Phase, Pod
from node_agent.core.values import HostLease, LeaseStatus, TaskKind
from offchain.adapters.transport.port import HostRefused
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id
from offchain.schema.protocol.messages import Code
from tests.support.chain_records import lease, task_spec
from tests.support.fake_driver import packed


@pytest.fixture
async def sites(tmp_path):
    async with contextlib.AsyncExitStack() as stack:
        net = Net()
        made = [Site(net, tmp_path / name, stack) for name in ("one", "two", "three")]
        for site in made:
            await site.serve(stack)
        yield made


async def test_a_standby_gets_each_new_file_and_lets_go_of_the_older(sites):
    one, two, three = sites
    one.net.runs_on(one, standby=two)
    await one.save()
    for site in (two, three):
        await stands_by(site)
    assert (two.files(), three.files()) == ([((one.net.task, 0), DIGEST)], [])
    newer = packed({f"{PATH}/step": b"74"}, PATH)
    kept = await one.save(newer)
    one.net.runs_on(one, standby=two, digest=kept.digest, size=kept.size, at_ms=6)
    await stands_by(two)
    await stands_by(two)
    assert two.files() == [((one.net.task, 0), kept.digest)]
    one.net.tasks.change(one.net.task, state=gen.TaskStateSettled(), leases=())
    for site in (one, two):
        await site.checkpoints.synchronise()
        assert (site.files(), list(site.store._folder.iterdir())) == ([], [])


async def test_who_runs_the_pod_next_starts_from_the_file_of_whoever_has_it(sites):
    one, two, three = sites
    one.net.runs_on(one, standby=two)
    await one.save()
    await stands_by(two)
    ended = lease(one.host, state=gen.LeaseStateEnded(gen.EndReasonHostLost()))
    goes_on = lease(three.host, generation=1, standby=gen.StandbyPlace(two.host, b"", 0))
    one.net.tasks.change(one.net.task, leases=(ended, goes_on))
    await one.lost()
    spec = spec_of(three, lease_id(one.net.task, 0, 1))
    assert await three.checkpoints.ready(spec) == ""
    seed = three.checkpoints.seed(spec, 1)
    assert seed is not None
    assert (seed.path, seed.archive.read_bytes()) == (PATH, ARCHIVE)


async def test_where_nobody_has_the_file_the_pod_starts_from_nothing_and_its_log_says_so(sites):
    one, _, three = sites
    one.net.runs_on(one)
    one.net.tasks.change(one.net.task, leases=(lease(three.host, generation=1),))
    spec = spec_of(three, lease_id(one.net.task, 0, 1))
    assert "it starts from nothing" in await three.checkpoints.ready(spec)
    assert three.checkpoints.seed(spec, 1) is None


async def test_a_pod_without_a_checkpoint_waits_for_nothing(sites):
    one = sites[0]
    one.net.tasks.change(one.net.task, leases=(lease(one.host),))
    assert await one.checkpoints.ready(spec_of(one, one.net.lease)) == ""


async def test_nobody_else_gets_the_file(sites):
    one, two, three = sites
    one.net.runs_on(one, standby=two)
    await one.save()
    await two.ask(one, one.net.lease)
    three.key = TENANT
    for stranger, number, code in (
        (sites[2], one.net.lease, Code.NOT_YOUR_LEASE),
        (two, one.net.lease + 1, Code.UNKNOWN_LEASE),
    ):
        with pytest.raises(HostRefused) as caught:
            await stranger.ask(one, number)
        assert caught.value.refusal.code is code
    over = lease(
        one.host, state=gen.LeaseStateEnded(gen.EndReasonHostLost()), standby=gen.StandbyPlace(two.host, b"", 0)
    )
    one.net.tasks.change(one.net.task, leases=(over,))
    with pytest.raises(HostRefused) as caught:
        await two.ask(one, one.net.lease)
    assert caught.value.refusal.code is Code.LEASE_ENDED


async def test_a_lease_of_another_pod_gets_no_file_of_this_one(sites):
    one, two, _ = sites
    one.net.runs_on(one)
    await one.save()
    other = one.net.tasks.submit(TENANT.address, task_spec())
    one.net.tasks.change(other, state=gen.TaskStateRunning(), leases=(lease(two.host, state=gen.LeaseStateActive()),))
    with pytest.raises(HostRefused) as caught:
        await two.ask(one, lease_id(other, 0, 0))
    assert caught.value.refusal.code is Code.GONE


@pytest.mark.parametrize("sent", [ARCHIVE + b"more", ARCHIVE[:-1] + b"x"])
async def test_what_is_not_what_the_chain_says_is_not_kept(sites, sent):
    one, two, _ = sites
    one.net.runs_on(one, standby=two)
    kept = await one.save()
    one.store.path(kept).write_bytes(sent)
    await stands_by(two)
    assert (two.files(), list(two.store._folder.iterdir())) == ([], [])


def running(site, spec, handle):
    """The pod of a lease as the agent holds it while its container runs."""
    of_lease = HostLease(
        number=spec.lease,
        task=spec.task,
        pod=0,
        attempt=0,
        kind=TaskKind.JOB,
        redundant=False,
        status=LeaseStatus.ACTIVE,
        devices=(),
        gpu_milli=0,
        cpu_milli=1000,
        memory_mib=64,
        disk_gib=1,
        manifest_digest=bytes(32),
        max_duration_ms=600_000,
        created_at_ms=0,
        started=True,
        depletes_at_ms=None,
    )
    main = Container(name="main", stage=Stage.RUNNING, start=1, handle=handle, ran=True)
    site.pods[spec.lease] = Pod(lease=of_lease, phase=Phase.RUNNING, spec=spec, containers=(main,), started_known=True)


@pytest.mark.docker
async def test_a_program_goes_on_on_its_standby_when_its_host_is_gone(shell_image, tmp_path):
    """From the running container of one host, by way of the chain, into a new container of another."""
    async with contextlib.AsyncExitStack() as stack:
        drivers = {}
        for name in ("one", "two"):
            (tmp_path / f"images-{name}").mkdir()
            drivers[name] = await stack.enter_async_context(docker_driver(tmp_path / f"images-{name}", network=False))
        net = Net()
        one, two = (Site(net, tmp_path / name, stack, lambda _, name=name: drivers[name]) for name in drivers)
        for site in (one, two):
            await site.serve(stack)
        opened = lease(one.host, state=gen.LeaseStateActive(), standby=gen.StandbyPlace(two.host, b"", 0))
        net.tasks.change(net.task, state=gen.TaskStateRunning(), leases=(opened,))
        spec = spec_of(one, net.lease, case.STATE, shell_image, healthcheck=case.WRITTEN)
        handle = await case.written(one.driver, spec)
        running(one, spec, handle)
        for _ in ("saves", "tells the chain"):
            await one.checkpoints.save_due()
            await done(one)
        (known,) = net.tasks.get(net.task).checkpoints
        assert (known.host, known.at) == (one.host, NOW_MS)
        await stands_by(two)
        assert two.files() == [((net.task, 0), known.digest)]

        await one.lost()
        await one.driver.destroy(spec.lease, keep_data=False)
        ended = lease(one.host, state=gen.LeaseStateEnded(gen.EndReasonHostLost()))
        net.tasks.change(net.task, leases=(ended, lease(two.host, generation=1)))
        following = spec_of(two, lease_id(net.task, 0, 1), case.GO_ON, shell_image)
        assert await two.checkpoints.ready(following) == ""
        await two.driver.prepare(following)
        handle = await two.driver.start(following, "main", 1, seed=two.checkpoints.seed(following, 1))
        assert (await case.ended(two.driver, handle)).exit_code == 0
        assert (await two.driver.collect(handle, following.result)).data.split()[0] == b"4"
