"""Pods that outlive their hosts: a real node, the workers of an operator, agents with the fake driver."""

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
from offchain.ports import Block, BlockRef, ChainEvent
from offchain.schema.chain_types._generated_chain import calls
from offchain.schema.chain_types.ids import lease_id, tasks_of_event
from tests.support.fake_engine import FakeEngine
from tests.support.fake_host import STEP, fake_host, fake_host_process, lasting
from tests.support.real_chain import PATIENCE, Chain, chain_of
from tests.support.worker_process import worker_process

TENANT, ONE, OTHER = from_uri("//Charlie"), from_uri("//Bob"), from_uri("//Ferdie")
SCHEDULER, SETTLER = "//Dave", "//Eve"
MANIFEST = """
services:
  main:
    image: nowhere.invalid/fake@sha256:{digest}
    deploy: {{resources: {{limits: {{cpus: "3", memory: 64M}}}}}}
x-gantry: {{kind: {kind}, price: {{max_per_hour: 1 GTY}}, duration: 10m, survival: {survival}{more}}}
"""


@dataclass
class Setup:
    """Each host has room for one pod."""

    chain: Chain
    folder: Path
    blocks: AsyncIterator[tuple[Block, BlockRef]]
    engine: FakeEngine = field(default_factory=lambda: FakeEngine(lasting))
    seen: list[ChainEvent] = field(default_factory=list)

    async def submit(self, kind: str, survival: str, more: str = "") -> int:
        text = MANIFEST.format(digest="0" * 64, kind=kind, survival=survival, more=more).encode()
        return await self.chain.submit(TENANT, text)

    async def until(self, task: int, name: str, **fields: Any) -> ChainEvent:
        """The task's event of this name, with these fields."""
        async with asyncio.timeout(PATIENCE):
            while True:
                for event in self.seen:
                    fits = event.name == name and fields.items() <= event.fields.items()
                    if fits and task in tasks_of_event(event.fields):
                        return event
                await self.block()

    async def block(self) -> None:
        """The next final block."""
        block, _ = await anext(self.blocks)
        self.seen += [event for event in block.events if event.pallet == "Tasks"]


@pytest.fixture
async def setup(tmp_path: Path) -> AsyncIterator[Setup]:
    async with contextlib.AsyncExitStack() as stack:
        chain = await stack.enter_async_context(chain_of(tmp_path / "node"))
        head = await chain.link.finalized_head()
        blocks = await stack.enter_async_context(contextlib.aclosing(blocks_after(chain.link, head, "finalized")))
        stack.enter_context(worker_process("settler", SETTLER, chain.url, tmp_path / "settler"))
        yield Setup(chain, tmp_path, blocks)


async def test_a_job_continues_on_its_standby_from_its_checkpoint_within_one_escrow(setup: Setup) -> None:
    chain, folder = setup.chain, setup.folder
    issued = await chain.link.query("Balances", "TotalIssuance")
    async with contextlib.AsyncExitStack() as stack:
        first = stack.enter_context(fake_host_process(chain.url, folder / "first", "//Bob"))
        with worker_process("scheduler", SCHEDULER, chain.url, folder / "scheduler"):
            job = await setup.submit("job", "standby", ", checkpoint: {path: /ckpt, every: 1m}")
            assigned = await setup.until(job, "Assigned")
            await setup.until(job, "PodStarted")
            await stack.enter_async_context(fake_host(chain, folder / "same", ONE, setup.engine))
            standby = await stack.enter_async_context(fake_host(chain, folder / "standby", OTHER, setup.engine))
            named = await setup.until(job, "StandbyNamed")
            assert named.fields["host"] == standby, "of another provider"
        # No scheduler is there any more, and none is needed.
        told = (await setup.until(job, "Checkpointed", lease=lease_id(job, 0, 0))).fields
        copy = folder / "standby" / "checkpoints" / f"{told['digest'].hex()}.tar"
        async with asyncio.timeout(PATIENCE):
            while not copy.exists():
                await setup.block()
        first.kill()
        moved = (await setup.until(job, "LeaseMoved")).fields
        assert (moved["host"], moved["reason"]) == (standby, "HostLost")
        assert (moved["from"], moved["to"]) == (lease_id(job, 0, 0), lease_id(job, 0, 1))
        await setup.until(job, "PodStarted", lease=moved["to"])
        assert setup.engine.main(standby, moved["to"]).files == STEP
        setup.engine.finish(standby, moved["to"])
        await setup.until(job, "Settled")

    names = [event.name for event in setup.seen if job in tasks_of_event(event.fields)]
    assert "Requeued" not in names
    assert names.count("Assigned") == 1
    ((_, _, _, deposit),) = assigned.fields["leases"]
    assert moved["bill"]["refunded"] == 0
    assert moved["deposit"] == deposit - moved["bill"]["paid"]
    found = await GantryChain(chain.link).task(job)
    assert found is not None
    assert [attempt.refused for attempt in found.record.attempts] == [False]
    assert await chain.link.query("Billing", "TotalEscrowed") == 0
    assert await chain.link.query("Balances", "TotalIssuance") == issued


async def test_a_service_is_moved_off_a_host_that_its_provider_drains(setup: Setup) -> None:
    chain, folder = setup.chain, setup.folder
    async with contextlib.AsyncExitStack() as stack:
        drained = await stack.enter_async_context(fake_host(chain, folder / "drained", ONE, setup.engine))
        stack.enter_context(worker_process("scheduler", SCHEDULER, chain.url, folder / "scheduler"))
        service = await setup.submit("service", "move")
        await setup.until(service, "PodStarted")
        other = await stack.enter_async_context(fake_host(chain, folder / "other", ONE, setup.engine))
        await chain.do(ONE, calls.hosts_drain(host=drained))
        moved = (await setup.until(service, "LeaseMoved")).fields
        assert (moved["from"], moved["host"], moved["reason"]) == (lease_id(service, 0, 0), other, "Moved")
        await setup.until(service, "PodStarted", lease=moved["to"])
        await chain.do(TENANT, calls.tasks_end(task=service))
        await setup.until(service, "Settled")
    found = await GantryChain(chain.link).task(service)
    assert found is not None
    assert found.record.attempts == (), "nothing has failed"
    assert await chain.link.query("Billing", "TotalEscrowed") == 0
