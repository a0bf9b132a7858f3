"""Hosts with checkpoints on real endpoints, and a chain that says which of them have a pod, and stand by for it."""

import asyncio
import contextlib
import hashlib
import os
from functools import partial

import driver_cases as case

from node_agent.checkpoints.manager import CheckpointManager
from node_agent.core.values import PodSpec
from node_agent.handlers.checkpoint_requests import CheckpointRequests, check_requesting_host
from node_agent.runtime.state_dir import StateDir
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import from_uri
from offchain.adapters.transport.copy import get_checkpoint
from offchain.adapters.transport.host_server import HostServer, signature_is_genuine
from offchain.adapters.transport.multi_transport import MultiTransport
from offchain.adapters.transport.routing import open_host
from offchain.clock import unix_ms
from offchain.schema.chain_types._generated_chain import LeaseStateActive, PodCheckpoint, StandbyPlace, TaskStateRunning
from offchain.schema.chain_types.ids import lease_id
from offchain.schema.manifest.types import CheckpointSpec, ImageRef, ResultSpec
from offchain.schema.protocol.messages import endpoint_text
from tests.support.chain_records import Tasks, host_record, lease, task_spec, tasks_params
from tests.support.fake_chain import FakeChain
from tests.support.fake_driver import FakeDriver, packed
from tests.support.fake_engine import FakeEngine

ANY_IMAGE = ImageRef("any", "sha256:" + "1" * 64)
PATH = "/keep/state"
TENANT = from_uri("//Alice")
MANIFEST = b"""\
services:
  main:
    image: demo/shell@sha256:%s
    deploy: {resources: {limits: {cpus: "0.5", memory: 64M}}}
x-gantry:
  checkpoint: {path: /keep/state, every: 1m}
  price: {max_per_hour: 1 GTY}
  duration: 10m
""" % (b"1" * 64)
ARCHIVE = packed({f"{PATH}/step": b"73", f"{PATH}/model": os.urandom(3 << 20)}, PATH)
DIGEST = hashlib.sha256(ARCHIVE).digest()
SIZE = len(ARCHIVE)
NOW_MS = 100_000


async def pieces(data):
    yield data


class Site:
    """One host: its key, its store, its endpoint, and what it does about checkpoints."""

    def __init__(self, net, folder, stack, driver_of=lambda host: FakeDriver(FakeEngine(), host)):
        self.net = net
        self.state = stack.enter_context(contextlib.closing(StateDir(folder)))
        self.store = self.state.checkpoints
        self.key = self.state.host_key()
        self.host = self.key.address
        self.driver = driver_of(self.host)
        self.pods = {}
        self.checkpoints = CheckpointManager(
            GantryChain(net.chain),
            self.host,
            self.driver,
            self.store,
            net,
            pods=lambda: self.pods,
            now_ms=lambda: NOW_MS,
            say=lambda *_: None,
            open_host=partial(open_host, genesis_hash=net.chain.genesis, signer=self.key),
        )

    async def _find(self, key, digest):
        return self.store.find(key, digest)

    async def serve(self, stack):
        transport = await MultiTransport.bind(self.key.seed(), "127.0.0.1:0")
        self.server = HostServer(
            transport,
            genesis_hash=self.net.chain.genesis,
            authorise=partial(check_requesting_host, GantryChain(self.net.chain)),
            handlers=CheckpointRequests(self._find, self.store.path).handlers(),
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

    async def lost(self):
        """Stop the host, and have the chain know."""
        await self.server.close()
        hosts = self.net.chain.storage["Hosts", "Hosts"]
        hosts[(self.host,)] = {**hosts[(self.host,)], "status": "Offline"}

    async def save(self, data=ARCHIVE):
        return await self.store.save(
            pieces(data), (self.net.task, 0), self.net.lease, "state", most_bytes=1 << 30, at_ms=5
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
        self.chain.storage["Tasks", "Params"][()] = tasks_params(start_timeout_ms=60_000)
        self.tasks = Tasks(self.chain)
        spec = task_spec(manifest_digest=hashlib.sha256(MANIFEST).digest())
        self.task = self.tasks.submit(TENANT.address, spec, manifest=MANIFEST)
        self.lease = lease_id(self.task, 0, 0)

    def runs_on(self, site, standby=None, digest=DIGEST, size=SIZE, at_ms=5):
        place = None if standby is None else StandbyPlace(standby.host, b"", 0)
        opened = lease(site.host, state=LeaseStateActive(), standby=place)
        known = PodCheckpoint(0, digest, size, site.host, at_ms)
        self.tasks.change(self.task, state=TaskStateRunning(), leases=(opened,), checkpoints=(known,))

    async def send_again(self, key, call):
        """The chain takes a report."""
        assert (call.function, call.args["lease"]) == ("report", self.lease), key
        host = self.tasks.lease(self.lease).host
        report = call.args["report"]["Checkpoint"]
        known = PodCheckpoint(0, report["digest"], report["bytes"], host, NOW_MS)
        self.tasks.change(self.task, checkpoints=(known,))
        return True


def spec_of(site, number, command=case.SLEEP, image=ANY_IMAGE, **service):
    return PodSpec(
        lease=number,
        task=site.net.task,
        pod=0,
        attempt=1,
        host=case.HOST,
        containers=case.pod(command, image, **service).containers,
        result=ResultSpec("stdout", None),
        checkpoint=CheckpointSpec(PATH, 60_000),
    )


async def done(site):
    """Wait for the background work of a site."""
    await asyncio.gather(*site.checkpoints._background._tasks)


async def stands_by(site):
    """It has done what it does when it hears that it is a standby, or of a new file."""
    site.checkpoints._standby.add(site.net.task)
    await site.checkpoints.synchronise()
    await done(site)
