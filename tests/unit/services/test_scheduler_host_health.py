"""What failed where, as the scheduler's shell sees it: whom it asks again, and when."""

from __future__ import annotations

import pytest
from toy_network import HOST, OTHER_HOST, Toy

from offchain.adapters.keys import signer
from offchain.core.scheduler.host_health import FIRST_COOLDOWN_MS
from offchain.ports import DispatchFailure
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import GTY
from tests.support.fake_chain import BLOCK_MS

NO_ROOM = DispatchFailure("Hosts", "DeviceBusy", "A device has too little left.")
ENGINE = {"HostRefused": "DriverError"}
IMAGE = {"HostRefused": "ImageUnavailable"}


async def refused_by_its_host(toy: Toy, quiet, task: int, generation: int, reason: object) -> None:
    await toy.block()
    await quiet()
    await toy.call("requeue", lease=lease_id(task, 0, generation), reason=reason)
    await toy.block()
    await quiet()


@pytest.mark.parametrize("reason", [ENGINE, IMAGE, "StartTimeout"])
async def test_a_host_that_refuses_twice_is_not_asked_at_once_again(reason: object):
    toy = Toy()
    toy.host()
    await toy.block()
    async with toy.working("scheduler") as quiet:
        task = await toy.submit()
        await toy.block()
        await quiet()
        assert toy.waiting("assign")
        await refused_by_its_host(toy, quiet, task, 0, reason)
        assert toy.waiting("assign"), "once is an accident"
        await refused_by_its_host(toy, quiet, task, 1, reason)
        assert not toy.waiting("assign")
        await toy.block(after_ms=FIRST_COOLDOWN_MS - 2 * BLOCK_MS)
        await quiet()
        assert not toy.waiting("assign")
        await toy.block(after_ms=2 * BLOCK_MS)
        await quiet()
        assert toy.waiting("assign")


async def test_after_two_refusals_another_host_is_asked():
    toy = Toy()
    # Which is the better one is a matter of the draw.
    toy.host(HOST)
    toy.host(OTHER_HOST)
    await toy.block()
    async with toy.working("scheduler") as quiet:
        task = await toy.submit()
        await toy.block()
        await quiet()
        asked = [toy.waiting("assign")[0]["pods"][0]["host"]]
        for generation in range(2):
            await refused_by_its_host(toy, quiet, task, generation, IMAGE)
            asked.append(toy.waiting("assign")[0]["pods"][0]["host"])
        assert asked[0] == asked[1] != asked[2]


async def test_a_failure_of_one_manifest_on_a_host_does_not_affect_others():
    toy = Toy()
    toy.host()
    await toy.block()
    async with toy.working("scheduler") as quiet:
        task = await toy.submit()
        await toy.block()
        await quiet()
        for generation in range(2):
            await refused_by_its_host(toy, quiet, task, generation, IMAGE)
        assert not toy.waiting("assign")
        other = await toy.submit(manifest_digest=b"o" * 32)
        await toy.block()
        await quiet()
        assert [call["task"] for call in toy.waiting("assign")] == [other]


async def test_pods_on_a_deteriorating_host_are_logged_once(caplog: pytest.LogCaptureFixture):
    caplog.set_level("WARNING")
    toy = Toy()
    toy.host(gpus=2)
    await toy.block()
    async with toy.working("scheduler") as quiet:
        await toy.submit()
        for _ in range(3):
            await toy.block()
            await quiet()
        (lease,) = toy.tasks.get(0).leases
        record = toy.get("Hosts", "Hosts", HOST)
        worn = [{**one, "healthy": place not in lease.devices} for place, one in enumerate(record["devices"])]
        toy.put("Hosts", "Hosts", HOST, value={**record, "devices": worn})
        toy._worn = lambda _account: [("Hosts", "DeviceHealthChanged", {"host": HOST, "unhealthy": lease.devices})]
        for _ in range(2):
            await toy.call("worn")
            await toy.block()
            await quiet()
    (told,) = [record.message for record in caplog.records if record.message.startswith("at_risk")]
    assert f"task=0 lease=0 host={HOST}" in told
    assert "out of order" in told


async def test_a_host_whose_latency_grows_again_and_again_deteriorates(caplog: pytest.LogCaptureFixture):
    caplog.set_level("WARNING")
    toy = Toy()
    toy.host()
    await toy.block()
    async with toy.working("scheduler") as quiet:
        await toy.submit()
        for _ in range(3):
            await toy.block()
            await quiet()
        record = toy.get("Hosts", "Hosts", HOST)

        async def measured(latency_ms: int) -> None:
            toy.put("Hosts", "Hosts", HOST, value={**record, "latency_ms": latency_ms})
            fields = {"host": HOST, "down_mbps": 0, "up_mbps": 0, "latency_ms": latency_ms}
            toy._measured = lambda _account: [("Hosts", "NetworkMeasured", fields)]
            await toy.call("measured")
            await toy.block()
            await quiet()

        for _ in range(10):
            await measured(10)
            await measured(500)
    (told,) = [record.message for record in caplog.records if record.message.startswith("at_risk")]
    assert "much failed on its host lately" in told
    assert "a latency that has grown" in told


@pytest.mark.parametrize("alone", [True, False])
async def test_only_a_single_scheduler_records_missing_resources_of_a_host(alone: bool):  # noqa: FBT001
    toy, other = Toy(), signer.from_uri("//Ferdie").address
    if not alone:
        toy.put("Tasks", "Schedulers", other, value=GTY)
    toy.host(HOST)
    toy.verdict = lambda call: NO_ROOM if call.function == "assign" else None
    await toy.block()
    async with toy.working("scheduler") as quiet:
        await toy.submit()
        while len(toy.tried("assign")) < 2 or toy.waiting("assign"):
            await toy.block()
            await quiet()
        toy.verdict = lambda _: None
        # It is alone from now on, so that it waits for no shift.
        toy.chain.storage["Tasks", "Schedulers"].pop((other,), None)
        toy._leave = lambda _account: [("Tasks", "SchedulerLeaving", {"who": other, "until": toy.now})]
        await toy.call("leave")
        for _ in range(FIRST_COOLDOWN_MS // BLOCK_MS - 4):
            await toy.block()
            await quiet()
        assert bool(toy.done("assign")) is not alone
        for _ in range(5):
            await toy.block()
            await quiet()
        assert toy.done("assign")
