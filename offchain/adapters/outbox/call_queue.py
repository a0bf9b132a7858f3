"""Where calls enter the outbox, and where their callers wait for the outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from offchain.adapters.outbox.account_intents import AccountIntents
from offchain.adapters.outbox.deletion import EndedBefore
from offchain.adapters.outbox.intent_values import IntentState, OutboxOutcome
from offchain.adapters.outbox.intents import IntentTable
from offchain.adapters.outbox.store import Store
from offchain.errors import GantryError
from offchain.ports import Call

DEAD_LETTER_BLOCKS = 302_400
"""How long calls that were given up are kept: a week of blocks of two seconds."""
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

    def __init__(
        self, store: Store, intents: AccountIntents, now_ms: Callable[[], int], wake: Callable[[], None]
    ) -> None:
        self._store = store
        self._intents = intents
        self._now_ms = now_ms
        self._wake = wake
        self._waiters: dict[str, _Waiters] = {}
        self._unstored: list[_Unstored] = []
        self._version: int | None = None
        self._old: tuple[EndedBefore, ...] = ()
        self._old_known = asyncio.Event()

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
        now_ms = self._now_ms()
        try:
            made = self._intents.begin_write(lambda table: _add_calls(table, unstored.calls, now_ms))
        except RuntimeError as error:  # the store is closed
            unstored.stored.set_exception(error)
            return
        made.add_done_callback(partial(self._end_storing, unstored.stored))

    def _end_storing(self, stored: asyncio.Future[None], made: asyncio.Future[None]) -> None:
        if (error := made.exception()) is not None:
            stored.set_exception(error)  # raised in each submit that waits
            return
        stored.set_result(None)
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

    async def forget(self, key: str, *, if_unsigned: bool = False) -> None:
        """Delete a call that has ended or is not in an extrinsic yet. `if_unsigned`: not one that has ended."""
        for unstored in self._unstored:
            unstored.calls.pop(key, None)
        await self._intents.write(
            lambda table: table.take_back(key) if if_unsigned else table.forget(key),
            lambda is_free: self.wake_waiters(key) if is_free else None,
        )

    def forget_old(self, block: int, keep_blocks: int) -> None:
        """Let :meth:`delete_old` delete some of the calls that ended more than `keep_blocks` before this final block.

        Calls that were given up are kept for DEAD_LETTER_BLOCKS, so that their operator sees them.
        """
        self._old = (
            EndedBefore(IntentState.DONE, block - keep_blocks),
            EndedBefore(IntentState.FAILED, block - keep_blocks),
            EndedBefore(IntentState.DEAD, block - max(keep_blocks, DEAD_LETTER_BLOCKS)),
        )
        self._old_known.set()

    async def delete_old(self) -> None:
        """Delete old calls, for ever: once for each :meth:`forget_old`, or less often where the disk is slow."""
        while True:
            await self._old_known.wait()
            self._old_known.clear()
            with suppress(GantryError):  # the changes that matter report what is wrong with the disk
                await self._intents.delete_ended(*self._old)

    async def notice_other_programs(self) -> None:
        """Wake the waiters of calls that another program (`gantry outbox`) has ended."""
        if self._version != (now := await self._store.version_of_others()):
            self._version = now
            self.wake_waiters(*[key for key in self._waiters if self._intents.outcome(key) is not None])

    def wake_waiters(self, *keys: str) -> None:
        """Let those who wait for these calls look at them again."""
        for key in keys:
            if (waiters := self._waiters.pop(key, None)) is not None:
                waiters.event.set()


def _add_calls(table: IntentTable, calls: Mapping[str, tuple[Call, bool, bool]], now_ms: int) -> None:
    """Store calls as :class:`_Unstored` has them, in their order: it is the one in which they are sent."""
    urgent_keys = {key for key, (_, _, urgent) in calls.items() if urgent}
    new: dict[str, Call] = {}
    for key, (call, supersede, urgent) in calls.items():
        if supersede:
            table.add(new, now_ms, urgent_keys)
            new.clear()
            table.replace(key, call, now_ms, urgent=urgent)
        else:
            new[key] = call
    table.add(new, now_ms, urgent_keys)
