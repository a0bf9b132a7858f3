"""Submission of a single call by a program without an outbox of its own: sign, send, wait for the final block."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

from offchain.adapters.chain.watcher import Watcher
from offchain.adapters.outbox.intent_values import CallGivenUp, CallIncluded, CallRejected
from offchain.adapters.outbox.outbox import Outbox
from offchain.adapters.outbox.store import Store
from offchain.clock import unix_ms
from offchain.errors import CallFailed, ChainBehind, GaveUp
from offchain.ports import Block, Call, ChainPort, SignedExtrinsic, Signer

_KEY = "once"
_BEHIND_S = 1.0


async def submit_once(
    chain: ChainPort,
    signer: Signer,
    call: Call,
    timeout: float = 120.0,  # noqa: ASYNC109 - covers all attempts
    accepted: Callable[[], None] | None = None,
) -> tuple[CallIncluded, Block]:
    """Have a call included; return where, and the block with its events.

    `accepted` is called once, when a node has accepted the call. Raises CallFailed where the chain refused the call,
    GaveUp where no block took it, TimeoutError after `timeout`.
    """
    store = Store(":memory:")
    target = chain if accepted is None else cast("ChainPort", _AcceptanceReporter(chain, accepted))
    outbox = Outbox(target, store, signer, now_ms=unix_ms)
    watcher = Watcher(chain, store, _KEY, start="finalized")
    try:
        await outbox.submit(_KEY, call)
        outcome = await first_of(outbox.wait(_KEY, timeout), outbox.run(), _watch(watcher, outbox))
    finally:
        store.close()
    match outcome:
        case CallRejected(failure):
            raise CallFailed(failure.pallet, failure.name, failure.doc)
        case CallGivenUp(reason):
            raise GaveUp(f"The call was not taken: {reason}.", "Correct the cause and send it again.")
        case CallIncluded(ref):
            return outcome, await chain.block(ref.number)
    raise AssertionError(outcome)


class _AcceptanceReporter:
    """A chain that calls `report` when the node has accepted the first extrinsic."""

    def __init__(self, chain: ChainPort, report: Callable[[], None]) -> None:
        self._chain = chain
        self._report = report
        self._has_reported = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chain, name)

    async def broadcast(self, extrinsic: SignedExtrinsic) -> None:
        await self._chain.broadcast(extrinsic)
        if not self._has_reported:
            self._has_reported = True
            self._report()


async def _watch(watcher: Watcher, outbox: Outbox) -> None:
    while True:
        try:
            await watcher.run(outbox.observe)
        except ChainBehind:  # a node that was killed may come back with fewer final blocks
            await asyncio.sleep(_BEHIND_S)


async def first_of(*work: Coroutine[Any, Any, Any]) -> Any:
    """Run all; return the result of the first that ends, and cancel the others."""
    tasks = [asyncio.ensure_future(item) for item in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return next(iter(done)).result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
