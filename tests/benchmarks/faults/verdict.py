"""What a run came to, from the chain's events alone and from what is left on the machine. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from offchain.indexer.fold import Fold, read_block
from offchain.indexer.rows import LeaseRow, TaskRow
from offchain.link.ports import Block

_ENDS = ("Settled", "Cancelled", "Expired")


@dataclass(frozen=True)
class Expected:
    """What every task is to come to."""

    tasks: int
    result_digest: str


@dataclass
class Findings:
    """`lost`, `doubled`, `orphans`: a sentence for each; `coins_off`: base units that are missing or too many."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    coins_off: int = 0
    attempts: int = 0

    @property
    def clean(self) -> bool:
        """Whether there is nothing to say."""
        return not (self.lost or self.doubled or self.orphans or self.coins_off)


class Ledger:
    """Adds up final blocks as they come."""

    def __init__(self) -> None:
        self._fold = Fold()
        self._submissions: Counter[int] = Counter()
        self._ends: Counter[int] = Counter()
        self._reports: Counter[int] = Counter()

    def add(self, block: Block) -> None:
        """The next block."""
        self._fold.take(read_block(block).seen)
        self._fold.drain()
        for event in block.events:
            if event.pallet != "Tasks":
                continue
            if event.name == "Submitted":
                first, count = event.fields["first"], event.fields["count"]
                self._submissions.update(range(first, first + count))
            elif event.name in _ENDS:
                self._ends[event.fields["task"]] += 1
            elif event.name == "PodReported":
                self._reports[event.fields["lease"]] += 1

    @property
    def tasks(self) -> Mapping[int, TaskRow]:
        """The tasks so far."""
        # Copied first: another thread may ask while blocks are added.
        rows = list(self._fold.state.get(TaskRow, {}).values())
        return {row.task: row for row in rows if isinstance(row, TaskRow)}

    def ended(self) -> int:
        """How many tasks can go to no other state."""
        return sum(row.state in _ENDS or row.state.startswith("Failed") for row in self.tasks.values())

    def judge(self, expected: Expected) -> Findings:
        """Every task ended once, with its result, and was paid once; none is there that nobody wanted."""
        found = Findings()
        tasks, leases = self.tasks, self._leases()
        if len(tasks) < expected.tasks:
            found.lost.append(f"{expected.tasks} tasks were submitted, the chain knows of {len(tasks)}")
        if len(tasks) > expected.tasks:
            found.doubled.append(f"{expected.tasks} tasks were submitted, the chain has {len(tasks)}")
        for number, task in sorted(tasks.items()):
            own = leases.get(number, [])
            found.attempts += max(0, len(own) - 1)
            found.lost += _missing(task, own, expected)
            found.doubled += self._too_much(number, own)
            ended = [lease for lease in own if lease.ended_ms is not None]
            found.coins_off += sum(abs(lease.deposited - lease.paid - lease.refunded) for lease in ended)
        return found

    def _too_much(self, task: int, leases: Sequence[LeaseRow]) -> list[str]:
        found = []
        if self._ends[task] > 1:
            found.append(f"task {task} ended {self._ends[task]} times")
        paid = [lease.lease for lease in leases if lease.paid]
        if len(paid) > 1:
            found.append(f"task {task} was paid for {len(paid)} leases: {paid}")
        twice = [lease.lease for lease in leases if self._reports[lease.lease] > 1]
        return found + [f"lease {lease} has {self._reports[lease]} results" for lease in twice]

    def _leases(self) -> dict[int, list[LeaseRow]]:
        found: dict[int, list[LeaseRow]] = {}
        for row in self._fold.state.get(LeaseRow, {}).values():
            if isinstance(row, LeaseRow):
                found.setdefault(row.task, []).append(row)
        return found


def _missing(task: TaskRow, leases: Sequence[LeaseRow], expected: Expected) -> list[str]:
    if task.state != "Settled":
        return [f"task {task.task} is {task.state}"]
    if not any(_is_good(lease, expected) for lease in leases):
        return [f"task {task.task} is settled without its result"]
    if not any(lease.paid for lease in leases):
        return [f"task {task.task} is settled and nobody was paid"]
    return []


def _is_good(lease: LeaseRow, expected: Expected) -> bool:
    return lease.exit_code == 0 and lease.result_digest == f"0x{expected.result_digest}"


def summary(findings: Findings, facts: Mapping[str, object], killed: Sequence[str], tasks: int) -> dict[str, object]:
    """The object on the last line."""
    return {
        "kills": len(killed),
        "tasks": tasks,
        "lost": len(findings.lost),
        "doubled": len(findings.doubled),
        "orphans": len(findings.orphans),
        "coins_off": findings.coins_off,
        "attempts_more_than_one": findings.attempts,
        "killed": dict(sorted(Counter(name.partition("-")[0] for name in killed).items())),
        **facts,
    }
