"""The host whose free resources point least the way of the pod's: it has little of what the pod needs much of."""

from __future__ import annotations

from offchain.core.placing.best_fit import BestFit
from offchain.core.placing.free import Floats, Ints
from offchain.core.placing.shapes import Shape


class DotProduct(BestFit):
    """The inner product of what is free and what is asked for, each as a part of the most that any host has."""

    def value(self, shape: Shape, hosts: Ints, devices: Ints) -> Floats:
        """From 0 to 2."""
        del devices
        free, (most_cpu, _, most_milli) = self.cluster.free, self.cluster.most
        cpu: Floats = free.cpu[hosts] / most_cpu * (shape.cpu_milli / most_cpu)
        milli: Floats = free.device[hosts].sum(axis=1) / most_milli * (shape.total_milli / most_milli)
        return cpu + milli
