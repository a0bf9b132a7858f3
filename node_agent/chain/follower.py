"""Follows the chain, and turns changes of this host's leases into events of the core."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing

from node_agent.chain.clock import ChainClock, ChainSilence
from node_agent.chain.own_blocks import OwnBlocks
from node_agent.chain.records import live_leases
from node_agent.core import events as ev
from node_agent.core.pod_steps import DATA_MOVED
from node_agent.core.states import Pod
from node_agent.core.values import HostLease
from offchain.adapters.chain.chain_identity import note_block, require_continued, seen_block
from offchain.adapters.chain.typed import GantryChain, LeaseOfTask
from offchain.adapters.outbox.outbox import Outbox
from offchain.adapters.outbox.store import Store
from offchain.errors import ChainBehind
from offchain.ports import Block, BlockRef, ChainEvent, ChainPort
from offchain.schema.chain_types._generated_chain import LeaseStateEnded
from offchain.schema.chain_types.ids import TASK_PALLETS, tasks_of_event

log = logging.getLogger(__name__)

KEEP_REPORTS_BLOCKS = 5_000
"""How long the outbox keeps calls that have an outcome."""
NOTE_EVERY_BLOCKS = 16
"""Interval at which a final block is stored, by which a chain that was started anew is recognised."""
REREAD_EVERY_BLOCKS = 15
"""Leases are compared with the chain at this interval even without an event."""


class ChainFollower:
    """Compares the pods of the agent with the leases on the chain, and passes the final blocks to the outbox.

    `on_block` gets each block before the outbox; blocks that do not concern the host are empty, see
    :class:`OwnBlocks`. `tasks` returns tasks of other hosts whose changes concern this one. `store` keeps a recent
    final block, by which a chain that was started anew is recognised: its leases say nothing about the pods.
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
        on_block: Callable[[Block], Awaitable[None]],
        held: Callable[[], Mapping[int, Pod]],
        tasks: Callable[[], Iterable[int]],
        emit: Callable[[ev.Event], None],
        on_events: Callable[[Sequence[ChainEvent]], None],
    ) -> None:
        self._port = port
        self._chain = chain
        self._host = host
        self._clock = clock
        self._silence = silence
        self._outbox = outbox
        self._on_block = on_block
        self._store = store
        self._last: BlockRef | None = None
        self.trouble = ""
        """Why the node is not followed now, as a sentence; empty if it is."""
        self._held = held
        self._emit = emit
        self._on_events = on_events
        self._tasks = tasks
        # Old blocks are irrelevant: after a start the leases are read in their current state, and the outbox looks for
        # its own extrinsics. So the last block is not stored, and a node without old state is sufficient.
        self._blocks = OwnBlocks(port, host, self._tasks_needed, store.path)
        self._reading = asyncio.Lock()
        self._final = -1
        self._unfinalized: dict[int, int] = {}
        """Leases from blocks that are not final, with the block numbers."""
        self._best: BlockRef | None = None
        """The best block whose leases were read last."""

    async def begin(self) -> tuple[BlockRef, tuple[HostLease, ...]]:
        """Return the newest final block and the leases that are live there.

        Raises Reorganised if the node serves another chain than before, ChainBehind if it may.
        """
        self._last = self._last or seen_block(self._store)
        await self._require_continued()
        head = await self._port.finalized_head()
        self._clock.compare((await self._port.block(head.number)).timestamp_ms)
        self._final = head.number
        live = await live_leases(self._chain, self._host, head.hash)
        self._silence.note_block()
        return head, live

    async def reasons(self, over: Iterable[int], live: Iterable[HostLease], at: bytes) -> dict[int, str]:
        """Return the reasons why these leases are over."""
        moved = {lease.data_from for lease in live}
        found = await self._chain.leases(over, at)
        return {number: DATA_MOVED if number in moved else _end_of(found.get(number)) for number in over}

    async def follow_final(self) -> None:
        """Process the final blocks until the node goes away."""
        try:
            async with aclosing(self._blocks.blocks()) as blocks:
                async for block in blocks:
                    await self._on_final(block)
        except ChainBehind as error:
            self.trouble = str(error)
            raise

    async def follow_best(self) -> None:
        """Take up new leases before their block is final; if it is reverted, the pod is removed."""
        heads = self._port.best()
        async with aclosing(heads) as stream:
            async for head in stream:
                if head.number < self._final:
                    raise ChainBehind(head.number, self._final, self._store.path)
                await self._after_silence()
                await self._read_best(head)
                self._outbox.notice_best()
                self._silence.note_block()

    async def _on_final(self, block: Block) -> None:
        self._clock.compare(block.timestamp_ms)
        await self._after_silence()
        await self._on_block(block)
        await self._outbox.observe(block)
        self._on_events(block.events)
        due_again = block.ref.number % REREAD_EVERY_BLOCKS == 0
        if due_again or self._unfinalized or any(self._is_relevant(event) for event in block.events):
            await self._read_final()
        self._silence.note_block()
        self._last, self.trouble = block.ref, ""
        if block.ref.number % NOTE_EVERY_BLOCKS == 0:
            note_block(self._store, block.ref)
        self._outbox.forget_old(block.ref.number, KEEP_REPORTS_BLOCKS)

    async def _after_silence(self) -> None:
        """After a long silence, stop the pods of reassigned leases before anything else."""
        if self._silence.is_long:
            log.info("the chain is heard again after %d s", self._silence.ms // 1000)
            await self._require_continued()
            await self._read_final()

    async def _require_continued(self) -> None:
        try:
            await require_continued(self._port, self._last, self._store.path)
        except ChainBehind as error:
            self.trouble = str(error)
            raise

    def _tasks_needed(self) -> Iterable[int]:
        return [*(pod.lease.task for pod in self._held().values()), *self._tasks()]

    def _is_relevant(self, event: ChainEvent) -> bool:
        """Whether the event opens a lease of this host or concerns the task of one of its pods."""
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
        """Compare the pods with the leases that are live in the newest final block."""
        async with self._reading:
            head = await self._port.finalized_head()
            if head.number < self._final:
                raise ChainBehind(head.number, self._final, self._store.path)
            live = {lease.number: lease for lease in await live_leases(self._chain, self._host, head.hash)}
            self._final = max(self._final, head.number)
            self._unfinalized = {
                number: block
                for number, block in self._unfinalized.items()
                if number not in live and block > head.number
            }
            for lease in live.values():
                self._emit(ev.LeaseAssigned(lease))
            over = [number for number in self._held() if number not in live and number not in self._unfinalized]
            for number, reason in (await self.reasons(over, live.values(), head.hash)).items():
                log.info("lease %d: it is over in final block %d (%s)", number, head.number, reason)
                self._emit(ev.LeaseEnded(number, reason))

    async def _read_best(self, head: BlockRef) -> None:
        async with self._reading:
            held = self._held()
            known = {number for number, pod in held.items() if pod.started_known or not pod.started_sent}
            if known and not await self._is_child_of_last(head):
                known = set()  # the best block may be of another fork, which opened the leases again
            self._best = head
            for lease in await live_leases(self._chain, self._host, head.hash, known):
                if head.number <= self._final:
                    continue
                pod = held.get(lease.number)
                if pod is not None:
                    # A result may follow its started report before that is final: reports have consecutive nonces, so
                    # every fork includes them in this order.
                    if lease.reopens(pod.lease):
                        log.info(
                            "lease %d: another fork opened it again in block %d or before",
                            pod.lease.number,
                            head.number,
                        )
                        self._unfinalized[lease.number] = head.number
                    elif not lease.started or not lease.is_same_as(pod.lease):
                        continue
                    self._emit(ev.LeaseAssigned(lease))
                # Data is taken over only if the lease is final.
                elif lease.data_from is None:
                    self._unfinalized[lease.number] = head.number
                    self._emit(ev.LeaseAssigned(lease))

    async def _is_child_of_last(self, head: BlockRef) -> bool:
        """Whether the best block follows the one whose leases were read last."""
        if self._best is None or head.number != self._best.number + 1:
            return False
        return await self._chain.parent_hash(head.hash) == self._best.hash


def _end_of(lease: LeaseOfTask | None) -> str:
    """Return why a lease is over, for the log."""
    if lease is None:
        return "GivenUp"
    state = lease.record.state
    return state.value.tag if isinstance(state, LeaseStateEnded) else state.tag
