"""Generated hosts and pods, for runs without files.

They are drawn from round numbers, not from a real cluster: results say nothing about a particular one.
"""

from __future__ import annotations

import numpy as np

from offchain.core.scheduler.cluster import HostSpec
from offchain.core.scheduler.pod_request import WHOLE_GPU, PodShape

HOSTS = 400
PODS = 4000

_KINDS = (
    # model, GPUs, cores for each, GiB for each, part of the hosts
    ("large", 8, 12, 96, 0.35),
    ("middle", 4, 16, 64, 0.3),
    ("small", 2, 32, 64, 0.2),
    ("single", 1, 8, 32, 0.15),
)
_SHARES = (100, 200, 250, 300, 400, 500, 600, 700, 750, 800)
_CORES = (1, 2, 4, 6, 8, 8, 12, 16, 24)


def hosts(seed: int, many: int = HOSTS) -> list[HostSpec]:
    """Return hosts of four kinds."""
    random = np.random.default_rng([seed, 3])
    kinds = random.choice(len(_KINDS), size=many, p=[part for *_, part in _KINDS])
    found = []
    for index, kind in enumerate(kinds):
        model, gpus, cores, gib, _ = _KINDS[kind]
        found.append(HostSpec(f"host-{index:04}", gpus * cores * 1000, gpus * gib * 1024, gpus, model))
    return found


def pods(seed: int, many: int = PODS) -> list[PodShape]:
    """Return pods, a tenth of them for one model only.

    An eighth is without GPUs, three in eight ask for a part of one, half for one or more.
    """
    random = np.random.default_rng([seed, 4])
    found = []
    for _ in range(many):
        kind = random.random()
        cores = int(random.choice(_CORES))
        gib = int(random.choice((2, 4, 6))) * cores
        if kind < 1 / 8:
            found.append(PodShape(2000 * cores, 1024 * gib))
            continue
        part = kind < 1 / 2
        gpus = 1 if part else int(random.choice((1, 2, 4, 8), p=(0.85, 0.08, 0.04, 0.03)))
        milli = int(random.choice(_SHARES)) if part else WHOLE_GPU
        models = frozenset({_KINDS[int(random.integers(len(_KINDS)))][0]}) if random.random() < 0.1 else frozenset()
        share = gpus * milli / WHOLE_GPU
        found.append(
            PodShape(max(500, int(cores * 1000 * share)), max(512, int(gib * 1024 * share)), gpus, milli, models)
        )
    return found
