"""An upper bound on the share of GPUs that a placement policy can allocate: a linear program, solved by HiGHS.

docs/scheduling.md, "The upper bound", has the program and the reasons why no policy exceeds it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import NamedTuple

import highspy

from offchain.core.scheduler.cluster import HostSpec
from offchain.core.scheduler.pod_request import WHOLE_GPU, PodShape

_GRAINS = (1, 10, 25, 50, 100)
"""Sizes of shares are rounded down to multiples of the first grain that leaves few enough patterns."""

_MAX_PATTERNS = 4000

_Pattern = Mapping[int, int]
"""How many shares of each size one GPU is cut into."""


def allocation_bound(hosts: Sequence[HostSpec], arrivals: Sequence[PodShape], *, may_refuse: bool = False) -> float:
    """Return the percentage of all GPUs that no policy exceeds when these pods have arrived, in this order.

    It holds for every policy that moves and ends no pod, also for one that knows all arrivals in advance. With
    `may_refuse` it may refuse a pod that fits; otherwise it places every pod that fits somewhere. Shares of shapes with
    an account are only on devices that no other account shares. RuntimeError: HiGHS finds no optimum.
    """
    return _Bound(hosts, arrivals, may_refuse=may_refuse).solve()


class _Kind(NamedTuple):
    """Equal hosts."""

    spec: HostSpec
    """Its name is empty."""
    hosts: int


class _SilentHighs(highspy.Highs):
    """A solver that prints nothing, not even its version when it is created."""

    def enableCallbacks(self) -> None:  # noqa: N802
        """Called by the constructor; prints the version unless output is off."""
        self.silent()
        super().enableCallbacks()


class _Bound:
    """The program. Its unit of GPUs is a whole one."""

    def __init__(self, hosts: Sequence[HostSpec], arrivals: Sequence[PodShape], *, may_refuse: bool) -> None:
        kinds = Counter(replace(spec, name="") for spec in hosts)
        self._kinds = [_Kind(spec, many) for spec, many in kinds.items()]
        self._gpus = sum(spec.gpus for spec in hosts)
        self._total = len(arrivals)
        self._positions: dict[PodShape, list[int]] = defaultdict(list)
        """[shape without account]: the positions of its arrivals, ascending."""
        self._by_account: dict[str, Counter[int]] = defaultdict(Counter)
        """[account][thousandths]: how many shares have arrived."""
        for position, shape in enumerate(arrivals):
            self._positions[replace(shape, account="")].append(position)
            if shape.account:
                self._by_account[shape.account][shape.gpu_milli] += shape.gpus
        self._shapes = list(self._positions)
        self._lp = _SilentHighs()
        self._accepted = {shape: self._lp.addVariable(lb=0, ub=len(at)) for shape, at in self._positions.items()}
        """[shape]: the number of its pods that are placed."""
        self._placed = [self._placed_on(kind) for kind in self._kinds]
        """[kind of hosts][shape]: the number of its pods placed there."""
        for shape, accepted in self._accepted.items():
            there = [placed[shape] for placed in self._placed if shape in placed]
            self._lp.addConstr(accepted == self._lp.qsum(there))
        self._add_capacity()
        if not may_refuse:
            self._add_order()

    def solve(self) -> float:
        self._lp.maximize(self._lp.qsum(shape.total_milli / WHOLE_GPU * many for shape, many in self._accepted.items()))
        if self._lp.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise RuntimeError(f"HiGHS: {self._lp.modelStatusToString(self._lp.getModelStatus())}")
        return 100 * float(self._lp.getObjectiveValue()) / self._gpus

    def _placed_on(self, kind: _Kind) -> dict[PodShape, highspy.highs_var]:
        found = {}
        for shape in self._shapes:
            each = _most_on(kind.spec, shape)
            if each:
                found[shape] = self._lp.addVariable(lb=0, ub=min(each * kind.hosts, len(self._positions[shape])))
        return found

    def _add_capacity(self) -> None:
        """Cores, memory and GPUs of each kind of hosts; GPUs are cut into shares by patterns."""
        lp, shared = self._lp, []
        shares = {shape: shape.gpu_milli for shape in self._shapes if 0 < shape.gpu_milli < WHOLE_GPU}
        counts: Counter[int] = Counter()
        for shape, milli in shares.items():
            counts[milli] += shape.gpus * len(self._positions[shape])
        patterns, rounded = _patterns_of_few(counts)
        sizes = {shape: rounded[milli] for shape, milli in shares.items()}
        for kind, placed in zip(self._kinds, self._placed, strict=True):
            spec = kind.spec
            lp.addConstr(_sum(lp, placed, lambda shape: shape.cpu_milli / 1000) <= kind.hosts * spec.cpu_milli / 1000)
            lp.addConstr(_sum(lp, placed, lambda shape: shape.memory_mib / 1024) <= kind.hosts * spec.memory_mib / 1024)
            if not spec.gpus:
                continue
            cut = lp.addVariable(lb=0)
            shared.append(cut)
            whole = {shape: many for shape, many in placed.items() if shape.gpu_milli == WHOLE_GPU}
            lp.addConstr(_sum(lp, whole, lambda shape: shape.gpus) + cut <= kind.hosts * spec.gpus)
            parts = {shape: many for shape, many in placed.items() if shape in shares}
            lp.addConstr(_sum(lp, parts, lambda shape: shape.total_milli / WHOLE_GPU) <= cut)
            self._add_patterns(patterns, cut, _by_size(parts, sizes))
        if self._by_account and shared:
            self._add_accounts(shares, rounded, lp.qsum(shared))

    def _add_patterns(
        self, patterns: Iterable[_Pattern], devices: object, shares: Mapping[int, Sequence[tuple[int, object]]]
    ) -> None:
        """Let `devices` GPUs be cut into at least `shares`: [size], numbers of devices and of pods."""
        lp = self._lp
        used = [(pattern, lp.addVariable(lb=0)) for pattern in patterns]
        lp.addConstr(lp.qsum(many for _, many in used) <= devices)
        for size, pods in shares.items():
            lp.addConstr(
                lp.qsum(gpus * many for gpus, many in pods)
                <= lp.qsum(pattern[size] * many for pattern, many in used if size in pattern)
            )

    def _add_accounts(self, shares: Mapping[PodShape, int], rounded: Mapping[int, int], devices: object) -> None:
        """Give each account GPUs of its own for its shares, whatever hosts they are on."""
        lp, mine, of_size = self._lp, [], defaultdict(list)
        for counts in self._by_account.values():
            few = _rounded(counts, rounded)
            own, placed = lp.addVariable(lb=0), {}
            for size, many in few.items():
                placed[size] = lp.addVariable(lb=0, ub=many)
                of_size[size].append(placed[size])
            self._add_patterns(_patterns(few), own, {size: [(1, many)] for size, many in placed.items()})
            mine.append(own)
        lp.addConstr(lp.qsum(mine) <= devices)
        all_shares = {shape: self._accepted[shape] for shape in shares}
        for size, pods in _by_size(all_shares, {shape: rounded[milli] for shape, milli in shares.items()}).items():
            lp.addConstr(lp.qsum(gpus * many for gpus, many in pods) == lp.qsum(of_size[size]))

    def _add_order(self) -> None:
        """Let a shape be accepted until no host has room for it, and a shape that asks for more not for longer."""
        lp, end = self._lp, self._total
        first = {shape: lp.addVariable(lb=0, ub=end) for shape in self._shapes}
        """[shape]: when no host has room any more for the first of the accounts."""
        last = dict(first)
        """[shape]: the same for the last of them; another time only for shares of accounts."""
        if self._by_account:
            for shape in self._shapes:
                if 0 < shape.gpu_milli < WHOLE_GPU:
                    last[shape] = lp.addVariable(lb=0, ub=end)
                    lp.addConstr(first[shape] <= last[shape])
        smaller = {shape: {other for other in self._shapes if _asks_for_more(shape, other)} for shape in self._shapes}
        for shape, others in smaller.items():
            for other in others.difference(*(smaller[between] for between in others)):
                lp.addConstr(first[shape] <= first[other])
                lp.addConstr(last[shape] <= last[other])
        larger: dict[PodShape, set[PodShape]] = defaultdict(set)
        for shape, others in smaller.items():
            for other in others:
                larger[other].add(shape)
        for shape in self._shapes:
            self._add_times([shape], first[shape], last[shape], lambda _: 1.0)
            self._add_times([shape, *smaller[shape]], first[shape], None, _gpus)
            self._add_times([shape, *larger[shape]], None, last[shape], _gpus)

    def _add_times(
        self,
        shapes: Sequence[PodShape],
        until: highspy.highs_var | None,
        not_after: highspy.highs_var | None,
        weight: Callable[[PodShape], float],
    ) -> None:
        """All arrivals of these shapes before `until` are accepted, and none from `not_after` on."""
        arrived = sorted((at, weight(shape)) for shape in shapes for at in self._positions[shape])
        accepted = self._lp.qsum(weight(shape) * self._accepted[shape] for shape in shapes)
        before, after, total = [(0, 0.0)], [(0, 0.0)], 0.0
        for at, more in arrived:
            before.append((at, total))
            total += more
            after.append((at + 1, total))
        if not total:
            return
        if until is not None:
            for slope, height in _hull([*before, (self._total, total)], below=True):
                self._lp.addConstr(accepted >= slope * until + height)
        if not_after is not None:
            for slope, height in _hull([*after, (self._total, total)], below=False):
                self._lp.addConstr(accepted <= slope * not_after + height)


def _gpus(shape: PodShape) -> float:
    return shape.total_milli / WHOLE_GPU


def _sum(
    lp: highspy.Highs, pods: Mapping[PodShape, highspy.highs_var], each: Callable[[PodShape], float]
) -> highspy.highs_linear_expression:
    return lp.qsum(each(shape) * many for shape, many in pods.items())


def _by_size(
    pods: Mapping[PodShape, highspy.highs_var], sizes: Mapping[PodShape, int]
) -> dict[int, list[tuple[int, highspy.highs_var]]]:
    found: dict[int, list[tuple[int, highspy.highs_var]]] = defaultdict(list)
    for shape, many in pods.items():
        found[sizes[shape]].append((shape.gpus, many))
    return found


def _most_on(spec: HostSpec, shape: PodShape) -> int:
    """Return how many pods of one shape an idle host has room for."""
    if shape.gpus and shape.models and spec.model not in shape.models:
        return 0
    room = [10**9]
    if shape.cpu_milli:
        room.append(spec.cpu_milli // shape.cpu_milli)
    if shape.memory_mib:
        room.append(spec.memory_mib // shape.memory_mib)
    if shape.gpus:
        room.append(spec.gpus * (WHOLE_GPU // shape.gpu_milli) // shape.gpus if spec.gpus >= shape.gpus else 0)
    return min(room)


def _asks_for_more(one: PodShape, other: PodShape) -> bool:
    """Whether `other`, a different shape, fits wherever `one` does."""
    return (
        one != other
        and one.cpu_milli >= other.cpu_milli
        and one.memory_mib >= other.memory_mib
        and one.gpus >= other.gpus
        and one.gpu_milli >= other.gpu_milli
        and (not other.models or (bool(one.models) and one.models <= other.models))
    )


def _patterns_of_few(counts: Mapping[int, int]) -> tuple[list[_Pattern], dict[int, int]]:
    """Return patterns for so many shares of each size, and what each size was rounded to: down, so that more fit."""
    for grain in _GRAINS:
        rounded = {size: size // grain * grain or size for size in counts}
        found = list(islice(_patterns(_rounded(counts, rounded)), _MAX_PATTERNS + 1))
        if len(found) <= _MAX_PATTERNS:
            return found, rounded
    raise RuntimeError(f"{len(counts)} sizes of shares make too many patterns")


def _rounded(counts: Mapping[int, int], rounded: Mapping[int, int]) -> Counter[int]:
    found: Counter[int] = Counter()
    for size, many in counts.items():
        found[rounded[size]] += many
    return found


def _patterns(counts: Mapping[int, int]) -> Iterator[_Pattern]:
    """Return the largest ways to cut a GPU into at most so many shares of each size."""
    sizes = sorted(counts, reverse=True)
    chosen: dict[int, int] = {}

    def cut(index: int, left: int) -> Iterator[_Pattern]:
        if index == len(sizes):
            if all(left < size or chosen.get(size, 0) == counts[size] for size in sizes):
                yield dict(chosen)
            return
        size = sizes[index]
        for many in range(min(left // size, counts[size]), -1, -1):
            if many:
                chosen[size] = many
            yield from cut(index + 1, left - many * size)
            chosen.pop(size, None)

    return cut(0, WHOLE_GPU)


def _hull(points: Iterable[tuple[int, float]], *, below: bool) -> list[tuple[float, float]]:
    """Return the lines (slope, height at 0) of the hull that no point is below, or above. The points are ordered."""
    sign = 1 if below else -1
    corners: list[tuple[int, float]] = []
    for x, y in points:
        if corners and corners[-1][0] == x:
            if sign * (y - corners[-1][1]) >= 0:
                continue
            corners.pop()
        while len(corners) > 1:
            (x0, y0), (x1, y1) = corners[-2:]
            if sign * ((x1 - x0) * (y - y0) - (y1 - y0) * (x - x0)) > 0:
                break
            corners.pop()
        corners.append((x, y))
    slopes = [((y1 - y0) / (x1 - x0), x0, y0) for (x0, y0), (x1, y1) in pairwise(corners)]
    return [(slope, y0 - slope * x0) for slope, x0, y0 in slopes]
