"""Resource limits of a host server: the load that a connection, an address and an account may cause. Pure.

Costs are microseconds of one processor, estimated from counts, so that a decision does not depend on the machine. A
connection is *proven* once the chain has confirmed an account on it; until then its peer is a stranger. A peer that
exceeds a limit is delayed: its connection is not read for a while, so that flow control holds the peer back. A stranger
whose requests are refused too often is disconnected. New connections are refused before their handshake where their
address, or all addresses on which no account was proven lately, exceed their share.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

FRAME_COST_US: Final = 10
REQUEST_COST_US: Final = 500
"""Decoding, one signature check, and a task."""
KIB_COST_US: Final = 1
HANDSHAKE_COST_US: Final = 5_000
"""TLS or QUIC, the proof of the peer's key, and the tasks of a connection."""

SUSPECT_REFUSALS: Final = 16
"""Refused requests within FORGET_S that make an address a suspect."""
STRANGER_REFUSALS: Final = 64
"""Refused requests after which a connection without a proven account is closed."""
FORGET_S: Final = 60.0
KNOWN_S: Final = 600.0
"""Time for which an address stays known after its last connection with a proven account."""
MOST_ADDRESSES: Final = 4096


@dataclass(frozen=True, slots=True)
class CpuShare:
    """A share of one processor: `us_per_s` on average, and `burst_us` at once."""

    us_per_s: float
    burst_us: float


STRANGER: Final = CpuShare(20_000, 50_000)
"""One connection on which no account is proven: 40 requests/s."""
ADDRESS: Final = CpuShare(50_000, 150_000)
"""All strangers' connections from one address together."""
STRANGERS: Final = CpuShare(150_000, 300_000)
"""All strangers' connections from addresses that are neither known nor suspects."""
SUSPECTS: Final = CpuShare(50_000, 100_000)
"""All strangers' connections from suspects."""
PROVEN: Final = CpuShare(250_000, 1_000_000)
"""One connection on which an account is proven: 500 requests/s, or 25,000 frames/s."""
ACCOUNT: Final = CpuShare(300_000, 1_500_000)
"""All connections on which the same account is proven."""
ADDRESS_HANDSHAKES: Final = CpuShare(50_000, 200_000)
"""New connections from one address: 10/s, 40 at once."""
STRANGER_HANDSHAKES: Final = CpuShare(100_000, 400_000)
"""New connections from all addresses that are neither known nor suspects: 20/s."""
SUSPECT_HANDSHAKES: Final = CpuShare(25_000, 50_000)
"""New connections from all suspects: 5/s."""


class Admission(Enum):
    """The decision about a new connection."""

    ACCEPT = auto()
    REFUSE = auto()
    VALIDATE = auto()
    """The peer has to show first that it receives what is sent to its address (QUIC's Retry)."""


class TokenBucket:
    """A token bucket that may be overdrawn: work is charged after it is done, and the next piece waits."""

    def __init__(self, share: CpuShare) -> None:
        self._share = share
        self._left_us = share.burst_us
        self._at_s = 0.0

    def spend(self, cost_us: float, now_s: float) -> float:
        """Take `cost_us`; return the seconds after which the balance is positive again, 0 where it is."""
        refilled = self._left_us + max(0.0, now_s - self._at_s) * self._share.us_per_s
        self._left_us = min(refilled, self._share.burst_us) - cost_us
        self._at_s = max(self._at_s, now_s)
        return max(0.0, -self._left_us / self._share.us_per_s)

    def is_full(self, now_s: float, part: float = 1.0) -> bool:
        """Whether at least this part of the burst is available; 1: all of it."""
        return self._left_us + (now_s - self._at_s) * self._share.us_per_s >= part * self._share.burst_us


def cost_us(frames: int, requests: int, size: int) -> float:
    """Return the cost of what was read: `frames` in all, `requests` among them, `size` bytes."""
    return frames * FRAME_COST_US + requests * REQUEST_COST_US + (size >> 10) * KIB_COST_US


