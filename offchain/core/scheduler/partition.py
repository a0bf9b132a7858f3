"""Work partition between schedulers without a leader.

Equivalence classes by time slot, and hosts by rendezvous hashing.

Chain time is cut into slots. The scheduler of a class in a slot follows from the class, the slot's number, the random
seed of the chain's session and the active schedulers, so that all agree without messages. Active are those whose
assignments the chain has accepted lately, but for the slot before this one, whose last blocks not all schedulers have
read yet: accounts that are bonded and silent delay nobody. One of the others gets a
part of the classes in some slots, and becomes active by its first assignment. While classes wait and nobody places
anything, more and more schedulers may place them: four times as many with each slot.

Correctness does not depend on it: the chain decides which assignment was first. Schedulers that know of different
assignments, after a restart for example, may both place a task, and the second assignment is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offchain.core.scheduler.columns import Bools, Ints, resized
from offchain.core.scheduler.pod_request import PodRequest

SLOT_MS: Final = 8_000
"""Four blocks."""

HANDOVER_MS: Final = 2_000
"""One block: the last assignments of the previous scheduler are in the best block by then."""


ACTIVE_SLOTS: Final = 15
"""A scheduler is active while no other one's last assignment is later than its own by more slots than these."""
LAG_SLOTS: Final = 2
"""Assignments count as known to all schedulers from the slot that is later than theirs by these."""
NEWCOMER_SLOTS: Final = 4
"""In one of so many slots a scheduler that is not active may lead classes, so that it can become active."""
WIDENING: Final = 4
"""The factor by which more schedulers may place a class for each slot in which nobody has placed anything."""


