"""Hosts give each other the saved folders of pods, over real endpoints, by what the chain says and not otherwise."""

import asyncio
import contextlib
import hashlib
import os
from functools import partial

import driver_cases as case
import pytest

from node_agent.access.checkpoints import CheckpointAnswers, check_asker
from node_agent.checkpoints import Checkpoints
from node_agent.core.values import PodSpec
from node_agent.drivers.fake import FakeDriver, FakeEngine
from node_agent.drivers.fake_folders import packed
from node_agent.startup import unix_ms
from node_agent.state_dir import StateDir
from offchain.link.fake import FakeChain
from offchain.link.keys import from_uri
from offchain.link.p2p import HostRefused
from offchain.link.p2p_copy import get_checkpoint
from offchain.link.p2p_host import HostServer, signature_is_genuine
from offchain.link.p2p_reach import open_host
from offchain.link.p2p_ways import Ways
from offchain.link.typed import GantryChain
from offchain.schema._generated_chain import (
    EndReasonHostLost,
    LeaseStateActive,
    LeaseStateEnded,
    PodCheckpoint,
    StandbyPlace,
    TaskStateRunning,
    TaskStateSettled,
)
from offchain.schema.ids import lease_id
from offchain.schema.manifest_types import CheckpointSpec, ImageRef, ResultSpec
from offchain.schema.wire import Code, endpoint_text
from tests.chain_records import Tasks, host_record, lease, task_spec, tasks_params

TENANT = from_uri("//Alice")
MANIFEST = b"""\
services:
  main:
    image: demo/shell@sha256:%s
    deploy: {resources: {limits: {cpus: "0.5", memory: 64M}}}
x-gantry:
  checkpoint: {path: /ckpt, every: 1m}
  price: {max_per_hour: 1 GTY}
  duration: 10m
""" % (b"1" * 64)
ARCHIVE = packed({"/ckpt/step": b"73", "/ckpt/model": os.urandom(3 << 20)}, "/ckpt")
DIGEST = hashlib.sha256(ARCHIVE).digest()
SIZE = len(ARCHIVE)


async def pieces(data):
    yield data


class Site:
    """One host: its key, its store, its endpoint, and what it does about checkpoints."""

    def __init__(self, net, folder, stack):
        self.net = net
        self.state = stack.enter_context(contextlib.closing(StateDir(folder)))
        self.store = self.state.checkpoints
        self.key = self.state.host_key()
        self.host = self.key.address
        self.engine = FakeEngine()
        self.checkpoints = Checkpoints(
            GantryChain(net.chain),
            self.host,
            FakeDriver(self.engine, self.host),
            self.store,
            net,
            pods=dict,
            now_ms=lambda: 1_000,
            open_host=partial(open_host, genesis_hash=net.chain.genesis, signer=self.key),
        )

    async def serve(self, stack):
        transport = await Ways.bind(self.key.seed(), "127.0.0.1:0")
        self.server = HostServer(
            transport,
            genesis_hash=self.net.chain.genesis,
            authorise=partial(check_asker, GantryChain(self.net.chain)),
            handlers=CheckpointAnswers(self.store).handlers(),
            verify=signature_is_genuine,
            now_ms=unix_ms,
        )
        serving = asyncio.create_task(self.server.serve())

        async def close():
            await self.server.close()
            await serving

        stack.push_async_callback(close)
        record = host_record(self.host, endpoint=endpoint_text(transport.addresses))
        self.net.chain.storage["Hosts", "Hosts"][(self.host,)] = record.encode()

    async def save(self, data=ARCHIVE):
        return await self.store.save(
            pieces(data), (self.net.task, 0), self.net.lease, "ckpt", most_bytes=1 << 30, at_ms=5
        )

    def files(self):
        return [(one.key, one.digest) for one in self.store.all()]

    async def ask(self, other, number):
        """Fetch the file of the other by this lease."""
        record = await GantryChain(self.net.chain).host(other.host)
        async with self.checkpoints._open_host(other.key.public_key, record.endpoint) as client:
            await get_checkpoint(client, number, DIGEST, len(ARCHIVE), self.store.part((self.net.task, 0)))


