"""What a run came to, from the chain's events alone and from what is left on the machine. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from offchain.indexer.derive import text_of
from offchain.indexer.fold import Fold, read_block
from offchain.indexer.rows import HostRow, LeaseRow, R, TaskRow
from offchain.link.ports import Block

_ENDS = ("Settled", "Cancelled", "Expired")


@dataclass(frozen=True)
class Expected:
    """What every task is to come to."""

    tasks: int
    result_digest: str


@dataclass(frozen=True)
class Moment:
    """A block and its time."""

    hash: bytes
    time_ms: int


def away_ms(host: Mapping[str, Any], now_ms: int, absence_limit_ms: int) -> int:
    """How long a host was away until now in all, by its record: `Hosts::downtime_ms` of the chain.

    Silence counts, from the last heartbeat on, where it was reported or is longer than the limit.
    """
    last = int(host["last_heartbeat"])
    away = last > 0 and (text_of(host["status"]) == "Offline" or now_ms > last + absence_limit_ms)
    return int(host["downtime_ms"]) + (max(0, now_ms - last) if away else 0)


@dataclass
class Findings:
    """`lost`, `doubled`, `orphans`, `books`: a sentence for each; `coins_off`: base units missing or too many.

    `unpaid`: a sentence for each task that is settled with its result for nothing, as its host was held to be away.
    """

    lost: list[str] = field(default_factory=list)
    unpaid: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    books: list[str] = field(default_factory=list)
    coins_off: int = 0
    attempts: int = 0

    @property
    def said(self) -> list[str]:
        """All that is wrong. Empty after a good run; what is free of charge by the chain's rules is not in it."""
        return [*self.lost, *self.doubled, *self.orphans, *self.books]

    def off(self, what: str, found: int, expected: int) -> None:
        """Note an amount that is not what it should be."""
        if found != expected:
            self.coins_off += abs(found - expected)
            self.books.append(f"{what}: {found} base units where {expected} should be")


