"""The meter of an agent with test doubles: storage, signatures, and who gets receipts."""

import asyncio
import contextlib
from dataclasses import replace

import pytest
from agent_world import TENANT, World, agent_running

from node_agent.core.states import Phase
from node_agent.drivers.port import EngineUnreachable
from node_agent.handlers.receipt_requests import ReceiptRequests
from node_agent.metering.meter import FRESH_S, UsageMeter, steady_time
from node_agent.metering.ports import SteadyTime
from node_agent.metering.usage import GpuReading
from node_agent.runtime.state_dir import StateDir
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import from_uri
from offchain.adapters.transport.port import HostRefused
from offchain.core.receipt_check import decreased_totals
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.protocol.messages import Code
from offchain.schema.protocol.operations import ReceiptArgs
from offchain.schema.protocol.receipt import SignedReceipt
from offchain.services import receipts
from tests.support.chain_records import escrow
from tests.support.fake_engine import FakeProgram
from tests.support.fake_usage import CPU_US, MEMORY_BYTES, FakeUsageSource

FRIEND = from_uri("//Bob")
RATE = 3_600_000


def metrics(source):
    return {(one.metric.name, *one.labels): one.value for one in source()}


class NoGpus:
    """A machine without any."""

    def __init__(self, found=None):
        self.found = found or {}

    def read(self, uuids):
        return {uuid: gpu for uuid, gpu in self.found.items() if uuid in uuids}

    def close(self):
        pass


class Metered(World):
    """An agent with a meter whose clock the test turns."""

    def __init__(self, folder, programs=lambda *_: FakeProgram(runs=True)):
        super().__init__(folder, programs)
        self.steady_ms = 0
        self.usage_source = FakeUsageSource(self.engine, self.host)

    @contextlib.asynccontextmanager
    async def metering(self):
        """The agent's process. Leaving the block ends it as a kill does."""
        state = StateDir(self.folder)
        self.meter = UsageMeter(
            GantryChain(self.chain),
            state.store,
            self.key,
            self.chain.genesis,
            self.usage_source,
            NoGpus(),
            now_ms=lambda: self.now_ms,
            moment=lambda: SteadyTime("boot", self.steady_ms),
        )
        agent = self.made(state, handlers=ReceiptRequests(asyncio.get_running_loop(), self.meter).handlers())
        async with agent_running(agent, state):
            yield agent

    async def sample(self, agent, passed_ms=5_000):
        self.steady_ms += passed_ms
        await self.meter.sample(agent)

    async def running(self, agent, **changes):
        number = self.open_lease(**changes)
        await self.until(lambda: agent.state.phase(number) is Phase.RUNNING)
        await self.until(lambda: self.tasks.lease(number).started_at is not None)
        started = self.tasks.lease(number).started_at
        self.tasks.change_lease(number, escrow=escrow(deposit=10**15, rate_per_hour=RATE, since=started))
        return number

    async def lease(self, number):
        return await GantryChain(self.chain).lease(number)

    async def checked(self, client, number):
        return await receipts.fetch_checked(client, GantryChain(self.chain), await self.lease(number))


@pytest.fixture
def world(tmp_path):
    return Metered(tmp_path / "agent")


