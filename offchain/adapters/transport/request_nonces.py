"""Nonces of signed requests that could still be replayed."""

from __future__ import annotations

import heapq
from collections import Counter
from typing import Final

from offchain.schema.protocol.messages import Request

MAX_NONCES: Final = 65_536
MAX_NONCES_PER_ACCOUNT: Final = 2_048
"""Some 34 requests a second: a request lives for a minute at most."""
RESERVED_PER_ACCOUNT: Final = 32
"""Nonces of an account that are kept even where all accounts together have `MAX_NONCES`."""
OVERFLOW: Final = 4
"""All accounts together never have more than so many times `MAX_NONCES`."""


class NonceCache:
    """Nonces of requests that have not expired yet. Bounded: when full it refuses, since forgetting allows a replay.

    One account can fill its own part only, so that it cannot keep other accounts out; nor can many accounts that fill
    the cache together, because every account has a reserved part.
    """

    def __init__(self, capacity: int = MAX_NONCES, per_account: int = MAX_NONCES_PER_ACCOUNT) -> None:
        self._capacity = capacity
        self._per_account = per_account
        self._kept: set[tuple[str, str]] = set()
        self._of_account: Counter[str] = Counter()
        self._by_expiry: list[tuple[int, str, str]] = []
        """A heap of (expires_ms, account, nonce)."""

    def __len__(self) -> int:
        return len(self._kept)

    def seen(self, request: Request) -> bool:
        """Whether this account used this nonce, in a request that could still be replayed."""
        return (request.account, request.nonce) in self._kept

    def has_room(self, account: str, now_ms: int) -> bool:
        """Whether one more nonce of this account would be kept: neither it nor all accounts have too many."""
        self._forget_expired(now_ms)
        of_account = self._of_account[account]
        most = self._capacity * OVERFLOW if of_account < RESERVED_PER_ACCOUNT else self._capacity
        return len(self._kept) < most and of_account < self._per_account

    def add(self, request: Request, now_ms: int) -> bool:
        """Keep its nonce. False where the account, or all accounts together, have too many live nonces."""
        if not self.has_room(request.account, now_ms):
            return False
        self._kept.add((request.account, request.nonce))
        self._of_account[request.account] += 1
        heapq.heappush(self._by_expiry, (request.expires_ms, request.account, request.nonce))
        return True

    def _forget_expired(self, now_ms: int) -> None:
        while self._by_expiry and self._by_expiry[0][0] < now_ms:
            _, account, nonce = heapq.heappop(self._by_expiry)
            self._kept.discard((account, nonce))
            count_down(self._of_account, account)


def count_down(counter: Counter[str], account: str) -> None:
    """Take one from an account's count; an account that has none takes no memory."""
    counter[account] -= 1
    if not counter[account]:
        del counter[account]
