"""The host where the least is left: cores and GPUs, each as a part of the most that any host has."""

from __future__ import annotations

from offchain.core.placing.free import Floats, Ints
from offchain.core.placing.policy import Plain
from offchain.core.placing.shapes import Shape


class BestFit(Plain):
    """What would be left. As every host gives the same away, what is free now orders them alike."""

    def value(self, shape: Shape, hosts: Ints, devices: Ints) -> Floats:
        """From 0, nothing is left, to 2."""
        del devices
        free = self.cluster.free
        cpu: Floats = (free.cpu[hosts] - shape.cpu_milli) / self.cluster.most[0]
        milli: Floats = (free.device[hosts].sum(axis=1) - shape.total_milli) / self.cluster.most[2]
        return cpu + milli