def network_of(address: str) -> str:
    """Return the unit that counts as one address: an IPv4 address, the /64 of an IPv6 address, else the text itself."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0].strip("[]"))
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            return str(ip.ipv4_mapped)
        return str(ipaddress.ip_network((ip, 64), strict=False).network_address)
    return str(ip)


@dataclass(slots=True)
class _Address:
    bucket: TokenBucket = field(default_factory=lambda: TokenBucket(ADDRESS))
    refusals: float = 0.0
    at_s: float = 0.0
    connections: int = 0
    handshakes: TokenBucket = field(default_factory=lambda: TokenBucket(ADDRESS_HANDSHAKES))
    proven: int = 0
    """Connections on which an account is proven."""
    known_until_s: float = 0.0

    def refusals_now(self, now_s: float) -> float:
        return self.refusals * max(0.0, 1 - (now_s - self.at_s) / FORGET_S)

    def refuse(self, now_s: float) -> None:
        self.refusals = self.refusals_now(now_s) + 1
        self.at_s = now_s

    def is_suspect(self, now_s: float) -> bool:
        return self.refusals_now(now_s) >= SUSPECT_REFUSALS

    def is_known(self, now_s: float) -> bool:
        return self.proven > 0 or now_s < self.known_until_s


_UNKNOWN: Final = _Address()
"""The record of an address without any."""


class ServerLimits:
    """The limits of one server. Bounded: the address without connections that was unused longest is forgotten."""

    def __init__(self, most_addresses: int = MOST_ADDRESSES) -> None:
        self._most_addresses = most_addresses
        self._addresses: OrderedDict[str, _Address] = OrderedDict()
        self._accounts: dict[str, tuple[TokenBucket, int]] = {}
        self._strangers = TokenBucket(STRANGERS)
        self._suspects = TokenBucket(SUSPECTS)
        self._stranger_handshakes = TokenBucket(STRANGER_HANDSHAKES)
        self._suspect_handshakes = TokenBucket(SUSPECT_HANDSHAKES)
        self._now_s = 0.0

    def admit(self, address: str, now_s: float, *, validated: bool = True) -> Admission:
        """Decide on a new connection from this IP address, before its handshake, and charge the handshake.

        `validated`: the peer is known to receive what is sent to the address. A peer that may have forged it is asked
        to show that once half of a share is spent, so that nobody can spend the share of somebody else's address.
        """
        self._now_s = max(self._now_s, now_s)
        network = network_of(address)
        found = self._addresses.get(network, _UNKNOWN)
        buckets = [found.handshakes] if found is not _UNKNOWN else []
        if not found.is_known(now_s):
            buckets.append(self._suspect_handshakes if found.is_suspect(now_s) else self._stranger_handshakes)
        if not validated and not all(bucket.is_full(now_s, 0.5) for bucket in buckets):
            return Admission.VALIDATE
        if any(bucket.spend(0, now_s) for bucket in buckets):
            return Admission.REFUSE
        if found is _UNKNOWN:
            buckets.append(self._address(network).handshakes)
        for bucket in buckets:
            bucket.spend(HANDSHAKE_COST_US, now_s)
        return Admission.ACCEPT

    def connect(self, address: str) -> ConnectionLimits:
        """Return the limits of a new connection from this address (an IP address without its port)."""
        return ConnectionLimits(self, network_of(address))

    def add_connection(self, network: str) -> _Address:
        """Return the record of an address with one connection more."""
        found = self._address(network)
        found.connections += 1
        return found

    def _address(self, network: str) -> _Address:
        found = self._addresses.get(network)
        if found is None:
            if len(self._addresses) >= self._most_addresses:
                self._forget_one()
            found = self._addresses[network] = _Address()
        self._addresses.move_to_end(network)
        return found

    def add_account(self, account: str) -> TokenBucket:
        """Return the bucket of an account with one connection more."""
        bucket, count = self._accounts.get(account, (TokenBucket(ACCOUNT), 0))
        self._accounts[account] = (bucket, count + 1)
        return bucket

    def remove_account(self, account: str, now_s: float) -> None:
        """Remove one connection of an account; an account is forgotten once its bucket is full."""
        bucket, count = self._accounts[account]
        self._accounts[account] = (bucket, count - 1)
        if count == 1 and len(self._accounts) > self._most_addresses:
            full = [name for name, (found, left) in self._accounts.items() if not left and found.is_full(now_s)]
            for name in full:
                del self._accounts[name]

    def _forget_one(self) -> None:
        """Forget the longest unused address without connections; a known one only where all are known."""
        for also_known in (False, True):
            for network, one in self._addresses.items():
                if not one.connections and (also_known or not one.is_known(self._now_s)):
                    del self._addresses[network]
                    return

    def class_bucket(self, *, suspect: bool) -> TokenBucket:
        """Return the bucket that strangers share, or that suspects share."""
        return self._suspects if suspect else self._strangers


class ConnectionLimits:
    """The limits of one connection."""

    def __init__(self, limits: ServerLimits, network: str) -> None:
        self._limits = limits
        self._network = network
        self._address = limits.add_connection(network)
        self._stranger = TokenBucket(STRANGER)
        self._proven = TokenBucket(PROVEN)
        self._accounts: dict[str, TokenBucket] = {}
        self._refusals = 0
        self._closed = False

    @property
    def network(self) -> str:
        """The address (see :func:`network_of`) that this connection is charged to."""
        return self._network

    @property
    def is_proven(self) -> bool:
        """Whether the chain has confirmed an account on this connection."""
        return bool(self._accounts)

    def is_suspect(self, now_s: float) -> bool:
        """Whether many requests from this address were refused lately."""
        return self._address.is_suspect(now_s)

    def prove(self, account: str) -> None:
        """Note that the chain has confirmed this account on the connection."""
        if account not in self._accounts and not self._closed:
            self._address.proven += not self._accounts
            self._accounts[account] = self._limits.add_account(account)

    def refuse(self, now_s: float) -> bool:
        """Count a refused request of a stranger; return whether the connection is to be closed for it."""
        if self.is_proven:
            return False
        self._refusals += 1
        self._address.refuse(now_s)
        return self._refusals >= STRANGER_REFUSALS

    def spend(self, frames: int, requests: int, size: int, now_s: float) -> float:
        """Charge what was read; return the seconds to wait before the connection is read again."""
        cost = cost_us(frames, requests, size)
        if self.is_proven:
            buckets = [self._proven, *self._accounts.values()]
        else:
            buckets = [self._stranger, self._address.bucket]
            if not self._address.is_known(now_s):
                buckets.append(self._limits.class_bucket(suspect=self.is_suspect(now_s)))
        return max(bucket.spend(cost, now_s) for bucket in buckets)

    def close(self, now_s: float) -> None:
        """End the connection. One on which no account was proven counts as a refused request."""
        if self._closed:
            return
        self._closed = True
        self._address.connections -= 1
        if self._accounts:
            self._address.proven -= 1
            self._address.known_until_s = now_s + KNOWN_S
        else:
            self._address.refuse(now_s)
        for account in self._accounts:
            self._limits.remove_account(account, now_s)
