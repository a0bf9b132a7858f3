"""The loop of a worker process: follows the chain, maintains the view, and steps each role after every change."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from offchain.adapters.chain.watcher import Watcher
from offchain.adapters.outbox.outbox import Outbox
from offchain.core.snapshot import Touched
from offchain.errors import ChainBehind
from offchain.ports import Block, ChainPort
from offchain.services.submitter import REMEMBERED_BLOCKS, PendingCalls
from offchain.services.view import ChainView


class WorkerRole(Protocol):
    """A scheduler or a settler."""

    @property
    def running(self) -> PendingCalls:
        """Its calls in progress."""
        ...

    async def step(self, touched: Touched | None = None) -> None:
        """Inspect the view and act. `touched`: what a block changed; None: anything may have changed."""
        ...


class Worker:
    """Passes finalized blocks to the outbox and the view, best blocks to the view, and steps the roles."""

    def __init__(self, chain: ChainPort, watcher: Watcher, outbox: Outbox, view: ChainView) -> None:
        self._chain = chain
        self._watcher = watcher
        self._outbox = outbox
        self._view = view
        self._roles: Sequence[WorkerRole] = ()
        self._turn = asyncio.Lock()
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Request a step soon."""
        self._woken.set()

    async def run(self, roles: Sequence[WorkerRole]) -> None:
        """Run until cancelled. Raises errors that the parts cannot handle."""
        self._roles = roles
        self.wake()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._outbox.run())
                group.create_task(self._watcher.run(self._finalized))
                group.create_task(self._follow_best())
                group.create_task(self._follow_wakes())
        finally:
            for role in roles:
                await role.running.stop()

    async def _finalized(self, block: Block) -> None:
        await self._outbox.observe(block)
        async with self._turn:
            # After a restart the outbox is given blocks that the view, read at the newest one, has in it already.
            if block.ref.number > self._view.final.number:
                await self._step(await self._view.finalized(block))
        self._outbox.forget_old(block.ref.number, REMEMBERED_BLOCKS)

    async def _follow_best(self) -> None:
        async for ref in self._chain.best():
            if ref.number < self._view.final.number:
                raise ChainBehind(ref.number, self._view.final.number, self._watcher.kept_in)
            async with self._turn:
                await self._step(await self._view.best(ref))

    async def _follow_wakes(self) -> None:
        while True:
            await self._woken.wait()
            self._woken.clear()
            async with self._turn:
                await self._step(None)

    async def _step(self, touched: Touched | None) -> None:
        for role in self._roles:
            await role.step(touched)
