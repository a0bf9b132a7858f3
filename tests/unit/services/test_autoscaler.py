"""The autoscaler over a chain in memory: whom it asks, what it calls, and what it leaves alone."""

import asyncio
import contextlib
import os
import signal
from dataclasses import replace

import pytest

from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import Ed25519Signer, from_uri
from offchain.adapters.outbox.store import Store
from offchain.adapters.transport.port import HostUnreachable
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.manifest.task_spec import ReplacedTask, with_replaced_task
from offchain.schema.protocol.receipt import Bill, Receipt, SignedReceipt, Totals
from offchain.services.autoscaler import Autoscaler
from offchain.services.host_connections import HostConnections
from offchain.services.runner import serve
from offchain.services.submitter import CallOutcome
from tests.support.chain_records import Tasks, device, host_record, lease, placement, task_spec
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


@pytest.fixture
def net():
    return Net()


async def test_more_load_takes_more_pods_and_less_load_fewer_after_the_window(net):
    await net.steps(2, demand_percent=120)
    ((name, call),) = net.calls
    assert (call.function, call.args) == ("scale", {"task": net.task, "pods": 2})
    assert name.startswith(f"scale:{net.task}:2:")
    await net.steps(20, demand_percent=120)
    assert net.wanted == 3
    await net.steps(20, demand_percent=10)
    assert net.wanted == 1
    pods = [call.args["pods"] for _, call in net.calls]
    assert pods[:2] == [2, 3]
    assert pods[2:] == sorted(pods[2:], reverse=True)


def worn(net, *, healthy):
    record = host_record(PROXY.address, devices=(device(), device(healthy=healthy)))
    net.chain.storage["Hosts", "Hosts"][HOST.address,] = record.encode()


def on_devices(net):
    """Pod 1 runs on the second GPU, whatever number of pods there is; the others on the first."""
    pods = net.pods

    def on(count, wanted=None):
        pods(count, wanted)
        leases = net.tasks.get(net.task).leases
        net.tasks.change(net.task, leases=tuple(replace(one, devices=bytes([one.pod == 1])) for one in leases))

    net.pods = on


async def test_a_pod_at_risk_gets_a_spare_until_it_recovers(net):
    on_devices(net)
    net.pods(2)
    await net.steps(20, demand_percent=80)
    assert not net.calls
    worn(net, healthy=False)
    await net.steps(1, demand_percent=80)
    assert net.wanted == 3
    await net.steps(20, demand_percent=80)
    assert net.wanted == 3, "one beside it is enough"
    worn(net, healthy=True)
    await net.steps(10, demand_percent=80)
    assert net.wanted == 2


async def test_a_pod_beyond_its_latency_limit_gets_a_spare():
    net = Net(placement=placement(max_latency_ms=50))
    there = host_record(PROXY.address)

    def far(latency_ms):
        net.chain.storage["Hosts", "Hosts"][HOST.address,] = replace(there, latency_ms=latency_ms).encode()

    far(50)
    await net.steps(10, demand_percent=40)
    assert not net.calls
    far(51)
    await net.steps(1, demand_percent=40)
    assert net.wanted == 2
    far(20)
    await net.steps(10, demand_percent=40)
    assert net.wanted == 1


async def test_spares_stay_within_the_maximum_of_the_service(net):
    on_devices(net)
    net.pods(4)
    worn(net, healthy=False)
    await net.steps(10, demand_percent=400)
    assert net.wanted == 4


async def test_a_change_by_the_tenant_resets_the_spares(net):
    on_devices(net)
    net.pods(2)
    worn(net, healthy=False)
    await net.steps(1, demand_percent=80)
    assert net.wanted == 3
    net.pods(1)
    await net.steps(10, demand_percent=40)
    assert net.wanted == 1


async def test_never_more_than_the_chain_allows(net):
    await net.steps(10, demand_percent=5_000)
    assert net.wanted == 4


async def test_a_host_that_does_not_answer_changes_nothing(net):
    net.pods(3)
    net.down = {0, 1, 2}
    await net.steps(20, demand_percent=5)
    assert net.calls == []


async def test_a_receipt_without_the_hosts_signature_is_ignored(net):
    net.key = Ed25519Signer(bytes(31) + b"x")
    await net.steps(5, demand_percent=500)
    assert net.calls == []


async def test_a_refusal_is_tried_again_under_another_name(net):
    net.verdict = CallOutcome("Tasks.BadPods")
    await net.steps(3, demand_percent=120)
    names = [name for name, _ in net.calls]
    assert len(names) == len(set(names)) == 2


async def test_a_proxy_calls_for_its_tenant():
    net = Net(account=PROXY.address)
    await net.steps(2, demand_percent=120)
    ((_, call),) = net.calls
    assert (call.pallet, call.function) == ("Proxy", "proxy")
    assert call.args["real"] == {"Id": TENANT.address}
    assert call.args["call"] == {"Tasks": {"scale": {"task": net.task, "pods": 2}}}


