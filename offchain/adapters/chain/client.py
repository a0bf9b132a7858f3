"""The chain port over the RPC of a node."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from offchain.adapters.chain import extrinsic as xt
from offchain.adapters.chain.block_bodies import BlockBodies
from offchain.adapters.chain.rpc import FIRST_PAUSE_MS, LONGEST_PAUSE_MS, RpcClient, RpcConnectionLost, RpcRefused
from offchain.adapters.chain.runtime import ChainRuntime
from offchain.adapters.chain.storage_queries import StorageQueries, as_hex, unhex
from offchain.adapters.chain.wallet_extrinsics import WalletExtrinsics
from offchain.backoff import backoff
from offchain.errors import BadReply, ChainUnreachable, SubmitRefusal, SubmitRefused, WrongChain
from offchain.ports import (
    Block,
    BlockRef,
    Call,
    DispatchFailure,
    Inclusion,
    ItemDocumentation,
    SignedExtrinsic,
    Signer,
)
from offchain.schema.chain_types.values import blake2_256, compact

_TERMS_AGE_S = 2.0
DEEPEST_FORK = 8
"""Blocks below the best one that a fork is not expected to replace, although they are not final."""
STALLED_ERA_BLOCKS = 256
"""The shortest lifetime of extrinsics that are signed while finality lags by more than that."""
_LAG_BLOCKS = 8
"""Final blocks by which a node may be behind another one and still be used in its place."""
_MOST_LOST = 6
"""Subscriptions in a row that end before their first head."""

_ALREADY_IN_POOL = 1013
_BY_CODE = {
    1012: SubmitRefusal.BANNED,
    1014: SubmitRefusal.PRIORITY_TOO_LOW,
    1016: SubmitRefusal.POOL_FULL,
    1021: SubmitRefusal.FUTURE_NONCE,
}
_BY_TEXT = {
    "outdated": SubmitRefusal.STALE_NONCE,
    "valid in the future": SubmitRefusal.FUTURE_NONCE,
    "pay some fees": SubmitRefusal.CANNOT_PAY,
    "bad signature": SubmitRefusal.BAD_PROOF,
    "ancient birth block": SubmitRefusal.EXPIRED,
    "exhaust the block limits": SubmitRefusal.POOL_FULL,
}


_UNKNOWN_BLOCK = ("UnknownBlock", "unknown Block", "Header was not found")
"""Parts of the errors of a node that does not have a block."""


def refusal_of(code: int, text: str) -> SubmitRefusal:
    """The typed reason of a pool's error: by its code, or by its text where a code has several meanings."""
    if code in _BY_CODE:
        return _BY_CODE[code]
    return next((kind for part, kind in _BY_TEXT.items() if part in text), SubmitRefusal.INVALID)


def header_bytes(header: dict[str, Any]) -> bytes:
    """The encoding of a header in JSON; its BLAKE2b-256 is the hash of the block."""
    logs = header["digest"]["logs"]
    return (
        unhex(header["parentHash"])
        + compact(int(header["number"], 16))
        + unhex(header["stateRoot"])
        + unhex(header["extrinsicsRoot"])
        + compact(len(logs))
        + b"".join(unhex(log) for log in logs)
    )


def header_ref(header: dict[str, Any]) -> BlockRef:
    """Number and hash of a block, from its header in JSON."""
    return BlockRef(int(header["number"], 16), blake2_256(header_bytes(header)))


@dataclass(slots=True)
class SeenBlocks:
    """The newest blocks that a connection has shown; None before the first. `final_at_s`: by the monotonic clock."""

    best: int | None = None
    final: int | None = None
    final_at_s: float | None = None


