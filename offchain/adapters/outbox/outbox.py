"""The durable queue to the chain: what was submitted is done once, or visibly given up, whatever is killed and when.

How it holds:

- A call is stored before it is signed, and an extrinsic before anybody else sees it.
- An extrinsic that a node may have taken is never replaced while it could still come into a block. That ends in two
  ways only, both read from final blocks, all of which are searched: its mortality is over, or another extrinsic has
  used its nonce. Only then is the call signed anew.
- A node's plain "no" to bytes that no node has had before frees the call and the nonce at once.
- The same bytes may be handed over any number of times.
- What a node has and no block takes is followed, after some blocks, by the same calls under the same number with a tip.
  One number is used once, so only one of them can come into a block.
- While the disk is full nothing is sent and nothing is noted; it goes on from what was stored last.
- A free call is taken by nodes only with the next nonce of its account: what follows it waits for the next final block.
- Calls that wait together and that the chain takes as one batch go as one extrinsic; each keeps its own outcome. What a
  node has refused once goes alone from then on, so that one call cannot hold up the others again and again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from itertools import takewhile

from offchain.adapters.outbox import retry
from offchain.adapters.outbox.batching import bundle, bundle_limit, bundle_size
from offchain.adapters.outbox.intent_values import Carried, Dead, DeadLetter, Failed, Flight, Included, Intent, Outcome
from offchain.adapters.outbox.intents import Intents
from offchain.adapters.outbox.store import Store
from offchain.errors import BadReply, BadValue, ChainUnreachable, StoreStuck, SubmitRefusal, SubmitRefused
from offchain.ports import Block, Call, ChainPort, SignedExtrinsic, Signer

__all__ = ["Dead", "DeadLetter", "Failed", "Included", "Outbox", "Outcome"]

ERA_BLOCKS = 32
_REMIND_AFTER_BLOCKS = 4
STUCK_PAUSE_S = 1.0
_log = logging.getLogger("gantry.outbox")


class Outbox:
    """The lane of one account. Feed it every final block with :meth:`observe`, and keep :meth:`run` running.

    `now_ms` dates the intents for people. `stuck_pause_s`: time between attempts while the disk is full, in seconds.
    Only one outbox may use an account at a time.
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
    ) -> None:
        self._chain = chain
        self._store = store
        self._signer = signer
        self._now_ms = now_ms
        self._era_blocks = era_blocks
        self._stuck_pause_s = stuck_pause_s
        self._intents = Intents(store, signer.address)
        self._wake = asyncio.Event()
        self._ended: dict[str, asyncio.Event] = {}
        self._scanning = asyncio.Lock()
        self._height = -1
        self._reminded = -1
        self._nonce: int | None = None
        self._signed: dict[bytes, int] = {}
        """Extrinsics that this object has signed and that may still come into a block: hash to last block."""
        self._firm: set[bytes] = set()
        """Extrinsics that a tip does not help, as a node has said."""
        self._crowded = -1
        """The final block after which the node took no more: its queue was full, or a free call had to wait."""
        self._version = store.version

    # --- for callers ----------------------------------------------------------------------------------------------

    async def submit(self, key: str, call: Call, *, supersede: bool = False) -> None:
        """Have a call included. Returns once it is stored; the same key again changes nothing.

        `supersede`: let this call take the place of the one with the same key. One that is on its way is not called
        back; this one follows it. `wait` then speaks of the last.
        """
        with self._store.transaction():
            if supersede:
                self._intents.replace(key, call, self._now_ms())
            elif self._intents.state(key) is None:
                self._intents.add(key, call, self._now_ms())
        self._wake.set()

    async def wait(self, key: str, timeout: float | None = None) -> Outcome:  # noqa: ASYNC109 - part of the contract
        """How a submitted call ends.

        TimeoutError after `timeout` seconds; LookupError for a key that is not there, or is forgotten meanwhile.
        """
        if self._intents.state(key) is None:
            raise LookupError(f"nothing was submitted as {key!r}")
        async with asyncio.timeout(timeout):
            while True:
                ended = self._ended.setdefault(key, asyncio.Event())
                outcome = self._intents.outcome(key)
                if outcome is not None:
                    return outcome
                await ended.wait()
                if self._intents.state(key) is None:
                    raise LookupError(f"{key!r} was forgotten")

    def outcome(self, key: str) -> Outcome | None:
        """How a call ended; None where it has not, or was never submitted."""
        return self._intents.outcome(key)

    def list_dead(self) -> list[DeadLetter]:
        """What was given up, oldest first."""
        return self._intents.dead()

    def forget(self, key: str) -> None:
        """Remove the trace of an ended or not yet sent call, so that the key can be used again."""
        self._intents.forget(key)
        if self._intents.state(key) is None:
            self._tell(key)

    def forget_ended_before(self, block: int) -> None:
        """Remove the traces of what ended before this block; dead letters stay."""
        self._intents.forget_ended_before(block)

    @property
    def unfinished(self) -> int:
        """How many calls have no outcome yet."""
        return self._intents.unfinished()

    def has_signed(self, extrinsic: bytes) -> bool:
        """Whether this object signed the extrinsic with this hash, for as long as a block may take it."""
        return extrinsic in self._signed

    def stored_extrinsics(self) -> frozenset[bytes]:
        """The hashes of all extrinsics in the database, those that earlier processes have signed among them."""
        return self._intents.extrinsics()

    # --- the chain's side -----------------------------------------------------------------------------------------

    async def observe(self, block: Block) -> None:
        """Take note of a final block. Blocks may be missing or come twice: the gaps are read from the chain."""
        async with self._scanning:
            await self._scan(block.ref.number - 1)
            self._take_in(block)
            await self._bury(block)
        for extrinsic in [one for one, last in self._signed.items() if last < block.ref.number]:
            del self._signed[extrinsic]
        self._height = max(self._height, block.ref.number)
        self._nonce = None
        self._notice_others()
        self._wake.set()

    def _notice_others(self) -> None:
        """Tell those who wait for a call that another program (`gantry outbox`) has ended it."""
        if self._version != (now := self._store.version):
            self._version = now
            for key in [key for key in self._ended if self._intents.outcome(key) is not None]:
                self._tell(key)

    async def run(self) -> None:
        """Send what is due, for ever. Starts by finding out what happened while nobody was looking."""
        recovered = False
        stuck = ""
        while True:
            self._wake.clear()
            try:
                if not recovered:
                    await self._recover()
                    recovered = True
                await self._remind()
                await self._outbid()
                while await self._send_next():
                    pass
                stuck = ""
            except ChainUnreachable:
                self._nonce = None  # what is on its way is handed over again after the next final block
            except StoreStuck as error:
                self._nonce = None
                if str(error) != stuck:
                    stuck = str(error)
                    _log.warning("%s Nothing is sent until then.", stuck)
                await asyncio.sleep(self._stuck_pause_s)
                continue
            await self._wake.wait()

    async def _recover(self) -> None:
        head = await self._chain.finalized_head()
        async with self._scanning:
            if self._intents.flights():
                await self._scan(head.number)
                await self._bury(await self._chain.block(head.number))
        self._height = self._reminded = max(self._height, head.number)
        for flight in self._on_their_way():
            await self._hand_over(flight)

    async def _scan(self, last: int) -> None:
        """Look for our extrinsics in the final blocks up to `last` that were not searched yet and may hold them."""
        while (scanned := self._intents.scanned) is not None and scanned < last:
            if all(flight.extrinsic.valid_until <= scanned for flight in self._intents.flights()):
                self._intents.set_scanned(last)
                return
            try:
                block = await self._chain.block(scanned + 1)
            except BadReply as error:
                if error.code != "state_pruned":
                    raise
                await self._take_in_untold(scanned + 1)
            else:
                self._take_in(block)

    async def _take_in_untold(self, number: int) -> None:
        """A block whose events the node no longer keeps: what is in it is known, but not what came of it."""
        ended: list[str] = []
        hashes = await self._chain.extrinsic_hashes(number)
        with self._store.transaction():
            for one in hashes:
                reason = f"it is in block {number}, but the node no longer knows what came of it there"
                ended += self._intents.included_untold(one, reason)
            self._intents.set_scanned(number)
        for key in ended:
            self._tell(key)

    def _take_in(self, block: Block) -> None:
        scanned = self._intents.scanned
        if scanned is not None and block.ref.number <= scanned:
            return
        ended: list[str] = []
        with self._store.transaction():
            for inclusion in block.inclusions:
                ended += self._intents.included(inclusion, block.ref)
            self._intents.set_scanned(block.ref.number)
        for key in ended:
            self._tell(key)

    async def _bury(self, block: Block) -> None:
        """Free the calls whose extrinsics cannot come into any block after this final one."""
        flights = self._intents.flights()
        spent = 0
        if any(flight.doubted for flight in flights):
            account = await self._chain.query("System", "Account", (self._signer.address,), block.ref.hash)
            spent = int(account["nonce"]) if account else 0
        for flight in flights:
            # A block later than it has to be: by then the pools have let go of its nonce as well.
            if flight.extrinsic.valid_until < block.ref.number or flight.extrinsic.nonce < spent:
                with self._store.transaction():
                    self._judge(self._intents.ground(flight), SubmitRefusal.EXPIRED, block.ref.number)
                self._firm.discard(flight.extrinsic.hash)

    # --- sending --------------------------------------------------------------------------------------------------

    async def _remind(self) -> None:
        """Hand over again what no final block has held for a while: nodes forget, and may drop. Once a block."""
        if self._reminded == self._height:
            return
        self._reminded = self._height
        for flight in self._on_their_way():
            if not flight.confirmed or flight.doubted or self._height - flight.sent_at >= _REMIND_AFTER_BLOCKS:
                await self._hand_over(flight)

    def _on_their_way(self) -> list[Flight]:
        """Extrinsics that nodes are to have: of those with the same number and calls, the one with the largest tip."""
        return [flight for flight in self._intents.flights() if not flight.outbid]

    async def _outbid(self) -> None:
        """What no block takes although a node has it is signed once more, with its number and a tip."""
        for flight in self._on_their_way():
            waited = self._height - flight.born
            tip = retry.next_tip(flight.tip, waited) if flight.confirmed and not flight.doubted else None
            if tip is None or flight.extrinsic.hash in self._firm:
                continue
            calls = self._intents.calls_of(flight)
            extrinsic = await self._chain.sign(
                bundle(calls), self._signer, flight.extrinsic.nonce, era_blocks=self._era_blocks, tip=tip
            )
            self._signed[extrinsic.hash] = extrinsic.valid_until
            if not any(now.extrinsic == flight.extrinsic for now in self._on_their_way()):
                continue  # it came into a final block meanwhile
            self._intents.outbid(flight, extrinsic, self._era_blocks, tip)
            try:
                await self._chain.broadcast(extrinsic)
            except SubmitRefused as refused:
                # A free call goes before all others already, and an account may have nothing to tip with.
                self._firm.add(flight.extrinsic.hash)
                if refused.certain:
                    self._intents.withdraw_bid(flight, extrinsic)
                else:
                    self._intents.doubt(extrinsic, self._height)
            else:
                self._intents.handed_over(extrinsic, self._height)

    async def _send_next(self) -> bool:
        """Sign and send the next intents that are due; False where there is none, or the node takes no more now."""
        intents = self._next_together()
        if not intents or self._crowded == self._height:
            return False
        call = bundle([intent.call for intent in intents])
        try:
            extrinsic = await self._chain.sign(
                call, self._signer, await self._free_nonce(), era_blocks=self._era_blocks
            )
        except BadValue as error:
            if len(intents) > 1:
                self._intents.tried(intents)  # one of them is wrong: each shows by itself
            else:
                self._intents.give_up(intents[0].seq, error.message)
                self._tell(intents[0].key)
            return True
        self._signed[extrinsic.hash] = extrinsic.valid_until
        with self._store.transaction():  # `gantry outbox` may be at the same rows
            if not self._still_due(intents):
                return True
            self._intents.signed(intents, extrinsic, self._era_blocks)
        try:
            await self._chain.broadcast(extrinsic)
        except SubmitRefused as refused:
            self._take_in_refusal(refused, extrinsic, intents)
        else:
            self._intents.handed_over(extrinsic, self._height)
            self._nonce = extrinsic.nonce + 1
        return True

    def _take_in_refusal(self, refused: SubmitRefused, extrinsic: SignedExtrinsic, intents: Sequence[Intent]) -> None:
        """What becomes of calls whose extrinsic a node does not take now."""
        self._nonce = None
        # A free call must have the next nonce of its account: it waits until the one before is in a block.
        follows = any(flight.extrinsic.nonce < extrinsic.nonce for flight in self._on_their_way())
        is_early = refused.kind is SubmitRefusal.FUTURE_NONCE and refused.certain and follows
        if is_early or refused.kind is SubmitRefusal.POOL_FULL:
            self._crowded = self._height  # the others wait for the next final block, without a try being counted
        if is_early:
            with self._store.transaction():
                for intent in intents:
                    self._intents.hold(intent.seq, self._height)
        elif refused.certain:
            tried = [Carried(intent.seq, intent.key, intent.attempts + 1) for intent in intents]
            self._judge(tried, refused.kind, self._height)
        else:
            self._intents.doubt(extrinsic, self._height)

    def _next_together(self) -> list[Intent]:
        """The oldest intent that is due, with those behind it that can go in one batch with it."""
        intents = self._intents.due(self._height)
        if intents and not intents[0].attempts and bundle_limit(intents[0].call) > 1:
            waiting = self._intents.due(self._height, bundle_limit(intents[0].call))
            fresh = list(takewhile(lambda intent: not intent.attempts, waiting))
            intents = fresh[: bundle_size([intent.call for intent in fresh])]
        return intents

    def _still_due(self, intents: Sequence[Intent]) -> bool:
        """Whether they are as they were before the signing: one may have been superseded or forgotten meanwhile."""
        present = self._intents.due(self._height, len(intents))
        return [(now.seq, now.call) for now in present] == [(then.seq, then.call) for then in intents]

    async def _hand_over(self, flight: Flight) -> None:
        """Hand the same bytes to the node again. A refusal proves nothing, for they may be in a block already."""
        try:
            await self._chain.broadcast(flight.extrinsic)
        except SubmitRefused:
            self._intents.doubt(flight.extrinsic, self._height)
        else:
            self._intents.handed_over(flight.extrinsic, self._height)

    async def _free_nonce(self) -> int:
        """The lowest nonce that neither the chain nor one of our extrinsics on its way has taken.

        The nonce of a doubted extrinsic is free: whatever takes it excludes that one, so that both can never happen.
        """
        if self._nonce is None:
            nonce = await self._chain.next_nonce(self._signer.address)
            for flight in self._on_their_way():
                if flight.extrinsic.nonce >= nonce and not flight.doubted:
                    await self._hand_over(flight)  # the node should count it, and does not: it may have dropped it
            self._nonce = nonce
        taken = {flight.extrinsic.nonce for flight in self._intents.flights() if not flight.doubted}
        while self._nonce in taken:
            self._nonce += 1
        return self._nonce

    def _judge(self, carried: Sequence[Carried], refusal: SubmitRefusal, block: int) -> None:
        """What becomes of the calls of an extrinsic that comes into no block."""
        given_up: list[str] = []
        with self._store.transaction():
            for one in carried:
                verdict = retry.decide(refusal, one.attempts)
                if isinstance(verdict, retry.GiveUp):
                    self._intents.give_up(one.seq, verdict.reason)
                    given_up.append(one.key)
                elif isinstance(verdict, retry.Retry):
                    self._intents.again(one.seq, block + verdict.after_blocks, retry.said(refusal))
        for key in given_up:
            self._tell(key)

    def _tell(self, key: str) -> None:
        ended = self._ended.pop(key, None)
        if ended is not None:
            ended.set()
