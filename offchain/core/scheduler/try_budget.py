"""A bound on the work of a cycle: how many different requests of an account are tried although they fit nowhere.

A try costs a look at all hosts that may serve, about 0.1 ms. An account with more such requests than
:data:`MOST_FAILED_TRIES` has them tried in turn, some in each cycle. A request that several accounts have counts for
each of them, and is tried while one of them has room, so that nobody delays the tasks of others by equal ones.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

MOST_FAILED_TRIES: Final = 200
"""Different requests of one account that may turn out to fit nowhere in one cycle."""


class TryBudget:
    """Counts failed tries by account. A *round* is the cycles in which all waiting requests of an account are tried."""

    def __init__(self) -> None:
        self._failed: dict[str, set[bytes]] = {}
        """[account]: the class keys of which a try failed in this cycle."""
        self._tried: dict[str, set[bytes]] = {}
        """[account]: those of the earlier cycles of the present round."""
        self._left: set[str] = set()
        """Accounts with requests that this cycle left for the next."""

    @property
    def has_left(self) -> bool:
        """Whether requests were left for the next cycle."""
        return bool(self._left)

    def begin(self) -> None:
        """Begin a cycle. Rounds of accounts of which nothing was left are over."""
        self._tried = {
            account: self._tried.get(account, set()) | self._failed.get(account, set()) for account in self._left
        }
        self._failed.clear()
        self._left = set()

    def admits(self, accounts: Collection[str], class_key: bytes) -> bool:
        """Return whether a request of these accounts is tried in this cycle: one of them has room for it."""
        untried = [account for account in accounts if class_key not in self._tried.get(account, ())]
        for account in untried:
            failed = self._failed.get(account, ())
            if class_key in failed or len(failed) < MOST_FAILED_TRIES:
                return True
        self._left.update(untried)
        return False

    def note_failed(self, accounts: Collection[str], class_key: bytes) -> None:
        """Note that a request fits nowhere; it counts for each of the accounts."""
        for account in accounts:
            self._failed.setdefault(account, set()).add(class_key)
