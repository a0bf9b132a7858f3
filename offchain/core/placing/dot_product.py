"""The host whose free resources point least the way of the pod's: it has little of what the pod needs much of."""

from __future__ import annotations

from offchain.core.placing.best_fit import BestFit
from offchain.core.placing.cluster import Floats, Ints
from offchain.core.placing.shapes import Shape


class DotProduct(BestFit):
    """The inner product of what is free and what is asked for, each as a part of the most that any host has."""

    def value(self, shape: Shape, hosts: Ints, devices: Ints) -> Floats:
        """From 0 to 2."""
        del devices
        free = self.cluster.free
        cpu: Floats = free.cpu[hosts] / self._most_cpu * (shape.cpu_milli / self._most_cpu)
        milli: Floats = free.device[hosts].sum(axis=1) / self._most_milli * (shape.total_milli / self._most_milli)
        return cpu + milli
