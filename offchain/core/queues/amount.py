"""What a task asks for, a queue holds or a limit allows, as the three resources that shares are made of."""

from __future__ import annotations

from typing import Final, NamedTuple

_new = tuple.__new__  # the quickest way, and amounts are made all the time


class Amount(NamedTuple):
    """Of cores and of GPUs in thousandths. A task's amount is that of all its pods together."""

    cpu_milli: int = 0
    memory_mib: int = 0
    gpu_milli: int = 0

    def within(self, room: Amount) -> bool:
        """Whether there is room for so much."""
        return self[0] <= room[0] and self[1] <= room[1] and self[2] <= room[2]

    def plus(self, other: Amount) -> Amount:
        """Both together."""
        return _new(Amount, (self[0] + other[0], self[1] + other[1], self[2] + other[2]))

    def times(self, count: int) -> Amount:
        """So many times as much."""
        return _new(Amount, (self[0] * count, self[1] * count, self[2] * count))

    def minus(self, other: Amount) -> Amount:
        """What is left; nothing where there was less."""
        return Amount(max(0, self[0] - other[0]), max(0, self[1] - other[1]), max(0, self[2] - other[2]))

    def at_most(self, other: Amount) -> Amount:
        """Of each resource the lesser."""
        return Amount(min(self[0], other[0]), min(self[1], other[1]), min(self[2], other[2]))

    def part(self, share: float) -> Amount:
        """A share of each resource, rounded down; a millionth short of a whole number is that number."""
        return Amount(int(self[0] * share + 1e-6), int(self[1] * share + 1e-6), int(self[2] * share + 1e-6))


NOTHING: Final = Amount()
UNLIMITED: Final = Amount(1 << 62, 1 << 62, 1 << 62)

_NAMES: Final = (("core", "cores"), ("GiB of memory", "GiB of memory"), ("GPU", "GPUs"))
_UNITS: Final = (1000, 1024, 1000)


def words(resource: int, amount: int) -> str:
    """For people: so much of the resource with this place in an Amount."""
    number = f"{round(amount / _UNITS[resource], 3):g}"
    return f"{number} {_NAMES[resource][number != '1']}"


def number(resource: int, amount: int) -> str:
    """As in :func:`words`, without the resource's name."""
    return f"{round(amount / _UNITS[resource], 3):g}"
