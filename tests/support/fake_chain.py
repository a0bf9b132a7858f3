"""A chain in memory: blocks on demand, forks, a pool with nonces, and their failures.

It has no pallets. Calls succeed unless :attr:`FakeChain.verdicts` returns a failure, storage is a dict that tests fill,
and events come from :attr:`FakeChain.effects`.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from offchain.adapters.chain.client import DEEPEST_FORK, STALLED_ERA_BLOCKS
from offchain.errors import BadReply, ChainUnreachable
from offchain.ports import (
    Block,
    BlockRef,
    BlockValues,
    Call,
    ChainEvent,
    DispatchFailure,
    Inclusion,
    ItemDocumentation,
    SignedExtrinsic,
    Signer,
    StorageKey,
)
from tests.support.fake_pool import FakePool

BLOCK_MS = 2000


def _digest(*parts: Any) -> bytes:
    return hashlib.blake2b(repr(parts).encode(), digest_size=32).digest()


@dataclass(slots=True)
class _Made:
    """A block of some fork."""

    block: Block
    parent: _Made | None
    nonces: dict[str, int]
    storage: dict[tuple[str, str], dict[tuple[Any, ...], Any]]
    extrinsics: list[SignedExtrinsic] = field(default_factory=list)


Effect = Callable[[Call, str], Sequence[tuple[str, str, dict[str, Any]]]]


class FakeChain(FakePool):
    """A :class:`~offchain.ports.ChainPort` in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.genesis = _digest("genesis")
        self.storage: dict[tuple[str, str], dict[tuple[Any, ...], Any]] = defaultdict(dict)
        """The present state: (pallet, item) -> key parts -> value. Each block has a copy of it."""
        self.constants: dict[tuple[str, str], Any] = {}
        self.effects: Effect = lambda _call, _account: ()
        """The events (pallet, name, fields) of a successful call."""
        self.docs: list[ItemDocumentation] = []
        """The documentation in the metadata."""
        self.verdicts: Callable[[Call, str], DispatchFailure | None] = lambda _call, _account: None
        """Why an included call fails; None where it succeeds."""
        self.refused_items: Callable[[Call, str], Mapping[int, DispatchFailure]] = lambda _call, _account: {}
        """Failures of single items of an included batch call."""
        self.signed: dict[tuple[str, int], Call] = {}
        """[account, nonce]: the call that was last signed with it."""
        self.pruned_before = 0
        """Events of blocks with a smaller number are pruned."""
        self.unreachable = False
        """While true, every call raises ChainUnreachable."""
        self.lose_replies = 0
        """Number of next broadcasts that are accepted without a reply."""
        self.executed: list[tuple[Call, str, int]] = []
        """Calls that final blocks executed: (call, account, nonce), in order."""
        self._salt = itertools.count()
        start = Block(BlockRef(0, self.genesis), bytes(32), 0, (), ())
        self._best = _Made(start, None, {}, {})
        self._final = [self._best]
        self._news = asyncio.Condition()
        self._subscriptions = 0

    async def produce(self, count: int = 1, *, finalize: bool = True, take: int | None = None) -> Block:
        """Make blocks from the pool, with at most `take` extrinsics each; return the last."""
        for _ in range(count):
            self._best = self._make(self._best, take)
        if finalize:
            await self.finalize()
        else:
            await self._tell()
        return self._best.block

    async def finalize(self, number: int | None = None) -> None:
        """Finalise the best chain up to this block; None: all of it."""
        chain: list[_Made] = []
        made: _Made | None = self._best
        while made is not None and made.block.ref.number > self._final[-1].block.ref.number:
            if number is None or made.block.ref.number <= number:
                chain.append(made)
            made = made.parent
        for made in reversed(chain):
            self._final.append(made)
            for inclusion, extrinsic in zip(made.block.inclusions, made.extrinsics, strict=True):
                if inclusion.failure is None:
                    call = self._calls[extrinsic.hash]
                    self.executed.append((call, extrinsic.account, extrinsic.nonce))
        await self._tell()

    async def fork(self, depth: int = 1) -> None:
        """Go back `depth` blocks that are not final: their extrinsics return to the pool, storage is what it was."""
        for _ in range(depth):
            if self._best is self._final[-1] or self._best.parent is None:
                return
            for extrinsic in self._best.extrinsics:
                self._pool[extrinsic.hash] = extrinsic
            self._best = self._best.parent
            if self._best.parent is not None:  # The genesis block has no records: tests add theirs before the first.
                for item, values in self._best.storage.items():
                    self.storage[item] = dict(values)
        await self._tell()

    async def start_anew(self) -> None:
        """Remove all blocks but the genesis block, as a node without its database."""
        self._best = self._final[0]
        del self._final[1:]
        self._pool.clear()
        await self.drop_subscriptions()

    async def drop_subscriptions(self, *, skip: int = 0) -> None:
        """Interrupt the subscriptions while `skip` blocks are made and finalized."""
        self._subscriptions += 1
        if skip:
            await self.produce(skip)
        await self._tell()

    async def connect(self) -> None:
        await self._reply()

    async def close(self) -> None:
        """Nothing to end."""

    async def genesis_hash(self) -> bytes:
        await self._reply()
        return self.genesis

    async def finalized_head(self) -> BlockRef:
        await self._reply()
        return self._final[-1].block.ref

    async def best_head(self) -> BlockRef:
        await self._reply()
        return self._best.block.ref

    async def block_ref(self, number: int) -> BlockRef:
        return (await self.block(number)).ref

    async def block(self, number: int) -> Block:
        await self._reply()
        if not 0 <= number < len(self._final):
            raise LookupError(f"block {number} is not finalized yet")
        if number < self.pruned_before:
            raise BadReply(
                "The chain node no longer keeps the state of a block.", "Use an archive.", code="state_pruned"
            )
        return self._final[number].block

    async def extrinsic_hashes(self, number: int) -> tuple[bytes, ...]:
        await self._reply()
        if not 0 <= number < len(self._final):
            raise LookupError(f"block {number} is not finalized yet")
        return tuple(inclusion.extrinsic_hash for inclusion in self._final[number].block.inclusions)

    def finalized(self) -> AsyncGenerator[BlockRef, None]:
        return self._follow(lambda: self._final[-1].block.ref)

    def best(self) -> AsyncGenerator[BlockRef, None]:
        return self._follow(lambda: self._best.block.ref)

    async def query(self, pallet: str, item: str, params: Sequence[Any] = (), at: bytes | None = None) -> Any | None:
        await self._reply()
        return self._value(pallet, item, params, at)

    async def query_map(
        self, pallet: str, item: str, prefix: Sequence[Any] = (), at: bytes | None = None
    ) -> list[tuple[Any, Any]]:
        await self._reply()
        known = len(prefix)
        found = []
        for key, value in self._state(at).get((pallet, item), {}).items():
            if key[:known] == tuple(prefix):
                rest = key[known:]
                found.append((rest[0] if len(rest) == 1 else rest, value))
        return found

    async def query_many(
        self, pallet: str, item: str, keys: Sequence[Sequence[Any]], at: bytes | None = None
    ) -> list[Any | None]:
        await self._reply()
        return [self._value(pallet, item, key, at) for key in keys]

    async def block_values(self, keys: Sequence[StorageKey], at: bytes) -> BlockValues:
        await self._reply()
        values = tuple(self._value(pallet, item, params, at) for pallet, item, params in keys)
        return BlockValues(self._at(at).block.timestamp_ms, values)

    async def query_page(
        self, pallet: str, item: str, after: Any | None, limit: int, at: bytes | None = None
    ) -> list[tuple[Any, Any]]:
        """Entries of a map with one key, in the order of the keys, not of their hashes."""
        entries = sorted(await self.query_map(pallet, item, at=at), key=lambda entry: entry[0])
        return [(key, value) for key, value in entries if after is None or key > after][:limit]

    async def constant(self, pallet: str, name: str) -> Any:
        await self._reply()
        return self.constants[pallet, name]

    async def documentation(self) -> Sequence[ItemDocumentation]:
        await self._reply()
        return self.docs

    async def encode_call(self, call: Call) -> bytes:
        """Bytes that are equal for equal calls only."""
        await self._reply()
        return _digest(call)

    async def failure_of(self, error: Any) -> DispatchFailure:
        """The failure of an error of the form {pallet: name}."""
        await self._reply()
        ((pallet, name),) = error.items()
        return DispatchFailure(pallet, str(name), "")

    async def next_nonce(self, account: str) -> int:
        await self._reply()
        nonce = self._best.nonces.get(account, 0)
        waiting = {x.nonce for x in self._pool.values() if x.account == account}
        while nonce in waiting:
            nonce += 1
        return nonce

    async def sign(
        self, call: Call, signer: Signer, nonce: int, *, era_blocks: int = 64, tip: int = 0
    ) -> SignedExtrinsic:
        """A signed extrinsic with bytes of no meaning."""
        await self._reply()
        born, best = self._final[-1].block.ref.number, self._best.block.ref.number
        if best - born > DEEPEST_FORK:
            born, era_blocks = best - DEEPEST_FORK, max(era_blocks, STALLED_ERA_BLOCKS)
        data = _digest(call, signer.address, nonce, born, era_blocks, tip, next(self._salt))
        extrinsic = SignedExtrinsic(data, _digest(data), signer.address, nonce, born, born + era_blocks - 1)
        self._calls[extrinsic.hash] = call
        self.signed[signer.address, nonce] = call
        self._tips[extrinsic.hash] = tip
        return extrinsic

    async def broadcast(self, extrinsic: SignedExtrinsic) -> None:
        await self._reply()
        if self._admit(extrinsic, self._best.nonces, self._best.block.ref.number) and self.lose_replies:
            self.lose_replies -= 1
            raise ChainUnreachable("fake://", "the reply was lost")

    async def _reply(self) -> None:
        await asyncio.sleep(0)  # a real node never answers in the same step of the loop
        if self.unreachable:
            raise ChainUnreachable("fake://", "it is away")

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()

    async def _follow(self, head: Callable[[], BlockRef]) -> AsyncGenerator[BlockRef, None]:
        seen: BlockRef | None = None
        epoch = self._subscriptions
        while True:
            await self._reply()
            if seen != head():
                seen = head()
                yield seen
                continue
            async with self._news:
                while seen == head() and self._subscriptions == epoch:
                    await self._news.wait()
            epoch = self._subscriptions

    def _make(self, parent: _Made, take: int | None) -> _Made:
        number = parent.block.ref.number + 1
        nonces = dict(parent.nonces)
        taken = self._take(nonces, number, take)
        events: list[ChainEvent] = []
        inclusions: list[Inclusion] = []
        for index, extrinsic in enumerate(taken):
            call = self._calls[extrinsic.hash]
            failure = self.verdicts(call, extrinsic.account)
            if failure is None:
                made = self.effects(call, extrinsic.account)
                events += [ChainEvent(pallet, name, fields, index) for pallet, name, fields in made]
            refused = self.refused_items(call, extrinsic.account) if failure is None else {}
            name = f"{call.pallet}.{call.function}"
            inclusions.append(Inclusion(index, extrinsic.hash, failure, refused, name, extrinsic.account))
        ref = BlockRef(number, _digest(parent.block.ref.hash, number, next(self._salt)))
        block = Block(ref, parent.block.ref.hash, number * BLOCK_MS, tuple(events), tuple(inclusions))
        state = {item: dict(values) for item, values in self.storage.items()}
        return _Made(block, parent, nonces, state, taken)

    def _at(self, at: bytes) -> _Made:
        made: _Made | None = self._best
        while made is not None:
            if made.block.ref.hash == at:
                return made
            made = made.parent
        raise LookupError(f"no block 0x{at.hex()}")

    def _state(self, at: bytes | None) -> dict[tuple[str, str], dict[tuple[Any, ...], Any]]:
        return self.storage if at is None else self._at(at).storage

    def _value(self, pallet: str, item: str, params: Sequence[Any], at: bytes | None) -> Any | None:
        if (pallet, item) == ("System", "Account"):
            return self._account(params[0], at)
        if (pallet, item) == ("System", "ParentHash"):
            return (self._best if at is None else self._at(at)).block.parent_hash
        return self._state(at).get((pallet, item), {}).get(tuple(params))

    def _account(self, account: str, at: bytes | None) -> dict[str, Any]:
        made = self._best if at is None else self._at(at)
        known = self._state(at).get(("System", "Account"), {}).get((account,), {})
        data = {"free": 0, "reserved": 0, "frozen": 0, **known.get("data", {})}
        return {"nonce": made.nonces.get(account, 0), "data": data}
