"""A node with slots of 2 s, three verifiers as processes, and hosts that are challenged there.

With three verifiers the chain allows committees of one member only: it requires more verifiers than two committees.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.chain.watcher import blocks_after
from offchain.adapters.keys.signer import from_uri, load_host_key
from offchain.ports import Block, BlockRef, ChainEvent
from offchain.schema.chain_types._generated_chain import storage
from tests.support.real_chain import Chain, chain_of
from tests.support.worker_process import worker_process

VERIFIERS = ("//Dave", "//Eve", "//Ferdie")
SLOT_MS = 2_000
WAIT_S = 300.0
"""For an event, on a machine that runs other suites, too."""
GENESIS: dict[str, Any] = {
    "validators": {"slotMs": SLOT_MS},
    "hosts": {"params": {"verificationRequired": True, "heartbeatPeriodMs": 60_000, "absenceLimitMs": 600_000}},
    "verification": {
        "verifiers": [from_uri(name).address for name in VERIFIERS],
        "params": {
            "committeeSize": 1,
            "minVerifiers": 3,
            "challengeRestMs": 600_000,
            "missPeriodMs": 3_600_000,
            "answerMs": 120_000,
            "challengeCommitMs": 120_000,
            "challengeRevealMs": 60_000,
        },
    },
}


@dataclass
class ChallengeNetwork:
    chain: Chain
    folder: Path
    blocks: AsyncIterator[tuple[Block, BlockRef]]
    seen: list[tuple[int, ChainEvent]] = field(default_factory=list)

    async def until(self, name: str, **fields: Any) -> tuple[int, ChainEvent]:
        """Time of the block, and the event of the pallet Verification with this name and these fields."""
        async with asyncio.timeout(WAIT_S):
            while True:
                for at, event in self.seen:
                    if event.name == name and fields.items() <= event.fields.items():
                        return at, event
                block, _ = await anext(self.blocks)
                self.seen += [(block.timestamp_ms, one) for one in block.events if one.pallet == "Verification"]

    async def until_asked(self, host: str) -> int:
        """Wait for the best block with the seed of a challenge of a host; return the challenge's number."""
        chain = GantryChain(self.chain.link)
        async for head in self.chain.link.best():
            of_host = await chain.read(storage.verification_by_host, host, at=head.hash)
            number = None if of_host is None else of_host.open
            record = None
            if number is not None:
                record = await chain.read(storage.verification_challenges, number, at=head.hash)
            if number is not None and record is not None and record.ballot.seed is not None:
                assert record.answer is None, "it is answered when its seed is final, which takes blocks"
                return number
        raise AssertionError("the chain ended")

    async def online(self, folder: Path) -> str:
        """Wait for a registered host that was heard of, and return its address."""
        chain = GantryChain(self.chain.link)
        key = folder / "host.key"
        async for _ in self.chain.link.best():
            if key.exists():
                host = load_host_key(key).address
                record = await chain.host(host)
                if record is not None and record.last_heartbeat:
                    return host
        raise AssertionError("the chain ended")


@contextlib.asynccontextmanager
async def challenge_network(folder: Path) -> AsyncIterator[ChallengeNetwork]:
    """The node alone; its files, and those of the other processes, are in `folder`."""
    async with contextlib.AsyncExitStack() as stack:
        chain = await stack.enter_async_context(chain_of(folder / "node", GENESIS))
        head = await chain.link.finalized_head()
        blocks = await stack.enter_async_context(contextlib.aclosing(blocks_after(chain.link, head, "finalized")))
        yield ChallengeNetwork(chain, folder, blocks)


def start_verifiers(network: ChallengeNetwork, stack: contextlib.ExitStack, *options: str) -> None:
    for name in VERIFIERS:
        folder = network.folder / name.removeprefix("//")
        stack.enter_context(worker_process("verifier", name, network.chain.url, folder, *options))
