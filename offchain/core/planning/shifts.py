"""Many schedulers and no leader: at any time one of them looks after tasks of one kind, each kind another.

Chain time is cut into shifts. Whose shift it is for tasks that ask for the same follows from these tasks, the shift's
number and the accounts of all bonded schedulers, so that all know it without a word between them. One that is dead
holds up what falls to it for a shift; in the next one it falls to another most likely. Nothing depends on it: the
chain decides who was first, and two who hold each other for dead, or see another time, only waste a call.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

from offchain.core.fleet.want import Want

SHIFT_MS: Final = 8_000
"""Four blocks."""

HANDOVER_MS: Final = 2_000
"""One block: what the one before has sent last is in the best block by then."""


class Shifts:
    """`me`: this scheduler's account. Without others it is always its turn."""

    def __init__(self, me: str) -> None:
        self._me = me
        self._all: tuple[str, ...] = (me,)
        self._window = -1
        self._known: dict[bytes, str] = {}
        """[kind]: whose it is in this shift."""
        self._before: dict[bytes, str] = {}

    def schedulers(self, accounts: Iterable[str]) -> None:
        """All who are bonded."""
        found = tuple(sorted({self._me, *accounts}))
        if found != self._all:
            self._all = found
            self._window = -1

    @property
    def alone(self) -> bool:
        """Whether there is no other."""
        return len(self._all) == 1

    def mine(self, kind: bytes, now_ms: int) -> bool:
        """Whether tasks of this kind are to be placed by this scheduler now."""
        if self.alone:
            return True
        window, into_ms = divmod(now_ms, SHIFT_MS)
        if self.leader(kind, now_ms) != self._me:
            return False
        if into_ms >= HANDOVER_MS:
            return True
        if kind not in self._before:
            self._before[kind] = self._leader(kind, window - 1)
        return self._before[kind] == self._me

    def leader(self, kind: bytes, now_ms: int) -> str:
        """Whose shift it is for tasks of this kind."""
        window = now_ms // SHIFT_MS
        if window != self._window:
            self._before = self._known if window == self._window + 1 else {}
            self._known, self._window = {}, window
        if kind not in self._known:
            self._known[kind] = self._leader(kind, window)
        return self._known[kind]

    def next_ms(self, now_ms: int) -> int | None:
        """When it may be this scheduler's turn for something that it is not now; None where it is alone."""
        if self.alone:
            return None
        window, into_ms = divmod(now_ms, SHIFT_MS)
        return window * SHIFT_MS + (HANDOVER_MS if into_ms < HANDOVER_MS else SHIFT_MS)

    def _leader(self, kind: bytes, window: int) -> str:
        def place(account: str) -> bytes:
            return hashlib.blake2b(f"{window}:{account}".encode(), key=kind[:64], digest_size=16).digest()

        return min(self._all, key=place)


def kind_of(want: Want, least: int, pods: int) -> bytes:
    """The same for tasks that ask for the same, in every process."""
    asked = want.resources, want.placement, str(want.unit), want.max_rate_per_hour, want.takes_over, want.refused_by
    said = (*asked, least, pods)
    return hashlib.blake2b(repr(said).encode(), digest_size=16).digest()
