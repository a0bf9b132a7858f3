"""The picture of the chain that workers share: final records, and a look ahead at the best block (ADR 0010)."""

from __future__ import annotations

from offchain.core.snapshot import Read, Snapshot, Touched, advance, touched
from offchain.core.values import Task
from offchain.link.ports import Block, BlockRef, ChainPort
from offchain.services.reads import Reads


class View:
    """A snapshot that follows finalized blocks, with tasks that are in the best block only beside it.

    Start it once, then give it every finalized block in order, and best blocks as they come.
    """

    def __init__(self, chain: ChainPort) -> None:
        self.reads = Reads(chain)
        self._chain = chain
        self._final: Snapshot | None = None
        self._final_hash = b""
        self._next_task = 0
        self._best: BlockRef | None = None
        self._now = 0
        self._ahead: dict[int, Task | None] = {}

    async def start(self) -> BlockRef:
        """Read everything live at the last finalized block; gives that block."""
        head = await self._chain.finalized_head()
        self._final, self._final_hash = await self.reads.snapshot(head), head.hash
        self._next_task = await self.reads.next_task_id(head.hash)
        self._best, self._now, self._ahead = head, self._final.now_ms, {}
        return head

    async def finalized(self, block: Block) -> Touched:
        """Take in the next finalized block; gives what it touched."""
        found = touched(self.final, block.events)
        read = await self.reads.read(found, block.ref.hash) if found.anything else Read()
        self._final = advance(self.final, block.ref.number, block.timestamp_ms, read)
        self._final_hash = block.ref.hash
        self._next_task = max([self._next_task, *(task + 1 for task in found.tasks)])
        self._ahead = {key: task for key, task in self._ahead.items() if key >= self._next_task}
        self._now = max(self._now, block.timestamp_ms)
        return found

    async def best(self, ref: BlockRef) -> bool:
        """Look ahead: chain time, and tasks that no finalized block has yet; gives whether those changed."""
        now = await self.reads.now(ref.hash)
        until = await self.reads.next_task_id(ref.hash)
        before = self._ahead
        self._ahead = await self.reads.tasks(range(self._next_task, until), ref.hash)
        self._best, self._now = ref, now
        return self._ahead != before

    async def refresh(self, keys: Touched) -> None:
        """Read these records again at the last finalized block, for changes that leave no event."""
        read = await self.reads.read(keys, self._final_hash)
        self._final = advance(self.final, self.final.number, self.final.now_ms, read)

    def is_final(self, task: int) -> bool:
        """Whether this task's submission is in a finalized block."""
        return task < self._next_task

    async def confirm(self, keys: Touched) -> Snapshot:
        """The present snapshot with these records as they are in the best block."""
        at = self.best_block.hash
        return advance(self.snapshot, self.final.number, self._now, await self.reads.read(keys, at))

    @property
    def final(self) -> Snapshot:
        """Finalized records only."""
        if self._final is None:
            raise RuntimeError("the view was not started")
        return self._final

    @property
    def snapshot(self) -> Snapshot:
        """Finalized records, and the tasks ahead of them; chain time is that of the best block."""
        return advance(self.final, self.final.number, self._now, Read(tasks=self._ahead))

    @property
    def best_block(self) -> BlockRef:
        """The best block seen."""
        if self._best is None:
            raise RuntimeError("the view was not started")
        return self._best
