"""The view of the chain that workers share: finalized records, overlaid with those of the best block (ADR 0010)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from offchain.core.scheduler import host_observations
from offchain.core.scheduler.host_observations import HostObservation
from offchain.core.snapshot import Read, Snapshot, Touched, advance, changed, only, overlaid, touched, union
from offchain.core.values import Host, Task
from offchain.ports import Block, BlockRef, ChainPort
from offchain.services.snapshot_reader import SnapshotReader


class ChainView:
    """A snapshot of finalized records, overlaid with records that newer blocks have changed, read at the best block.

    Call :meth:`start` once, then pass every finalized block in order, and best blocks as they arrive.
    """

    def __init__(self, chain: ChainPort) -> None:
        self.reads = SnapshotReader(chain)
        self._chain = chain
        self._final: Snapshot | None = None
        self._final_hash = b""
        self._next_task = 0
        """The number of the next task in the last finalized block."""
        self._best_next_task = 0
        """The same in the best block."""
        self._best: BlockRef | None = None
        self.session_seed = b""
        """The randomness of the chain's session in the best block."""
        self._now = 0
        self._touched_after_final: dict[int, Touched] = {}
        self._overlay = Read()
        self._news: dict[str, Touched] = {}
        self._seen: dict[str, list[HostObservation]] = {}

    async def start(self) -> BlockRef:
        """Read all live records at the last finalized block, and return the block."""
        head = await self._chain.finalized_head()
        self._final, self._final_hash = await self.reads.snapshot(head), head.hash
        self._next_task = await self.reads.next_task_id(head.hash)
        self._best, self._now = head, self._final.now_ms
        self.session_seed = await self.reads.session_seed(head.hash)
        self._touched_after_final, self._overlay = {}, Read()
        self._news.clear()
        return head

    async def finalized(self, block: Block) -> Touched:
        """Apply the next finalized block, and return what it touched."""
        found = touched(self.final, block.events)
        self._observe(*host_observations.pod_observations(self.final, block.events, block.timestamp_ms))
        self._observe(*host_observations.host_observations(self.final, block.events, block.timestamp_ms))
        read = await self.reads.read(found, block.ref.hash) if found.anything else Read()
        self._final = replace(
            advance(self.final, block.ref.number, block.timestamp_ms, read),
            agenda_at=await self.reads.agenda_at(block.ref.hash),
        )
        self._final_hash = block.ref.hash
        self._next_task = max([self._next_task, *(task + 1 for task in found.tasks)])
        self._touched_after_final = {n: keys for n, keys in self._touched_after_final.items() if n > block.ref.number}
        self._overlay = only(self._overlay, union(self._touched_after_final.values()))
        self._now = max(self._now, block.timestamp_ms)
        self._notify_readers(found)
        return found

    async def best(self, ref: BlockRef) -> Touched:
        """Read the chain time, and the records changed by blocks that are not final; return what changed."""
        before = self.best_block
        if ref.number <= self.final.number:
            # What blocks of a dropped fork changed is not so.
            self._now, self._best = await self.reads.now(ref.hash), ref
            found, self._overlay = changed(self._overlay, Read()), Read()
            self._notify_readers(found)
            return found
        header, events = await asyncio.gather(self.reads.header(ref.hash), self.reads.events(ref.hash))
        self._now, self.session_seed = header.now_ms, header.session_seed
        # Best blocks may be skipped. New tasks of skipped blocks are found by their numbers; their other changes are
        # applied when the blocks are final.
        follows = header.parent == before.hash
        first = max(self._next_task, self._best_next_task) if follows else self._next_task
        submitted = Touched(tasks=frozenset(range(first, header.next_task)))
        snapshot = self.snapshot
        self._observe(*host_observations.pod_observations(snapshot, events, self._now))
        found = union((touched(snapshot, events), submitted))
        known = self._touched_after_final.get(ref.number, Touched())
        self._touched_after_final[ref.number] = union((known, found))
        if follows:
            self._overlay = overlaid(self._overlay, await self.reads.read(found, ref.hash))
        else:
            # The block before it may be of another fork.
            overlay = self._overlay
            self._overlay = await self.reads.read(union(self._touched_after_final.values()), ref.hash)
            found = union((found, changed(overlay, self._overlay)))
        # Last: a block whose records could not be read is not one that the next can follow.
        self._best, self._best_next_task = ref, header.next_task
        self._notify_readers(found)
        return found

    async def refresh(self, keys: Touched) -> None:
        """Read records again at the best block, for changes that deposit no event."""
        best = self.best_block
        read = await self.reads.read(keys, best.hash)
        if best.number <= self.final.number:
            self._final = advance(self.final, self.final.number, self.final.now_ms, read)
        else:
            self._overlay = overlaid(self._overlay, read)
            known = self._touched_after_final.get(best.number, Touched())
            self._touched_after_final[best.number] = union((known, keys))
        self._notify_readers(keys)

    def forget_readers(self) -> None:
        """Report everything to all readers as if they were new, after an outage of the node."""
        self._news.clear()
        self._seen.clear()

    def news(self, reader: str) -> Touched | None:
        """Return what may have changed since the reader's last call; None at its first call: everything."""
        found = self._news.get(reader)
        self._news[reader] = Touched()
        return found

    def seen(self, reader: str) -> list[HostObservation]:
        """Return the observations of hosts since the reader's last call; empty at its first call.

        Observations of pods come with the best block, and again with the finalized one.
        """
        found = self._seen.get(reader, [])
        self._seen[reader] = []
        return found

    def _observe(self, *seen: HostObservation) -> None:
        for known in self._seen.values():
            known.extend(seen)

    def _notify_readers(self, keys: Touched) -> None:
        if keys.anything:
            self._news = {reader: union((known, keys)) for reader, known in self._news.items()}

    def host(self, host: str) -> Host | None:
        """Return a host as in :attr:`snapshot`, without building the snapshot; None: it does not exist."""
        return self._overlay.hosts[host] if host in self._overlay.hosts else self.final.hosts.get(host)

    def task(self, number: int) -> Task | None:
        """Return a task as in :attr:`snapshot`, without building the snapshot; None: it is final."""
        return self._overlay.tasks[number] if number in self._overlay.tasks else self.final.tasks.get(number)

    @property
    def schedulers(self) -> frozenset[str]:
        """The bonded schedulers in the best block."""
        return self.final.schedulers if self._overlay.schedulers is None else self._overlay.schedulers

    @property
    def now_ms(self) -> int:
        """Chain time of the best block."""
        return self._now

    def is_final(self, task: int) -> bool:
        """Return whether the task's submission is in a finalized block."""
        return task < self._next_task

    async def confirm(self, keys: Touched) -> Snapshot:
        """Return the snapshot with `keys` read again at the best block."""
        at = self.best_block.hash
        return advance(self.snapshot, self.final.number, self._now, await self.reads.read(keys, at))

    @property
    def final_hash(self) -> bytes:
        """The hash of the last finalized block that was applied."""
        return self._final_hash

    @property
    def final(self) -> Snapshot:
        """Finalized records only."""
        if self._final is None:
            raise RuntimeError("the view was not started")
        return self._final

    @property
    def snapshot(self) -> Snapshot:
        """Finalized records overlaid with those of the best block, whose chain time it has."""
        return advance(self.final, self.final.number, self._now, self._overlay)

    @property
    def best_block(self) -> BlockRef:
        """The best block that was read last."""
        if self._best is None:
            raise RuntimeError("the view was not started")
        return self._best
