"""A connection to the chain for the length of one command, and the one-shot way of sending a call."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from offchain.cli.kit import network as networks
from offchain.cli.kit.failures import CliError
from offchain.ports import Block, BlockRef, Call, ChainEvent, ChainPort, Signer

T = TypeVar("T")

CONNECT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Included:
    """A call that took effect: the finalized block it is in, and its events."""

    block: BlockRef
    events: tuple[ChainEvent, ...]

    def event(self, pallet: str, name: str) -> ChainEvent:
        """Its event of this name. LookupError where there is none."""
        for event in self.events:
            if (event.pallet, event.name) == (pallet, name):
                return event
        raise LookupError(f"no event {pallet}.{name} in block {self.block.number}")


def make_chain(network: networks.Network) -> ChainPort:
    """The chain adapter. A seam: tests put the fake here."""
    from offchain.adapters.chain.client import SubstrateChain  # noqa: PLC0415  (only commands that talk to a chain need it)

    return SubstrateChain(network.url, expected_genesis=network.genesis_hash, timeout=CONNECT_SECONDS)


@contextlib.asynccontextmanager
async def connected(url: str | None) -> AsyncIterator[ChainPort]:
    """The chain of the chosen network, checked."""
    network = networks.choose(url)
    chain = make_chain(network)
    try:
        await chain.connect()
        yield chain
    except CliError:
        raise
    except Exception as error:
        _explain(error, network)
        raise
    finally:
        await chain.close()


def _explain(error: Exception, network: networks.Network) -> None:
    """Say what to do in the words of this command, where the network was chosen for the user."""
    if getattr(error, "code", "") == "chain_unreachable":
        remedy = {
            "--url": "Check --url, and that the node is running and listens there.",
            "GANTRY_URL": "Check the variable GANTRY_URL, and that the node is running and listens there.",
            "the default": "Start a local network with scripts/up, or name a node with --url.",
        }.get(network.source, "Start the local network anew: scripts/down, then scripts/up.")
        raise CliError(str(getattr(error, "message", error)), remedy, code="chain_unreachable") from None


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's work to its end."""
    return asyncio.run(work)


async def blocks(chain: ChainPort, start: int) -> AsyncGenerator[Block, None]:
    """Every finalized block from this number on, in order, as they come."""
    number = start
    async for head in chain.finalized():
        while number <= head.number:
            yield await chain.block(number)
            number += 1


async def send(chain: ChainPort, call: Call, signer: Signer) -> Included:
    """Sign, send, and wait for the final block with the call. Raises CallFailed where the chain refused it."""
    from offchain.adapters.chain.submit_once import submit_once  # noqa: PLC0415  (only commands that sign need it)

    try:
        included, block = await submit_once(chain, signer, call)
    except TimeoutError:
        raise CliError(
            f"the call {call.pallet}.{call.function} was in no final block after two minutes.",
            "It may still be taken: look before you send it again (gantry task list).",
            code="timeout",
        ) from None
    return Included(block.ref, tuple(event for event in block.events if event.extrinsic == included.index))