async def test_a_receipt_says_what_was_used_and_is_to_be_paid_and_fits_the_chain(world):
    async with world.metering() as agent, world.asking(agent) as client:
        number = await world.running(agent)
        for _ in range(3):
            await world.sample(agent)
        checked = await world.checked(client, number)
        assert checked.problems == ()
        receipt = checked.signed.receipt
        # The fake's clock of runs stands still, so that only the time between samples counts.
        assert (receipt.totals.wall_ms, receipt.totals.cpu_ms) == (10_001, 3 * CPU_US // 1000)
        assert receipt.bill.owed == receipt.bill.billed_ms * RATE // 3_600_000
        assert (receipt.seq, receipt.final, receipt.reported) == (1, False, None)
        assert checked.agreed_by is None


async def test_the_usage_of_running_pods_is_in_the_metrics(world):
    async with world.metering() as agent:
        first = await world.running(agent)
        await world.sample(agent)
        assert ("gantry_pod_cpu_cores", "0") not in metrics(world.meter.pod_metrics), "there is no sample before"
        second = await world.running(agent)
        await world.sample(agent)
        found = metrics(world.meter.pod_metrics)
        assert found["gantry_pod_task", "0"] == lease_parts(first)[0]
        assert found["gantry_pod_task", "1"] == lease_parts(second)[0]
        assert (found["gantry_pod_number", "1"], found["gantry_pod_memory_bytes", "1"]) == (0, MEMORY_BYTES)
        assert found["gantry_pod_cpu_cores", "0"] == CPU_US / 5_000_000
        assert not any("gpu" in name for name, _ in found)
        world.end_lease(first)
        await world.until(lambda: all(one.ending is not None for one in world.engine.of(world.host, first)))
        await world.sample(agent)
        found = metrics(world.meter.pod_metrics)
        assert {place for _, place in found} == {"1"}, "the other pod keeps its place"


async def test_sums_survive_a_kill_and_the_clock_going_back(world):
    async with world.metering() as agent:
        number = await world.running(agent)
        await world.sample(agent)
        await world.sample(agent)
    async with world.metering() as agent, world.asking(agent) as client:
        await world.sample(agent, -3_000)
        await world.sample(agent, 8_000)
        totals = (await world.checked(client, number)).signed.receipt.totals
        assert (totals.wall_ms, totals.cpu_ms) == (10_001, 4 * CPU_US // 1000)


async def test_a_container_that_is_started_again_adds_up(world):
    async with world.metering() as agent, world.asking(agent) as client:
        number = await world.running(agent)
        await world.sample(agent)
        await world.sample(agent)
        first = (await world.checked(client, number)).signed.receipt
        starts = world.engine.starts
        world.engine.kill(world.host, number)
        await world.until(lambda: world.engine.starts > starts)
        await world.sample(agent)
        world.meter._issued_s.clear()
        second = (await world.checked(client, number)).signed.receipt
        assert second.totals.cpu_ms == 3 * CPU_US // 1000
        assert decreased_totals(first.totals, second.totals) == ()
        assert second.seq == first.seq + 1


async def test_a_fresh_receipt_is_returned_again(world):
    async with world.metering() as agent, world.asking(agent) as client:
        number = await world.running(agent)
        one, other = await client.receipt(number), await client.receipt(number)
        assert one == other
        world.meter._issued_s = {key: at_s - FRESH_S for key, at_s in world.meter._issued_s.items()}
        assert SignedReceipt.decode(await client.receipt(number)).receipt.seq == 2


async def test_numbers_go_on_after_a_restart(world):
    async with world.metering() as agent, world.asking(agent) as client:
        number = await world.running(agent)
        await client.receipt(number)
    async with world.metering() as agent, world.asking(agent) as client:
        assert SignedReceipt.decode(await client.receipt(number)).receipt.seq == 2


async def test_the_tenants_signature_is_kept(world):
    async with world.metering() as agent, world.asking(agent) as client:
        number = await world.running(agent)
        checked = await world.checked(client, number)
        await receipts.countersign(client, checked, TENANT)
        assert (await world.checked(client, number)).agreed_by == TENANT.address
    async with world.metering() as agent:
        kept = world.meter._receipts.newest_of(number)
        assert kept.countersigned.receipt == checked.signed.receipt
        assert kept.countersigned.countersignature.account == TENANT.address


async def test_an_older_receipt_can_be_signed_while_newer_ones_are_made(world):
    async with world.metering() as agent, world.asking(agent) as client:
        number = await world.running(agent)
        first = await world.checked(client, number)
        world.meter._issued_s.clear()
        second = await world.checked(client, number)
        await receipts.countersign(client, second, TENANT)
        await receipts.countersign(client, first, TENANT)
        kept = world.meter._receipts.newest_of(number)
        assert kept.countersigned.receipt.seq == kept.newest.receipt.seq == 2


async def test_wrong_signatures_and_unknown_receipts_are_refused(world):
    async with world.metering() as agent, world.asking(agent) as client:
        number = await world.running(agent)
        receipt = (await world.checked(client, number)).signed.receipt
        for digest, signature, code in (
            (receipt.digest, FRIEND.sign(receipt.tenant_payload), Code.BAD_SIGNATURE),
            (receipt.digest, TENANT.sign(receipt.host_payload), Code.BAD_SIGNATURE),
            (bytes(32), TENANT.sign(receipt.tenant_payload), Code.GONE),
        ):
            with pytest.raises(HostRefused) as no:
                await client.countersign(number, digest, signature)
            assert no.value.refusal.code is code
        assert world.meter._receipts.newest_of(number).countersigned is None


async def test_a_stranger_gets_no_receipt(world):
    async with world.metering() as agent, world.asking(agent, FRIEND) as client:
        number = await world.running(agent)
        for args in (ReceiptArgs(), ReceiptArgs("00" * 32, "00" * 64)):
            with pytest.raises(HostRefused) as no:
                await client.ask(args, number)
            assert no.value.refusal.code is Code.NOT_YOUR_LEASE


async def test_the_last_receipt_of_a_job_has_what_the_chain_was_told_and_settles_by(world):
    async with world.metering() as agent, world.asking(agent) as client:
        number = await world.running(agent)
        await world.sample(agent)
        world.engine.finish(world.host, number)
        await world.until(lambda: world.tasks.lease(number).result is not None)
        record = world.tasks.lease(number)
        usage = record.result.usage
        ended_at = record.started_at + 30_000
        billed = min(30_000, usage.wall_ms)
        world.tasks.change_lease(
            number,
            ended_at=ended_at,
            escrow=replace(record.escrow, since=None, accrued=RATE * billed // 3_600_000),
        )
        await world.chain.produce()
        await world.meter.follow()
        checked = await world.checked(client, number)
        assert checked.problems == ()
        receipt = checked.signed.receipt
        assert (receipt.final, receipt.reported, receipt.until_ms) == (True, usage, ended_at)
        assert receipt.totals.wall_ms >= usage.wall_ms
        await receipts.countersign(client, checked, TENANT)
        world.meter._issued_s.clear()
        await world.meter.follow()
        assert SignedReceipt.decode(await client.receipt(number)).receipt == receipt


async def test_a_lease_that_the_chain_purged_is_closed(world):
    async with world.metering() as agent:
        number = await world.running(agent)
        await world.sample(agent)
        assert [entry.lease for entry in world.meter._receipts.open_entries()] == [number]
        world.tasks.change(number >> 24, leases=())
        await world.chain.produce()
        await world.meter.follow()
        assert world.meter._receipts.open_entries() == []


async def test_a_host_that_does_not_reach_its_chain_says_so(world):
    async with world.metering() as agent:
        number = await world.running(agent)
        world.chain.unreachable = True
        meter_answers = ReceiptRequests(asyncio.get_running_loop(), world.meter)
        request = type("Asked", (), {"args": ReceiptArgs(), "lease": number})
        with pytest.raises(HostRefused) as no:
            await meter_answers.receipt(request, None)
        assert no.value.refusal.code is Code.BUSY
        world.chain.unreachable = False


async def test_an_unreachable_engine_costs_readings_but_no_sums(world):
    async with world.metering() as agent, world.asking(agent) as client:
        number = await world.running(agent)
        await world.sample(agent)
        working = world.usage_source.read

        async def hung(_leases):
            raise EngineUnreachable("away")

        world.usage_source.read = hung
        await world.sample(agent)
        world.usage_source.read = working
        await world.sample(agent)
        assert (await world.checked(client, number)).signed.receipt.totals.wall_ms == 10_001


async def test_old_leases_are_forgotten(world):
    async with world.metering() as agent:
        number = await world.running(agent)
        await world.sample(agent)
        entry = world.meter._receipts.newest_of(number)
        old = [replace(entry, lease=number + place, closed_at_ms=place) for place in range(1, 4)]
        world.meter._receipts.put(old)
        assert world.meter._receipts.forget_old(2 + 30 * 24 * 3_600_000) == 1
        assert [world.meter._receipts.newest_of(number + place) is None for place in range(4)] == [
            False,
            True,
            False,
            False,
        ]


async def test_shared_gpus_are_not_metered(world):
    gpus = {name: GpuReading(busy_ppm=1, memory_bytes=1) for name in ("GPU-a", "GPU-b", "GPU-c")}
    async with world.metering():
        meter = world.meter
        meter._gpus = NoGpus(gpus)

        def pod(*uuids, share=False):
            container = type("Container", (), {"gpu_uuids": uuids, "has_share": share})
            return type("Pod", (), {"spec": type("Spec", (), {"containers": (container,)})})

        found = await meter._read_gpus({1: pod("GPU-a", "GPU-b"), 2: pod("GPU-b"), 3: pod("GPU-c", share=True)})
        assert found == {1: (gpus["GPU-a"],), 2: ()}


def test_the_machines_clock_only_goes_on():
    one, other = steady_time(), steady_time()
    assert one.boot == other.boot
    assert one.steady_ms <= other.steady_ms


def test_the_reasons_of_ends_are_those_of_the_chain():
    from offchain.schema.protocol.receipt_bill import _BY_KIND, _PRO_RATA  # noqa: PLC0415

    known = {kind.tag for kind in gen.EndReason.__subclasses__()}
    assert known >= _BY_KIND | _PRO_RATA