class WorkPartition:
    """The work of one scheduler among several. `me`: its account, which has all classes while it is alone."""

    def __init__(self, me: str) -> None:
        self._me = me
        self._accounts: tuple[str, ...] = (me,)
        self._seed = b""
        self._assigned_slots: dict[str, set[int]] = {}
        """[account]: the latest slots in which the chain accepted an assignment of it."""
        self._newest_ms = 0
        """Chain time of the last assignment of anyone."""
        self._slot = -1
        self._candidates: tuple[str, ...] = (me,)
        """The schedulers that may lead a class in this slot."""
        self._previous_candidates: tuple[str, ...] = (me,)
        self._leaders: dict[bytes, str] = {}
        """[class key]: the scheduler of this slot."""
        self._previous: dict[bytes, str] = {}

    def set_schedulers(self, accounts: Iterable[str], seed: bytes = b"") -> None:
        """Set the accounts of all bonded schedulers, and the random seed of the chain's session."""
        found = tuple(sorted({self._me, *accounts}))
        if (found, seed) != (self._accounts, self._seed):
            self._accounts, self._seed = found, seed
            self._slot = -1
            self._forget_former()

    def note_assignment(self, account: str, at_ms: int) -> None:
        """Note that a scheduler placed a pod at this chain time."""
        slots = self._assigned_slots.setdefault(account, set())
        slots.add(at_ms // SLOT_MS)
        if len(slots) > 2 * ACTIVE_SLOTS:
            slots.remove(min(slots))
        self._newest_ms = max(at_ms, self._newest_ms)

    def _forget_former(self) -> None:
        """Forget accounts that are not bonded any more and would not be active if they were."""
        first = self._newest_ms // SLOT_MS - ACTIVE_SLOTS - LAG_SLOTS
        self._assigned_slots = {
            account: slots
            for account, slots in self._assigned_slots.items()
            if account in self._accounts or max(slots) >= first
        }

    @property
    def is_alone(self) -> bool:
        """Whether there is no other scheduler."""
        return len(self._accounts) == 1

    def is_mine(self, class_key: bytes, now_ms: int, waiting_since_ms: int | None = None) -> bool:
        """Whether this scheduler places tasks of this class now. `waiting_since_ms`: of the class; None: since now."""
        if self.is_alone:
            return True
        slot, into_ms = divmod(now_ms, SLOT_MS)
        if self.leader(class_key, now_ms) != self._me:
            return into_ms >= HANDOVER_MS and self._may_step_in(class_key, slot, now_ms, waiting_since_ms)
        if into_ms >= HANDOVER_MS:
            return True
        if class_key not in self._previous:
            self._previous[class_key] = self._leader(class_key, slot - 1, self._previous_candidates)
        return self._previous[class_key] == self._me

    def leader(self, class_key: bytes, now_ms: int) -> str:
        """Return the scheduler of this class in the slot."""
        slot = now_ms // SLOT_MS
        if slot != self._slot:
            self._previous = self._leaders if slot == self._slot + 1 else {}
            self._leaders, self._slot = {}, slot
            self._candidates, self._previous_candidates = self._candidates_in(slot), self._candidates_in(slot - 1)
        if class_key not in self._leaders:
            self._leaders[class_key] = self._leader(class_key, slot, self._candidates)
        return self._leaders[class_key]

    def next_ms(self, now_ms: int) -> int | None:
        """Return when this scheduler may get other classes; None while it is alone."""
        if self.is_alone:
            return None
        slot, into_ms = divmod(now_ms, SLOT_MS)
        return slot * SLOT_MS + (HANDOVER_MS if into_ms < HANDOVER_MS else SLOT_MS)

    def active(self, now_ms: int) -> frozenset[str]:
        """Return the active schedulers."""
        return self._active_in(now_ms // SLOT_MS)

    def _active_in(self, slot: int) -> frozenset[str]:
        latest = {
            account: max((one for one in self._assigned_slots.get(account, ()) if one <= slot - LAG_SLOTS), default=-1)
            for account in self._accounts
        }
        since = max(0, max(latest.values()) - ACTIVE_SLOTS)
        return frozenset(account for account, last in latest.items() if last >= since)

    def _candidates_in(self, slot: int) -> tuple[str, ...]:
        """The active schedulers, in some slots with one that is not; all if none is active."""
        active = self._active_in(slot)
        if not active:
            return self._accounts
        others = sorted(set(self._accounts) - active)
        if others and slot % NEWCOMER_SLOTS == 0:
            return *active, self._leader(b"newcomer", slot, others)
        return tuple(active)

    def _may_step_in(self, class_key: bytes, slot: int, now_ms: int, waiting_since_ms: int | None) -> bool:
        """Whether leaders have been silent for so long that this scheduler may place the class as well."""
        if waiting_since_ms is None:
            return False
        silent_slots = (now_ms - max(waiting_since_ms, self._newest_ms)) // SLOT_MS
        allowed: int = WIDENING ** min(max(silent_slots, 0), 16)
        if allowed == 1:
            return False
        if allowed >= len(self._accounts):
            return True
        candidates = set(self._candidates)

        def rank(account: str) -> tuple[bool, bytes]:
            return account not in candidates, self._rank(class_key, slot, account)

        mine = rank(self._me)
        return sum(rank(account) < mine for account in self._accounts) < allowed

    def _leader(self, class_key: bytes, slot: int, accounts: Sequence[str]) -> str:
        return min(accounts, key=lambda account: self._rank(class_key, slot, account))

    def _rank(self, class_key: bytes, slot: int, account: str) -> bytes:
        text = self._seed + f"{slot}:{account}".encode()
        return hashlib.blake2b(text, key=class_key[:64], digest_size=16).digest()


def class_key_of(request: PodRequest, least: int, pods: int) -> bytes:
    """Return a key that is equal in all processes for tasks with equal requests."""
    asked = (
        _KEY_VERSION,
        request.resources,
        request.placement,
        str(request.unit),
        request.max_rate_per_hour,
        request.takes_over,
        request.refused_by,
        least,
        pods,
    )
    return hashlib.blake2b(_encoded(asked), digest_size=16).digest()


_KEY_VERSION: Final = 1
"""To be raised with any change of what follows: schedulers of different releases work side by side."""


def _encoded(value: Any) -> bytes:
    """Return bytes that are different for different values, and do not depend on names in this program."""
    match value:
        case None:
            return b"-;"
        case bool() | int():
            return b"%d;" % value
        case bytes():
            return b"%d:%b" % (len(value), value)
        case str():
            return _encoded(value.encode())
        case _ if is_dataclass(value):
            return _encoded([getattr(value, field.name) for field in fields(value)])
        case _:
            parts = sorted(map(_encoded, value)) if isinstance(value, (set, frozenset)) else map(_encoded, value)
            return b"(" + b"".join(parts) + b")"


IDLE_MS: Final = 2 * SLOT_MS
"""The scheduler of a host would have used its free resources by then."""

_Hashes = npt.NDArray[np.uint64]
_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)


class HostShards:
    """A part of the hosts for each scheduler, so that no two of them use the same resources.

    A host belongs to the scheduler that hashes lowest together with it, of those with waiting tasks in this slot. While
    many classes wait these are all of them, and the parts are stable; where only one class waits, its scheduler has all
    hosts. A host that has been idle for two slots while tasks waited may be used by another scheduler, a different one
    in each slot, so that the part of a dead scheduler is not lost. After four slots the scheduler of a gang may use it,
    so that a gang larger than any part finds its hosts. An assignment outside of one's part costs no more than a
    refused call.
    """

    def __init__(self, me: str) -> None:
        self._me = me
        self._accounts: tuple[str, ...] = (me,)
        self._names: list[str] = []
        """[host]: its name when the hashes were computed."""
        self._hashes: _Hashes = np.zeros((0, 1), dtype=np.uint64)
        """[host, scheduler]: the lowest one has the host."""
        self._changed: set[int] = set()
        self._since_ms: Ints = np.zeros(0, dtype=np.int64)
        """[host]: when its free resources last changed."""
        self._slot = -1
        self._mine: Bools = np.zeros(0, dtype=np.bool_)
        self._previous: Bools = np.zeros(0, dtype=np.bool_)
        """[host]: whether it was this scheduler's at the end of the slot before."""

    def set_schedulers(self, accounts: Iterable[str]) -> None:
        """Set the accounts of all bonded schedulers."""
        found = tuple(sorted({self._me, *accounts}))
        if found != self._accounts:
            self._accounts = found
            self._hashes = np.zeros((0, len(found)), dtype=np.uint64)

    def on_changed(self, rows: Iterable[int]) -> None:
        """Note that the free resources of these hosts changed."""
        self._changed.update(rows)

    def closed(
        self, now_ms: int, names: Sequence[str], active: Collection[str], busy_since_ms: int, *, has_gang: bool
    ) -> Bools:
        """[host]: whether this scheduler must not use it now.

        `active`: schedulers with waiting tasks in this slot. `busy_since_ms`: since when some tasks have always waited.
        `has_gang`: one of this scheduler's tasks needs several pods at once.
        """
        self._update_idle_times(now_ms, len(names))
        self._hash_new_hosts(list(names))
        slot, into_ms = divmod(now_ms, SLOT_MS)
        if slot != self._slot:
            self._previous = self._mine if slot == self._slot + 1 else np.zeros(0, dtype=np.bool_)
            self._slot = slot
        working = [number for number, account in enumerate(self._accounts) if account in active or account == self._me]
        hashes, me = self._hashes[:, working], working.index(self._accounts.index(self._me))
        is_mine: Bools = hashes.argmin(axis=1) == me
        if into_ms < HANDOVER_MS:
            # The last assignments of the previous scheduler are not in the best block yet.
            is_mine[len(self._previous) :] = False
            is_mine[: len(self._previous)] &= self._previous
        elif now_ms - busy_since_ms >= IDLE_MS:
            idle_ms = now_ms - self._since_ms
            if has_gang:
                is_mine |= idle_ms >= 2 * IDLE_MS
            is_mine |= (idle_ms >= IDLE_MS) & (_rehash(hashes, slot).argmin(axis=1) == me)
        self._mine = is_mine
        return np.logical_not(is_mine)

    def _update_idle_times(self, now_ms: int, hosts: int) -> None:
        known = len(self._since_ms)
        self._since_ms = np.concatenate([self._since_ms, np.full(hosts - known, now_ms, dtype=np.int64)])
        self._since_ms[list(self._changed)] = now_ms
        self._changed.clear()

    def _hash_new_hosts(self, names: list[str]) -> None:
        hashed, known = len(self._hashes), self._names
        if hashed == len(names) and names == known:
            return
        self._hashes, self._names = resized(self._hashes, len(names)), names
        for row, name in enumerate(names):
            is_other = row < len(known) and known[row] != name
            if row >= hashed or is_other:
                self._hashes[row] = [_hash(name, account) for account in self._accounts]
            if is_other:
                self._mine[row : row + 1] = self._previous[row : row + 1] = False


def _hash(host: str, account: str) -> int:
    digest = hashlib.blake2b(f"{host}:{account}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _rehash(hashes: _Hashes, slot: int) -> _Hashes:
    """Return other hashes for each slot, equal in all processes."""
    mixed = (hashes ^ np.uint64(slot)) * _MULTIPLIER
    return (mixed ^ (mixed >> np.uint64(29))) * _MULTIPLIER
