"""A cluster and pods that are made up, for when there are no files.

They are drawn from round numbers, not from a real cluster: what a policy reaches here says nothing about a particular
one.
"""

from __future__ import annotations

import numpy as np

from offchain.core.placing.cluster import HostSpec
from offchain.core.placing.shapes import WHOLE_GPU, Shape

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
    """Hosts of four kinds."""
    random = np.random.default_rng([seed, 3])
    kinds = random.choice(len(_KINDS), size=many, p=[part for *_, part in _KINDS])
    found = []
    for index, kind in enumerate(kinds):
        model, gpus, cores, gib, _ = _KINDS[kind]
        found.append(HostSpec(f"host-{index:04}", gpus * cores * 1000, gpus * gib * 1024, gpus, model))
    return found


def pods(seed: int, many: int = PODS) -> list[Shape]:
    """An eighth without GPUs, three in eight with a part of one, half with one or more, a tenth for one model only."""
    random = np.random.default_rng([seed, 4])
    found = []
    for _ in range(many):
        kind = random.random()
        cores = int(random.choice(_CORES))
        gib = int(random.choice((2, 4, 6))) * cores
        if kind < 1 / 8:
            found.append(Shape(2000 * cores, 1024 * gib))
            continue
        part = kind < 1 / 2
        gpus = 1 if part else int(random.choice((1, 2, 4, 8), p=(0.85, 0.08, 0.04, 0.03)))
        milli = int(random.choice(_SHARES)) if part else WHOLE_GPU
        models = frozenset({_KINDS[int(random.integers(len(_KINDS)))][0]}) if random.random() < 0.1 else frozenset()
        share = gpus * milli / WHOLE_GPU
        found.append(Shape(max(500, int(cores * 1000 * share)), max(512, int(gib * 1024 * share)), gpus, milli, models))
    return found