class Net:
    """A chain with one task, whose pod runs on the first of three hosts."""

    def __init__(self):
        self.chain = FakeChain()
        self.chain.storage["Tasks", "Params"][()] = tasks_params(start_timeout_ms=20_000)
        self.tasks = Tasks(self.chain)
        spec = task_spec(manifest_digest=hashlib.sha256(MANIFEST).digest())
        self.task = self.tasks.submit(TENANT.address, spec, manifest=MANIFEST)
        self.lease = lease_id(self.task, 0, 0)

    def runs_on(self, site, standby=None, digest=DIGEST, size=SIZE):
        place = None if standby is None else StandbyPlace(standby.host, b"")
        opened = lease(site.host, state=LeaseStateActive(), standby=place)
        known = PodCheckpoint(0, digest, size, site.host, 5)
        self.tasks.change(self.task, state=TaskStateRunning(), leases=(opened,), checkpoints=(known,))

    async def send_again(self, key, call):
        raise AssertionError(f"nothing is said to the chain here: {key} {call}")


@pytest.fixture
async def sites(tmp_path):
    async with contextlib.AsyncExitStack() as stack:
        net = Net()
        made = [Site(net, tmp_path / name, stack) for name in ("one", "two", "three")]
        for site in made:
            await site.serve(stack)
        yield made


def spec_of(site, number):
    container = case.pod(case.SLEEP, ImageRef("any", "sha256:" + "1" * 64)).containers
    return PodSpec(
        lease=number,
        task=site.net.task,
        pod=0,
        attempt=1,
        host=site.host,
        containers=container,
        result=ResultSpec("stdout", None),
        checkpoint=CheckpointSpec("/ckpt", 60_000),
    )


async def stands_by(site):
    """It has done what it does when it hears that it is a standby, or of a new file."""
    site.checkpoints._standby.add(site.net.task)
    await site.checkpoints.tend()
    await asyncio.gather(*site.checkpoints._background._tasks)


async def test_a_standby_gets_each_new_file_and_lets_go_of_the_older(sites):
    one, two, three = sites
    one.net.runs_on(one, standby=two)
    await one.save()
    for site in (two, three):
        await stands_by(site)
    assert (two.files(), three.files()) == ([((one.net.task, 0), DIGEST)], [])
    newer = packed({"/ckpt/step": b"74"}, "/ckpt")
    kept = await one.save(newer)
    one.net.runs_on(one, standby=two, digest=kept.digest, size=kept.size)
    await stands_by(two)
    await stands_by(two)
    assert two.files() == [((one.net.task, 0), kept.digest)]
    one.net.tasks.change(one.net.task, state=TaskStateSettled(), leases=())
    for site in (one, two):
        await site.checkpoints.tend()
        assert (site.files(), list(site.store._folder.iterdir())) == ([], [])


async def test_who_runs_the_pod_next_starts_from_the_file_of_whoever_has_it(sites):
    one, two, three = sites
    one.net.runs_on(one, standby=two)
    await one.save()
    await stands_by(two)
    ended = lease(one.host, state=LeaseStateEnded(EndReasonHostLost()))
    goes_on = lease(three.host, generation=1, standby=StandbyPlace(two.host, b""))
    one.net.tasks.change(one.net.task, leases=(ended, goes_on))
    await one.server.close()
    spec = spec_of(three, lease_id(one.net.task, 0, 1))
    assert DIGEST.hex() in await three.checkpoints.ready(spec)
    seed = three.checkpoints.seed(spec, 1)
    assert seed is not None
    assert (seed.path, seed.archive.read_bytes()) == ("/ckpt", ARCHIVE)


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
    over = lease(one.host, state=LeaseStateEnded(EndReasonHostLost()), standby=StandbyPlace(two.host, b""))
    one.net.tasks.change(one.net.task, leases=(over,))
    with pytest.raises(HostRefused) as caught:
        await two.ask(one, one.net.lease)
    assert caught.value.refusal.code is Code.LEASE_ENDED


async def test_a_lease_of_another_pod_gets_no_file_of_this_one(sites):
    one, two, _ = sites
    one.net.runs_on(one)
    await one.save()
    other = one.net.tasks.submit(TENANT.address, task_spec())
    one.net.tasks.change(other, state=TaskStateRunning(), leases=(lease(two.host, state=LeaseStateActive()),))
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
