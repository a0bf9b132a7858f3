"""An agent with test doubles: a fake chain with the rules for hosts and leases, a fake engine, an in-memory network."""

import asyncio
import contextlib
import hashlib

from agent_builders import MANIFEST

from node_agent.core.values import HostFailure
from node_agent.runtime.agent import NodeAgent
from node_agent.runtime.state_dir import StateDir
from node_agent.telemetry.hardware import Hardware, HostDevice
from offchain.adapters.keys.signer import Ed25519Signer, from_uri
from offchain.adapters.transport.host_client import HostClient
from offchain.ports import DispatchFailure
from offchain.schema.chain_types._generated_chain import (
    EndReasonCompleted,
    GpuRequest,
    HostStatusVerified,
    LeaseStateActive,
    LeaseStateEnded,
    LeaseStatePurged,
    PodResult,
    Resources,
    TaskStateAssigned,
)
from offchain.schema.chain_types.ids import lease_id, lease_parts
from tests.support.chain_records import Tasks, device, host_record, hosts_params, lease, task_spec, tasks_params
from tests.support.fake_chain import BLOCK_MS, FakeChain
from tests.support.fake_driver import FakeDriver
from tests.support.fake_engine import FakeEngine, FakeProgram
from tests.support.inline import Inline, write_inline
from tests.support.memory_transport import MemoryNetwork

TENANT = from_uri("//Alice")
HARDWARE = Hardware(4000, 8192, 100, (HostDevice("Nvidia", "Simulated", 1024, None),))
RESOURCES = Resources(500, 64, 1, GpuRequest(0, 1000, 0, ()))
HELLO = FakeProgram(output=b"hello\n", errors=b"warned\n")
RUNS = FakeProgram(runs=True, output=b"late\n")


REPORTS = {"Started": "report_started", "Result": "report_result", "Failed": "report_failed"}


def reports_of(call):
    """The reports in a call, alone or in a batch: function, lease and content of each."""
    if call.function == "report_batch":
        for number, report in call.args["reports"]:
            ((kind, content),) = report.items() if isinstance(report, dict) else ((report, None),)
            yield REPORTS[kind], number, content
    elif call.function == "report":
        report = call.args["report"]
        ((kind, content),) = report.items() if isinstance(report, dict) else ((report, None),)
        yield kind, call.args["lease"], content
    elif call.function in REPORTS.values():
        yield call.function, call.args["lease"], call.args.get("result") or call.args.get("reason")


