"""Price lists as columns, each different one once: many hosts ask the same."""

from __future__ import annotations

import numpy as np

from offchain.core.placing.free import MOST_DEVICES, Floats, Ints
from offchain.core.values import Ask, BillingUnit, Host

UNITS = tuple(BillingUnit)
"""The order of the columns of :attr:`Offers.factor`."""

ALL = slice(None)
"""Price lists; those among them that nobody has are offered by no unit."""

_SPARE = 1024

_Key = tuple[Ask, tuple[bytes, ...]]


class Offers:
    """What hosts ask for their resources, by the number of the price list."""

    price: Floats
    """[list, 3]: base units per hour of a core, a GiB of memory, a GiB of disk."""
    cheapest: Floats
    """[n, list]: base units per hour of the n+1 cheapest devices together; infinite where there are not so many."""
    dearest: Floats
    """The same of the dearest devices."""
    factor: Floats
    """[unit, list]: what billing by that unit costs, in millionths of the list price; 0: not offered."""

    def __init__(self) -> None:
        self._numbers: dict[_Key, int] = {}
        self.renumbered = 0
        """How often lists have got other numbers."""
        self._make(_SPARE)

    def __len__(self) -> int:
        """How many."""
        return len(self._numbers)

    def number(self, host: Host) -> int:
        """The number of what this host asks, a new one where nobody has asked the same."""
        key = host.ask, tuple([device.spec.model for device in host.devices])
        number = self._numbers.get(key)
        if number is None:
            number = len(self._numbers)
            if number == len(self.price):
                self._make(2 * number)
            self._numbers[key] = number
            self._write(number, key)
        return number

    def tidy(self, used: Ints) -> Ints:
        """Forget the lists that nobody has any more, where they are many. Gives the numbers that `used` have now."""
        if len(self._numbers) <= 2 * len(used) + _SPARE:
            return used
        kept, numbers = np.unique(used, return_inverse=True)
        keys = list(self._numbers)
        self._numbers = {keys[old]: new for new, old in enumerate(kept.tolist())}
        self.renumbered += 1
        self._make(len(self.price))
        return numbers.astype(np.int64)

    def _make(self, room: int) -> None:
        """Columns for so many, with those that are known."""
        self.price = np.zeros((room, 3))
        self.cheapest, self.dearest = np.full((MOST_DEVICES, room), np.inf), np.full((MOST_DEVICES, room), np.inf)
        self.factor = np.zeros((len(UNITS), room))
        for key, number in self._numbers.items():
            self._write(number, key)

    def _write(self, number: int, key: _Key) -> None:
        ask, models = key
        prices = {price.model: price.per_hour for price in ask.gpu}
        each = sorted(float(prices.get(model, ask.gpu_per_hour)) for model in models)
        self.price[number] = (ask.cpu_core_per_hour, ask.memory_gib_per_hour, ask.disk_gib_per_hour)
        self.cheapest[: len(each), number] = np.cumsum(each)
        self.dearest[: len(each), number] = np.cumsum(each[::-1])
        self.factor[:, number] = (ask.second_ppm, ask.hour_ppm, ask.day_ppm)
