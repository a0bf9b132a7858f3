"""A spot task makes room for one of higher priority: a real node, the workers of an operator, a real agent."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.chain.watcher import blocks_after
from offchain.adapters.keys.signer import from_uri
from offchain.errors import CallFailed
from offchain.ports import Block, BlockRef, ChainEvent, Signer
from offchain.schema.chain_types._generated_chain import PodPlacement, calls
from offchain.schema.chain_types.ids import lease_id, tasks_of_event
from tests.support.chain_records import ANY_RATE
from tests.support.fake_engine import FakeEngine
from tests.support.fake_host import fake_host, lasting
from tests.support.real_chain import PATIENCE, Chain, chain_of
from tests.support.worker_process import worker_process

POOR, RICH, PROVIDER = from_uri("//Charlie"), from_uri("//Ferdie"), from_uri("//Bob")
WORKER, OTHER_SCHEDULER = "//Dave", from_uri("//Eve")
MANIFEST = """
services:
  main:
    image: nowhere.invalid/fake@sha256:{digest}
    deploy: {{resources: {{limits: {{cpus: "{cpus}", memory: 64M}}}}}}
x-gantry: {{kind: job, price: {{max_per_hour: 1 GTY}}, duration: 10m, priority: {priority}, spot: {spot}}}
"""


@dataclass
class Setup:
    """One host with room for one task."""

    chain: Chain
    host: str
    engine: FakeEngine
    blocks: AsyncIterator[tuple[Block, BlockRef]]
    seen: list[tuple[int, ChainEvent]] = field(default_factory=list)

    async def submit(self, who: Signer, priority: int, *, spot: bool, cpus: str = "3") -> int:
        text = MANIFEST.format(
            digest="0" * 64, cpus=cpus, priority=priority, spot="{checkpoint_signal: SIGUSR1}" if spot else "false"
        ).encode()
        return await self.chain.submit(who, text)

    async def until(self, task: int, name: str, generation: int = 0) -> tuple[int, ChainEvent]:
        """The task's event of this name, and the time of its block; of leases, one of that generation."""
        async with asyncio.timeout(PATIENCE):
            while True:
                for time_ms, event in self.seen:
                    if event.name == name and task in tasks_of_event(event.fields):
                        lease = event.fields.get("lease")
                        if lease is None or lease == lease_id(task, 0, generation):
                            return time_ms, event
                block, _ = await anext(self.blocks)
                self.seen += [(block.timestamp_ms, event) for event in block.events if event.pallet == "Tasks"]


@pytest.fixture
async def setup(tmp_path: Path) -> AsyncIterator[Setup]:
    async with contextlib.AsyncExitStack() as stack:
        chain = await stack.enter_async_context(chain_of(tmp_path / "node"))
        await chain.do(OTHER_SCHEDULER, calls.tasks_bond_scheduler())
        engine = FakeEngine(lasting)
        host = await stack.enter_async_context(fake_host(chain, tmp_path / "agent", PROVIDER, engine))
        stack.enter_context(worker_process("all", WORKER, chain.url, tmp_path / "worker"))
        head = await chain.link.finalized_head()
        blocks = await stack.enter_async_context(contextlib.aclosing(blocks_after(chain.link, head, "finalized")))
        yield Setup(chain, host, engine, blocks)


async def refusal(setup: Setup, who: Signer, wanting: int, victim: int, pods: list[PodPlacement]) -> str:
    with pytest.raises(CallFailed) as refused:
        await setup.chain.do(who, calls.tasks_preempt(wanting=wanting, victims=[victim], pods=pods))
    return refused.value.name


async def test_a_spot_task_leaves_with_notice_for_one_of_higher_priority_and_runs_again(setup: Setup) -> None:
    chain = setup.chain
    issued = await chain.link.query("Balances", "TotalIssuance")
    spot = await setup.submit(POOR, 10, spot=True)
    await setup.until(spot, "PodStarted")
    equal = await setup.submit(RICH, 10, spot=False)
    there = [PodPlacement(0, setup.host, b"", ANY_RATE)]
    for who, wanting, victim, why in (
        (RICH, equal, spot, "NotScheduler"),
        (OTHER_SCHEDULER, equal, spot, "PriorityNotLower"),
        (OTHER_SCHEDULER, equal, equal, "NotSpot"),
    ):
        assert await refusal(setup, who, wanting, victim, there) == why
    await chain.do(RICH, calls.tasks_cancel(task=equal))
    # Nobody leaves for a task that would not run: not even the highest priority makes it fit.
    never = await setup.submit(RICH, 255, spot=False, cpus="1000")
    assert await refusal(setup, OTHER_SCHEDULER, never, spot, there) == "NotEnoughCpu"
    await chain.do(RICH, calls.tasks_cancel(task=never))

    container = setup.engine.main(setup.host, lease_id(spot, 0, 0))
    urgent = await setup.submit(RICH, 200, spot=False)
    told_ms, told = await setup.until(spot, "PreemptionNoticed")
    params: Any = await chain.link.query("Tasks", "Params")
    assert (told.fields["wanting"], told.fields["ends_at"]) == (urgent, told_ms + params["preemption_notice_ms"])
    left_ms, left = await setup.until(spot, "Preempted")
    assert left_ms >= told.fields["ends_at"], "nobody is ended sooner than it was told"
    assert container.signals == ("SIGUSR1",)
    assert left.fields["state"] == "Queued"
    (bill,) = left.fields["bills"]
    assert bill["paid"] > 0

    await setup.until(urgent, "PodStarted")
    setup.engine.finish(setup.host, lease_id(urgent, 0, 0))
    await setup.until(urgent, "PodReported")
    await setup.until(spot, "PodStarted", generation=1)
    again = setup.engine.main(setup.host, lease_id(spot, 0, 1))
    assert again.signals == (), "it was told once, and runs undisturbed now"
    setup.engine.finish(setup.host, lease_id(spot, 0, 1))
    for task in (urgent, spot):
        await setup.until(task, "Settled")
    found = await GantryChain(chain.link).task(spot)
    assert found is not None
    assert (found.record.attempts, found.record.preemption) == ((), None)
    assert await chain.link.query("Billing", "TotalEscrowed") == 0
    assert await chain.link.query("Balances", "TotalIssuance") == issued
