"""Who may make others leave, and who may be made to leave: what was done before decides, so that nothing cascades."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from offchain.core.queues.amount import Amount
from offchain.core.scheduler.cluster import HostSlot
from offchain.core.scheduler.pod_request import PodShape
from offchain.core.timing.reservations import Reservation

MINUTE: Final = 60_000
HOUR: Final = 60 * MINUTE


@dataclass(frozen=True, slots=True)
class Running:
    """A task that runs and what it has of which hosts. Amounts are in the chain's smallest unit.

    `part`: of the queues, as `Turn.part` gives it. `saved_ms`: its last checkpoint; None: it has made none.
    `restart_cost`: what starting it again costs.
    """

    task: int
    part: int
    priority: int
    spot: bool
    shape: PodShape
    places: tuple[HostSlot, ...]
    rate_per_ms: int
    started_ms: int
    saved_ms: int | None = None
    restart_cost: int = 0

    @property
    def amount(self) -> Amount:
        """What it holds, as queues count it."""
        return amount_of(self.shape, len(self.places))


@dataclass(frozen=True, slots=True)
class Wanting:
    """A task that waits and may make others leave."""

    task: int
    account: str
    priority: int
    shape: PodShape
    pods: int
    longest_ms: int

    @property
    def amount(self) -> Amount:
        """What it asks for, as queues count it."""
        return amount_of(self.shape, self.pods)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What every operator may set; docs/scheduling.md says what each is for."""

    notice_ms: int = 2 * MINUTE
    """A victim is told so long before it ends, in which it can save its work."""
    least_run_ms: int = 10 * MINUTE
    """Who made others leave is not made to leave before it has run for so long."""
    most: int = 20
    """So many times may one account make others leave, within `window_ms`."""
    window_ms: int = HOUR

    def cost(self, running: Running, now_ms: int) -> int:
        """What is lost if it ends: the work since its last checkpoint, the notice, and its next start."""
        since = running.started_ms if running.saved_ms is None else max(running.saved_ms, running.started_ms)
        return (max(0, now_ms - since) + self.notice_ms) * running.rate_per_ms + running.restart_cost


@dataclass(frozen=True, slots=True)
class Preemption:
    """These tasks are told to leave; from `notice_ends_ms` on, what they leave belongs to `wanting`."""

    wanting: Wanting
    victims: tuple[Running, ...]
    places: tuple[HostSlot, ...]
    notice_ends_ms: int
    cost: int

    def reservation(self) -> Reservation:
        """What keeps the room while the notice runs."""
        who = self.wanting
        return Reservation(who.task, who.shape, self.notice_ends_ms, who.longest_ms, self.places)


@dataclass(frozen=True, slots=True)
class Past:
    """What was done before, by task and account."""

    made: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """[account]: when its tasks made others leave, within the window."""
    leaving: frozenset[int] = frozenset()
    """They were told to leave and have not started again: they make nobody leave."""
    coming: frozenset[int] = frozenset()
    """They made others leave and have not ended."""

    def too_often(self, account: str, now_ms: int, rules: Rules) -> bool:
        """Whether the account has to wait before it may make others leave again."""
        return sum(at > now_ms - rules.window_ms for at in self.made.get(account, ())) >= rules.most

    def may_leave(self, running: Running, wanting: Wanting, now_ms: int, rules: Rules) -> bool:
        """Whether this one may be made to leave for that one."""
        young = running.task in self.coming and now_ms - running.started_ms < rules.least_run_ms
        return running.spot and running.priority < wanting.priority and running.task not in self.leaving and not young

    def after(self, done: Preemption, now_ms: int, rules: Rules) -> Past:
        """With one more."""
        account = done.wanting.account
        recent = tuple(at for at in self.made.get(account, ()) if at > now_ms - rules.window_ms)
        return replace(
            self,
            made={**self.made, account: (*recent, now_ms)},
            leaving=self.leaving | {running.task for running in done.victims},
            coming=(self.coming | {done.wanting.task}) - {running.task for running in done.victims},
        )

    def started(self, task: int) -> Past:
        """It has been placed: if it was a victim, it is none any more."""
        return replace(self, leaving=self.leaving - {task})

    def ended(self, task: int) -> Past:
        """It has ended for good."""
        return replace(self, leaving=self.leaving - {task}, coming=self.coming - {task})


def amount_of(shape: PodShape, pods: int) -> Amount:
    """What so many such pods hold, as queues count it."""
    return Amount(shape.cpu_milli, shape.memory_mib, shape.total_milli).times(pods)
