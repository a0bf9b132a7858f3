"""Admission of requests to a host: nonces that could still be replayed, and the queue of chain queries of strangers."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import heapq
from collections import Counter, deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from offchain.adapters.keys.wallet_signature import is_signed_by
from offchain.adapters.transport.port import HostRefused, refused
from offchain.schema.protocol.delegation import DelegationError, SignedDelegation, check_delegation
from offchain.schema.protocol.messages import Code, Request

MAX_NONCES: Final = 65_536
MAX_NONCES_PER_ACCOUNT: Final = 2_048
"""34 requests a second: a request is valid for a minute at most."""
RESERVED_PER_ACCOUNT: Final = 32
"""Nonces of an account that are kept even where all accounts together have `MAX_NONCES`."""
OVERFLOW: Final = 4
"""All accounts together never have more than `MAX_NONCES` times this."""
QUERIES_AT_ONCE: Final = 2
MOST_WAITING: Final = 64
MOST_WAITING_OF_NETWORK: Final = 16
MOST_DELEGATIONS: Final = 16
"""Delegations of a connection whose verified signatures are remembered."""


class NonceCache:
    """Nonces of requests that have not expired yet. A full cache refuses: if it forgot a nonce, a replay would pass.

    An account can fill its own share only, also with all its session keys, and every account has a reserved part, so
    that neither one account nor many together can keep others out.
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
        return (request.tenant, request.nonce) in self._kept

    def has_room(self, account: str, now_ms: int) -> bool:
        """Whether one more nonce of this account would be stored."""
        self._forget_expired(now_ms)
        of_account = self._of_account[account]
        most = self._capacity * OVERFLOW if of_account < RESERVED_PER_ACCOUNT else self._capacity
        return len(self._kept) < most and of_account < self._per_account

    def add(self, request: Request, now_ms: int) -> bool:
        """Store the nonce. False where the account, or all accounts together, have too many that have not expired."""
        if not self.has_room(request.tenant, now_ms):
            return False
        self._kept.add((request.tenant, request.nonce))
        self._of_account[request.tenant] += 1
        heapq.heappush(self._by_expiry, (request.expires_ms, request.tenant, request.nonce))
        return True

    def _forget_expired(self, now_ms: int) -> None:
        while self._by_expiry and self._by_expiry[0][0] < now_ms:
            _, account, nonce = heapq.heappop(self._by_expiry)
            self._kept.discard((account, nonce))
            count_down(self._of_account, account)


def count_down(counter: Counter[str], account: str) -> None:
    """Take one from an account's count, and remove an account that has none left."""
    counter[account] -= 1
    if not counter[account]:
        del counter[account]


@dataclass(frozen=True, slots=True, eq=False)
class _WaitingQuery:
    slot: asyncio.Future[None]
    network: str


class QueryQueue:
    """Admits `at_once` queries of the chain; others wait in order of arrival, those of suspects after all others.

    A query that finds the queue full is refused, or takes the place of a suspect's query where its peer is no suspect.
    """

    def __init__(
        self,
        at_once: int = QUERIES_AT_ONCE,
        most_waiting: int = MOST_WAITING,
        of_network: int = MOST_WAITING_OF_NETWORK,
    ) -> None:
        self._free = at_once
        self._most_waiting = most_waiting
        self._of_network = of_network
        self._waiting: deque[_WaitingQuery] = deque()
        self._suspects: deque[_WaitingQuery] = deque()
        self._count: Counter[str] = Counter()

    @property
    def waiting(self) -> int:
        """Number of queries that wait."""
        return len(self._waiting) + len(self._suspects)

    @contextlib.asynccontextmanager
    async def slot(self, network: str, *, suspect: bool) -> AsyncIterator[None]:
        """Wait for a slot, and hold it as long as the block runs. Raises HostRefused where the queue is full."""
        await self._enter(network, suspect=suspect)
        try:
            yield
        finally:
            self._pass_on()

    async def _enter(self, network: str, *, suspect: bool) -> None:
        if self._free:
            self._free -= 1
            return
        if self._count[network] >= self._of_network:
            raise _is_full()
        if self.waiting >= self._most_waiting:
            if suspect or not self._suspects:
                raise _is_full()
            self._suspects.popleft().slot.set_exception(_is_full())
        queue = self._suspects if suspect else self._waiting
        mine = _WaitingQuery(asyncio.get_running_loop().create_future(), network)
        queue.append(mine)
        self._count[network] += 1
        try:
            await mine.slot
        except BaseException:
            if mine in queue:
                queue.remove(mine)
            elif mine.slot.done() and not mine.slot.cancelled() and mine.slot.exception() is None:
                self._pass_on()  # the slot came at the moment of the cancellation
            raise
        finally:
            self._count[network] -= 1
            if not self._count[network]:
                del self._count[network]

    def _pass_on(self) -> None:
        for queue in (self._waiting, self._suspects):
            while queue:
                first = queue.popleft()
                if not first.slot.done():
                    first.slot.set_result(None)
                    return
        self._free += 1


def _is_full() -> HostRefused:
    return refused(Code.BUSY, "Too many requests of unknown peers wait for an answer of the chain.", "Try again soon.")


class DelegationChecks:
    """Checks the delegations of one connection. The signature under one is verified once."""

    def __init__(self, genesis_hash: bytes) -> None:
        self._genesis_hash = genesis_hash
        self._genuine: set[bytes] = set()

    def check(self, request: Request, now_ms: int) -> None:
        """Raise HostRefused unless the delegation of a request, if it has one, lets its key do this now."""
        if request.delegation is None:
            return
        try:
            check_delegation(
                request.delegation.text,
                genesis_hash=self._genesis_hash,
                key=request.account,
                op=request.op,
                now_ms=now_ms,
            )
        except DelegationError as error:
            raise _bad_delegation(str(error)) from None
        if request.crypto != "ed25519":
            raise _bad_delegation(f"session keys are ed25519 keys, and this one is {request.crypto}")

    def is_verified(self, delegation: SignedDelegation) -> bool:
        """Whether the signature was verified on this connection before."""
        return _digest(delegation) in self._genuine

    def verify(self, delegation: SignedDelegation) -> None:
        """Raise HostRefused unless the account in a checked text has signed it."""
        if not is_signed_by(delegation.account, delegation.text, delegation.signature):
            raise _bad_delegation(f"the signature is not one of {delegation.account}, or not of this text")
        if len(self._genuine) >= MOST_DELEGATIONS:
            self._genuine.clear()
        self._genuine.add(_digest(delegation))


def _digest(delegation: SignedDelegation) -> bytes:
    return hashlib.sha256(delegation.text.encode() + delegation.signature).digest()


def _bad_delegation(why: str) -> HostRefused:
    return refused(Code.BAD_DELEGATION, f"The delegation is not valid for this: {why}.", "Sign a new one.")


def check_in_time(request: Request, now_ms: int) -> None:
    """Raise HostRefused if the request has expired."""
    if request.expires_ms <= now_ms:
        late_s = (now_ms - request.expires_ms) / 1000
        raise refused(
            Code.EXPIRED,
            f"The request expired {late_s:.1f} s ago.",
            "Check your machine's clock and send a new one.",
        )


def replayed() -> HostRefused:
    return refused(Code.REPLAYED, "This request was sent before.", "Send one with a new nonce.")


def too_many_nonces() -> HostRefused:
    return refused(
        Code.BUSY,
        f"The host keeps {MAX_NONCES_PER_ACCOUNT} requests a minute of an account, and {MAX_NONCES} of all.",
        "Try again in a minute.",
    )
