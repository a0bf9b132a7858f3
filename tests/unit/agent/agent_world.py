"""An agent in a world of twins: fake chain with the rules for hosts and leases, fake engine, memory network."""

import asyncio
import contextlib
import hashlib
import itertools

from agent_builders import MANIFEST

from node_agent.core.values import HostFailure
from node_agent.drivers.fake import FakeDriver, FakeEngine
from node_agent.service import Agent
from node_agent.state_dir import StateDir
from node_agent.telemetry.hardware import Device, Hardware
from offchain.link.fake import BLOCK_MS, FakeChain
from offchain.link.keys import from_uri
from offchain.link.p2p_memory import MemoryNetwork
from offchain.link.ports import DispatchFailure

TENANT = from_uri("//Alice")
HARDWARE = Hardware(4000, 8192, 100, (Device("Nvidia", "Simulated", 1024, None),))
DEVICE = {"spec": {"vendor": "Nvidia", "model": b"Simulated", "vram_mib": 1024, "simulated": True}}
RESOURCES = {
    "cpu_milli": 500,
    "memory_mib": 64,
    "disk_gib": 0,
    "gpus": {"count": 0, "milli": 1000, "min_vram_mib": 0, "models": []},
}


class World:
    """What outlives the agent's process."""

    def __init__(self, folder, programs):
        self.folder = folder
        self.chain = FakeChain()
        self.chain.effects = self._effects
        self.chain.verdicts = self._verdict
        self.engine = FakeEngine(programs)
        self.network = MemoryNetwork()
        self.reports = []
        self._numbers = itertools.count()
        with contextlib.closing(StateDir(folder)) as state:
            self.key = state.host_key()
        self.host = self.key.address
        self._register()

    @property
    def now_ms(self):
        return self.chain._best.block.timestamp_ms

    def table(self, pallet, item):
        return self.chain.storage[pallet, item]

    def _register(self):
        capacity = {"cpu_milli": 4000, "memory_mib": 8192, "disk_gib": 100}
        prices = dict.fromkeys(("gpu_per_hour", "cpu_core_per_hour", "memory_gib_per_hour", "disk_gib_per_hour"), 1)
        self.table("Hosts", "Hosts")[(self.host,)] = {
            "provider": self.host,
            "status": "Verified",
            "total": capacity,
            "free": capacity,
            "devices": [{**DEVICE, "milli_free": 1000, "attested": False}],
            "ask": prices,
            "endpoint": b"",
            "region": b"",
            "bond": 0,
            "registered_at": 0,
            "last_heartbeat": 0,
            "live_leases": 0,
        }
        self.table("Hosts", "Params")[()] = {
            "bond_per_device": 0,
            "heartbeat_period_ms": 60_000,
            "absence_limit_ms": 180_000,
            "absence_bounty": 0,
            "allow_simulated": True,
            "verification_required": False,
        }
        self.table("Timestamp", "Now")[()] = 1

    def open_lease(self, manifest=MANIFEST):
        number = next(self._numbers)
        task = 100 + number
        self.table("Tasks", "Manifests")[(task,)] = manifest
        self.table("Tasks", "Tasks")[(task,)] = {
            "tenant": TENANT.address,
            "spec": {
                "kind": "Job",
                "manifest_digest": hashlib.sha256(manifest).digest(),
                "resources": RESOURCES,
                "pods_min": 1,
                "pods_max": 1,
                "max_rate_per_hour": 1,
                "unit": "Second",
                "max_duration_ms": 600_000,
                "deadline": None,
                "priority": 0,
                "queue": b"default",
                "verification": "Acceptance",
                "placement": {"regions": [], "hosts": [], "allow_simulated": True},
            },
            "state": "Assigned",
            "attempts": 0,
            "submitted_at": 0,
            "leases": [number],
            "pods_started": 0,
            "pods_reported": 0,
            "reported_at": None,
            "deposit": 0,
        }
        self.table("Leases", "ByHost")[(self.host, number)] = ()
        self.table("Leases", "Leases")[(number,)] = {
            "task": task,
            "pod": 0,
            "attempt": 0,
            "host": self.host,
            "provider": self.host,
            "tenant": TENANT.address,
            "devices": b"",
            "resources": RESOURCES,
            "rate_per_hour": 1,
            "state": "Pending",
            "created_at": self.now_ms + number,
            "started_at": None,
            "ended_at": None,
            "result": None,
        }
        return number

    def lease(self, number):
        return self.table("Leases", "Leases")[(number,)]

    def end_lease(self, number, reason="Completed"):
        self.table("Leases", "ByHost").pop((self.host, number), None)
        self.lease(number)["state"] = {"Ended": reason}
        return ("Leases", "Ended", {"lease": number, "reason": reason})

    def _verdict(self, call, _account):
        lease = self.table("Leases", "Leases").get((call.args.get("lease"),))
        wanted = {"report_started": ("Pending",), "report_result": ("Active",), "report_failed": ("Pending", "Active")}
        if call.function in wanted and (lease is None or lease["state"] not in wanted[call.function]):
            return DispatchFailure("Tasks", "WrongState", "")
        return None

    def _effects(self, call, account):
        number = call.args.get("lease")
        match call.function:
            case "heartbeat":
                record = self.table("Hosts", "Hosts")[(account,)]
                record |= {"status": "Online", "last_heartbeat": self.now_ms + BLOCK_MS}
            case "set_endpoint":
                self.table("Hosts", "Hosts")[(account,)]["endpoint"] = call.args["endpoint"]
            case "report_started":
                self.lease(number).update(state="Active", started_at=self.now_ms)
                return [("Leases", "Started", {"lease": number})]
            case "report_result":
                self.reports.append((number, call.args["result"]))
                self.lease(number)["result"] = call.args["result"]
                return [self.end_lease(number)]
            case "report_failed":
                self.reports.append((number, HostFailure(call.args["reason"])))
                return [self.end_lease(number, {"HostRefused": call.args["reason"]})]
        return []

    @contextlib.asynccontextmanager
    async def agent(self):
        """The agent's process. Leaving the block ends it as a kill does: nothing is said to anybody."""
        state = StateDir(self.folder)
        driver = FakeDriver(self.engine, self.host)
        transport = self.network.endpoint(self.key.public_key)
        agent = Agent(self.chain, driver, transport, state, self.key, HARDWARE, now_ms=lambda: self.now_ms)
        stop = asyncio.Event()
        running = asyncio.create_task(agent.run(stop))
        await agent.ready.wait()
        try:
            yield agent
        finally:
            stop.set()
            await running
            state.close()

    async def until(self, condition, *, blocks=60):
        """Make final blocks until it holds."""
        for _ in range(blocks):
            if condition():
                return
            await self.chain.produce()
            for _ in range(200):
                if condition():
                    return
                await asyncio.sleep(0)
        raise AssertionError(f"not within {blocks} blocks")
