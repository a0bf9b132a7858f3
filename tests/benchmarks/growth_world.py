"""Hosts and waiting tasks in any number, for measuring the scheduler's core: made up, the same for the same number."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from offchain.core.scheduler.pod_request import WHOLE_GPU
from offchain.core.values import (
    Ask,
    BillingUnit,
    Capabilities,
    Capacity,
    Device,
    DeviceSpec,
    GpuRequest,
    Host,
    HostStatus,
    Layout,
    Placement,
    Resources,
    Task,
    TaskKind,
    TaskState,
    Tier,
    Vendor,
)
from offchain.simulator import generated

ACCOUNTS = 1000
_SEED = 1
_GTY = 10**12
_PPM = 10**6
_DOCKER = Capabilities(docker=True, kvm=False, kubernetes=False, cdi=False, mig=False, shares=False, sandboxed=False)
_ANYWHERE = Placement(
    (),
    (),
    (),
    (),
    (),
    verified_only=False,
    allow_simulated=True,
    min_network_mbps=0,
    max_latency_ms=0,
    capabilities=_DOCKER,
    layout=Layout.ANY,
)
_PARTS = (100, 125, 150, 200, 250, 300, 350, 400, 450, 500, 600, 700)


def hosts(many: int) -> list[Host]:
    """Of the made-up trace's kinds, at ten prices, in five regions."""
    random = np.random.default_rng([_SEED, many])
    prices = random.integers(50, 150, 10).tolist()
    found = []
    for number, spec in enumerate(generated.hosts(_SEED, many)):
        model = spec.model.encode()
        device = Device(
            DeviceSpec(Vendor.NVIDIA, model, 40_960, simulated=False), 1000, shared_by=None, attested=True, healthy=True
        )
        room = Capacity(spec.cpu_milli, spec.memory_mib, 2000)
        price = int(prices[int(random.integers(len(prices)))]) * _GTY // 100
        found.append(
            Host(
                id=hashlib.sha256(b"host %d" % number).hexdigest()[:48],
                provider=f"provider {number // 20}",
                status=HostStatus.ONLINE,
                total=room,
                free=room,
                devices=(device,) * spec.gpus,
                ask=Ask((), price, price // 40, price // 200, price // 10_000, 0, 0, _PPM, _PPM, _PPM),
                region=(b"eu", b"us", b"asia", b"africa", b"oceania")[number % 5],
                tier=Tier.CONSUMER,
                capabilities=_DOCKER,
                network_mbps_down=1000,
                network_mbps_up=1000,
                latency_ms=5,
                last_heartbeat=0,
                downtime_ms=0,
                live_leases=0,
            )
        )
    return found


def resources(shapes: int) -> list[Resources]:
    """So many different wishes: an eighth without GPUs, six eighths for a part of one, an eighth for one or two."""
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
    """Each of a shape and an account by chance, one every 10 ms. A share of a GPU is asked for by one account.

    For whose shares they are decides where they fit: the same share for another account is another wish.
    """
    random = np.random.default_rng([_SEED, 6])
    wishes = resources(shapes)
    names = [hashlib.sha256(b"account %d" % number).hexdigest()[:48] for number in range(accounts)]
    for number in range(many):
        shape, account = int(random.integers(shapes)), int(random.integers(accounts))
        share = 0 < wishes[shape].gpus.milli < WHOLE_GPU
        yield task(number, wishes[shape], names[shape % accounts if share else account])


def shared(many: int, shapes: int, accounts: int, each: int) -> Iterator[Task]:
    """The same, but every account asks for so many of the shares, which others ask for, too."""
    random = np.random.default_rng([_SEED, 7])
    wishes = resources(shapes)
    shares = [wish for wish in wishes if 0 < wish.gpus.milli < WHOLE_GPU]
    names = [hashlib.sha256(b"account %d" % number).hexdigest()[:48] for number in range(accounts)]
    for number in range(many):
        wish, account = wishes[int(random.integers(shapes))], int(random.integers(accounts))
        if 0 < wish.gpus.milli < WHOLE_GPU:
            wish = shares[(account * each + int(random.integers(each))) % len(shares)]
        yield task(number, wish, names[account])


def task(number: int, wish: Resources, account: str) -> Task:
    """A job of one pod."""
    return Task(
        id=number,
        tenant=account,
        state=TaskState.QUEUED,
        kind=TaskKind.JOB,
        resources=wish,
        placement=_ANYWHERE,
        unit=BillingUnit.SECOND,
        pods_min=1,
        max_rate_per_hour=10 * _GTY,
        max_duration_ms=3_600_000,
        deadline=None,
        priority=100,
        queue=b"default",
        generation=0,
        submitted_at=10 * number,
        changed_at=10 * number,
        open_pods=(0,),
    )
