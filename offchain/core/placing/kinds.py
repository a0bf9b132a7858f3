"""Kinds of devices, by number; and whose the shares are of those of which somebody has some."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace

import numpy as np

from offchain.core.placing.free import Bools, Ints
from offchain.core.placing.shapes import GpuKind, Shape

NOTHING = GpuKind("")
"""The kind of a host without devices, and of a place where there is none."""

STRANGER = "?"
"""Has shares of a device, and it is not known who; or there are more accounts with shares than can be told apart."""

NOBODY = "-"
"""Has shares of no device, and never will: its shares fit on devices that are wholly free alone."""

MOST_KINDS = 1 << 15
"""As many as a column can tell apart."""

SPARE_KINDS = 1 << 10
"""So many of them are for devices of which nobody in particular has shares."""


class Kinds:
    """A device of which an account has shares is of a kind of its own, which no share of another account accepts."""

    def __init__(self) -> None:
        self.all: list[GpuKind] = [NOTHING]
        self._numbers: dict[GpuKind, int] = {NOTHING: 0}
        self._of: dict[str, list[int]] = {"": [0]}
        """[account]: the kinds of devices of which it has shares, in order; of nobody: of which nobody has."""
        self._accounts: dict[str, int] = {"": 0}
        self._same: Ints = np.zeros(0, dtype=np.int64)
        """[kind]: the same when nobody has shares."""
        self._whose: Ints = np.zeros(0, dtype=np.int64)

    def number(self, kind: GpuKind) -> int:
        """Of a kind, also of a new one."""
        found = self._numbers.get(kind)
        if found is None:
            found = self._numbers[kind] = len(self.all)
            self.all.append(kind)
            self._of.setdefault(kind.account, []).append(found)
        return found

    def shared(self, kind: int, account: str) -> int:
        """The kind of such a device of which the account has shares."""
        of = replace(self.all[kind], account=account)
        if of not in self._numbers and len(self.all) >= MOST_KINDS - SPARE_KINDS:
            of = replace(of, account=STRANGER)
        return self.number(of)

    @property
    def whose(self) -> Ints:
        """[kind]: the number of the account that has shares of such a device; 0: nobody has."""
        self._tell_apart()
        return self._whose

    def account(self, name: str) -> int:
        """The number of an account; 0 for the empty name."""
        return self._accounts.setdefault(name, len(self._accounts))

    def since(self, first: int, account: str) -> list[int]:
        """The kinds from this number on of which a pod of the account may have a share, or a whole device."""
        of = self._of[""], self._of.get(account, []) if account else []
        return [kind for kinds in of if kinds and kinds[-1] >= first for kind in kinds[bisect_left(kinds, first) :]]

    def accepted(self, shape: Shape) -> Bools:
        """For each kind, whether the shape may run there."""
        if len(self._of) == 1:
            return np.array([shape.accepts(kind) for kind in self.all], dtype=np.bool_)
        self._tell_apart()
        nobodys = np.flatnonzero(self._same == np.arange(len(self.all)))
        fine = np.zeros(len(self.all), dtype=np.bool_)
        fine[nobodys] = [shape.accepts(self.all[number]) for number in nobodys]
        found: Bools = fine[self._same]
        if shape.account:
            found &= (self._whose == 0) | (self._whose == self._accounts.get(shape.account, -1))
        return found

    def _tell_apart(self) -> None:
        """Look at kinds that are new."""
        new = self.all[len(self._same) :]
        if not new:
            return
        same = [self._numbers[replace(kind, account="")] for kind in new]
        whose = [self.account(kind.account) for kind in new]
        self._same = np.concatenate([self._same, np.array(same, dtype=np.int64)])
        self._whose = np.concatenate([self._whose, np.array(whose, dtype=np.int64)])
