"""Hosts and waiting tasks in any number, for measuring the scheduler's core: made up, the same for the same number."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from offchain.core.scheduler.pod_request import WHOLE_GPU
from offchain.core.values import GpuRequest, Host, Resources, Task
from offchain.simulator import generated
from offchain.simulator.production import host_record, task_record

ACCOUNTS = 1000
_SEED = 1
_GTY = 10**12
_PARTS = (100, 125, 150, 200, 250, 300, 350, 400, 450, 500, 600, 700)
_REGIONS = (b"eu", b"us", b"asia", b"africa", b"oceania")


def hosts(many: int) -> list[Host]:
    """Hosts of the made-up trace's kinds, at ten prices, in five regions."""
    random = np.random.default_rng([_SEED, many])
    prices = [price * _GTY // 100 for price in random.integers(50, 150, 10).tolist()]
    return [
        host_record(
            number,
            spec,
            gpu_price_per_hour=prices[int(random.integers(len(prices)))],
            region=_REGIONS[number % len(_REGIONS)],
        )
        for number, spec in enumerate(generated.hosts(_SEED, many))
    ]


def resources(shapes: int) -> list[Resources]:
    """Return different requests: an eighth without GPUs, six eighths for a part of one, an eighth for one or two."""
    random = np.random.default_rng([_SEED, 5])
    found: dict[Resources, None] = {}
    while len(found) < shapes:
        kind = random.random()
        cores, gib = int(random.integers(1, 13)), int(random.choice((2, 3, 4, 6)))
        gpus = 0 if kind < 1 / 8 else 1 if kind < 15 / 16 else 2
        milli = int(random.choice(_PARTS)) if kind < 7 / 8 else 1000
        part = gpus * milli / 1000 if gpus else 1.0
        request = GpuRequest(gpus, milli if gpus else 0, 0, ())
        cpu, memory = int(cores * 1000 * part), int(cores * gib * 1024 * part)
        found[Resources(max(250, cpu), max(256, memory), 10, request)] = None
    return list(found)


def tasks(many: int, shapes: int, accounts: int = ACCOUNTS) -> Iterator[Task]:
    """Draw tasks of a shape and an account each, one every 10 ms. A share of a GPU is asked for by one account alone.

    The account of a share decides where it fits: the same share for another account is another request.
    """
    random = np.random.default_rng([_SEED, 6])
    requests = resources(shapes)
    names = _accounts(accounts)
    for number in range(many):
        shape, account = int(random.integers(shapes)), int(random.integers(accounts))
        share = 0 < requests[shape].gpus.milli < WHOLE_GPU
        yield task_record(number, requests[shape], names[shape % accounts if share else account])


def shared(many: int, shapes: int, accounts: int, each: int) -> Iterator[Task]:
    """Draw tasks like :func:`tasks`, but every account asks for `each` of the shares, which others ask for, too."""
    random = np.random.default_rng([_SEED, 7])
    requests = resources(shapes)
    shares = [request for request in requests if 0 < request.gpus.milli < WHOLE_GPU]
    names = _accounts(accounts)
    for number in range(many):
        request, account = requests[int(random.integers(shapes))], int(random.integers(accounts))
        if 0 < request.gpus.milli < WHOLE_GPU:
            request = shares[(account * each + int(random.integers(each))) % len(shares)]
        yield task_record(number, request, names[account])


def different(many: int) -> Iterator[Task]:
    """Tasks of one account of which no two ask for the same."""
    (name,) = _accounts(1)
    for number in range(many):
        yield task_record(number, Resources(1000 + number, 256, 10, GpuRequest(0, 0, 0, ())), name)


def _accounts(many: int) -> list[str]:
    return [hashlib.sha256(b"account %d" % number).hexdigest()[:48] for number in range(many)]
