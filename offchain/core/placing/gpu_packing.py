"""GPUs in use first, then free GPUs of hosts in use, then idle hosts; among them, the host with the fewest free."""

from __future__ import annotations

import numpy as np

from offchain.core.placing.free import MOST_DEVICES, Floats, Ints
from offchain.core.placing.policy import Plain
from offchain.core.placing.shapes import WHOLE_GPU, Shape

_CLASS = MOST_DEVICES + 1


class GpuPacking(Plain):
    """The class of the host, then how many of its GPUs are wholly free, then how much of the shared GPU is."""

    def value(self, shape: Shape, hosts: Ints, devices: Ints) -> Floats:
        """The class counts most."""
        free = self.cluster.free
        device = free.device[hosts]
        idle = (device == WHOLE_GPU).sum(axis=1)
        if not shape.gpus:
            plain: Floats = np.where(idle < free.gpus[hosts], 0.0, 1.0) * _CLASS + idle
            return plain
        chosen = (np.maximum(devices, 0)[:, None] >> np.arange(MOST_DEVICES)) & 1
        breaks = ((device == WHOLE_GPU) & (chosen == 1)).any(axis=1)
        kind = np.where(~breaks, 0.0, np.where(idle < free.gpus[hosts], 1.0, 2.0))
        share = (device * chosen).sum(axis=1) / (WHOLE_GPU * _CLASS)
        shared: Floats = kind * _CLASS + idle + share
        return shared
