"""The autoscaler over a chain in memory: whom it asks, what it calls, and what it leaves alone."""

import asyncio
import contextlib
import os
import signal
from dataclasses import replace

import pytest
from autoscaler_world import CPUS, HOST, MANIFEST, PROXY, STEP_MS, TENANT, Net

from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import Ed25519Signer
from offchain.adapters.outbox.store import Store
from offchain.adapters.transport.port import HostUnreachable
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.manifest.task_spec import ReplacedTask, with_replaced_task
from offchain.services.host_connections import HostConnections
from offchain.services.runner import serve
from offchain.services.submitter import CallOutcome
from tests.support.chain_records import device, host_record, placement, task_spec


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
