"""The policies by name."""

from __future__ import annotations

from offchain.core.placing.best_fit import BestFit
from offchain.core.placing.cluster import Cluster
from offchain.core.placing.dot_product import DotProduct
from offchain.core.placing.first_fit import FirstFit
from offchain.core.placing.fragmentation import Fragmentation
from offchain.core.placing.gpu_packing import GpuPacking
from offchain.core.placing.names import POLICIES
from offchain.core.placing.policy import Policy
from offchain.core.placing.random_host import RandomHost
from offchain.core.placing.shapes import Mix
from offchain.core.placing.worth import Worth

_PLAIN = {"best_fit": BestFit, "dot_product": DotProduct, "first_fit": FirstFit, "gpu_packing": GpuPacking}


def make(name: str, cluster: Cluster, mix: Mix, seed: int) -> Policy:
    """The policy, for an empty cluster and the pods that are expected. ValueError where there is none of this name."""
    if name == "worth":
        return Worth(cluster, mix)
    if name == "fgd":
        return Fragmentation(cluster, mix)
    if name == "random":
        return RandomHost(cluster, seed)
    if name in _PLAIN:
        return _PLAIN[name](cluster)
    raise ValueError(f"there is no policy {name!r}: {', '.join(POLICIES)}")
