"""The connection of a command to the chain, and the submission of a single call."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from offchain.cli.kit import network as networks
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import progress
from offchain.ports import Block, BlockRef, Call, ChainEvent, ChainPort, Signer

T = TypeVar("T")
C = TypeVar("C", bound=ChainPort)

CONNECT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class IncludedCall:
    """A call that took effect: its finalized block and its events."""

    block: BlockRef
    events: tuple[ChainEvent, ...]

    def event(self, pallet: str, name: str) -> ChainEvent:
        """Return the event with this name. Raises LookupError if there is none."""
        for event in self.events:
            if (event.pallet, event.name) == (pallet, name):
                return event
        raise LookupError(f"no event {pallet}.{name} in block {self.block.number}")


def make_chain(network: networks.NodeEndpoint) -> ChainPort:
    """Return the adapter of the chain. Tests replace it with the fake."""
    from offchain.adapters.chain.client import SubstrateChain  # noqa: PLC0415  (only commands that talk to a chain need it)

    return SubstrateChain(network.url, expected_genesis=network.genesis_hash, timeout=CONNECT_SECONDS)


@contextlib.asynccontextmanager
async def connected(url: str | None) -> AsyncIterator[ChainPort]:
    """Yield a checked connection to the chosen network."""
    network = networks.choose_node(url)
    async with opened(network, make_chain(network)) as chain:
        yield chain


@contextlib.asynccontextmanager
async def opened(network: networks.NodeEndpoint, chain: C) -> AsyncIterator[C]:
    """Yield a connection once it is checked, and close it at the end."""
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


def _explain(error: Exception, network: networks.NodeEndpoint) -> None:
    """Raise a CliError that names the source of the address, if the node cannot be reached."""
    if getattr(error, "code", "") == "chain_unreachable":
        hint = {
            "--url": "Check --url, and that the node is running and listens there.",
            "GANTRY_URL": "Check the variable GANTRY_URL, and that the node is running and listens there.",
            "the default": "Start a local network with scripts/up, or name a node with --url.",
        }.get(network.source, "Restart the local network: scripts/down, then scripts/up.")
        raise CliError(str(getattr(error, "message", error)), hint, code="chain_unreachable") from None


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


async def blocks(chain: ChainPort, start: int) -> AsyncGenerator[Block, None]:
    """Yield every finalized block from this number on, in order, as it comes."""
    number = start
    async for head in chain.finalized():
        while number <= head.number:
            yield await chain.block(number)
            number += 1


def report_sent() -> None:
    """Print on a terminal that a node has accepted a call, because its block is final only some seconds later."""
    if sys.stderr.isatty():
        progress("Sent; it takes effect when its block is final, in some seconds.")


async def send(chain: ChainPort, call: Call, signer: Signer, *, quiet: bool = False) -> IncludedCall:
    """Sign and send a call, and wait until it is final. Raises CallFailed if the chain refused it.

    `quiet`: without :func:`report_sent`.
    """
    from offchain.adapters.chain.submit_once import submit_once  # noqa: PLC0415  (only commands that sign need it)

    try:
        included, block = await submit_once(chain, signer, call, accepted=None if quiet else report_sent)
    except TimeoutError:
        raise CliError(
            f"the call {call.pallet}.{call.function} was in no final block after 2 minutes.",
            "It may still be included: check before you send it again (gantry task list).",
            code="timeout",
        ) from None
    return IncludedCall(block.ref, tuple(event for event in block.events if event.extrinsic == included.index))
