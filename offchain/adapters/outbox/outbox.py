"""Durable queue of calls to the chain. A call takes effect once, or is visibly given up, also after `kill -9`.

Rules that ensure it:

- A call is on the disk before `submit` returns, and an extrinsic before it is broadcast: both survive a power cut.
- The calls of an extrinsic that a node may have accepted are not signed anew while a block can still include it. That
  ends in two ways only, both read from final blocks, all of which are searched: its mortality is over, or another
  extrinsic has used its nonce.
- A refusal of bytes that no node has had before frees their calls and nonce at once.
- The same bytes may be broadcast any number of times.
- An extrinsic that a node has and no block includes is replaced after some blocks: the same calls and nonce with a tip.
- While the disk is full nothing is sent or recorded. Work resumes from the stored state.
- Nodes accept a free call only with the next nonce of its account: calls behind it wait until the best block has it.
- Urgent calls are sent before the others.
- Retries are timed in final blocks, and in best blocks while finality stalls.
- Waiting calls that the chain accepts as one batch go in one extrinsic, and each has its own outcome. A call that was
  refused once is sent alone from then on, so that it cannot hold up others repeatedly.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from offchain.adapters.outbox.account_intents import AccountIntents
from offchain.adapters.outbox.batching import make_batch
from offchain.adapters.outbox.call_queue import CallQueue
from offchain.adapters.outbox.inclusions import InclusionScanner
from offchain.adapters.outbox.intent_values import Intent, OutboxCounts, OutboxOutcome, Submission, SubmittedIntent
from offchain.adapters.outbox.intents import IntentTable
from offchain.adapters.outbox.retry import REFUSALS_OF_A_FORK, UnpaidPause, next_tip
from offchain.adapters.outbox.store import Store
from offchain.errors import BadValue, ChainUnreachable, StoreStuck, SubmitRefusal, SubmitRefused
from offchain.ports import Block, Call, ChainPort, SignedExtrinsic, Signer

ERA_BLOCKS = 32
_REBROADCAST_AFTER_BLOCKS = 4
STUCK_PAUSE_S = 1.0
STALL_S = 6.0
"""Seconds without a new final block after which retries are timed by the best block, read every third of them."""
_log = logging.getLogger("gantry.outbox")


class Outbox:
    """The nonce lane of one account. It needs every final block through :meth:`observe`, and :meth:`run` to run.

    `now_ms`: Unix time in ms, stored with each intent. `stuck_pause_s`: seconds between attempts while the disk is
    full. `waits_for_coins`: send nothing while the account cannot pay fees, instead of giving calls up; not for an
    account whose calls are free, which needs `one_at_a_time`. `counts` is kept up to date. An account has one outbox.
    """

    def __init__(
        self,
        chain: ChainPort,
        store: Store,
        signer: Signer,
        *,
        now_ms: Callable[[], int],
        era_blocks: int = ERA_BLOCKS,
        stuck_pause_s: float = STUCK_PAUSE_S,
        waits_for_coins: bool = False,
        one_at_a_time: bool = False,
        counts: OutboxCounts | None = None,
    ) -> None:
        self._chain = chain
        self._store = store
        self._signer = signer
        self._era_blocks = era_blocks
        self._stuck_pause_s = stuck_pause_s
        self._coins = UnpaidPause() if waits_for_coins else None
        self._one_at_a_time = one_at_a_time
        # One at a time, all calls wait for the extrinsic that a fork has dropped.
        self._patience = _REBROADCAST_AFTER_BLOCKS // 2 if one_at_a_time else _REBROADCAST_AFTER_BLOCKS
        self._intents = AccountIntents(store, signer.address, counts)
        self._wake = asyncio.Event()
        self._queue = CallQueue(store, self._intents, now_ms, self._wake.set)
        self._inclusions = InclusionScanner(chain, self._intents, self._queue.wake_waiters)
        self._scanning = asyncio.Lock()
        self._height = -1
        self._retry_clock = -1
        """The block number that retries are timed by: of the last final block, or a best one while finality stalls."""
        self._retry_clock_read_s = 0.0
        self._rebroadcast_at = -1
        self._nonce: int | None = None
        self._signed: dict[bytes, int] = {}
        """Extrinsics that this object has signed: hash to the last block that may include them."""
        self._not_replaceable: set[bytes] = set()
        """Extrinsics whose replacement a node has refused."""
        self._pool_full_at = -1
        """The retry clock when the node accepted no more: its queue was full, or a free call had to wait."""

    async def submit(self, key: str, call: Call, *, supersede: bool = False, urgent: bool = False) -> None:
        """Store a call to be included. A key that is stored already changes nothing.

        `supersede`: replace the call with the same key. One that is in an extrinsic already is followed by this call;
        `wait` returns the outcome of the last. `urgent`: send it before calls that are not.
        """
        await self._queue.submit(key, call, supersede=supersede, urgent=urgent)

    async def wait(self, key: str, timeout: float | None = None) -> OutboxOutcome:  # noqa: ASYNC109 - part of the contract
        """Wait for the outcome of a call.

        TimeoutError after `timeout` seconds; LookupError for a key that is not stored, or is forgotten meanwhile.
        """
        return await self._queue.wait(key, timeout)

    def outcome(self, key: str) -> OutboxOutcome | None:
        """The outcome of a call; None where it has none yet, or was never submitted."""
        return self._intents.outcome(key)

    async def forget(self, key: str) -> None:
        """Delete a call that has ended or is not in an extrinsic yet, so that its key can be used again."""
        await self._queue.forget(key)

    async def take_back(self, key: str) -> None:
        """Delete a call that is not in an extrinsic and has no outcome yet."""
        await self._queue.forget(key, if_unsigned=True)

    def forget_old(self, block: int, keep_blocks: int) -> None:
        """Have some of the calls deleted that ended more than `keep_blocks` before this final block.

        Returns at once; :meth:`run` deletes them. Calls that were given up are kept longer.
        """
        self._queue.forget_old(block, keep_blocks)

    @property
    def unfinished(self) -> int:
        return self._intents.unfinished()

    def has_signed(self, extrinsic: bytes) -> bool:
        """Whether this object signed an extrinsic that a block may still include."""
        return extrinsic in self._signed

    def stored_extrinsics(self) -> frozenset[bytes]:
        """Hashes of all extrinsics in the database, including those of earlier processes."""
        return self._intents.extrinsic_hashes()

    async def observe(self, block: Block) -> None:
        """Process a final block. Blocks may be missing or come twice: gaps are read from the chain."""
        async with self._scanning:
            await self._inclusions.scan(block.ref.number - 1)
            await self._inclusions.record(block)
            await self._expire(block)
        for extrinsic in [one for one, last in self._signed.items() if last < block.ref.number]:
            del self._signed[extrinsic]
        self._height = max(self._height, block.ref.number)
        self._move_retry_clock(self._height)
        self._nonce = None
        self._wake.set()
        await self._queue.notice_other_programs()

    def notice_best(self) -> None:
        """Look at a new best block: an account that sends one extrinsic at a time may send the next."""
        if self._one_at_a_time and self._intents.has_unfinished():
            self._wake.set()

    async def run(self) -> None:
        """Send the calls that are due, for ever. Starts with the outcomes of extrinsics of earlier processes."""
        deletion = asyncio.create_task(self._queue.delete_old())
        try:
            await self._send_for_ever()
        finally:
            deletion.cancel()
            await asyncio.wait([deletion])

    async def _send_for_ever(self) -> None:
        recovered = False
        stuck = ""
        while True:
            self._wake.clear()
            try:
                if not recovered:
                    await self._recover()
                    recovered = True
                await self._rebroadcast()
                await self._replace_by_fee()
                while await self._send_next():
                    pass
                stuck = ""
            except ChainUnreachable:
                self._nonce = None  # pending extrinsics are broadcast again after the next final block
            except StoreStuck as error:
                self._nonce = None
                if str(error) != stuck:
                    stuck = str(error)
                    _log.warning("%s Nothing is sent until then.", stuck)
                await asyncio.sleep(self._stuck_pause_s)
                continue
            await self._wait_for_work()

    async def _wait_for_work(self) -> None:
        """Wait for calls or a final block; while finality stalls, at most until the best block has to be read."""
        loop = asyncio.get_running_loop()
        read_at_s = self._retry_clock_read_s + (STALL_S / 3 if self._retry_clock > self._height else STALL_S)
        with suppress(TimeoutError):
            async with asyncio.timeout_at(read_at_s):
                await self._wake.wait()
        if loop.time() < read_at_s:
            return
        self._retry_clock_read_s = loop.time()
        if self._intents.has_unfinished():
            with suppress(ChainUnreachable):
                self._move_retry_clock((await self._chain.best_head()).number)

    def _move_retry_clock(self, number: int) -> None:
        if number > self._retry_clock:
            self._retry_clock = number
            self._retry_clock_read_s = asyncio.get_running_loop().time()

    async def _recover(self) -> None:
        head = await self._chain.finalized_head()
        async with self._scanning:
            if self._intents.submissions():
                await self._inclusions.scan(head.number)
                await self._expire(await self._chain.block(head.number))
        self._height = self._rebroadcast_at = max(self._height, head.number)
        self._move_retry_clock(self._height)
        for submission in self._intents.pending():
            await self._broadcast_again(submission)

    async def _expire(self, block: Block) -> None:
        """Expire the extrinsics that no later block can include, and free their calls."""
        submissions = self._intents.submissions()
        spent = 0
        if any(submission.is_suspect for submission in submissions):
            spent = await self._nonce_at(block.ref.hash)
        # One block later than necessary: by then the pools have released its nonce as well.
        over = [
            submission
            for submission in submissions
            if submission.extrinsic.valid_until < block.ref.number or submission.extrinsic.nonce < spent
        ]
        if not over:
            return
        retry_clock = self._retry_clock

        def expire(table: IntentTable) -> list[str]:
            free = [one for submission in over for one in table.expire(submission)]
            return table.retry_or_give_up(free, SubmitRefusal.EXPIRED, block.ref.number, retry_clock)

        await self._intents.write(expire, lambda given_up: self._queue.wake_waiters(*given_up))
        self._not_replaceable -= {submission.extrinsic.hash for submission in over}

    async def _rebroadcast(self) -> None:
        """Broadcast again what no block has included for some blocks, since nodes may drop it."""
        if self._rebroadcast_at == self._retry_clock:
            return
        self._rebroadcast_at = self._retry_clock
        # Extrinsics with smaller nonces than that of the account in the best block are not needed on its fork.
        spent = await self._nonce_at(None) if self._retry_clock > self._height else 0
        for submission in self._intents.pending():
            is_due = self._retry_clock - submission.sent_at >= self._patience
            if submission.extrinsic.nonce >= spent and (is_due or submission.is_suspect or not submission.is_confirmed):
                await self._broadcast_again(submission)

    async def _nonce_at(self, block: bytes | None) -> int:
        """The nonce of the account in the block with this hash; None: in the best block."""
        account = await self._chain.query("System", "Account", (self._signer.address,), block)
        return int(account["nonce"]) if account else 0

    async def _replace_by_fee(self) -> None:
        """Sign extrinsics that no block includes although a node has them once more, with the same nonce and a tip."""
        for submission in self._intents.pending():
            waited = self._height - submission.extrinsic.born
            tip = next_tip(submission.tip, waited) if submission.is_confirmed and not submission.is_suspect else None
            if tip is None or submission.extrinsic.hash in self._not_replaceable:
                continue
            calls = self._intents.calls_of(submission)
            if not calls:
                continue  # a final block has included it meanwhile
            extrinsic = await self._chain.sign(
                make_batch(calls), self._signer, submission.extrinsic.nonce, era_blocks=self._era_blocks, tip=tip
            )
            self._signed[extrinsic.hash] = extrinsic.valid_until
            replace = partial(IntentTable.record_replacement, submission=submission, extrinsic=extrinsic, tip=tip)
            if not await self._intents.write(replace):
                continue  # a final block has included it meanwhile
            try:
                await self._broadcast(extrinsic)
            except SubmitRefused as refused:
                # A free call has the highest priority already, and an account may have no coins for a tip.
                self._not_replaceable.add(submission.extrinsic.hash)
                if refused.certain:
                    remove = partial(IntentTable.remove_replacement, submission=submission, extrinsic=extrinsic)
                    await self._intents.write(remove)
                else:
                    await self._intents.mark_suspect(extrinsic, self._retry_clock)
            else:
                await self._intents.mark_broadcast(extrinsic, self._retry_clock)

    async def _send_next(self) -> bool:
        """Sign and send the next intents that are due; False where there is none, or the node accepts no more now."""
        intents = self._intents.next_batch(self._retry_clock)
        if not intents or self._pool_full_at == self._retry_clock:
            return False
        if self._coins is not None and self._coins.holds(self._retry_clock):
            return False
        if self._one_at_a_time and await self._waits_for_block():
            return False
        call = make_batch([intent.call for intent in intents])
        try:
            nonce = await self._free_nonce()
            extrinsic = await self._chain.sign(call, self._signer, nonce, era_blocks=self._era_blocks)
        except BadValue as error:
            await self._handle_bad_value(error, intents)
            return True
        self._signed[extrinsic.hash] = extrinsic.valid_until
        block = self._retry_clock
        if not await self._intents.write(lambda table: table.record_signed(intents, extrinsic, block)):
            return True
        try:
            await self._broadcast(extrinsic)
        except SubmitRefused as refused:
            await self._handle_refusal(refused, extrinsic, intents)
        else:
            await self._intents.mark_broadcast(extrinsic, self._retry_clock)
            self._nonce = extrinsic.nonce + 1
            if self._coins is not None and self._coins.end():
                _log.info("The account %s can pay fees again.", self._signer.address)
        return True

    async def _waits_for_block(self) -> bool:
        """Whether the best block lacks extrinsics that nodes have accepted."""
        nonces = [pending.extrinsic.nonce for pending in self._intents.pending() if not pending.is_suspect]
        return bool(nonces) and max(nonces) >= await self._nonce_at(None)

    async def _handle_bad_value(self, error: BadValue, intents: Sequence[Intent]) -> None:
        """Give up a call that cannot be signed; of several one is wrong, and sent alone, each shows whether it is."""
        if len(intents) > 1:
            await self._intents.write(lambda table: table.count_attempt(intents))
            return
        wrong, height = intents[0], self._height
        await self._intents.write(
            lambda table: table.give_up(wrong.seq, error.message, height),
            lambda _: self._queue.wake_waiters(wrong.key),
        )

    async def _handle_refusal(
        self, refused: SubmitRefused, extrinsic: SignedExtrinsic, intents: Sequence[Intent]
    ) -> None:
        """Queue, hold back or give up the calls of an extrinsic that a node has refused."""
        self._nonce = None
        # A free call must have the next nonce of its account: it waits until the one before is in a block.
        follows = any(submission.extrinsic.nonce < extrinsic.nonce for submission in self._intents.pending())
        is_early = refused.kind is SubmitRefusal.FUTURE_NONCE and refused.certain and follows
        if is_early or refused.kind is SubmitRefusal.POOL_FULL:
            self._pool_full_at = self._retry_clock  # the others wait for the next block, and no attempt is counted
        is_unpaid = refused.kind is SubmitRefusal.CANNOT_PAY and refused.certain and len(intents) == 1
        if is_unpaid and self._coins is not None and self._coins.refused(self._retry_clock):
            _log.warning(
                "The account %s cannot pay fees: nothing is sent until it has coins. gantry account show prints its "
                "balance.",
                self._signer.address,
            )
        may_be_early = refused.kind in REFUSALS_OF_A_FORK and refused.certain and follows
        height, retry_clock = self._height, self._retry_clock
        if is_early or may_be_early or (is_unpaid and self._coins is not None):
            await self._intents.write(lambda table: table.postpone(intents, retry_clock + may_be_early))
        elif refused.certain:
            tried = [SubmittedIntent(intent.seq, intent.key, intent.attempts + 1) for intent in intents]
            await self._intents.write(
                lambda table: table.retry_or_give_up(tried, refused.kind, height, retry_clock),
                lambda given_up: self._queue.wake_waiters(*given_up),
            )
        else:
            await self._intents.mark_suspect(extrinsic, self._retry_clock)

    async def _broadcast_again(self, submission: Submission) -> None:
        """Broadcast the same bytes again. A refusal proves nothing, for they may be in a block already."""
        try:
            await self._broadcast(submission.extrinsic)
        except SubmitRefused:
            await self._intents.mark_suspect(submission.extrinsic, self._retry_clock)
        else:
            await self._intents.mark_broadcast(submission.extrinsic, self._retry_clock)

    async def _broadcast(self, extrinsic: SignedExtrinsic) -> None:
        await self._store.flush()
        await self._chain.broadcast(extrinsic)

    async def _free_nonce(self) -> int:
        """The lowest nonce that neither the chain nor a pending extrinsic uses.

        That of a suspect extrinsic is free: another one with it excludes that one, so that never both are included.
        """
        if self._nonce is None:
            nonce = await self._chain.next_nonce(self._signer.address)
            for submission in self._intents.pending():
                if submission.extrinsic.nonce >= nonce and not submission.is_suspect:
                    # The node does not count its nonce, so it may have dropped it.
                    await self._broadcast_again(submission)
            self._nonce = nonce
        taken = {submission.extrinsic.nonce for submission in self._intents.submissions() if not submission.is_suspect}
        while self._nonce in taken:
            self._nonce += 1
        return self._nonce
