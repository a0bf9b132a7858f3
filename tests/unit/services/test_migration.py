"""Pods that go on elsewhere: what the scheduler sends, when, and what it does about refusals."""

from __future__ import annotations

import pytest
from toy_network import HOST, OTHER_HOST, Toy

from offchain.adapters.keys import signer
from offchain.core.scheduler.host_risk import AGENT_DELAY_MS
from offchain.core.scheduler.migration_watch import RETRY_FIRST_MS
from offchain.core.scheduler.partition import SLOT_MS
from offchain.ports import DispatchFailure
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import GTY, tasks_params
from tests.support.fake_chain import BLOCK_MS

OTHER_PROVIDER = signer.from_uri("//Ferdie").address
HERE = lease_id(0, 0, 0)
IN_ORDER = DispatchFailure("Tasks", "HostInOrder", "The host of the lease is in order.")


async def running(toy: Toy, survival: gen.Survival, **changes) -> None:
    """Task 0 runs on the only GPU of a host."""
    task = await toy.submit(kind=gen.TaskKind.SERVICE, survival=survival, **changes)
    await toy.call("assign", task=task, pods=[{"pod": 0, "host": HOST, "devices": b"\0"}])
    await toy.block()
    toy.start(task)
    await toy.block()


def two_hosts() -> Toy:
    toy = Toy()
    toy.host()
    toy.host(OTHER_HOST, provider=OTHER_PROVIDER)
    toy.put("Tasks", "Params", value=tasks_params(preemption_notice_ms=2 * BLOCK_MS))
    return toy


TOLD = (2 * BLOCK_MS + AGENT_DELAY_MS) // BLOCK_MS
"""Blocks in which a pod on a host that is drained is told that it will be moved."""


async def blocks(toy: Toy, quiet, count: int) -> None:
    for _ in range(count):
        await toy.block()
        await quiet()


async def test_a_standby_that_became_too_expensive_is_replaced():
    toy = two_hosts()
    third = signer.from_uri("//ThirdHost").address
    await running(toy, gen.Survival.STANDBY)
    async with toy.working("scheduler") as quiet:
        await blocks(toy, quiet, 6)
        toy.host(third, provider=OTHER_PROVIDER)
        record = toy.get("Hosts", "Hosts", OTHER_HOST)
        dear = {**record["ask"], "gpu_per_hour": 2 * GTY}
        toy.put("Hosts", "Hosts", OTHER_HOST, value={**record, "ask": dear})
        toy._set_ask = lambda _account, host: [("Hosts", "AskChanged", {"host": host})]
        for host in (OTHER_HOST, third):
            await toy.call("set_ask", "Hosts", host=host)
        await blocks(toy, quiet, 12)
        assert [call["host"] for call in toy.done("name_standby")] == [OTHER_HOST, third]


@pytest.mark.parametrize("survival", [gen.Survival.MOVE, gen.Survival.STANDBY])
async def test_a_pod_moves_off_a_draining_host_and_its_target_is_not_given_away(survival: gen.Survival):
    toy = two_hosts()
    await running(toy, survival)
    async with toy.working("scheduler") as quiet:
        await toy.call("drain", "Hosts", host=HOST)
        await blocks(toy, quiet, TOLD)
        assert not toy.tried("move_pod"), "it has time to save its work"
        await toy.submit()
        await blocks(toy, quiet, 1)
        assert toy.waiting("move_pod") == [{"lease": HERE, "host": OTHER_HOST, "devices": b"\0", "rate_per_hour": GTY}]
        await blocks(toy, quiet, 6)
        assert len(toy.done("move_pod")) == 1
        assert not toy.tried("assign"), "there is no room for another"


async def test_a_pod_with_survival_restart_is_not_moved():
    toy = two_hosts()
    await running(toy, gen.Survival.RESTART)
    async with toy.working("scheduler") as quiet:
        await toy.call("drain", "Hosts", host=HOST)
        await blocks(toy, quiet, TOLD + 6)
    assert not toy.tried("move_pod")
    assert not toy.tried("name_standby")


async def test_a_refused_move_is_tried_again_later():
    toy = two_hosts()
    await running(toy, gen.Survival.MOVE)
    toy.verdict = lambda call: IN_ORDER if call.function == "move_pod" else None
    async with toy.working("scheduler") as quiet:
        await toy.call("drain", "Hosts", host=HOST)
        await blocks(toy, quiet, TOLD + 3)
        assert len(toy.tried("move_pod")) == 1
        toy.verdict = lambda _: None
        await toy.block(after_ms=RETRY_FIRST_MS)
        await quiet()
        await blocks(toy, quiet, 3)
        assert toy.done("move_pod") == [{"lease": HERE, "host": OTHER_HOST, "devices": b"\0", "rate_per_hour": GTY}]


