"""Where calls enter the outbox, and where their callers wait for the outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from offchain.adapters.outbox.intent_values import IntentState, OutboxOutcome
from offchain.adapters.outbox.intents import IntentTable
from offchain.adapters.outbox.store import Store
from offchain.ports import Call

DEAD_LETTER_BLOCKS = 302_400
"""How long calls that were given up are kept: a week of blocks of two seconds."""
_MOST_FORGOTTEN = 64
"""Calls that are deleted with one final block: 2.7 million a day. Their pages are mostly read from the disk."""
_MOST_STORED_AT_ONCE = 256


@dataclass(slots=True)
class _Unstored:
    """Calls that are stored in one transaction: key -> the call, whether it supersedes one, whether it is urgent."""

    calls: dict[str, tuple[Call, bool, bool]]
    stored: asyncio.Future[None]


class _Waiters:
    """The coroutines that wait for the end of one call: their number, and what wakes them."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.number = 0


class CallQueue:
    """The calls of one account.

    `now_ms`: Unix time in ms, stored with each call. `wake`: called after calls were stored.
    """

    def __init__(self, store: Store, intents: IntentTable, now_ms: Callable[[], int], wake: Callable[[], None]) -> None:
        self._store = store
        self._intents = intents
        self._now_ms = now_ms
        self._wake = wake
        self._waiters: dict[str, _Waiters] = {}
        self._unstored: list[_Unstored] = []
        self._version = store.version

    async def submit(self, key: str, call: Call, *, supersede: bool, urgent: bool) -> None:
        """Store a call; those submitted in the same step of the event loop are stored in one transaction."""
        if not self._unstored or len(self._unstored[-1].calls) >= _MOST_STORED_AT_ONCE:
            loop = asyncio.get_running_loop()
            self._unstored.append(_Unstored({}, loop.create_future()))
            loop.call_soon(self._store_oldest)
        unstored = self._unstored[-1]
        if supersede or key not in unstored.calls:
            unstored.calls[key] = (call, supersede, urgent)
        await asyncio.shield(unstored.stored)
        await self._store.flush()

    def _store_oldest(self) -> None:
        unstored = self._unstored.pop(0)
        try:
            with self._store.transaction():
                urgent_keys = {key for key, (_, _, urgent) in unstored.calls.items() if urgent}
                new: dict[str, Call] = {}
                for key, (call, supersede, urgent) in unstored.calls.items():
                    if supersede:
                        # Calls are sent in the order in which they were stored.
                        self._intents.add(new, self._now_ms(), urgent_keys)
                        new.clear()
                        self._intents.replace(key, call, self._now_ms(), urgent=urgent)
                    else:
                        new[key] = call
                self._intents.add(new, self._now_ms(), urgent_keys)
        except BaseException as error:  # noqa: BLE001 - raised in each submit that waits
            unstored.stored.set_exception(error)
            return
        unstored.stored.set_result(None)
        self._wake()

    async def wait(self, key: str, timeout: float | None) -> OutboxOutcome:  # noqa: ASYNC109 - part of the contract
        """Wait for the outcome of a call; see :meth:`Outbox.wait <offchain.adapters.outbox.outbox.Outbox.wait>`."""
        if self._intents.state(key) is None:
            raise LookupError(f"nothing was submitted as {key!r}")
        async with asyncio.timeout(timeout):
            while True:
                outcome = self._intents.outcome(key)
                if outcome is not None:
                    return outcome
                await self._wait_for_end(key)
                if self._intents.state(key) is None:
                    raise LookupError(f"{key!r} was forgotten")

    async def _wait_for_end(self, key: str) -> None:
        waiters = self._waiters.setdefault(key, _Waiters())
        waiters.number += 1
        try:
            await waiters.event.wait()
        finally:
            waiters.number -= 1
            if not waiters.number and self._waiters.get(key) is waiters:
                del self._waiters[key]

    def forget(self, key: str) -> None:
        """Delete a call that has ended or is not in an extrinsic yet."""
        for unstored in self._unstored:
            unstored.calls.pop(key, None)
        self._intents.forget(key)
        if self._intents.state(key) is None:
            self.wake_waiters(key)

    def forget_old(self, block: int, keep_blocks: int) -> None:
        """Delete some of the calls that ended more than `keep_blocks` before this final block.

        Calls that were given up are kept for DEAD_LETTER_BLOCKS, so that their operator sees them.
        """
        forget = self._intents.forget_ended_before
        left = _MOST_FORGOTTEN - forget(
            block - keep_blocks, IntentState.DONE, IntentState.FAILED, limit=_MOST_FORGOTTEN
        )
        forget(block - max(keep_blocks, DEAD_LETTER_BLOCKS), IntentState.DEAD, limit=left)

    def notice_other_programs(self) -> None:
        """Wake the waiters of calls that another program (`gantry outbox`) has ended."""
        if self._version != (now := self._store.version):
            self._version = now
            self.wake_waiters(*[key for key in self._waiters if self._intents.outcome(key) is not None])

    def wake_waiters(self, *keys: str) -> None:
        """Let those who wait for these calls look at them again."""
        for key in keys:
            if (waiters := self._waiters.pop(key, None)) is not None:
                waiters.event.set()
