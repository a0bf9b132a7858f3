"""Immutable snapshot of the chain at one block, for the scheduler and the settler.

Events determine which records changed; :mod:`offchain.services` reads these records again and passes them to
:func:`advance`. No record is computed from events, so a missed event cannot make the snapshot diverge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from immutables import Map

from offchain.core.values import Host, Periods, Task
from offchain.schema.chain_types.ids import TASK_PALLETS, tasks_of_event


class Event(Protocol):
    """An event of the chain, as :class:`offchain.ports.ChainEvent` has it."""

    @property
    def pallet(self) -> str:
        """The pallet's name."""
        ...

    @property
    def name(self) -> str:
        """The event's name."""
        ...

    @property
    def fields(self) -> Mapping[str, Any]:
        """The fields in plain form."""
        ...


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Hosts, and tasks that are not final with their leases, at block `number` with chain time `now_ms`.

    `agenda_at`: the chain time of the earliest entry of the chain's agenda of leases; None: it is empty.
    """

    number: int
    now_ms: int
    periods: Periods
    agenda_at: int | None = None
    hosts: Mapping[str, Host] = field(default_factory=Map)
    tasks: Mapping[int, Task] = field(default_factory=Map)
    schedulers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Touched:
    """The keys of records that a block's events may have changed.

    `params`, `schedulers`: the parameters, or the set of bonded schedulers, may have changed.
    """

    hosts: frozenset[str] = frozenset()
    tasks: frozenset[int] = frozenset()
    params: bool = False
    schedulers: bool = False

    @property
    def anything(self) -> bool:
        """Return whether there is a record to read again."""
        return bool(self.hosts or self.tasks or self.params or self.schedulers)


@dataclass(frozen=True, slots=True)
class Read:
    """Records that were read again; None: the record was removed or is final."""

    hosts: Mapping[str, Host | None] = field(default_factory=dict)
    tasks: Mapping[int, Task | None] = field(default_factory=dict)
    periods: Periods | None = None
    schedulers: frozenset[str] | None = None


_K = TypeVar("_K")
_V = TypeVar("_V")

_HOST_PALLETS = frozenset({"Hosts", "Reputation"})
_PARAMS_PALLETS = frozenset({"Hosts", "Tasks"})
_SCHEDULERS = frozenset({"SchedulerBonded", "SchedulerLeaving"})


def touched(snapshot: Snapshot, events: Iterable[Event]) -> Touched:
    """Return the records to read again after `events`: with a task, the hosts of its leases."""
    hosts: set[str] = set()
    tasks: set[int] = set()
    params = schedulers = False
    for event in events:
        fields = event.fields
        if event.pallet in _PARAMS_PALLETS and event.name == "ParamsChanged":
            params = True
        elif event.pallet == "Tasks" and event.name in _SCHEDULERS:
            schedulers = True
        elif event.pallet in _HOST_PALLETS and "host" in fields:
            hosts.add(fields["host"])
        elif event.pallet in TASK_PALLETS:
            tasks |= _tasks_changed(fields)
            if event.name == "Assigned":
                hosts |= {host for _, host, *_ in fields["leases"]}
            elif event.name == "LeaseMoved":
                hosts.add(fields["host"])
    for number in tasks:
        known = snapshot.tasks.get(number)
        if known is not None:
            hosts |= {lease.host for lease in known.leases}
    return Touched(frozenset(hosts), frozenset(tasks), params, schedulers)


def _tasks_changed(fields: Mapping[str, Any]) -> frozenset[int]:
    """Return the tasks of an event, and the waiting task of a preemption, whose record changes too."""
    found = tasks_of_event(fields)
    return found | {fields["wanting"]} if "wanting" in fields else found


def advance(snapshot: Snapshot, number: int, now_ms: int, read: Read) -> Snapshot:
    """Return the snapshot at block `number`, with the records in `read` replaced or removed."""
    return replace(
        snapshot,
        number=number,
        now_ms=now_ms,
        periods=read.periods or snapshot.periods,
        schedulers=snapshot.schedulers if read.schedulers is None else read.schedulers,
        hosts=_merge(snapshot.hosts, read.hosts),
        tasks=_merge(snapshot.tasks, read.tasks),
    )


def union(parts: Iterable[Touched]) -> Touched:
    """Return the union of `parts`."""
    found = list(parts)
    return Touched(
        frozenset().union(*(part.hosts for part in found)),
        frozenset().union(*(part.tasks for part in found)),
        any(part.params for part in found),
        any(part.schedulers for part in found),
    )


def overlaid(read: Read, newer: Read) -> Read:
    """Return `read` with the records of a newer read in place of its own."""
    return Read(
        {**read.hosts, **newer.hosts},
        {**read.tasks, **newer.tasks},
        newer.periods or read.periods,
        read.schedulers if newer.schedulers is None else newer.schedulers,
    )


def only(read: Read, keys: Touched) -> Read:
    """Return the records in `read` whose keys are in `keys`."""
    return Read(
        {key: host for key, host in read.hosts.items() if key in keys.hosts},
        {key: task for key, task in read.tasks.items() if key in keys.tasks},
        read.periods if keys.params else None,
        read.schedulers if keys.schedulers else None,
    )


def changed(before: Read, after: Read) -> Touched:
    """Return the keys of the records that differ."""
    return Touched(
        _differing(before.hosts, after.hosts),
        _differing(before.tasks, after.tasks),
        before.periods != after.periods,
        before.schedulers != after.schedulers,
    )


def _differing(before: Mapping[_K, _V | None], after: Mapping[_K, _V | None]) -> frozenset[_K]:
    return frozenset(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))


def _merge(old: Mapping[_K, _V], read: Mapping[_K, _V | None]) -> Mapping[_K, _V]:
    """Return a new map that shares what did not change with the old one."""
    if not read:
        return old
    known: Map[_K, _V] = old if isinstance(old, Map) else Map(old)
    merged = known.mutate()
    for key, value in read.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = value
    return merged.finish()
