"""Expected shares of each account: how many more it will ask for, for each device of which it has shares.

The free part of such a device is of use to that account alone (ADR 0072), so that its value depends on this number.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from offchain.core.scheduler.cluster import Cluster
from offchain.core.scheduler.columns import Floats, Ints, SharingLevels
from offchain.core.scheduler.pod_request import WHOLE_GPU, PodShape

LEVEL_SHARES: Final[Floats] = np.array([64, 32, 16, 8, 4, 2, 1, 0.5, 0.25, 0])
"""[level - 2]: the expected shares for which the value of a level is computed.

Level 0 is that of devices without shares, level 1 that of accounts from which more shares are expected: both have the
value of pieces that all pods may use.
"""

LEVELS: Final = 2 + len(LEVEL_SHARES)

_LOG_SHARES: Final[Floats] = np.log2(np.array([128, *LEVEL_SHARES[:-1], 0.125]))
"""[level - 1]. Level 1 begins at twice, and the last ends at one half of the next level's shares."""

_KEPT: Final = 0.75
"""An account keeps its level while its expected shares are within this many doublings of it. The next level is one
doubling away: a number between two levels does not change its level again and again.
"""

_CHANGE: Final = 0.1
"""Levels are computed anew when free GPUs, or what all pods have asked for, changed by this part."""

_LEAST_CHANGE: Final = 1 / 256
"""Smaller changes of free GPUs, as a part of all GPUs, do not count."""

_MAX_SIZES: Final = 64
"""The most frequent sizes of shares stand for all."""

_MAX_ACCOUNTS: Final = 1 << 14
"""Of twice as many accounts, those with the fewest shares are forgotten; of more than these, when pods are."""


class SharingDemand:
    """Learns how many shares each account asks for.

    While all pods asked for `asked` thousandths of GPUs, an account asked for `x` shares. So `x * free / asked` more
    come until what is free now is allocated. For an account that was seen rarely, the estimate is between its own
    number and the mean (a Gamma prior with the weight of one share). A share of size `z` can use each of the account's
    `m(z)` devices on which it fits, so that one device gets a share with the probability `1 / m(z)`.
    """

    def __init__(self) -> None:
        self._asked_milli = 0.0
        self._pods: dict[str, float] = {}
        self._sizes: dict[int, float] = {}
        """[thousandths]: the shares of this size."""
        self._levels: dict[str, int] = {}
        self._used = 0.0, 0.0, 0
        """Asked and free thousandths, and the number of accounts, when levels were last computed."""

    def observe(self, shape: PodShape, pods: int, account: str) -> None:
        """Count pods of this shape. `account`: see :func:`sharing_account`."""
        self._asked_milli += shape.total_milli * pods
        if account:
            self._pods[account] = self._pods.get(account, 0.0) + pods
            self._sizes[shape.gpu_milli] = self._sizes.get(shape.gpu_milli, 0.0) + pods
            if len(self._pods) > 2 * _MAX_ACCOUNTS:
                self._pods = self._most_frequent()

    def decay(self) -> None:
        """Let all earlier pods count half."""
        self._asked_milli /= 2
        self._pods = {account: pods / 2 for account, pods in self._most_frequent().items()}
        self._sizes = {size: pods / 2 for size, pods in self._sizes.items()}

    def _most_frequent(self) -> dict[str, float]:
        """[account]: the shares of those accounts that asked for the most."""
        return dict(sorted(self._pods.items(), key=lambda item: -item[1])[:_MAX_ACCOUNTS])

    def refresh(self, cluster: Cluster) -> SharingLevels | None:
        """Return the levels for the present state of the cluster; None: those in use are good enough."""
        free_milli, total_milli = cluster.free_milli, cluster.total_milli
        asked, free, accounts = self._used
        changed = (
            not asked * (1 - _CHANGE) <= self._asked_milli <= asked * (1 + _CHANGE)
            or abs(free_milli - free) > max(_CHANGE * free, _LEAST_CHANGE * total_milli)
            or len(self._pods) > accounts * (1 + _CHANGE)
        )
        if not changed or not self._pods:
            return None
        self._used = self._asked_milli, float(free_milli), len(self._pods)
        names = list(self._pods)
        pods = np.fromiter(self._pods.values(), dtype=np.float64, count=len(names))
        mean = float(pods.mean())
        horizon = free_milli / max(1.0, self._asked_milli)
        expected = horizon * (pods + 1) / (1 + 1 / mean)
        before = np.fromiter((self._levels.get(name, 0) for name in names), dtype=np.int64, count=len(names))
        parts = self._parts(cluster)
        accounts_of = [cluster.known_account(name) for name in names]
        levels = levels_of(expected * parts[accounts_of], before)
        self._levels = dict(zip(names, levels.tolist(), strict=True))
        other = levels_of(np.array([horizon * mean]), np.zeros(1, dtype=np.int64))
        return SharingLevels(self._levels, int(other[0]))

    def _parts(self, cluster: Cluster) -> Floats:
        """[account number]: the part of the account's next shares that one of its devices gets.

        The last entry is that of accounts without devices.
        """
        often = sorted(self._sizes.items(), key=lambda item: (-item[1], item[0]))[:_MAX_SIZES]
        sizes, pods = np.array(sorted(often)).T
        accounts, free = _shared_pieces(cluster)
        fitting = np.searchsorted(sizes, free, side="right")
        columns = len(sizes) + 1
        many = np.bincount(accounts * columns + fitting, minlength=(cluster.accounts + 1) * columns)
        many = many.reshape(-1, columns)
        # A piece that is enough for more sizes is enough for all that are smaller.
        devices = many[:, ::-1].cumsum(axis=1)[:, -2::-1]
        parts: Floats = (pods / pods.sum() / np.maximum(1, devices)).sum(axis=1)
        return parts


