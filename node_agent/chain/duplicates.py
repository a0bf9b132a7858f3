"""Response to another agent with the key of this host: it is reported, and the one that came later stops.

Neither removes containers because of the other: the one that stops leaves its containers running.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import aclosing
from typing import Final

from node_agent.core.identity import ForeignExtrinsic, IdentityWatch
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.outbox.outbox import ERA_BLOCKS, Outbox
from offchain.adapters.outbox.store import Store
from offchain.errors import BadReply, ChainUnreachable, OurError
from offchain.ports import Block, ChainPort
from offchain.schema.chain_types._generated_chain import HostRecord, HostStatusRetired

log = logging.getLogger(__name__)

RECONNECT_S: Final = 2.0
SILENT_PERIODS: Final = 1.5
"""Heartbeat periods without a heartbeat after which the other agent counts as gone; an agent sends one after 0.8."""
_TABLES = [
    "CREATE TABLE other_agent (row INTEGER PRIMARY KEY CHECK (row = 0), block INTEGER NOT NULL) STRICT",
]


class DuplicateAgent(OurError):  # noqa: N818
    """Another agent serves the same host, and was there before this one."""

    code = "duplicate_agent"

    def __init__(self, host: str, block: int) -> None:
        super().__init__(
            f"Another agent serves host {host}: it was there when this one started, and block {block} holds a call of "
            "the host that this one did not sign.",
            "Stop one of the two for good; if they are on two machines, set up a host of its own on one of them with "
            "gantry agent join. Started again, this agent waits until the heartbeats of the other one end.",
        )


class DuplicateWatch:
    """Watches final blocks for calls of another agent with this host's key."""

    def __init__(self, host: str, chain: GantryChain, store: Store, outbox: Outbox) -> None:
        store.migrate("other_agent", _TABLES)
        self._host = host
        self._chain = chain
        self._store = store
        self._stop = asyncio.Event()
        self._looked = asyncio.Event()
        self.watch = IdentityWatch(host, ERA_BLOCKS, outbox.has_signed, outbox.stored_extrinsics())

    async def on_final(self, block: Block) -> None:
        """Observe a final block, before the outbox does, which forgets its extrinsics with it."""
        if self.watch.observe(block) and (proof := self.watch.proof) is not None:
            self._report(proof)
        if self.watch.is_suspected or self.watch.proof is not None:
            period_ms = (await self._chain.params("Hosts")).heartbeat_period_ms
            if self.watch.at(block.ref.number, block.timestamp_ms, period_ms):
                log.warning("the other agent of host %s has not been seen for %d ms", self._host, 3 * period_ms)
        self._looked.set()

    def _report(self, proof: ForeignExtrinsic) -> None:
        log.error(
            "another agent signs with the key of host %s: the extrinsic 0x%s in block %d is not from this process",
            self._host,
            proof.extrinsic.hex(),
            proof.block,
        )
        if self.watch.came_later:
            self._store.run("INSERT OR REPLACE INTO other_agent VALUES (0, ?)", proof.block)
            self._stop.set()

    async def until_no_suspicion(self) -> None:
        """Wait until no other agent is suspected of serving this host's leases."""
        while self.watch.is_suspected:
            self._looked.clear()
            await self._looked.wait()

    async def until_heartbeat(self) -> None:
        """Wait for a heartbeat of this process on the chain: another agent would have sent one before."""
        while self.watch.is_first_heartbeat or self.watch.is_suspected:
            self._looked.clear()
            await self._looked.wait()

    async def until_stopped(self) -> None:
        """Raise DuplicateAgent once another agent is proven that was there first."""
        await self._stop.wait()
        raise DuplicateAgent(self._host, 0 if (proof := self.watch.proof) is None else proof.block)

    @property
    def trouble(self) -> str:
        """A sentence about another agent; empty if none is known."""
        if (proof := self.watch.proof) is not None:
            return (
                f"another agent signs with this host's key, last seen in block {proof.block}; stop it: both start the "
                "same pods, and reports of one are lost"
            )
        return ""


def other_agent_block(store: Store) -> int | None:
    """Return the block with the proof that stopped the last agent of this folder; None if there was none."""
    store.migrate("other_agent", _TABLES)
    row = store.one("SELECT block FROM other_agent")
    return None if row is None else int(row["block"])


async def wait_for_silence(
    port: ChainPort, host: str, store: Store, *, chance: Callable[[], float] = random.random
) -> None:
    """Wait until the heartbeats of the host have ended, in chain time, and forget the proof.

    `chance` returns a number from 0 to 1, so that two agents that wait for each other do not continue together.
    """
    chain, periods = GantryChain(port), SILENT_PERIODS + chance() / 2
    while True:
        try:
            async with aclosing(port.best()) as heads:
                async for head in heads:
                    period_ms = (await chain.params("Hosts", head.hash)).heartbeat_period_ms
                    record = await chain.host(host, at=head.hash)
                    if _is_silent(record, round(periods * period_ms), await chain.now_ms(head.hash)):
                        store.run("DELETE FROM other_agent")
                        return
        except (ChainUnreachable, BadReply) as error:
            log.warning("%s This agent waits for the end of another one's heartbeats.", error)
        await asyncio.sleep(RECONNECT_S)


def _is_silent(record: HostRecord | None, limit_ms: int, now_ms: int) -> bool:
    if record is None or isinstance(record.status, HostStatusRetired):
        return True
    return now_ms - record.last_heartbeat > limit_ms
