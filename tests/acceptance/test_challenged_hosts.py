"""Challenges from end to end: a real node with slots of 2 s, three verifiers, and hosts with a simulated GPU.

With three verifiers the chain allows committees of one member only: it requires more verifiers than two committees.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.chain.watcher import blocks_after
from offchain.adapters.keys.signer import from_uri, load_host_key
from offchain.ports import Block, BlockRef, ChainEvent
from offchain.schema.chain_types._generated_chain import calls
from tests.support.challenged_host import challenged_host
from tests.support.real_chain import PATIENCE, Chain, chain_of
from tests.support.worker_process import worker_process

PROVIDER, OTHER = from_uri("//Bob"), from_uri("//Charlie")
VERIFIERS = ("//Dave", "//Eve", "//Ferdie")
SLOT_MS = 2_000
WITHIN_MS = 60_000
IN_SERVICE = ("Verified", "Online")
"""States of a verified host, before and after its next heartbeat."""
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
            "answerMs": 60_000,
            "challengeCommitMs": 60_000,
            "challengeRevealMs": 30_000,
        },
    },
}


@dataclass
class Network:
    chain: Chain
    folder: Path
    blocks: AsyncIterator[tuple[Block, BlockRef]]
    seen: list[tuple[int, ChainEvent]] = field(default_factory=list)

    async def until(self, name: str, **fields: Any) -> tuple[int, ChainEvent]:
        """Time of the block, and the event of the pallet Verification with this name and these fields."""
        async with asyncio.timeout(PATIENCE):
            while True:
                for at, event in self.seen:
                    if event.name == name and fields.items() <= event.fields.items():
                        return at, event
                block, _ = await anext(self.blocks)
                self.seen += [(block.timestamp_ms, one) for one in block.events if one.pallet == "Verification"]

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


@pytest.fixture
async def network(tmp_path: Path) -> AsyncIterator[Network]:
    async with contextlib.AsyncExitStack() as stack:
        chain = await stack.enter_async_context(chain_of(tmp_path / "node", GENESIS))
        head = await chain.link.finalized_head()
        blocks = await stack.enter_async_context(contextlib.aclosing(blocks_after(chain.link, head, "finalized")))
        yield Network(chain, tmp_path, blocks)


def verifiers(network: Network, stack: contextlib.ExitStack, *options: str) -> None:
    for name in VERIFIERS:
        folder = network.folder / name.removeprefix("//")
        stack.enter_context(worker_process("verifier", name, network.chain.url, folder, *options))


async def test_hosts_are_verified_or_lose_by_their_proofs(network: Network) -> None:
    """The honest agent is killed between its answer and the opening, and started again."""
    chain, folder = network.chain, network.folder
    honest, cheating = folder / "honest", folder / "cheating"
    with contextlib.ExitStack() as stack:
        verifiers(network, stack)
        first = stack.enter_context(challenged_host(chain.url, honest, "//Bob"))
        stack.enter_context(challenged_host(chain.url, cheating, "//Charlie", cheats=True))
        host, cheat = await network.online(honest), await network.online(cheating)
        for who, of in ((PROVIDER, host), (OTHER, cheat)):
            await chain.do(who, calls.verification_open_challenge(host=of, device=0, lease=None))
        opened_at, opened = await network.until("ChallengeOpened", host=host)
        _, against = await network.until("ChallengeOpened", host=cheat)
        number = opened.fields["challenge"]
        answered_at, _ = await network.until("Answered", challenge=number)
        first.kill()
        first.wait()
        killed = time.monotonic()
        stack.enter_context(challenged_host(chain.url, honest, "//Bob"))
        closed_at, closed = await network.until("ChallengeClosed", challenge=number)
        assert closed.fields["outcome"] == "Passed"
        assert closed_at - opened_at <= WITHIN_MS, (opened_at, answered_at, closed_at, time.monotonic() - killed)
        record = await GantryChain(chain.link).host(host)
        assert record is not None
        assert record.status.tag in IN_SERVICE
        assert record.devices[0].attested
        _, confirmation = await network.until("ConfirmationAwaited", challenge=against.fields["challenge"])
        assert confirmation.fields["round"] == 1, "another verifier judged the same answer"
        _, lost = await network.until("ChallengeClosed", challenge=against.fields["challenge"])
        assert lost.fields["outcome"] == "Failed"
        record = await GantryChain(chain.link).host(cheat)
        assert record is not None
        assert record.status.tag not in IN_SERVICE
        assert record.bond < record.bond_required, "it lost a part of its bond"
        assert not record.devices[0].attested


async def test_verifiers_challenge_an_unverified_host_by_the_draw(network: Network) -> None:
    with contextlib.ExitStack() as stack:
        stack.enter_context(challenged_host(network.chain.url, network.folder / "host", "//Bob"))
        host = await network.online(network.folder / "host")
        verifiers(network, stack, "--challenge-budget=10")
        opened_at, opened = await network.until("ChallengeOpened", host=host)
        assert opened.fields["opener"] in GENESIS["verification"]["verifiers"]
        closed_at, closed = await network.until("ChallengeClosed", host=host)
        assert closed.fields["outcome"] == "Passed"
        assert closed_at - opened_at <= WITHIN_MS
