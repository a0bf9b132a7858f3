"""A chain in memory with a service of one tenant, an autoscaler, and a host whose pods use what a test says."""

import contextlib

from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import Ed25519Signer, from_uri
from offchain.adapters.transport.port import HostUnreachable
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.protocol.receipt import Bill, Receipt, SignedReceipt, Totals
from offchain.services.autoscaler import Autoscaler
from offchain.services.submitter import CallOutcome
from tests.support.chain_records import Tasks, host_record, lease, task_spec
from tests.support.fake_chain import FakeChain

TENANT, PROXY = from_uri("//Charlie"), from_uri("//Bob")
HOST = Ed25519Signer(bytes(32))
CPUS = 500
MANIFEST = b"""\
services:
  web:
    image: demo/web@sha256:%s
    deploy: {resources: {limits: {cpus: "0.5", memory: 64M}}}
x-gantry:
  kind: service
  price: {max_per_hour: 1 GTY}
  duration: 1h
  pods: {min: 1, max: 4}
  scaling: {metric: cpu, target: 50%%, stabilisation: 60s}
""" % (b"1" * 64)
STEP_MS = 15_000


class Net:
    """A service whose pods use what the test says, on one host."""

    def __init__(self, manifest=MANIFEST, tenant=TENANT.address, account=None, **spec):
        self.chain = FakeChain()
        self.tasks = Tasks(self.chain)
        self.chain.storage["Hosts", "Hosts"][HOST.address,] = host_record(PROXY.address).encode()
        wanted = gen.Resources(CPUS, 64, 1, gen.GpuRequest(0, 1000, 0, ()))
        fields = {"kind": gen.TaskKind.SERVICE, "resources": wanted, "pods_min": 1, "pods_max": 4}
        self.task = self.tasks.submit(tenant, task_spec(**(fields | spec)), manifest=manifest)
        self.used, self.down, self.key = {}, set(), HOST
        self.dropped = 0
        self.calls, self.verdict = [], CallOutcome()
        self.now_ms = 1_000_000
        self.pods(1)
        account = account or tenant
        self.scaler = Autoscaler(GantryChain(self.chain), self.perform, self.dial, TENANT.address, account)

    def pods(self, count, wanted=None):
        """So many run."""
        active = gen.LeaseStateActive()
        leases = tuple(lease(HOST.address, pod=pod, state=active, started_at=1) for pod in range(count))
        self.tasks.change(self.task, state=gen.TaskStateRunning(), leases=leases, pods_wanted=wanted or count)

    async def perform(self, name, call):
        self.calls.append((name, call))
        if call.function == "scale" and self.verdict.done:
            self.pods(call.args["pods"])
        return self.verdict

    @contextlib.asynccontextmanager
    async def dial(self, record, host):
        assert (record.provider, host) == (PROXY.address, HOST.address)
        yield self

    async def receipt(self, number):
        pod = number >> 16 & 0xFF
        if pod in self.down:
            raise HostUnreachable("nobody is there")
        wall_ms, cpu_ms = self.used.get(number, (0, 0))
        bill = Bill(rate_per_hour=0, unit=gen.BillingUnit.SECOND, accrued=0, since_ms=None, billed_ms=0, owed=0)
        receipt = Receipt(
            genesis_hash=self.chain.genesis,
            task=self.task,
            lease=number,
            host=HOST.address,
            tenant=TENANT.address,
            seq=1,
            from_ms=0,
            until_ms=0,
            totals=Totals(wall_ms=wall_ms, cpu_ms=cpu_ms),
            bill=bill,
            reported=None,
            final=False,
        )
        return SignedReceipt(receipt, self.key.sign(receipt.host_payload)).encode()

    async def countersign(self, number, digest, signature):
        raise AssertionError((number, digest, signature))

    async def steps(self, count, demand_percent):
        """So many looks, while the pods share a demand, in percent of what one of them has."""
        for _ in range(count):
            self.now_ms += STEP_MS
            self.chain.storage["Timestamp", "Now"][()] = self.now_ms
            found = await GantryChain(self.chain).task(self.task)
            for one in found.leases:
                wall_ms, cpu_ms = self.used.get(one.id, (0, 0))
                share = demand_percent * CPUS * STEP_MS // (100 * 1000 * len(found.leases))
                self.used[one.id] = (wall_ms + STEP_MS, cpu_ms + share)
            await self.scaler.step()

    @property
    def wanted(self):
        return self.tasks.get(self.task).pods_wanted