@pytest.mark.parametrize(
    "options",
    [
        {"kind": gen.TaskKind.JOB},
        {"pods_max": 1},
        {"manifest": b"services: {"},
        {"manifest": MANIFEST.replace(b"  scaling: {metric: cpu, target: 50%, stabilisation: 60s}\n", b"")},
        {"tenant": PROXY.address},
    ],
)
async def test_tasks_without_scaling_are_not_read_again(options):
    net = Net(**options)
    await net.steps(2, demand_percent=500)
    assert (net.calls, net.scaler._services) == ([], {})
    reads = []
    query_many = net.chain.query_many

    async def counted(pallet, item, keys, at=None):
        reads.extend(keys)
        return await query_many(pallet, item, keys, at)

    net.chain.query_many = counted
    await net.scaler.step()
    assert reads == []


async def test_a_service_is_not_scaled_during_an_update(net):
    """Both versions, also one that does not scale by itself."""
    await net.steps(1, demand_percent=200)
    fixed = MANIFEST.replace(b"{min: 1, max: 4}", b"1")
    place = ReplacedTask(net.task, 1, bytes(32))
    spec = task_spec(kind=gen.TaskKind.SERVICE, pods_min=1, pods_max=1)
    coming = net.tasks.submit(TENANT.address, spec, manifest=with_replaced_task(fixed, place))
    await net.steps(5, demand_percent=200)
    assert net.calls == []
    assert net.scaler._services[net.task].recommendations.recent == ()
    net.tasks.change(coming, state=gen.TaskStateCancelled())
    await net.steps(1, demand_percent=200)
    assert net.wanted == 2


async def test_a_service_that_is_gone_is_forgotten(net):
    await net.steps(2, demand_percent=40)
    assert net.scaler._services.keys() == {net.task}
    net.tasks.change(net.task, state=gen.TaskStateSettled())
    await net.scaler.step()
    assert net.scaler._services == {}


async def test_loads_are_means_over_a_minute(net):
    await net.steps(20, demand_percent=40)
    (seen,) = net.scaler._services[net.task].seen.values()
    assert net.now_ms - seen[0][0] == 60_000
    assert len(seen) == 5


async def test_a_pod_that_is_new_counts_for_itself_only(net):
    """A lease that took the place of another starts from nothing."""
    await net.steps(5, demand_percent=40)
    moved = replace(net.tasks.get(net.task).leases[0], generation=1)
    net.tasks.change(net.task, leases=(moved,))
    await net.scaler.step()
    ((number, seen),) = net.scaler._services[net.task].seen.items()
    assert number & 0xFFFF == 1
    assert len(seen) == 1


OWN = MANIFEST.replace(b"cpu, target: 50%", b"{port: 9090, name: jobs, target_per_pod: 10}")


class Page:
    """A connection into a pod that serves a page in pieces."""

    def __init__(self, net, pieces):
        self.net, self.pieces, self.asked = net, list(pieces), b""

    async def write(self, data):
        self.asked += data

    async def read_main(self):
        assert self.asked.startswith(b"GET /metrics HTTP/1.0\r\n")
        if self.pieces and self.pieces[0] is None:
            await asyncio.Event().wait()
        return self.pieces.pop(0) if self.pieces else None

    def drop(self):
        self.net.dropped += 1


class OwnNet(Net):
    """A service whose pods tell a number."""

    def __init__(self):
        super().__init__(OWN)
        self.numbers, self.asked = {}, []

    async def receipt(self, number):
        raise AssertionError(f"no receipt of {number} is needed")

    async def dial(self, number, port):
        self.asked.append((number >> 16 & 0xFF, port))
        return Page(self, self.numbers[number >> 16 & 0xFF])

    def told(self, *numbers):
        """What each pod tells; None: its page never ends; bytes: in place of a page."""
        head = b"HTTP/1.0 200 OK\r\n\r\n"
        for pod, number in enumerate(numbers):
            page = number if isinstance(number, bytes) else b"# TYPE jobs gauge\njobs %d\n" % (number or 0)
            self.numbers[pod] = [head, None] if number is None else [head, page[:9], page[9:]]

    async def look(self, *numbers):
        self.told(*numbers)
        await self.steps(1, demand_percent=0)


@pytest.fixture
def own():
    net = OwnNet()
    net.scaler = Autoscaler(
        GantryChain(net.chain), net.perform, lambda *_: contextlib.nullcontext(net), *[TENANT.address] * 2
    )
    return net


async def test_a_metric_of_the_pods_adds_pods(own):
    await own.look(35)
    assert own.wanted == 4
    assert own.asked == [(0, 9090)]
    await own.look(9, 9, 9, 8)
    assert own.wanted == 4
    assert own.dropped == 5


