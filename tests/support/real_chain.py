"""A real chain of one node for a test of its own, and a connection to it. Works on any runtime by its own metadata."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.chain.runtime import ChainRuntime
from offchain.adapters.chain.submit_once import submit_once
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import load_host_key
from offchain.devnet import node_rpc
from offchain.devnet.release import Binaries, binaries
from offchain.errors import SubmitRefusal, SubmitRefused
from offchain.ports import Block, Call, ChainEvent, SignedExtrinsic, Signer
from offchain.schema.chain_types._generated_chain import calls
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.task_spec import manifest_digest, to_task_spec
from tests.support.development_node import DevelopmentNode
from tests.support.fast_chain import fast

PATIENCE = 120.0
"""Seconds. A limit for a broken chain, not a measure of a good one."""
GTY = 10**12


@dataclass
class Chain:
    """A running node. `link` reads and signs by the runtime of the moment it was connected."""

    port: int
    link: SubstrateChain

    @property
    def url(self) -> str:
        return f"ws://{node_rpc.LOOPBACK}:{self.port}"

    def runtime(self) -> ChainRuntime:
        """The runtime of the newest block."""
        version = node_rpc.ask(self.port, "state_getRuntimeVersion")
        raw = bytes.fromhex(str(node_rpc.ask(self.port, "state_getMetadata"))[2:])
        assert version is not None
        return ChainRuntime(raw, version["specName"], version["specVersion"], version["transactionVersion"])

    async def reconnect(self) -> None:
        """Forget what was known of the chain's types."""
        await self.link.close()
        self.link = await connect(self.url)

    async def do(self, who: Signer, *wanted: Call) -> tuple[ChainEvent, ...]:
        """Have calls take effect, several as one batch that is all or nothing; gives their events."""
        batch = Call("Utility", "batch_all", {"calls": [plain(one) for one in wanted]})
        call = wanted[0] if len(wanted) == 1 else batch
        included, block = await submit_once(self.link, who, call, PATIENCE)
        return tuple(event for event in block.events if event.extrinsic == included.index)

    async def submit(self, who: Signer, manifest: bytes) -> int:
        """Submit one task; gives its number."""
        spec = to_task_spec(parse_manifest(manifest), manifest_digest(manifest))
        events = await self.do(who, calls.tasks_submit(spec=spec, manifest=manifest))
        (task,) = [event.fields["first"] for event in events if event.name == "Submitted"]
        return int(task)

    async def online(self, folder: Path) -> str:
        """Wait for a registered host that was heard of, whose key is in `folder`; gives its address."""
        key, typed = folder / "host.key", GantryChain(self.link)

        async def look() -> str:
            if not key.exists():
                return ""
            host = load_host_key(key).address
            record = await typed.host(host)
            return host if record is not None and record.last_heartbeat else ""

        return str(await self.until(look, f"the host of {folder.name}"))

    async def until(self, look: Callable[[], Awaitable[Any]], wanted: str, more: Callable[[], str] = str) -> Any:
        """Look at every new best block until there is something to see; `more` tells what is there instead."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                async for _ in self.link.best():
                    seen = await look()
                    if seen:
                        return seen
        raise AssertionError(f"waited {PATIENCE} s in vain for {wanted}\n{more()}")

    async def coins(self, at: bytes) -> dict[str, Any]:
        """Every coin of a moment: who has how many, and for which reason they are held."""
        accounts = await self.link.query_map("System", "Account", at=at)
        holds = await self.link.query_map("Balances", "Holds", at=at)
        return {
            "accounts": {who: record["data"] for who, record in accounts},
            "holds": {who: sorted((str(hold["id"]), hold["amount"]) for hold in held) for who, held in holds},
            "issuance": await self.link.query("Balances", "TotalIssuance", at=at),
            "escrowed": await self.link.query("Billing", "TotalEscrowed", at=at),
        }

    async def block_with(self, number: int) -> Block:
        """A block, once it is final."""
        async with asyncio.timeout(PATIENCE):
            async for head in self.link.finalized():
                if head.number >= number:
                    return await self.link.block(number)
        raise AssertionError("the chain ended")


async def connect(url: str) -> SubstrateChain:
    # While it compiles a new runtime a node answers nobody.
    link = SubstrateChain(url, check_metadata=False, timeout=PATIENCE)
    await link.connect()
    return link


async def hand_over(link: SubstrateChain, call: Call, who: Signer, nonce: int) -> SignedExtrinsic:
    """Sign a call and hand it to the node. A free call that follows another one waits until that is in a block.

    The node bans bytes that it has refused: they are signed anew with each final block.
    """
    async with asyncio.timeout(PATIENCE), aclosing(link.finalized()) as heads:
        while True:
            extrinsic = await link.sign(call, who, nonce)
            try:
                await link.broadcast(extrinsic)
            except SubmitRefused as refused:
                if refused.kind not in (SubmitRefusal.FUTURE_NONCE, SubmitRefusal.BANNED):
                    raise
                await anext(heads)
            else:
                return extrinsic


@asynccontextmanager
async def chain_of(
    folder: Path, patch: Mapping[str, Any] | None = None, runtime: Path | None = None
) -> AsyncIterator[Chain]:
    """A fresh chain of the released node, for the length of the block; the node keeps its files in `folder`.

    `patch` goes over the genesis of test chains (tests/support/fast_chain.py), value by value. `runtime` takes the
    place of the released one; its genesis may lack what later ones have, so `patch` then goes over the development
    preset.
    """
    found = binaries()
    used = found if runtime is None else Binaries(found.node, runtime)
    with DevelopmentNode(used, folder, patch=fast(patch) if runtime is None else patch) as node:
        chain: Chain | None = None
        try:
            chain = Chain(node.port, await connect(node.url))
            yield chain
        except BaseException:
            sys.stderr.write(node.last_lines(40))
            raise
        finally:
            if chain is not None:
                await chain.link.close()


def plain(call: Call) -> dict[str, Any]:
    """A call as calls of calls take it."""
    return {call.pallet: {call.function: dict(call.args)} if call.args else call.function}


def by_sudo(call: Call) -> Call:
    """The call with nobody's permission asked; the signer must be //Alice."""
    return Call("Sudo", "sudo", {"call": plain(call)})
