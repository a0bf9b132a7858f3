"""What filters look at, as columns: row `i` of each is host `i` of the cluster beside it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from offchain.core.fleet.offers import Offers
from offchain.core.placing.free import MOST_DEVICES, Bools, Floats, Ints
from offchain.core.scheduler.host_health import ImageLocality
from offchain.core.values import Capabilities, Host, HostStatus

_FEW = 16

SANDBOXED = 1 << 6
"""The bit of :func:`capability_bits` of hosts whose pods run in a sandbox."""

_REPUTATION_STEP = 31_250
"""Every lease changes a host's score a little; hosts are scored anew when it has changed by 1/32."""


class Names:
    """Numbers for names, so that a column of names is a column of numbers."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def number(self, name: Hashable) -> int:
        """The name's number, a new one where it has none."""
        return self._numbers.setdefault(name, len(self._numbers))

    def among(self, names: Iterable[Hashable], column: Ints) -> Bools:
        """For each row of the column, whether it is one of these names."""
        table = np.zeros(len(self._numbers) + 1, dtype=np.bool_)
        for name in names:
            number = self._numbers.get(name)
            if number is not None:
                table[number] = True
        found: Bools = table[column]
        return found


class Facts:
    """All hosts' facts. They change by :meth:`put` and :meth:`gone` alone."""

    online: Bools
    """Whether tasks may be assigned."""
    host: Ints
    """Numbers of :attr:`hosts`; so for the next three."""
    region: Ints
    provider: Ints
    tier: Ints
    mbps: Ints
    """Of the network, in the slower direction."""
    latency_ms: Ints
    """Of a round trip; 0: not measured."""
    capabilities: Ints
    """Bits of :func:`capability_bits`."""
    healthy: Bools
    """[host, device]; False where there is no device."""
    offer: Ints
    """What it asks: numbers of :attr:`offers`."""

    reputation: Floats
    """What the chain has on record, from 0 to 1, the best, in steps; one half where it has nothing."""
    trouble: Floats
    """What failed there lately, from 0, nothing, to 1, see :mod:`offchain.core.scheduler.host_health`."""

    def __init__(self) -> None:
        self.regions, self.providers, self.tiers, self.hosts = Names(), Names(), Names(), Names()
        self.offers = Offers()
        self.ran = ImageLocality()
        """Which manifests ran where lately."""
        self._held: dict[str, npt.NDArray[Any]] = {
            "online": _column(np.bool_),
            "host": _column(np.int64),
            "region": _column(np.int64),
            "provider": _column(np.int64),
            "tier": _column(np.int64),
            "mbps": _column(np.int64),
            "latency_ms": _column(np.int64),
            "capabilities": _column(np.int64),
            "healthy": _column(np.bool_, MOST_DEVICES),
            "offer": _column(np.int64),
            "reputation": _column(np.float64),
            "trouble": _column(np.float64),
        }
        self._rows = 0
        self._show(0)

    def at(self, rows: Ints) -> Facts:
        """A copy that has only these rows."""
        part = Facts()
        part.regions, part.providers, part.tiers, part.hosts = self.regions, self.providers, self.tiers, self.hosts
        part.offers = self.offers
        part.ran = self.ran
        part._held = {name: column[rows] for name, column in self._held.items()}
        part._show(len(rows))
        return part

    def put(self, row: int, host: Host) -> None:
        """Set what is known of the host in this row."""
        self._grow(row + 1)
        self.online[row] = host.status is HostStatus.ONLINE
        self.host[row] = self.hosts.number(host.id)
        self.region[row] = self.regions.number(host.region)
        self.provider[row] = self.providers.number(host.provider)
        self.tier[row] = self.tiers.number(host.tier)
        self.mbps[row] = min(host.network_mbps_down, host.network_mbps_up)
        self.latency_ms[row] = host.latency_ms
        self.capabilities[row] = capability_bits(host.capabilities)
        self.healthy[row] = False
        self.healthy[row, : len(host.devices)] = [device.healthy for device in host.devices]
        self.offer[row] = self.offers.number(host)
        tidied = self.offers.tidy(self.offer)
        if tidied is not self.offer:
            self.offer[:] = tidied
        self.reputation[row] = reputation_of(host)

    def gone(self, row: int) -> None:
        """The host in this row is no more."""
        if row < self._rows:
            self.online[row] = False

    def __len__(self) -> int:
        """How many rows."""
        return self._rows

    def _grow(self, rows: int) -> None:
        for name, column in self._held.items():
            if rows > len(column):
                more = np.zeros((max(rows, 2 * len(column)), *column.shape[1:]), dtype=column.dtype)
                more[: len(column)] = column
                self._held[name] = more
        if rows > self._rows:
            self._show(rows)

    def _show(self, rows: int) -> None:
        self._rows = rows
        for name, column in self._held.items():
            setattr(self, name, column[:rows])


def reputation_of(host: Host) -> float:
    """The host's score on the chain, from 0 to 1, rounded down to a step."""
    return host.score_ppm // _REPUTATION_STEP * _REPUTATION_STEP / 1_000_000


def capability_bits(capabilities: Capabilities) -> int:
    """One bit for each thing that a host can do or a task needs."""
    has = capabilities
    return sum(
        1 << place
        for place, one in enumerate((has.docker, has.kvm, has.kubernetes, has.cdi, has.mig, has.shares, has.sandboxed))
        if one
    )


def _column(of: Any, *more: int) -> npt.NDArray[Any]:
    return np.zeros((_FEW, *more), dtype=of)