async def test_a_lower_metric_removes_pods_after_the_window(own):
    own.pods(4)
    for _ in range(4):
        await own.look(0, 0, 0, 0)
    assert own.wanted == 4
    for _ in range(4):
        await own.look(0, 0, 0, 0)
    assert own.wanted == 1


@pytest.mark.parametrize("page", [None, b"jobs NaN", b"", b"other 1\n", b"jobs 1\n" + b" " * (1 << 20)])
async def test_a_page_without_the_metric_removes_no_pods(own, page, monkeypatch):
    monkeypatch.setattr("offchain.services.autoscaler.PAGE_S", 0.0)
    own.pods(3)
    for _ in range(10):
        await own.look(page, page, page)
    assert own.calls == []
    assert own.dropped == 30


async def test_a_counter_that_restarts_is_followed_from_there(own):
    page = b"# TYPE jobs counter\njobs %d\n"
    own.pods(2)
    for count in (1_000, 1_150, 1_300, 0, 150, 300):
        await own.look(*[page % count] * 2)
    assert own.calls == []
    await own.look(*[page % 900] * 2)
    assert own.wanted > 2


class Dialled:
    """What was opened and closed, in place of real connections."""

    def __init__(self, monkeypatch, source):
        self.opened, self.closed, self.source = [], [], source
        monkeypatch.setattr("offchain.services.host_connections.open_host", self.open)

    @contextlib.asynccontextmanager
    async def open(self, host_key, endpoint, *, genesis_hash, signer, gateways):
        assert (host_key, len(genesis_hash), signer, gateways) == (HOST.public_key, 32, TENANT, ())
        self.opened.append(endpoint)
        try:
            yield self.source
        finally:
            self.closed.append(endpoint)


async def test_connections_are_kept_until_they_fail_or_the_host_moves(monkeypatch):
    dialled = Dialled(monkeypatch, object())
    one, other = (host_record(PROXY.address, endpoint=endpoint) for endpoint in (b"one", b"other"))
    async with contextlib.AsyncExitStack() as stack:
        ways = HostConnections(stack, bytes(32), TENANT)
        for _ in range(2):
            async with ways.to(one, HOST.address):
                pass
        assert (dialled.opened, dialled.closed) == ([b"one"], [])
        async with ways.to(other, HOST.address):
            assert dialled.closed == [b"one"]
        with pytest.raises(HostUnreachable):
            async with ways.to(other, HOST.address):
                raise HostUnreachable("it is gone")
        assert dialled.closed == [b"one", b"other"]
        async with ways.to(other, HOST.address):
            pass
        assert dialled.opened == [b"one", b"other", b"other"]
    assert dialled.closed == dialled.opened


async def test_an_unreachable_host_does_not_delay_others(monkeypatch):
    never = asyncio.Event()

    @contextlib.asynccontextmanager
    async def open_(key, endpoint, **_options):
        if endpoint == b"gone":
            await never.wait()
        yield key

    monkeypatch.setattr("offchain.services.host_connections.open_host", open_)
    async with contextlib.AsyncExitStack() as stack:
        ways = HostConnections(stack, bytes(32), TENANT)

        async def dialled():
            async with ways.to(host_record(PROXY.address, endpoint=b"gone"), HOST.address):
                pass

        dialling = asyncio.create_task(dialled())
        await asyncio.sleep(0)
        async with ways.to(host_record(PROXY.address, endpoint=b"there"), PROXY.address) as key:
            assert key == PROXY.public_key
        assert not dialling.done()
        dialling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await dialling


async def test_the_whole_worker_scales_through_its_outbox_and_ends_on_sigterm(net, monkeypatch):
    Dialled(monkeypatch, net)
    monkeypatch.setattr("offchain.services.autoscaler.STEP_S", 0.01)
    done = asyncio.Event()
    net.chain.storage["Timestamp", "Now"][()] = net.now_ms

    def effects(call, account):
        assert (call.function, account) == ("scale", TENANT.address)
        net.pods(1, wanted=call.args["pods"])
        done.set()
        return []

    net.chain.effects = effects
    (lease_,) = (await GantryChain(net.chain).task(net.task)).leases
    with contextlib.closing(Store(":memory:")) as store:
        working = asyncio.create_task(serve(["autoscaler"], net.chain, store, TENANT))
        while not done.is_set():
            wall_ms, cpu_ms = net.used.get(lease_.id, (0, 0))
            net.used[lease_.id] = (wall_ms + STEP_MS, cpu_ms + STEP_MS * CPUS // 1000)
            await net.chain.produce()
            await asyncio.sleep(0)
            assert not working.done(), working.result()
        os.kill(os.getpid(), signal.SIGTERM)
        await working
    assert net.wanted == 2