class World:
    """What outlives the agent's process."""

    def __init__(self, folder, programs):
        self.folder = folder
        self.chain = FakeChain()
        self.chain.effects = self._effects
        self.chain.verdicts = self._verdict
        self.chain.refused_items = self._refused_items
        self.tasks = Tasks(self.chain)
        self.engine = FakeEngine(programs)
        self.network = MemoryNetwork()
        self.reports = []
        self.calls = []
        self.clock_off_ms = 0
        with contextlib.closing(StateDir(folder)) as state:
            self.key = state.host_key()
        self.host = self.key.address
        self._register()

    def client(self, agent, signer=TENANT):
        """Whom this agent answers; to be closed."""
        return HostClient(
            self.network.endpoint(Ed25519Signer(bytes(31) + b"c").public_key),
            self.key.public_key,
            agent._transport.addresses,
            genesis_hash=self.chain.genesis,
            signer=signer,
            now_ms=lambda: self.now_ms,
        )

    @contextlib.asynccontextmanager
    async def asking(self, agent, signer=TENANT):
        """The same, closed at the end."""
        client = self.client(agent, signer)
        try:
            yield client
        finally:
            await client.close()

    @property
    def now_ms(self):
        return self.chain._best.block.timestamp_ms

    def table(self, pallet, item):
        return self.chain.storage[pallet, item]

    def _register(self):
        devices = (device(model=b"Simulated", vram_mib=1024, simulated=True),)
        record = host_record(self.host, status=HostStatusVerified(), devices=devices)
        self.table("Hosts", "Hosts")[(self.host,)] = record.encode()
        self.table("Hosts", "Params")[()] = hosts_params()
        self.table("Tasks", "Params")[()] = tasks_params()
        self.table("Timestamp", "Now")[()] = 1

    def open_lease(self, manifest=MANIFEST, **changes):
        """A task with a lease on this host; gives the lease's number."""
        digest = hashlib.sha256(manifest).digest()
        spec = task_spec(manifest_digest=digest, resources=RESOURCES, **changes)
        task = self.tasks.submit(TENANT.address, spec, manifest=manifest)
        opened = lease(self.host, created_at=self.now_ms + task)
        self.tasks.change(task, state=TaskStateAssigned(), leases=(opened,))
        return lease_id(task, 0, 0)

    def set_lease(self, number, state):
        """The chain moves a lease; it is told as an event of the next block."""
        self.tasks.change_lease(number, state=state)

    def end_lease(self, number, reason=None):
        self.tasks.change_lease(number, state=LeaseStateEnded(reason or EndReasonCompleted()))
        return ("Tasks", "LeaseEnded", {"task": lease_parts(number)[0], "lease": number})

    def _refusal(self, function, number):
        """What the chain says to a report that does not fit the lease's state."""
        wanted = {"report_started": ("Pending",), "report_result": ("Active",), "report_failed": ("Pending", "Active")}
        wanted |= {"Purged": ("Retained",), "DataLost": ("Retained",)}
        if function not in wanted:
            return None
        try:
            state = self.tasks.lease(number).state
        except KeyError:  # a fork without the task
            return DispatchFailure("Tasks", "UnknownTask", "")
        if state.tag not in wanted[function]:
            return DispatchFailure("Tasks", "WrongState", "")
        if function == "Purged" and state.value > self.now_ms:
            return DispatchFailure("Tasks", "DataStillKept", "")
        return None

    def _verdict(self, call, _account):
        for item in reports_of(call) if call.function != "report_batch" else ():
            return self._refusal(*item[:2])
        return None

    def _refused_items(self, call, _account):
        refused = {place: self._refusal(*item[:2]) for place, item in enumerate(reports_of(call))}
        return {place: why for place, why in refused.items() if why and call.function == "report_batch"}

    def _effects(self, call, account):
        self.calls.append(call.function)
        hosts = self.table("Hosts", "Hosts")
        if call.function == "heartbeat":
            beat = {"status": "Online", "last_heartbeat": self.now_ms + BLOCK_MS}
            hosts[(account,)] = {**hosts[(account,)], **beat}
        elif call.function == "set_endpoint":
            hosts[(account,)] = {**hosts[(account,)], "endpoint": call.args["endpoint"]}
        return [event for item in reports_of(call) if not self._refusal(*item[:2]) for event in self._report(*item)]

    def _report(self, function, number, content):
        if function == "report_started":
            self.tasks.change_lease(number, state=LeaseStateActive(), started_at=self.now_ms)
            return [("Tasks", "PodStarted", {"task": lease_parts(number)[0], "lease": number})]
        self.reports.append((number, HostFailure(content) if function == "report_failed" else content))
        if function in ("Purged", "DataLost"):
            self.tasks.change_lease(number, state=LeaseStatePurged())
            return [("Tasks", "Purged", {"task": lease_parts(number)[0], "lease": number})]
        if function == "report_result":
            self.tasks.change_lease(number, result=PodResult.decode(content))
        return [self.end_lease(number)]

    @contextlib.asynccontextmanager
    async def agent(self, ticks=None):
        """The agent's process. Leaving the block ends it as a kill does: nothing is said to anybody."""
        state, stop = StateDir(self.folder), asyncio.Event()
        agent, running = self.started(state, ticks, stop)
        await agent.ready.wait()
        try:
            yield agent
        finally:
            stop.set()
            await running
            state.close()

    def started(self, state, ticks=None, stop=None):
        """An agent with this folder, and the task that runs it until `stop`."""
        asyncio.get_running_loop().set_default_executor(Inline())
        write_inline(state.store)
        now_ms, ticks = lambda: self.now_ms + self.clock_off_ms, ticks or (lambda: self.now_ms)
        agent = self.made(state, now_ms=now_ms, ticks=ticks)
        return agent, asyncio.create_task(agent.run(stop or asyncio.Event()))

    def made(self, state, **options):
        """An agent with this folder, which does not run yet."""
        return NodeAgent(
            self.chain,
            FakeDriver(self.engine, self.host),
            self.network.endpoint(self.key.public_key),
            state,
            self.key,
            HARDWARE,
            **{"now_ms": lambda: self.now_ms, **options},
        )

    async def until(self, condition, *, blocks=60, final=True):
        """Make blocks, by default final ones, until it holds."""
        for _ in range(blocks):
            if condition():
                return
            await self.chain.produce(finalize=final)
            for _ in range(200):
                if condition():
                    return
                await asyncio.sleep(0)
        raise AssertionError(f"not within {blocks} blocks")


async def settle(condition):
    """Let everything run that needs no block."""
    for _ in range(5000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it does not come to that")


@contextlib.asynccontextmanager
async def agent_running(agent, state):
    """A running agent whose threads run in the loop, so that the time of a fake chain waits for them."""
    asyncio.get_running_loop().set_default_executor(Inline())
    write_inline(state.store)
    stop = asyncio.Event()
    running = asyncio.create_task(agent.run(stop))
    await agent.ready.wait()
    try:
        yield
    finally:
        stop.set()
        await running
        state.close()
