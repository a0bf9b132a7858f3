"""Follows the chain: what becomes of this host's leases, as events of the core."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing

from node_agent.chain.clock import ChainClock, ChainSilence
from node_agent.chain.records import live_leases
from node_agent.core import events as ev
from node_agent.core.states import Pod
from node_agent.core.steps import DATA_MOVED
from node_agent.core.values import HostLease
from offchain.adapters.chain.chain_pin import note_block, seen_block
from offchain.adapters.chain.continuity import require_continued
from offchain.adapters.chain.typed import GantryChain, LeaseOfTask
from offchain.adapters.chain.watcher import Watcher
from offchain.adapters.outbox.outbox import Outbox
from offchain.adapters.outbox.store import Store
from offchain.errors import BadReply, ChainBehind, ChainUnreachable, StoreStuck
from offchain.ports import Block, BlockRef, ChainEvent, ChainPort
from offchain.schema.chain_types._generated_chain import LeaseStateEnded
from offchain.schema.chain_types.ids import TASK_PALLETS, tasks_of_event

log = logging.getLogger(__name__)

RECONNECT_S = 2.0
KEEP_REPORTS_BLOCKS = 5_000
TIDY_EVERY_BLOCKS = 500
NOTE_EVERY_BLOCKS = 16
REREAD_EVERY_BLOCKS = 15
"""Leases are compared with the chain now and then even where no event calls for it."""


class ChainFollower:
    """Compares the pods that are `held` with the leases on the chain, and gives the outbox every final block.

    `looked_through` has each of these blocks before the outbox. `store` keeps one of the last final blocks, by which
    a chain that was started anew under the agent is recognised: its leases say nothing of the pods that are held.
    """

    def __init__(
        self,
        port: ChainPort,
        chain: GantryChain,
        host: str,
        clock: ChainClock,
        silence: ChainSilence,
        outbox: Outbox,
        store: Store,
        *,
        looked_through: Callable[[Block], Awaitable[None]],
        held: Callable[[], Mapping[int, Pod]],
        emit: Callable[[ev.Event], None],
        heard: Callable[[Sequence[ChainEvent]], None],
    ) -> None:
        self._port = port
        self._chain = chain
        self._host = host
        self._clock = clock
        self._silence = silence
        self._outbox = outbox
        self._looked_through = looked_through
        self._store = store
        self._last: BlockRef | None = None
        self.trouble = ""
        """Why the chain's node is not followed now, for people; empty where it is."""
        self._held = held
        self._emit = emit
        self._heard = heard
        # Old blocks hold nothing for an agent: after a start the leases are read as they are now, and the outbox looks
        # for its own extrinsics itself. So the cursor is not kept, and a node without old state serves an agent, too.
        self._watcher = Watcher(port, Store(":memory:"), "agent", start="finalized", kept_in=store.path)
        self._reading = asyncio.Lock()
        self._final = -1
        self._unsure: dict[int, int] = {}
        """Leases seen in a block that was not final, and that block's number."""

    async def begin(self) -> tuple[BlockRef, tuple[HostLease, ...]]:
        """The newest final block, and the leases that are live there.

        Raises Reorganised where the node serves another chain than before, ChainBehind where it may.
        """
        self._last = self._last or seen_block(self._store)
        await self._require_continued()
        head = await self._port.finalized_head()
        self._clock.compare((await self._port.block(head.number)).timestamp_ms)
        self._final = head.number
        live = await live_leases(self._chain, self._host, head.hash)
        self._silence.heard()
        return head, live

    async def reasons(self, over: Iterable[int], live: Iterable[HostLease], at: bytes) -> dict[int, str]:
        """Why these leases are over."""
        moved = {lease.data_from for lease in live}
        found = await self._chain.leases(over, at)
        return {number: DATA_MOVED if number in moved else _end_of(found.get(number)) for number in over}

    async def follow_final(self) -> None:
        """Take every block that becomes final, until the node goes away."""
        try:
            await self._watcher.run(self._on_final)
        except ChainBehind as error:
            self.trouble = str(error)
            raise

    async def follow_best(self) -> None:
        """New leases are taken up before their block is final; should it be reverted, the pod is removed again."""
        heads = self._port.best()
        async with aclosing(heads) as stream:
            async for head in stream:
                if head.number < self._final:
                    raise ChainBehind(head.number, self._final, self._store.path)
                await self._after_silence()
                await self._read_best(head)
                self._silence.heard()

    async def _on_final(self, block: Block) -> None:
        self._clock.compare(block.timestamp_ms)
        await self._after_silence()
        await self._looked_through(block)
        await self._outbox.observe(block)
        self._heard(block.events)
        due_again = block.ref.number % REREAD_EVERY_BLOCKS == 0
        if due_again or self._unsure or any(self._concerns_us(event) for event in block.events):
            await self._read_final()
        self._silence.heard()
        self._last, self.trouble = block.ref, ""
        if block.ref.number % NOTE_EVERY_BLOCKS == 0:
            note_block(self._store, block.ref)
        if block.ref.number % TIDY_EVERY_BLOCKS == 0:
            self._outbox.forget_ended_before(block.ref.number - KEEP_REPORTS_BLOCKS)

    async def _after_silence(self) -> None:
        """Leases may be others' by now: their pods are stopped before anything more is said of them."""
        if self._silence.long:
            log.info("the chain is heard again after %d s", self._silence.ms // 1000)
            await self._require_continued()
            await self._read_final()

    async def _require_continued(self) -> None:
        try:
            await require_continued(self._port, self._last, self._store.path)
        except ChainBehind as error:
            self.trouble = str(error)
            raise

    def _concerns_us(self, event: ChainEvent) -> bool:
        """Whether it opens a lease of this host, or is about a task of which we hold a pod."""
        if event.pallet == "Hosts" and event.fields.get("host") == self._host:
            return True
        if event.pallet not in TASK_PALLETS:
            return False
        if event.name == "LeaseMoved" and event.fields["host"] == self._host:
            return True
        if event.name == "Assigned" and any(host == self._host for _, host, *_ in event.fields["leases"]):
            return True
        return not tasks_of_event(event.fields).isdisjoint(pod.lease.task for pod in self._held().values())

    async def _read_final(self) -> None:
        """Compare what we hold with what is live in the newest final block."""
        async with self._reading:
            head = await self._port.finalized_head()
            if head.number < self._final:
                raise ChainBehind(head.number, self._final, self._store.path)
            live = {lease.number: lease for lease in await live_leases(self._chain, self._host, head.hash)}
            self._final = max(self._final, head.number)
            self._unsure = {
                number: block for number, block in self._unsure.items() if number not in live and block > head.number
            }
            for lease in live.values():
                self._emit(ev.LeaseAssigned(lease))
            over = [number for number in self._held() if number not in live and number not in self._unsure]
            for number, reason in (await self.reasons(over, live.values(), head.hash)).items():
                self._emit(ev.LeaseEnded(number, reason))

    async def _read_best(self, head: BlockRef) -> None:
        async with self._reading:
            held = self._held()
            known = {number for number, pod in held.items() if pod.started_known or not pod.started_sent}
            for lease in await live_leases(self._chain, self._host, head.hash, known):
                if head.number <= self._final:
                    continue
                pod = held.get(lease.number)
                if pod is not None:
                    # A result may follow its started report before that is final: the reports have consecutive nonces,
                    # so no fork includes them in another order.
                    if lease.started and lease.is_same_as(pod.lease):
                        self._emit(ev.LeaseAssigned(lease))
                # Data is taken over only once it is certain whose it is.
                elif lease.data_from is None:
                    self._unsure[lease.number] = head.number
                    self._emit(ev.LeaseAssigned(lease))


async def keep_reconnecting(work: Callable[[], Awaitable[None]]) -> None:
    """Do this for ever; where the node goes away, or the disk is full, again when that may be over."""
    while True:
        try:
            await work()
        except (ChainUnreachable, BadReply, StoreStuck) as error:
            log.warning("%s Containers run on; trying again.", error)
        await asyncio.sleep(RECONNECT_S)


def _end_of(lease: LeaseOfTask | None) -> str:
    """Why a lease is over, for the log."""
    if lease is None:
        return "GivenUp"
    state = lease.record.state
    return state.value.tag if isinstance(state, LeaseStateEnded) else state.tag
