"""Any host where the pod fits: what a policy must be better than."""

from __future__ import annotations

import numpy as np

from offchain.core.placing.cluster import Cluster
from offchain.core.placing.free import Floats, Ints
from offchain.core.placing.policy import Plain
from offchain.core.placing.shapes import Shape


class RandomHost(Plain):
    """Scores are drawn anew for each pod."""

    steady = False

    def __init__(self, cluster: Cluster, seed: int) -> None:
        super().__init__(cluster)
        self._random = np.random.default_rng([seed, 2])

    def value(self, shape: Shape, hosts: Ints, devices: Ints) -> Floats:
        """Between 0 and 1."""
        del shape, devices
        return self._random.random(len(hosts))
