"""The picture of the chain that workers share: final records, and a look ahead at the best block (ADR 0010)."""

from __future__ import annotations

from dataclasses import replace

from offchain.core.scheduler import host_observations
from offchain.core.scheduler.host_observations import HostObservation
from offchain.core.snapshot import Read, Snapshot, Touched, advance, changed, only, touched, union
from offchain.core.values import Host, Task
from offchain.ports import Block, BlockRef, ChainPort
from offchain.services.snapshot_reader import SnapshotReader


class ChainView:
    """A snapshot that follows finalized blocks, and over it what newer blocks have changed, read at the best one.

    Start it once, then give it every finalized block in order, and best blocks as they come.
    """

    def __init__(self, chain: ChainPort) -> None:
        self.reads = SnapshotReader(chain)
        self._chain = chain
        self._final: Snapshot | None = None
        self._final_hash = b""
        self._next_task = 0
        self._best: BlockRef | None = None
        self._now = 0
        self._touched_ahead: dict[int, Touched] = {}
        self._ahead = Read()
        self._news: dict[str, Touched] = {}
        self._seen: dict[str, list[HostObservation]] = {}

    async def start(self) -> BlockRef:
        """Read everything live at the last finalized block; gives that block."""
        head = await self._chain.finalized_head()
        self._final, self._final_hash = await self.reads.snapshot(head), head.hash
        self._next_task = await self.reads.next_task_id(head.hash)
        self._best, self._now = head, self._final.now_ms
        self._touched_ahead, self._ahead = {}, Read()
        self._news.clear()
        return head

    async def finalized(self, block: Block) -> Touched:
        """Take in the next finalized block; gives what it touched."""
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
        self._touched_ahead = {n: keys for n, keys in self._touched_ahead.items() if n > block.ref.number}
        self._ahead = only(self._ahead, union(self._touched_ahead.values()))
        self._now = max(self._now, block.timestamp_ms)
        self._tell(found)
        return found

    async def best(self, ref: BlockRef) -> Touched:
        """Look ahead: chain time, and records that blocks which are not final yet have changed; gives what changed."""
        self._now = await self.reads.now(ref.hash)
        self._best = ref
        if ref.number <= self.final.number:
            return Touched()
        # Blocks may be skipped on the way here. New tasks of skipped ones are found by their numbers; what else they
        # changed is seen when they are final.
        submitted = Touched(tasks=frozenset(range(self._next_task, await self.reads.next_task_id(ref.hash))))
        before_it, events = self.snapshot, await self.reads.events(ref.hash)
        self._observe(*host_observations.pod_observations(before_it, events, self._now))
        found = union((touched(before_it, events), submitted))
        known = self._touched_ahead.get(ref.number, Touched())
        self._touched_ahead[ref.number] = union((known, found))
        before = self._ahead
        self._ahead = await self.reads.read(union(self._touched_ahead.values()), ref.hash)
        all_of_it = union((found, changed(before, self._ahead)))
        self._tell(all_of_it)
        return all_of_it

    async def refresh(self, keys: Touched) -> None:
        """Read these records again at the last finalized block, for changes that leave no event."""
        read = await self.reads.read(keys, self._final_hash)
        self._final = advance(self.final, self.final.number, self.final.now_ms, read)
        self._tell(keys)

    def news(self, reader: str) -> Touched | None:
        """What may have changed since this reader asked last; None: everything, for it asks for the first time."""
        found = self._news.get(reader)
        self._news[reader] = Touched()
        return found

    def seen(self, reader: str) -> list[HostObservation]:
        """What hosts did since this reader asked last; nothing where it asks for the first time.

        What became of a pod comes with the best block, and once more with the final one.
        """
        found = self._seen.get(reader, [])
        self._seen[reader] = []
        return found

    def _observe(self, *seen: HostObservation) -> None:
        for known in self._seen.values():
            known.extend(seen)

    def _tell(self, keys: Touched) -> None:
        if keys.anything:
            self._news = {reader: union((known, keys)) for reader, known in self._news.items()}

    def host(self, host: str) -> Host | None:
        """A host as :attr:`snapshot` has it, without making that; None where there is none."""
        return self._ahead.hosts[host] if host in self._ahead.hosts else self.final.hosts.get(host)

    def task(self, number: int) -> Task | None:
        """A task as :attr:`snapshot` has it, without making that; None where it is final."""
        return self._ahead.tasks[number] if number in self._ahead.tasks else self.final.tasks.get(number)

    @property
    def schedulers(self) -> frozenset[str]:
        """Who is bonded as a scheduler, in the best block."""
        return self.final.schedulers if self._ahead.schedulers is None else self._ahead.schedulers

    @property
    def now_ms(self) -> int:
        """Chain time of the best block."""
        return self._now

    def is_final(self, task: int) -> bool:
        """Whether this task's submission is in a finalized block."""
        return task < self._next_task

    async def confirm(self, keys: Touched) -> Snapshot:
        """The present snapshot with these records as they are in the best block."""
        at = self.best_block.hash
        return advance(self.snapshot, self.final.number, self._now, await self.reads.read(keys, at))

    @property
    def final_hash(self) -> bytes:
        """The last finalized block that was taken in."""
        return self._final_hash

    @property
    def final(self) -> Snapshot:
        """Finalized records only."""
        if self._final is None:
            raise RuntimeError("the view was not started")
        return self._final

    @property
    def snapshot(self) -> Snapshot:
        """Finalized records with what is ahead of them; chain time is that of the best block."""
        return advance(self.final, self.final.number, self._now, self._ahead)

    @property
    def best_block(self) -> BlockRef:
        """The best block seen."""
        if self._best is None:
            raise RuntimeError("the view was not started")
        return self._best
