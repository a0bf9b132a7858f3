"""A node with slots of 2 s, three verifiers as processes, and hosts that are challenged there.

With three verifiers the chain allows committees of one member only: it requires more verifiers than two committees.
"""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import from_uri
from offchain.ports import ChainEvent
from offchain.schema.chain_types._generated_chain import storage
from tests.support.final_events import FinalEvents, final_events
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
    events: FinalEvents

    async def until(self, name: str, **fields: Any) -> tuple[int, ChainEvent]:
        """Time of the block, and the final event with this name and these fields."""
        return await self.events.timed(name, **fields)

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
        return await self.chain.online(folder)


@contextlib.asynccontextmanager
async def challenge_network(folder: Path) -> AsyncIterator[ChallengeNetwork]:
    """The node alone; its files, and those of the other processes, are in `folder`."""
    async with contextlib.AsyncExitStack() as stack:
        chain = await stack.enter_async_context(chain_of(folder / "node", GENESIS))
        events = await stack.enter_async_context(final_events(chain.link, WAIT_S))
        yield ChallengeNetwork(chain, folder, events)


def start_verifiers(network: ChallengeNetwork, stack: contextlib.ExitStack, *options: str) -> None:
    for name in VERIFIERS:
        folder = network.folder / name.removeprefix("//")
        stack.enter_context(worker_process("verifier", name, network.chain.url, folder, *options))