class SubstrateChain(StorageQueries, WalletExtrinsics, BlockBodies):
    """A :class:`~offchain.ports.ChainPort` over one node, or one of several.

    `url`: the addresses of nodes, with commas between them. The next one is used when one cannot be reached, does not
    answer, or lags behind what another one has shown. `expected_genesis`: refuse every other chain. `check_metadata`:
    refuse a runtime other than that of the generated types. Both are checked on every new connection, before any other
    request and before signing. `timeout`: how long, in seconds, a call waits for a node that is away or restarting.
    `reads_callers`: read call and signer of each extrinsic in a block, which an index needs.
    """

    def __init__(
        self,
        url: str,
        *,
        expected_genesis: bytes | None = None,
        check_metadata: bool = True,
        timeout: float = 30.0,
        reads_callers: bool = False,
    ) -> None:
        self._reads_callers = reads_callers
        self._rpc = RpcClient(url, timeout)
        self._expected_genesis = expected_genesis
        self._check_metadata = check_metadata
        self._genesis: bytes | None = expected_genesis
        self._checked = 0
        self._checking = asyncio.Lock()
        self._runtimes: dict[int, ChainRuntime] = {}
        self._current: ChainRuntime | None = None
        self._final = BlockRef(-1, b"")
        self._birth: BlockRef | None = None
        """The block that lifetimes start at while finality stands still; None: they start at the last final block."""
        self._least_era = 0
        self._highest_final = -1
        """The number of the newest final block that any node has shown."""
        self._terms_at = float("-inf")
        self.seen = SeenBlocks()

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection to a node now."""
        return self._rpc.is_connected

    async def connect(self) -> None:
        await self._ready()

    async def close(self) -> None:
        await self._rpc.close()

    async def _call(self, method: str, *params: Any) -> Any:
        """The result of a request on a connection whose chain has been checked."""
        while True:
            await self._ready()
            checked = self._checked
            try:
                result = await self._raw(method, *params)
            except BadReply:
                # The node behind a new connection may be of another chain, and not know the requested block.
                if self._rpc.generation == checked:
                    raise
                continue
            if self._rpc.generation == checked:
                return result

    async def _raw(self, method: str, *params: Any) -> Any:
        try:
            return await self._rpc.call(method, list(params))
        except RpcRefused as refused:
            raise _bad_reply(method, refused) from None

    async def _ready(self) -> ChainRuntime:
        if self._current is not None and self._checked == self._rpc.generation:
            return self._current
        async with self._checking:
            skipped = 0
            while self._current is None or self._checked != self._rpc.generation:
                genesis = unhex(await self._raw("chain_getBlockHash", 0))
                generation = self._rpc.generation
                if self._genesis is not None and genesis != self._genesis:
                    raise WrongChain(as_hex(self._genesis), as_hex(genesis), "genesis")
                runtime = await self._runtime_of(await self._raw("state_getRuntimeVersion"), None)
                self._check(runtime)
                if await self._lags():
                    skipped += 1
                    if skipped < self._rpc.nodes:
                        await self._rpc.skip_node()
                        continue
                self._genesis, self._current, self._checked = genesis, runtime, generation
                self._final = BlockRef(-1, b"")
                self._terms_at = float("-inf")
            return self._current

    async def _lags(self) -> bool:
        """Whether the node of a new connection has fewer final blocks than another node has shown."""
        if self._rpc.nodes == 1:
            return False
        head = await self._raw("chain_getHeader", await self._raw("chain_getFinalizedHead"))
        return int(head["number"], 16) + _LAG_BLOCKS < self._highest_final

    def _check(self, runtime: ChainRuntime) -> None:
        if not self._check_metadata:
            return
        import offchain.schema.chain_types._generated_chain as made_for  # noqa: PLC0415 - large, and not always needed

        expected = f"{made_for.SPEC_NAME} {made_for.SPEC_VERSION} (transactions {made_for.TRANSACTION_VERSION})"
        actual = f"{runtime.spec_name} {runtime.spec_version} (transactions {runtime.transaction_version})"
        if actual != expected:
            raise WrongChain(expected, actual, "spec")
        if runtime.metadata_sha256 != made_for.METADATA_SHA256:
            raise WrongChain(made_for.METADATA_SHA256, runtime.metadata_sha256, "metadata")

    async def _runtime_of(self, version: dict[str, Any], at: str | None) -> ChainRuntime:
        spec = version["specVersion"]
        found = self._runtimes.get(spec)
        # A development chain may change without a new version: on a new connection the metadata is fetched again.
        if found is None or self._checked != self._rpc.generation:
            raw = unhex(await self._raw("state_getMetadata", *([at] if at else [])))
            if found is None or sha256(raw).hexdigest() != found.metadata_sha256:
                found = ChainRuntime(raw, version["specName"], spec, version["transactionVersion"])
                self._runtimes[spec] = found
        return found

    async def genesis_hash(self) -> bytes:
        await self._ready()
        return self._genesis or b""

    async def finalized_head(self) -> BlockRef:
        block_hash = await self._call("chain_getFinalizedHead")
        ref = BlockRef(int((await self._call("chain_getHeader", block_hash))["number"], 16), unhex(block_hash))
        self._note_final(ref)
        return ref

    def _note_final(self, ref: BlockRef) -> None:
        if ref.number > self._final.number:
            self._final = ref
        if ref.number > self._highest_final:
            self._highest_final = self.seen.final = ref.number
            self.seen.final_at_s = time.monotonic()

    async def best_head(self) -> BlockRef:
        return header_ref(await self._call("chain_getHeader"))

    async def block_ref(self, number: int) -> BlockRef:
        if number > self._final.number and number > (await self.finalized_head()).number:
            raise LookupError(f"block {number} is not finalized yet")
        found = await self._call("chain_getBlockHash", number)
        if found is None:
            raise LookupError(f"the node does not have block {number}")
        return BlockRef(number, unhex(found))

    async def block(self, number: int) -> Block:
        at = as_hex((await self.block_ref(number)).hash)
        runtime = await self._ready()
        events_entry, now_entry = runtime.entry("System", "Events"), runtime.entry("Timestamp", "Now")
        events_key, now_key = (as_hex(runtime.storage_key(entry)) for entry in (events_entry, now_entry))
        signed, (raw_events, raw_now), version = await asyncio.gather(
            self._call("chain_getBlock", at),
            self._raw_values([events_key, now_key], at),
            self._call("state_getRuntimeVersion", at),
        )
        header, extrinsics = signed["block"]["header"], signed["block"]["extrinsics"]
        if version["specVersion"] != runtime.spec_version:
            # The events of a block have the types of the runtime that executed it, the one before an upgrade in it.
            parent = header["parentHash"] if number else at
            runtime = await self._runtime_of(await self._call("state_getRuntimeVersion", parent), parent)
        events = () if raw_events is None else tuple(runtime.decode_events(raw_events))
        failures = {
            event.extrinsic: runtime.failure(event.fields["dispatch_error"])
            for event in events
            if event.extrinsic is not None and (event.pallet, event.name) == ("System", "ExtrinsicFailed")
        }
        refused: dict[int, dict[int, DispatchFailure]] = {}
        for event in events:
            if event.extrinsic is not None and event.name == "ItemRefused":
                refused.setdefault(event.extrinsic, {})[event.fields["index"]] = runtime.failure(event.fields["error"])
        return Block(
            ref=BlockRef(number, unhex(at)),
            parent_hash=unhex(header["parentHash"]),
            timestamp_ms=0 if raw_now is None else int(runtime.read_value(now_entry, raw_now) or 0),
            events=events,
            inclusions=tuple(
                self._inclusion(runtime, index, unhex(raw), failures.get(index), refused.get(index, {}))
                for index, raw in enumerate(extrinsics)
            ),
        )

    def _inclusion(
        self,
        runtime: ChainRuntime,
        index: int,
        raw: bytes,
        failure: DispatchFailure | None,
        refused: Mapping[int, DispatchFailure],
    ) -> Inclusion:
        signer, call = xt.read_head(runtime, raw) if self._reads_callers else (None, None)
        return Inclusion(index, blake2_256(raw), failure, refused, call, signer)

    async def extrinsic_hashes(self, number: int) -> tuple[bytes, ...]:
        signed = await self._call("chain_getBlock", as_hex((await self.block_ref(number)).hash))
        return tuple(blake2_256(unhex(raw)) for raw in signed["block"]["extrinsics"])

    def finalized(self) -> AsyncGenerator[BlockRef, None]:
        return self._heads("chain_subscribeFinalizedHeads", "chain_unsubscribeFinalizedHeads", final=True)

    def best(self) -> AsyncGenerator[BlockRef, None]:
        return self._heads("chain_subscribeNewHeads", "chain_unsubscribeNewHeads", final=False)

    async def _heads(self, subscribe: str, unsubscribe: str, *, final: bool) -> AsyncGenerator[BlockRef, None]:
        """Yield heads, and subscribe again after a lost connection. Raises ChainUnreachable after the timeout."""
        lost = 0
        while True:
            await self._call("system_chain")  # waits for the node, and checks that the chain is the same
            try:
                async with aclosing(self._rpc.subscribe(subscribe, unsubscribe)) as headers:
                    async for header in headers:
                        lost = 0
                        ref = header_ref(header)
                        if final:
                            self._note_final(ref)
                        else:
                            self.seen.best = ref.number
                        yield ref
            except RpcRefused as refused:
                raise _bad_reply(subscribe, refused) from None
            except RpcConnectionLost as error:
                lost += 1
                if lost > _MOST_LOST:
                    raise ChainUnreachable(self._rpc.url, f"subscriptions end at once: {error}") from None
                await asyncio.sleep(backoff(lost - 1, FIRST_PAUSE_MS, LONGEST_PAUSE_MS) / 1000)

    async def constant(self, pallet: str, name: str) -> Any:
        return (await self._ready()).constant(pallet, name)

    async def documentation(self) -> list[ItemDocumentation]:
        return (await self._ready()).documentation()

    async def encode_call(self, call: Call) -> bytes:
        return (await self._ready()).encode_call(call)

    async def failure_of(self, error: Any) -> DispatchFailure:
        return (await self._ready()).failure(error)

    async def next_nonce(self, account: str) -> int:
        return int(await self._call("system_accountNextIndex", account))

    async def sign(
        self, call: Call, signer: Signer, nonce: int, *, era_blocks: int = 64, tip: int = 0
    ) -> SignedExtrinsic:
        runtime, terms = await self._signing_terms(nonce, era_blocks, tip)
        return xt.sign(runtime, call, signer, terms)

    async def _signing_terms(self, nonce: int, era_blocks: int, tip: int = 0) -> tuple[ChainRuntime, xt.SigningTerms]:
        runtime = await self._fresh_terms()
        birth = self._birth or self._final
        return runtime, xt.SigningTerms(self._genesis or b"", birth, max(era_blocks, self._least_era), nonce, tip)

    async def _fresh_terms(self) -> ChainRuntime:
        """The runtime of the best block; refreshes the block that mortality starts at."""
        await self._ready()
        loop = asyncio.get_running_loop()
        if loop.time() - self._terms_at > _TERMS_AGE_S:
            version, best, final = await asyncio.gather(
                self._call("state_getRuntimeVersion"), self.best_head(), self.finalized_head()
            )
            runtime = await self._runtime_of(version, None)
            self._check(runtime)
            self._current = runtime
            if best.number - final.number <= DEEPEST_FORK:
                self._birth, self._least_era = None, 0
            else:
                # While finality stands still, a lifetime that began at the last final block would soon be over.
                number = best.number - DEEPEST_FORK
                self._birth = BlockRef(number, unhex(await self._call("chain_getBlockHash", number)))
                self._least_era = STALLED_ERA_BLOCKS
            self._terms_at = loop.time()
        return await self._ready()

    async def broadcast(self, extrinsic: SignedExtrinsic) -> None:
        await self._ready()
        try:
            await self._rpc.call("author_submitExtrinsic", [as_hex(extrinsic.data)])
        except RpcRefused as refused:
            if refused.code == _ALREADY_IN_POOL:
                return
            kind = refusal_of(refused.code, f"{refused.message} {refused.data or ''}")
            raise SubmitRefused(kind, str(refused), certain=not refused.again) from None


def _bad_reply(method: str, refused: RpcRefused) -> BadReply:
    if "discarded" in str(refused):
        return BadReply(
            "The chain node no longer keeps the state of a block that is needed.",
            "Use a node that keeps all of it (--state-pruning archive).",
            code="state_pruned",
        )
    if any(part in str(refused) for part in _UNKNOWN_BLOCK):
        return BadReply(
            "The chain node does not know a block that it named before.",
            "It was restarted, or several nodes share its address; a worker goes on by itself.",
            code="unknown_block",
        )
    return BadReply(f"The chain node refused {method}: {refused}.", "Look into the node's log.")
