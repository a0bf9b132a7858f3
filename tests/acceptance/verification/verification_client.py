"""The scripted client: it signs for many accounts at once and remembers every event of the chain.

It acts on the newest blocks. The chain has one validator, which never leaves a block of its own but where it is killed.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from offchain.adapters.chain.client import SubstrateChain
from offchain.errors import SubmitRefusal, SubmitRefused
from offchain.ports import Block, BlockRef, Call, DispatchFailure, SignedExtrinsic, Signer
from offchain.schema.chain_types.values import StorageItem
from tests.support._generated_events import GantryEvent, decode_event

PATIENCE = 180.0
"""Seconds. A limit for a broken chain, not a measure of a good one."""
E = TypeVar("E", bound=GantryEvent)
T = TypeVar("T")


class Refused(AssertionError):  # noqa: N818 - reads as what happened
    """The chain refused a call; `name` is its error as `Pallet.Error`."""

    def __init__(self, call: Call, failure: DispatchFailure) -> None:
        self.name = f"{failure.pallet}.{failure.name}"
        super().__init__(f"{call.pallet}.{call.function} was refused with {self.name}: {failure.doc}")


@dataclass(frozen=True)
class Happened(Generic[E]):
    """An event and the block that it is in."""

    event: E
    block: Block
    extrinsic: int | None


@dataclass(frozen=True)
class Done:
    """A call that took effect."""

    block: Block
    index: int
    events: tuple[GantryEvent, ...]

    def one(self, kind: type[E]) -> E:
        """The one event of this kind that it caused."""
        (found,) = [event for event in self.events if isinstance(event, kind)]
        return found

    @property
    def was_free(self) -> bool:
        """Whether nobody paid a fee for it."""
        paid = ("TransactionPayment", "TransactionFeePaid")
        return not any((e.pallet, e.name) == paid for e in self.block.events if e.extrinsic == self.index)


class NewestBlocks(SubstrateChain):
    """Reads blocks that are not final yet."""

    async def block_ref(self, number: int) -> BlockRef:
        found = await self._call("chain_getBlockHash", number)
        if found is None:
            raise LookupError(f"there is no block {number} yet")
        return BlockRef(number, bytes.fromhex(found[2:]))


class Client:
    """Follows the blocks of a chain from the first."""

    def __init__(self, link: NewestBlocks) -> None:
        self.link = link
        self.blocks: list[Block] = []
        self._next = 1
        self._came = asyncio.Condition()
        self._nonces: dict[str, int] = {}
        self._signing: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._followed: asyncio.Future[None] | None = None

    def start(self) -> None:
        self._followed = asyncio.ensure_future(self._follow())

    async def stop(self) -> None:
        if self._followed is not None:
            self._followed.cancel()
            await asyncio.gather(self._followed, return_exceptions=True)

    async def _follow(self) -> None:
        async for head in self.link.best():
            while self._next <= head.number:
                block = await self.link.block(self._next)
                async with self._came:
                    self.blocks.append(block)
                    self._next += 1
                    self._came.notify_all()

    async def until(self, look: Callable[[Block], T | None]) -> T:
        """What `look` finds first in the blocks so far and those to come."""
        seen = 0
        async with asyncio.timeout(PATIENCE):
            while True:
                for block in self.blocks[seen:]:
                    if (found := look(block)) is not None:
                        return found
                    seen += 1
                async with self._came:
                    if self._followed is not None and self._followed.done():
                        self._followed.result()
                    await self._came.wait_for(lambda: len(self.blocks) > seen)  # noqa: B023

    async def event(self, kind: type[E], **fields: Any) -> Happened[E]:
        """The first event of this kind with these fields, whether it has come already or not."""

        def look(block: Block) -> Happened[E] | None:
            for raw in block.events:
                if (raw.pallet, raw.name) == (kind.pallet, kind.name):
                    event = decode_event(raw.pallet, raw.name, raw.fields)
                    if isinstance(event, kind) and all(getattr(event, f) == value for f, value in fields.items()):
                        return Happened(event, block, raw.extrinsic)
            return None

        try:
            return await self.until(look)
        except TimeoutError:
            raise AssertionError(f"no {kind.__name__} with {fields} came") from None

    def events(self, kind: type[E], **fields: Any) -> list[E]:
        """All events of this kind with these fields so far."""
        typed = (decode_event(e.pallet, e.name, e.fields) for block in self.blocks for e in block.events)
        return [e for e in typed if isinstance(e, kind) and all(getattr(e, f) == v for f, v in fields.items())]

    async def send(self, who: Signer, call: Call) -> SignedExtrinsic:
        async with self._signing[who.address]:
            nonce = self._nonces.get(who.address)
            if nonce is None:
                nonce = await self.link.next_nonce(who.address)
            # The pool may have checked a free call at a block before the newest one, or still holds another free call
            # of the account, which a loaded node includes some blocks later. It refuses the same bytes for a while, so
            # that each attempt has another lifetime.
            for era_blocks in (64, 32, 128, 16, 256):
                try:
                    signed = await self._handed_over(who, call, nonce, era_blocks)
                    break
                except SubmitRefused as refused:
                    if refused.kind not in (SubmitRefusal.CANNOT_PAY, SubmitRefusal.FUTURE_NONCE) or era_blocks == 256:
                        raise
                newest = len(self.blocks)
                await self.until(lambda block, newest=newest: block if block.ref.number > newest else None)
            self._nonces[who.address] = nonce + 1
            return signed

    async def _handed_over(self, who: Signer, call: Call, nonce: int, era_blocks: int) -> SignedExtrinsic:
        signed = await self.link.sign(call, who, nonce, era_blocks=era_blocks)
        await self.link.broadcast(signed)
        return signed

    async def restart(self) -> None:
        """The node was killed: it may have lost what was only in its pool, and its newest blocks."""
        await self.stop()
        while self.blocks and not await self._is_there(self.blocks[-1]):
            self.blocks.pop()
        self._next = len(self.blocks) + 1
        self._nonces.clear()
        self.start()

    async def _is_there(self, block: Block) -> bool:
        try:
            return await self.link.block_ref(block.ref.number) == block.ref
        except LookupError:
            return False

    async def do(self, who: Signer, call: Call) -> Done:
        """Have a call take effect."""
        return await self._included(call, await self.send(who, call))

    async def outcomes(self, *tried: tuple[Signer, Call]) -> list[str]:
        """How each of these calls ended, sent together, each signer's in this order: its error, or "" where it took
        effect."""

        async def one(who: Signer, call: Call) -> str:
            try:
                await self.do(who, call)
            except Refused as refused:
                return refused.name
            return ""

        return list(await asyncio.gather(*(one(*pair) for pair in tried)))

    async def not_free(self, who: Signer, call: Call) -> bool:
        """Whether the node refuses a call because it is not free and its sender has no coins."""
        try:
            await self.send(who, call)
        except SubmitRefused as refused:
            return refused.kind.value == "cannot_pay"
        return False

    async def _included(self, call: Call, signed: SignedExtrinsic) -> Done:
        def look(block: Block) -> Done | None:
            for inclusion in block.inclusions:
                if inclusion.extrinsic_hash == signed.hash:
                    if inclusion.failure is not None:
                        raise Refused(call, inclusion.failure)
                    mine = [e for e in block.events if e.extrinsic == inclusion.index]
                    typed = [decode_event(e.pallet, e.name, e.fields) for e in mine]
                    return Done(block, inclusion.index, tuple(e for e in typed if e is not None))
            return None

        try:
            return await self.until(look)
        except TimeoutError:
            raise AssertionError(f"no block took {call}") from None

    async def read(self, item: StorageItem[T], *key: Any, at: bytes | None = None) -> T | None:
        """A value of one of our pallets, as the newest block that was seen left it, or another."""
        plain = await self.link.query(item.pallet, item.item, key, at or self.blocks[-1].ref.hash)
        return None if plain is None else item.decode(plain)

    async def must(self, item: StorageItem[T], *key: Any, at: bytes | None = None) -> T:
        """Return a value, which must exist."""
        value = await self.read(item, *key, at=at)
        assert value is not None, f"{item.pallet}.{item.item} has nothing under {key}"
        return value
