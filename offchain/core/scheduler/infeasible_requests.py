"""Requests that no host can serve any more in a cycle: then none can serve a request that asks for at least as much.

Free resources only fall in a cycle, so a request that was found infeasible stays so until the cycle ends. Thousands of
different requests that fit nowhere mostly ask for more than a few others, and need no look at the hosts of their own.
"""

from __future__ import annotations

from collections.abc import Hashable
from operator import le
from typing import Final

from offchain.core.scheduler.pod_request import PodRequest

_Demand = tuple[int, ...]
"""Numbers that all exclude hosts the more, the greater they are."""

MAX_MINIMA: Final = 64
"""Demands that are compared with one request; a comparison takes about a tenth of a microsecond."""


class InfeasibleRequests:
    """The least demands among the infeasible requests, by all else that decides which hosts are feasible."""

    def __init__(self) -> None:
        self._minima: dict[Hashable, list[_Demand]] = {}

    def add(self, request: PodRequest) -> None:
        """Note that no pod of this request is feasible on any host, by the chain's rules for each device."""
        demand = _demand(request)
        minima = self._minima.setdefault(_group(request), [])
        left = [other for other in minima if not _is_at_most(demand, other)]
        if len(left) < MAX_MINIMA:
            self._minima[_group(request)] = [*left, demand]

    def covers(self, request: PodRequest) -> bool:
        """Return whether an infeasible request asks for at most as much, so that this one is infeasible as well."""
        minima = self._minima.get(_group(request)) if self._minima else None
        if not minima:
            return False
        demand = _demand(request)
        return any(_is_at_most(other, demand) for other in minima)


def _group(request: PodRequest) -> Hashable:
    """Return a key of the rules that are compared for equality alone."""
    shape = request.shape
    return request.placement, request.takes_over, request.refused_by, request.unit, shape.account, shape.models


def _demand(request: PodRequest) -> _Demand:
    shape = request.shape
    # Not the shape's disk: the price counts data that the host has already.
    amounts = shape.cpu_milli, shape.memory_mib, request.resources.disk_gib, shape.gpus, shape.gpu_milli
    return *amounts, shape.min_vram_mib, -request.max_rate_per_hour, request.surcharge_ppm


def _is_at_most(one: _Demand, other: _Demand) -> bool:
    return all(map(le, one, other))