class Ledger:
    """Adds up final blocks as they come."""

    def __init__(self) -> None:
        self._fold = Fold()
        self._submissions: Counter[int] = Counter()
        self._ends: Counter[int] = Counter()
        self._reports: Counter[int] = Counter()
        self._fees: Counter[str] = Counter()
        self._bonds: Counter[str] = Counter()
        self._began: dict[int, Moment] = {}
        self._reported: dict[int, Moment] = {}
        self._absent: dict[str, list[int]] = {}
        """[host]: when it was reported absent."""

    def add(self, block: Block) -> None:
        """The next block."""
        self._fold.take(read_block(block).seen)
        self._fold.drain()
        for event in block.events:
            if event.name == "TransactionFeePaid":
                self._fees[event.fields["who"]] += event.fields["actual_fee"]
            # For faults, and for absences that somebody reports: an event of the pallet tells of the first only.
            if event.name == "TransferOnHold" and text_of(event.fields["reason"]) == "Hosts(Bond)":
                self._bonds[event.fields["source"]] -= event.fields["amount"]
                self._bonds[event.fields["dest"]] += event.fields["amount"]
            if event.name == "AbsenceReported":
                self._absent.setdefault(event.fields["host"], []).append(block.timestamp_ms)
            if event.pallet != "Tasks":
                continue
            if event.name == "Submitted":
                first, count = event.fields["first"], event.fields["count"]
                self._submissions.update(range(first, first + count))
            elif event.name in _ENDS:
                self._ends[event.fields["task"]] += 1
            elif event.name == "PodReported":
                self._reports[event.fields["lease"]] += 1
                self._reported[event.fields["lease"]] = Moment(block.ref.hash, block.timestamp_ms)
            elif event.name == "PodStarted":
                self._began[event.fields["lease"]] = Moment(block.ref.hash, block.timestamp_ms)

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

    def unpaid(self, expected: Expected) -> Mapping[int, tuple[str, Moment, Moment]]:
        """[lease]: its host, start and result, for each result of a settled task that nobody was paid for."""
        leases = self._leases_by_task()
        good = [
            lease
            for task in self.tasks.values()
            if task.state == "Settled" and not task.paid
            for lease in leases.get(task.task, ())
            if _is_good(lease, expected)
        ]
        return {one.lease: (one.host, self._began[one.lease], self._reported[one.lease]) for one in good}

    def judge(self, expected: Expected, away: Mapping[int, int]) -> Findings:
        """Every task ended once, with its result, and was paid once; none is there that nobody wanted.

        `away[lease]`: for how many milliseconds between start and result the chain holds its host to have been away,
        for those of :meth:`unpaid`. None of such time is billed.
        """
        found = Findings()
        tasks, leases = self.tasks, self._leases_by_task()
        if len(tasks) < expected.tasks:
            found.lost.append(f"{expected.tasks} tasks were submitted, the chain knows of {len(tasks)}")
        if len(tasks) > expected.tasks:
            found.doubled.append(f"{expected.tasks} tasks were submitted, the chain has {len(tasks)}")
        for number, task in sorted(tasks.items()):
            own = leases.get(number, [])
            found.attempts += max(0, len(own) - 1)
            good = [lease for lease in own if _is_good(lease, expected)]
            free = [lease for lease in good if self._was_away(lease, away)]
            if task.state == "Settled" and free and not task.paid:
                found.unpaid += [f"task {number} was free of charge: {self._absence(free[0], away)}"]
            else:
                found.lost += _missing(task, good)
            found.doubled += self._too_much(number, own)
            for lease in own:
                if lease.ended_ms is None:
                    found.lost.append(f"lease {lease.lease} of task {number} has not ended")
                else:
                    found.off(f"paid and repaid of lease {lease.lease}", lease.paid + lease.refunded, lease.deposited)
        return found

    def _was_away(self, lease: LeaseRow, away: Mapping[int, int]) -> bool:
        """For all of the time that could have been billed."""
        if lease.lease not in away:
            return False
        return away[lease.lease] >= self._reported[lease.lease].time_ms - self._began[lease.lease].time_ms > 0

    def _absence(self, lease: LeaseRow, away: Mapping[int, int]) -> str:
        reports = [str(time_ms) for time_ms in self._absent.get(lease.host, ())]
        reported = f"reported absent at {', '.join(reports)}" if reports else "never reported absent"
        return f"{_told(lease)}, and in that time its downtime grew by {away[lease.lease]} ms; the host was {reported}"

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
        return [row for row in list(self._fold.state.get(table, {}).values()) if isinstance(row, table)]

    def _leases_by_task(self) -> dict[int, list[LeaseRow]]:
        found: dict[int, list[LeaseRow]] = {}
        for row in self._rows(LeaseRow):
            found.setdefault(row.task, []).append(row)
        return found


def _missing(task: TaskRow, good: Sequence[LeaseRow]) -> list[str]:
    if task.state != "Settled":
        return [f"task {task.task} is {task.state}"]
    if not good:
        return [f"task {task.task} is settled without its result"]
    if not any(lease.paid for lease in good):
        runs = "; ".join(map(_told, good))
        return [f"task {task.task} is settled and nobody was paid for its result: {runs}"]
    return []


def _told(lease: LeaseRow) -> str:
    span = f"from {lease.started_ms} to {lease.ended_ms}, {lease.wall_ms} ms by its meter"
    return f"lease {lease.lease} ran on {lease.host} {span}"


def _is_good(lease: LeaseRow, expected: Expected) -> bool:
    return lease.exit_code == 0 and lease.result_digest == f"0x{expected.result_digest}"


def summary(findings: Findings, facts: Mapping[str, object], killed: Sequence[str], tasks: int) -> dict[str, object]:
    """The object on the last line."""
    return {
        "kills": len(killed),
        "tasks": tasks,
        "lost": len(findings.lost),
        "unpaid": len(findings.unpaid),
        "doubled": len(findings.doubled),
        "orphans": len(findings.orphans),
        "coins_off": findings.coins_off,
        "attempts_more_than_one": findings.attempts,
        "killed": dict(sorted(Counter(name.partition("-")[0] for name in killed).items())),
        **facts,
    }
