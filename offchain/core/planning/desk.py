"""All that a scheduler knows and decides: hosts, waiting tasks in their queues, and what is on its way to the chain.

A state machine without a clock: records and refusals go in, a round of placements comes out. Whoever tells it the same
in the same order, with the same seed, gets the same placements.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from operator import itemgetter

import numpy as np

from offchain.core.fleet.fleet import Fleet
from offchain.core.fleet.layouts import apart
from offchain.core.fleet.want import Want, alone
from offchain.core.planning.apart import Apart
from offchain.core.planning.books import Books
from offchain.core.planning.explained import Notes
from offchain.core.planning.further import Further
from offchain.core.planning.gates import Gate
from offchain.core.planning.groups import Group
from offchain.core.planning.heads import since_ms
from offchain.core.planning.keeper import Keeper
from offchain.core.planning.order import Run
from offchain.core.planning.own_hosts import OwnHosts, own_hosts
from offchain.core.planning.parts import Parts
from offchain.core.planning.placements import Batch
from offchain.core.planning.planner import Planner, Round
from offchain.core.planning.reserved import lasts_ms
from offchain.core.planning.resting import Resting
from offchain.core.planning.scores import Weights
from offchain.core.planning.shifts import Shifts, kind_of
from offchain.core.scheduler.fair_share import FairShareQueue
from offchain.core.scheduler.host_health import FailureHistory
from offchain.core.scheduler.host_observations import HostObservation
from offchain.core.scheduler.preemption import QueueEntitlements, ReservedHosts, host_rows
from offchain.core.scheduler.queue_definitions import QueueTree, queue_tree
from offchain.core.scheduler.queue_usage import QuotaExceeded
from offchain.core.scheduler.reservation_windows import ReservationWindow
from offchain.core.scheduler.reservations import Reservation, ReservationRequest
from offchain.core.scheduler.resources import NO_RESOURCES, ResourceAmount, queue_name
from offchain.core.values import Host, Lease, Task
from offchain.schema.protocol.decisions import SchedulingStatus


class Desk:
    """`queues`: their definitions; without any, accounts share alike. `account`: the scheduler's own.

    `windows`: times for which hosts are reserved for some accounts.
    """

    def __init__(
        self,
        seed: bytes,
        queues: QueueTree | None = None,
        weights: Weights | None = None,
        account: str = "",
        windows: Sequence[ReservationWindow] = (),
    ) -> None:
        self._account = account
        self._shifts = Shifts(account)
        self._of_others = Parts(account)
        self._busy_since = 0
        """Since when tasks have always waited, chain time in ms."""
        self.planner = Planner(seed, weights)
        self.memory = FailureHistory()
        """What failed where lately."""
        self.notes = Notes(self.planner)
        self._keeper = Keeper(self.planner, queues or queue_tree(), windows)
        self._turn = FairShareQueue(queues or queue_tree(), NO_RESOURCES)
        self._books = Books(self.planner, self._keeper, self._turn, self.memory)
        self._tasks: Mapping[int, Task] = self._books.tasks
        self._groups = self._books.groups
        self._counted = -1, NO_RESOURCES
        """How often hosts had changed when they were added up, and what came out."""
        self._next: tuple[Sequence[Task], Group] | None = None
        """Whose turn it is."""
        self._further = Further(self.planner, self._keeper, self._turn, self._groups)
        self._now_ms = 0
        """Of the round."""

    def put_hosts(self, hosts: Iterable[Host]) -> None:
        """Take in records."""
        self._further.changed()
        self._of_others.changed(self.planner.put_hosts(hosts))

    def hosts_gone(self, hosts: Iterable[str]) -> None:
        """These are no more."""
        self._further.changed()
        self.planner.hosts_gone(hosts)

    def put_task(self, task: Task) -> None:
        """Take in a record of a task that is not final."""
        self._books.put_task(task)

    def put_tasks(self, tasks: Iterable[Task]) -> None:
        """The same for many."""
        self._books.put_tasks(tasks)

    def task_gone(self, number: int) -> None:
        """It is final."""
        self._books.tasks_gone((number,))

    def tasks_gone(self, numbers: Sequence[int]) -> None:
        """They are final."""
        self._books.tasks_gone(numbers)

    def release(self, number: int) -> None:
        """What was placed of this task is final, or was refused."""
        self._books.release(number)

    def wait(self, number: int, until_ms: int) -> None:
        """Do not place this task before then: the chain has refused it."""
        self._books.wait(number, until_ms)

    def apart(self, rooms: Mapping[int, ReservedHosts]) -> None:
        """Rooms that are kept for these tasks: each is looked at by itself, whoever else asks for the same.

        Their hosts are in everybody's part: a gate keeps all others from them.
        """
        self._further.changed()
        self._books.keep_rooms(rooms)

    def round(
        self, now_ms: int, gates: Sequence[Gate] = (), first: Callable[[Sequence[Gate]], None] | None = None
    ) -> Round:
        """Place whoever has room, in turn, where no gate is closed. What is placed is held until :meth:`release`.

        `first` may hold places for pods that run, before those that wait are looked at; it is given the gates.
        """
        self._books.wake(now_ms)
        self._remember(now_ms)
        self._books.learning.use()
        of_hosts = self._gates(now_ms)
        if self._further.goes_on(now_ms) and not gates and not of_hosts:
            return self._go_on(now_ms)
        self._further.begin_anew()
        away = {number for number, kind in self._groups.kinds.items() if not self._shifts.mine(kind, now_ms)}
        if not self._shifts.alone:
            self._keep_to_my_part(now_ms)
        self._turn.begin_cycle(now_ms, self._totals(), away)
        self._now_ms = now_ms
        gates = (*gates, *of_hosts)
        placed: list[Batch] = []
        self.notes.begin()
        self._start(self._keeper.begin(self._tasks, now_ms, self._waiting_for), away, gates, placed)
        reserved = self._keeper.gate(self._tasks, self._books.rooms)
        self.notes.gates = gates if reserved is None else (*gates, reserved)
        if first is not None:
            first(self.notes.gates)
        made = self.planner.plan(self, self.notes.gates, placed)
        blocked = [one.task for one in made.blocked]
        if self._start(self._keeper.end(self._tasks, blocked, now_ms, self._waiting_for), away, gates, placed):
            made = Round(made.placements, tuple(one for one in made.blocked if one.task not in made.placements))
        self._further.end_anew(None if gates or not self._shifts.alone else now_ms, made.blocked)
        return made

    def _go_on(self, now_ms: int) -> Round:
        """Look at those that are new, and of the others only at those that may fit by now."""
        self._further.begin()
        reserved = self._keeper.again(self._tasks, self._books.rooms, now_ms)
        self.notes.gates = () if reserved is None else (reserved,)
        placed: list[Batch] = []
        for number in self._further.with_reservation():
            self._start_sooner(number, placed)
        made = self.planner.plan(self, self.notes.gates, placed)
        self._further.end(made.blocked)
        return Round(made.placements, self._groups.asleep.blocked())

    def _start_sooner(self, number: int, placed: list[Batch]) -> None:
        """Whoever has a reservation for one pod comes before others where there is room now."""
        task, group = self._tasks[number], self._books.group(number)
        want = group[0]
        if self._turn.quota_exceeded(number) is not None:
            return
        where = self.planner.room_on(self._further.grown, want)
        if where is None or self.planner.closed(task, want, [where], self.notes.gates):
            return
        if self.planner.place_at(task, want, [where], placed):
            self._turn.commit(number)
            self._hold(group, [task])

    def _start(
        self, due: Iterable[Reservation], away: Container[int], gates: Sequence[Gate], placed: list[Batch]
    ) -> bool:
        """Give those whose reservation begins now the places that are reserved for them; whether there were any."""
        any_placed = False
        for reservation in due:
            number, where = reservation.task, reservation.places
            task, group = self._tasks[number], self._books.group(number)
            want = group[0]
            if self._turn.class_of(number) in away or self.planner.closed(task, want, where, gates):
                # Its place stays reserved.
                continue
            if self.planner.place_at(task, want, where, placed):
                any_placed = True
                self._turn.commit(number)
                self._hold(group, [task])
            else:
                self._keeper.refused(number, self._now_ms)
        return any_placed

    def _waiting_for(self, number: int) -> ReservationRequest | None:
        """What a task waits for; None where it does not wait for room: it has its place, or a limit keeps it."""
        if number not in self._turn or self._turn.quota_exceeded(number) is not None:
            return None
        task, (want, least, *_) = self._tasks[number], self._books.group(number)
        fleet = self.planner.fleet
        among, own = self._keeper.may_reserve(want), self._keeper.own_of(task.tenant)
        # A host that it leaves alone has room that others can use.
        resting = self.memory.hosts_in_cooldown(want.shape, want.manifest, self._now_ms)
        if resting:
            among = among & ~fleet.facts.hosts.among(resting, fleet.facts.host)
        lie = apart(want.layout, fleet.facts)
        return ReservationRequest(number, alone(want.shape), least, lasts_ms(task), since_ms(task), among, own, lie)

    def run(self) -> Run | None:
        """Whose turn it is in this round."""
        run = self._turn.next_batch()
        if run is None:
            return None
        tasks = itemgetter(*run.tasks)(self._tasks) if len(run.tasks) > 1 else (self._tasks[run.tasks[0]],)
        group = self._books.group(run.tasks[0])
        self.notes.look(tasks[0], group[0])
        self._next = tasks, group
        return Run(tasks, run.tasks, group[0])

    def ran(self, tasks: int) -> None:
        """So many of the run have a place."""
        if self._next is None:
            raise RuntimeError("nobody's turn has come yet")
        mine, group = self._next
        self._turn.commit_batch(tasks)
        self._hold(group, mine[:tasks])
        self._further.placed()

    def blocked(self, task: Task) -> None:
        """It fits nowhere now."""
        self._turn.mark_unschedulable(task.id)
        self._groups.blocked(self._books.group(task.id), task.id)

    def seen(self, seen: HostObservation) -> None:
        """Take in what a host did."""
        self._further.changed()
        self.memory.observe(seen)

    def leases_on(self, hosts: Container[str]) -> list[tuple[Task, Lease]]:
        """What runs on these hosts, or is to run there."""
        return [(task, lease) for task in self._tasks.values() for lease in task.leases if lease.host in hosts]

    def left_alone(self, want: Want, now_ms: int) -> int:
        """How many hosts such pods leave alone for a while, because they failed there."""
        return len(self.memory.hosts_in_cooldown(want.shape, want.manifest, now_ms) & self.planner.fleet.records.keys())

    def looks_after(self, task: Task, now_ms: int) -> bool:
        """Whether pods of this task that run are for this scheduler to look after in this shift."""
        return self._shifts.alone or self._shifts.mine(kind_of(Want.of(task), 1, 1), now_ms)

    @property
    def alone(self) -> bool:
        """Whether there is no other scheduler."""
        return self._shifts.alone

    def schedulers(self, accounts: Iterable[str]) -> None:
        """All who are bonded."""
        self._further.changed()
        known = frozenset(accounts)
        self._shifts.schedulers(known)
        self._of_others.schedulers(known)
        if self._shifts.alone:
            self.planner.close(np.zeros(0, dtype=np.bool_))

    def next_ms(self, now_ms: int) -> int | None:
        """When there may be more to place although no record changes: after a refusal, a pause, or by a new shift."""
        shift = self.shift_ms(now_ms) if len(self._turn) else None
        went_on = self._now_ms + 1 if self._further.went_on and len(self._turn) else None
        more = shift, went_on, self._keeper.next_ms(now_ms), self.memory.next_ms(now_ms) if len(self._turn) else None
        moments = [*self._books.not_before.values(), *(moment for moment in more if moment is not None)]
        return min(moments, default=None)

    def shift_ms(self, now_ms: int) -> int | None:
        """When it may be this scheduler's turn for what it is not now; None where there is no other."""
        return self._shifts.next_ms(now_ms)

    @property
    def reserved(self) -> Mapping[int, Reservation]:
        """For whom a place is reserved, and from when on."""
        return self._keeper.kept

    def reserved_against(self, task: Task, now_ms: int) -> Mapping[int, Reservation]:
        """What is reserved for others who are not below this task."""
        return self._keeper.against(task, self._tasks, now_ms)

    def late(self, number: int, now_ms: int) -> bool:
        """Whether the task's deadline for its start has passed."""
        return self._books.late(number, now_ms)

    def want(self, task: Task) -> Want:
        """What its pods ask for."""
        return self._books.want(task)

    def limit(self, number: int) -> QuotaExceeded | None:
        """The limit of a queue or an account that keeps a task waiting."""
        return self._turn.quota_exceeded(number) if number in self._turn else None

    def queues(self) -> QueueEntitlements:
        """Who may have whom leave now, as the queues say."""
        return QueueEntitlements(self._turn.entitlements(), lambda task: self._turn.leaf(queue_name(task), task.tenant))

    def standing(self, number: int, now_ms: int) -> SchedulingStatus:
        """How a task stands now."""
        queued = number in self._turn
        again = self._books.not_before.get(number)
        if not queued and again is None:
            return SchedulingStatus("placed" if self.planner.holds(number) else "unknown")
        limit = self.limit(number)
        theirs = queued and not self._shifts.mine(self._groups.kind(self._books.group(number)), now_ms)
        kept = self._keeper.kept.get(number)
        return SchedulingStatus(
            "waits", None if limit is None else str(limit), again, theirs, None if kept is None else kept.start_ms
        )

    def tried_for(self, number: int) -> int | None:
        """The task that was tried last of all that ask for the same as this one, and found no place."""
        return self._groups.tried(self._books.group(number)) if number in self._turn else None

    @property
    def waiting(self) -> Collection[int]:
        """The tasks in the queues."""
        return self._turn

    def task(self, number: int) -> Task | None:
        """As its record has it."""
        return self._tasks.get(number)

    def _keep_to_my_part(self, now_ms: int) -> None:
        """Close what is for other schedulers to use now."""
        at_work = {self._shifts.leader(kind, now_ms) for kind in self._groups.kinds.values()}
        if not at_work:
            self._busy_since = now_ms
        gang = any(self._shifts.mine(kind, now_ms) for kind in self._groups.gangs())
        names = self.planner.fleet.cluster.names
        closed = self._of_others.closed(now_ms, names, at_work, self._busy_since, gang=gang)
        for room in self._books.rooms.values():
            closed[host_rows(room.hosts, self.planner.fleet.cluster)] = False
        self.planner.close(closed)

    def _remember(self, now_ms: int) -> None:
        """Let what failed lately speak against hosts, and tell tasks apart whose manifest some hosts cannot use."""
        for host, trouble in self.memory.changed_scores(now_ms).items():
            self.planner.troubled(host, trouble)
        manifests = self.memory.new_manifest_cooldowns()
        if manifests:
            for number in [number for number in self._turn if self._tasks[number].manifest in manifests]:
                self._books.queue(self._tasks[number])

    def _gates(self, now_ms: int) -> list[Gate]:
        """What this round keeps hosts closed for."""
        fleet = self.planner.fleet
        gates: list[Gate] = []
        if self.memory.next_ms(now_ms) is not None:
            gates.append(Resting(self.memory, fleet.facts, now_ms))
        if self._groups.laid_out:
            gates.append(Apart(fleet))
        if own_hosts(fleet.facts, self._account).any():
            gates.append(OwnHosts(fleet, self._account))
        return gates

    def _hold(self, group: Group, tasks: Sequence[Task]) -> None:
        """These, all of one group and placed together, have their places."""
        self._books.hold(group, tasks, self._now_ms)

    def _totals(self) -> ResourceAmount:
        """What hosts that are online have."""
        fleet = self.planner.fleet
        if fleet.changes != self._counted[0]:
            self._counted = fleet.changes, self._count(fleet)
        return self._counted[1]

    @staticmethod
    def _count(fleet: Fleet) -> ResourceAmount:
        online, whole = fleet.facts.online, fleet.cluster.whole
        return ResourceAmount(
            int(whole.cpu[online].sum()), int(whole.memory[online].sum()), int(whole.device[online].sum())
        )
