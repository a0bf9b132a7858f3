"""What a run came to, from the chain's events alone and from what is left on the machine. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from offchain.indexer.block_rows import read_block
from offchain.indexer.derive_values import text_of
from offchain.indexer.projection import Projection
from offchain.indexer.rows import HostRow, LeaseRow, R, TaskRow
from offchain.ports import Block

_ENDS = ("Settled", "Cancelled", "Expired")


@dataclass(frozen=True)
class Expected:
    """What every task is to come to."""

    tasks: int
    result_digest: str


@dataclass
class Findings:
    """`lost`, `doubled`, `orphans`, `books`: a sentence for each; `coins_off`: base units missing or too many."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    books: list[str] = field(default_factory=list)
    coins_off: int = 0
    attempts: int = 0

    @property
    def said(self) -> list[str]:
        """All that is wrong. Empty after a good run."""
        return [*self.lost, *self.doubled, *self.orphans, *self.books]

    def off(self, what: str, found: int, expected: int) -> None:
        """Note an amount that is not what it should be."""
        if found != expected:
            self.coins_off += abs(found - expected)
            self.books.append(f"{what}: {found} base units where {expected} should be")


class Ledger:
    """Adds up final blocks as they come."""

    def __init__(self) -> None:
        self._projection = Projection()
        self._submissions: Counter[int] = Counter()
        self._ends: Counter[int] = Counter()
        self._reports: Counter[int] = Counter()
        self._fees: Counter[str] = Counter()
        self._bonds: Counter[str] = Counter()

    def add(self, block: Block) -> None:
        """The next block."""
        self._projection.apply(read_block(block).indexed)
        self._projection.drain()
        for event in block.events:
            if event.name == "TransactionFeePaid":
                self._fees[event.fields["who"]] += event.fields["actual_fee"]
            # For faults, and for absences that somebody reports: an event of the pallet tells of the first only.
            if event.name == "TransferOnHold" and text_of(event.fields["reason"]) == "Hosts(Bond)":
                self._bonds[event.fields["source"]] -= event.fields["amount"]
                self._bonds[event.fields["dest"]] += event.fields["amount"]
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
        return {row.task: row for row in self._rows(TaskRow)}

    @property
    def leases(self) -> Mapping[int, LeaseRow]:
        """The leases so far."""
        return {row.lease: row for row in self._rows(LeaseRow)}

    def gains(self) -> Mapping[str, int]:
        """By how much the coins of each tenant and provider must have grown, held ones among them: what bills, bonds
        and fees say.
        """
        hosts = {row.host: row for row in self._rows(HostRow)}
        found: Counter[str] = Counter()
        for lease in self._rows(LeaseRow):
            found[self.tasks[lease.task].tenant] -= lease.paid
            found[hosts[lease.host].provider] += lease.paid - lease.fee
        return {account: gain + self._bonds[account] - self._fees[account] for account, gain in found.items()}

    def ended(self) -> int:
        """How many tasks can go to no other state."""
        return sum(row.state in _ENDS or row.state.startswith("Failed") for row in self.tasks.values())

    def shown(self) -> str:
        """How many tasks are in each state now."""
        states = Counter(row.state.partition("(")[0] for row in self.tasks.values())
        return ", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "no task yet"

    def judge(self, expected: Expected) -> Findings:
        """Every task ended once, with its result, and was paid once; none is there that nobody wanted."""
        found = Findings()
        tasks, leases = self.tasks, self._leases_by_task()
        if len(tasks) < expected.tasks:
            found.lost.append(f"{expected.tasks} tasks were submitted, the chain knows of {len(tasks)}")
        if len(tasks) > expected.tasks:
            found.doubled.append(f"{expected.tasks} tasks were submitted, the chain has {len(tasks)}")
        for number, task in sorted(tasks.items()):
            own = leases.get(number, [])
            found.attempts += max(0, len(own) - 1)
            found.lost += _missing(task, own, expected)
            found.doubled += self._too_much(number, own)
            for lease in own:
                if lease.ended_ms is None:
                    found.lost.append(f"lease {lease.lease} of task {number} has not ended")
                else:
                    found.off(f"paid and repaid of lease {lease.lease}", lease.paid + lease.refunded, lease.deposited)
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

    def _rows(self, table: type[R]) -> list[R]:
        # Copied first: another thread may ask while blocks are added.
        return [row for row in list(self._projection.state.get(table, {}).values()) if isinstance(row, table)]

    def _leases_by_task(self) -> dict[int, list[LeaseRow]]:
        found: dict[int, list[LeaseRow]] = {}
        for row in self._rows(LeaseRow):
            found.setdefault(row.task, []).append(row)
        return found


def _missing(task: TaskRow, leases: Sequence[LeaseRow], expected: Expected) -> list[str]:
    if task.state != "Settled":
        return [f"task {task.task} is {task.state}"]
    good = [lease for lease in leases if _is_good(lease, expected)]
    if not good:
        return [f"task {task.task} is settled without its result"]
    if not any(lease.paid for lease in good):
        return [f"task {task.task} is settled and nobody was paid for its result"]
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