def _shared_pieces(cluster: Cluster) -> tuple[Ints, Ints]:
    """Return the account numbers, and the free thousandths, of devices with shares that have something free."""
    accounts, free = cluster.account_ids[cluster.free.device_class], cluster.free.device
    chosen = (accounts > 0) & (free > 0)
    return accounts[chosen], free[chosen].astype(np.int64)


def levels_of(shares: Floats, before: Ints) -> Ints:
    """Return the nearest levels for these expected shares. `before`: the earlier levels, 0 for none."""
    wanted = np.log2(np.maximum(shares, 1e-9)).clip(_LOG_SHARES[-1], _LOG_SHARES[0])
    nearest = 1 + np.abs(wanted[:, None] - _LOG_SHARES[None, :]).argmin(axis=1)
    keeps = (before > 0) & (np.abs(wanted - _LOG_SHARES[np.maximum(0, before - 1)]) <= _KEPT)
    found: Ints = np.where(keeps, before, nearest)
    return found


def share_values(sizes: Ints, probability: Floats, price: Floats) -> Floats:
    """[level - 2, thousandths]: the expected value of what one account cuts from a piece, in the unit of `price`.

    `n` shares are expected, of independent sizes with these probabilities, at the times of a Poisson process. Each that
    fits may be cut from the piece, which saves its price, or be refused. The value of the best choice follows from

        dV(r) / dn = Σ probability(z) * max(0, price(z) + V(r - z) - V(r))   over sizes z <= r,   V = 0 for n = 0

    (the stochastic knapsack problem; Papastavrou, Rajagopalan and Kleywegt, Management Science 42, 1996). With many
    shares it tends to the most that can be cut from the piece.
    """
    found = np.zeros((len(LEVEL_SHARES), WHOLE_GPU + 1))
    value, at = np.zeros(WHOLE_GPU + 1), 0.0
    for level in range(len(LEVEL_SHARES) - 1, -1, -1):
        while at < LEVEL_SHARES[level]:
            # Short enough that a step never exceeds the limit.
            step = min(_SMALL_STEP if at < _SMALL_UNTIL else _STEP, LEVEL_SHARES[level] - at)
            gain = np.zeros(WHOLE_GPU + 1)
            for size, each, saved in zip(sizes.tolist(), probability.tolist(), price.tolist(), strict=True):
                gain[size:] += each * np.maximum(0.0, saved + value[: WHOLE_GPU + 1 - size] - value[size:])
            value = value + step * gain
            at += step
        found[level] = value
    return found


_SMALL_STEP: Final = 0.125
_SMALL_UNTIL: Final = 4.0
_STEP: Final = 0.5
