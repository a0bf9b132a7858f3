"""Chooses a host for one pod after the other, and caches the scores of hosts that have not changed."""

from __future__ import annotations

import numpy as np

from offchain.core.scheduler.cluster import Cluster, HostSlot
from offchain.core.scheduler.columns import Floats, Ints
from offchain.core.scheduler.device_choice import KernelRequest, fullest_devices
from offchain.core.scheduler.jit import compiled
from offchain.core.scheduler.pod_request import PodShape
from offchain.simulator.policies import Policy

_FEW = 32
"""Freed hosts that are checked one by one; beyond this many, all hosts are scored."""


class _ShapeScores:
    """The scores of one shape after `seen` changes."""

    __slots__ = ("devices", "scores", "seen")

    def __init__(self, hosts: int) -> None:
        self.scores: Floats = np.full(hosts, np.inf)
        self.devices: Ints = np.zeros(hosts, dtype=np.int64)
        self.seen = -1


class SimScoreCache:
    """One policy on one cluster. Of hosts with equal scores, a random one is taken."""

    def __init__(self, cluster: Cluster, policy: Policy, seed: int) -> None:
        self.cluster = cluster
        self._policy = policy
        self._random = np.random.default_rng([seed, 1])
        self._draws: list[int] = []
        self._by_shape: dict[PodShape, _ShapeScores] = {}
        self._changed: list[int] = []
        self._released: list[int] = []
        """Hosts where resources were freed, in order."""
        self._infeasible_at: dict[PodShape, int] = {}
        """[shape]: the number of releases at which it was feasible nowhere."""
        self._requests: dict[PodShape, KernelRequest] = {}
        self._all: Ints = np.arange(len(cluster), dtype=np.int64)

    def place(self, shape: PodShape) -> HostSlot | None:
        """Place one pod on the best host; None where it is feasible on none of them."""
        if not self._draws:
            self._draws = self._random.integers(0, 2**31, 4096).tolist()
        draw = self._draws.pop()
        if self.is_infeasible(shape):
            return None
        entry = self._entry(shape)
        host = int(lowest_score(entry.scores, draw))
        if host < 0:
            self._infeasible_at[shape] = len(self._released)
            return None
        place = HostSlot(host, int(entry.devices[host]))
        self.take(shape, place)
        return place

    def take(self, shape: PodShape, place: HostSlot) -> None:
        """Place one pod exactly there. ValueError: not feasible."""
        self.cluster.take(place.host, shape, place.devices)
        self._changed.append(place.host)

    def release(self, shape: PodShape, place: HostSlot) -> None:
        """Free the resources of a pod that has ended. ValueError: it cannot have been there."""
        self.cluster.release(place.host, shape, place.devices)
        self._changed.append(place.host)
        self._released.append(place.host)

    def score_all(self, shape: PodShape) -> Floats:
        """Return the scores of all hosts for a shape, without placing a pod."""
        return self._entry(shape).scores

    def is_infeasible(self, shape: PodShape) -> bool:
        """Whether the pod is known to be feasible nowhere: it was not, and is not on hosts freed since."""
        since = self._infeasible_at.get(shape)
        if since is None or len(self._released) - since > _FEW:
            return False
        request = self._requests.get(shape)
        if request is None:
            request = self._requests[shape] = KernelRequest.of(shape, self.cluster)
        if any(fullest_devices(host, self.cluster.free, request) >= 0 for host in self._released[since:]):
            return False
        self._infeasible_at[shape] = len(self._released)
        return True

    def _entry(self, shape: PodShape) -> _ShapeScores:
        entry = self._by_shape.get(shape)
        if entry is None:
            entry = self._by_shape[shape] = _ShapeScores(len(self.cluster))
        behind = len(self._changed) - entry.seen
        if entry.seen < 0 or behind >= len(self.cluster):
            self._policy.score(shape, self._all, entry.scores, entry.devices)
        elif behind == 1:
            self._policy.score(shape, np.array(self._changed[-1:], dtype=np.int64), entry.scores, entry.devices)
        elif behind:
            changed = np.array(list(set(self._changed[entry.seen :])), dtype=np.int64)
            self._policy.score(shape, changed, entry.scores, entry.devices)
        entry.seen = len(self._changed)
        return entry


@compiled
def lowest_score(scores: Floats, draw: int) -> int:
    """Return the index of the lowest score; of equals, the one selected by `draw`; -1 where all are infinite."""
    best = np.inf
    equals = 0
    for index in range(len(scores)):
        if scores[index] < best:
            best = scores[index]
            equals = 1
        elif scores[index] == best:
            equals += 1
    if best == np.inf:
        return -1
    skip = draw % equals
    for index in range(len(scores)):
        if scores[index] == best:
            if skip == 0:
                return index
            skip -= 1
    return -1