async def test_a_standby_at_another_provider_is_named_once_and_replaced_when_lost():
    toy = two_hosts()
    third = signer.from_uri("//ThirdHost").address
    await running(toy, gen.Survival.STANDBY)
    async with toy.working("scheduler") as quiet:
        await blocks(toy, quiet, 12)
        assert toy.done("name_standby") == [{"lease": HERE, "host": OTHER_HOST, "devices": b"\0", "rate_per_hour": GTY}]
        toy.host(third, provider=OTHER_PROVIDER)
        await toy.call("drain", "Hosts", host=OTHER_HOST)
        toy._online = lambda _account, host: [("Hosts", "StatusChanged", {"host": host})]
        await toy.call("online", "Hosts", host=third)
        await blocks(toy, quiet, 4)
        assert [call["host"] for call in toy.done("name_standby")] == [OTHER_HOST, third]
        assert not toy.tried("move_pod"), "its own host is in order"


async def test_no_standby_is_named_at_the_same_provider():
    toy = Toy()
    toy.host()
    toy.host(OTHER_HOST)
    await running(toy, gen.Survival.STANDBY)
    async with toy.working("scheduler") as quiet:
        await blocks(toy, quiet, 6)
    assert not toy.tried("name_standby")


async def test_a_host_is_read_again_before_it_counts_as_silent():
    toy = two_hosts()
    record = toy.get("Hosts", "Hosts", HOST)
    toy.put("Hosts", "Hosts", HOST, value={**record, "last_heartbeat": 4_000})
    await running(toy, gen.Survival.MOVE)
    async with toy.working("scheduler") as quiet:
        # Heartbeats leave no event.
        record = toy.get("Hosts", "Hosts", HOST)
        toy.put("Hosts", "Hosts", HOST, value={**record, "last_heartbeat": 60_000})
        await toy.block(after_ms=56_000)
        await quiet()
        await blocks(toy, quiet, 3)
        assert not toy.tried("move_pod")
        await toy.block(after_ms=20_000)
        await quiet()
        await blocks(toy, quiet, 3)
        assert [call["host"] for call in toy.done("move_pod")] == [OTHER_HOST]


async def test_a_pod_stays_when_its_host_stops_draining():
    toy = two_hosts()
    await running(toy, gen.Survival.MOVE)
    toy._undrain = lambda _account, host: [("Hosts", "StatusChanged", {"host": host})]
    async with toy.working("scheduler") as quiet:
        await toy.call("drain", "Hosts", host=HOST)
        await blocks(toy, quiet, TOLD - 1)
        toy.put("Hosts", "Hosts", HOST, value={**toy.get("Hosts", "Hosts", HOST), "status": "Online"})
        await toy.call("undrain", "Hosts", host=HOST)
        await blocks(toy, quiet, 6)
        assert not toy.tried("move_pod")


OTHER_SCHEDULER = signer.from_uri("//Eve")
MANY_SHIFTS = 20 * SLOT_MS // BLOCK_MS


async def two_schedulers(survival: gen.Survival, other: str = OTHER_SCHEDULER.address) -> Toy:
    """Both are bonded, and a task runs."""
    toy = two_hosts()
    toy.put("Tasks", "Schedulers", other, value=GTY)
    await running(toy, survival)
    return toy


async def test_one_of_two_schedulers_moves_a_pod_and_one_names_its_standby():
    toy = await two_schedulers(gen.Survival.STANDBY)
    async with toy.working("scheduler"), toy.working("scheduler", signer=OTHER_SCHEDULER) as quiet:
        await blocks(toy, quiet, 12)
        assert [call.args["host"] for call in toy.tried("name_standby")] == [OTHER_HOST]
        await toy.call("drain", "Hosts", host=HOST)
        await blocks(toy, quiet, TOLD + 12)
        assert [call.args["host"] for call in toy.tried("move_pod")] == [OTHER_HOST]


@pytest.mark.parametrize("dead", ["//Eve", "//One", "//Ferdie"])
async def test_the_other_of_two_schedulers_moves_the_pod_if_one_is_dead(dead: str):
    toy = await two_schedulers(gen.Survival.MOVE, signer.from_uri(dead).address)
    async with toy.working("scheduler") as quiet:
        await toy.call("drain", "Hosts", host=HOST)
        for _ in range(MANY_SHIFTS):
            if toy.tried("move_pod"):
                break
            await blocks(toy, quiet, 1)
        assert [call.args["host"] for call in toy.tried("move_pod")] == [OTHER_HOST]
