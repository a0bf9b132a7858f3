"""A chain in memory whose calls are encoded by the runtime of chain/metadata, so that wallets can sign them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from offchain.adapters.chain.block_bodies import BlockExtrinsic
from offchain.adapters.chain.extrinsic import SigningTerms, read_call
from offchain.adapters.chain.runtime import ChainRuntime
from offchain.adapters.chain.wallet_extrinsics import (
    ERA_BLOCKS,
    UnsignedExtrinsic,
    terms_of,
    unsigned,
    with_signature,
)
from offchain.ports import Call, ItemDocumentation, SignedExtrinsic
from offchain.schema.chain_types.values import blake2_256
from tests.support.fake_chain import FakeChain

_METADATA = Path(__file__).resolve().parents[2] / "chain" / "metadata"
FEE = 10**9


@cache
def released_runtime() -> ChainRuntime:
    """The runtime of this clone."""
    version = json.loads((_METADATA / "gantry.json").read_text(encoding="utf-8"))
    return ChainRuntime((_METADATA / "gantry.scale").read_bytes(), *version.values())


class FakeSigningChain(FakeChain):
    """A chain for wallets. Each extrinsic costs :data:`FEE`."""

    def __init__(self) -> None:
        super().__init__()
        self._data: dict[bytes, bytes] = {}

    async def runtime(self) -> ChainRuntime:
        await self._reply()
        return released_runtime()

    async def documentation(self) -> list[ItemDocumentation]:
        await self._reply()
        return released_runtime().documentation()

    async def encode_call(self, call: Call) -> bytes:
        await self._reply()
        return released_runtime().encode_call(call)

    async def unsigned_extrinsic(self, call: bytes, account: str) -> UnsignedExtrinsic:
        nonce = await self.next_nonce(account)
        terms = SigningTerms(self.genesis, await self.finalized_head(), ERA_BLOCKS, nonce)
        return unsigned(released_runtime(), call, account, terms, FEE)

    async def signed_extrinsic(
        self, account: str, call: bytes, given: Mapping[str, Any], signature: bytes
    ) -> SignedExtrinsic:
        runtime = await self.runtime()
        terms = terms_of(runtime, account, call, given, self.genesis)
        made = with_signature(runtime, account, call, terms, signature)
        ((pallet, inner),) = runtime.decode(runtime.metadata.call, call).items()
        name, args = (inner, {}) if isinstance(inner, str) else next(iter(inner.items()))
        self._calls[made.hash] = Call(pallet, name, args)
        self._tips[made.hash] = terms.tip
        self._data[made.hash] = made.data
        return made

    async def block_extrinsic(self, number: int, index: int, most_bytes: int) -> BlockExtrinsic:
        inclusions = (await self.block(number)).inclusions
        if not index < len(inclusions):
            raise LookupError(f"block {number} has {len(inclusions)} extrinsics")
        raw = self._data[inclusions[index].extrinsic_hash]
        if len(raw) > most_bytes:
            return BlockExtrinsic(blake2_256(raw), len(raw), None, None, runtime_known=True)
        return BlockExtrinsic(blake2_256(raw), len(raw), *read_call(released_runtime(), raw), runtime_known=True)
