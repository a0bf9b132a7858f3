"""Hypothesis strategies for the records that decisions are made of."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from offchain.core.feasibility import take
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.snapshot import Snapshot
from offchain.core.values import (
    NO_TERMS,
    Ask,
    BillingUnit,
    Capacity,
    Device,
    DeviceSpec,
    GpuRequest,
    Host,
    HostStatus,
    Layout,
    Lease,
    LeaseState,
    Placement,
    PodPlacement,
    Resources,
    SlaTerms,
    Task,
    TaskKind,
    TaskState,
    Tier,
    Vendor,
)
from offchain.schema.chain_types._generated_chain import GpuPrice
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import DOCKER, NOTHING, SANDBOXED, ask, escrow, placement
from tests.support.core_builders import PERIODS

MODELS = st.sampled_from((b"A100", b"T4"))
REGIONS = st.sampled_from((b"eu", b"us"))
HOST_IDS = ("h0", "h1", "h2", "h3", "h4")
PROVIDERS = st.sampled_from(("p", "q"))
PRICES = st.integers(0, 10**13)

capacities = st.builds(
    Capacity, cpu_milli=st.integers(0, 8000), memory_mib=st.integers(0, 8192), disk_gib=st.integers(0, 20)
)
TENANTS = st.sampled_from(("t", "u"))
rooms = st.tuples(st.sampled_from((0, 1000)), st.none()) | st.tuples(st.integers(0, 990), TENANTS)
"""Of a device: what is free, and whose shares there are of it."""


def _device(room: tuple[int, str | None], **values: Any) -> Device:
    return Device(milli_free=room[0], shared_by=room[1], **values)


devices = st.builds(
    _device,
    spec=st.builds(
        DeviceSpec,
        vendor=st.just(Vendor.NVIDIA),
        model=MODELS,
        vram_mib=st.sampled_from((8_192, 40_960)),
        simulated=st.booleans(),
    ),
    room=rooms,
    attested=st.booleans(),
    healthy=st.booleans(),
)
resources = st.builds(
    Resources,
    cpu_milli=st.integers(1, 4000),
    memory_mib=st.integers(1, 4096),
    disk_gib=st.integers(0, 10),
    gpus=st.builds(
        GpuRequest,
        count=st.integers(0, 3),
        milli=st.sampled_from((250, 500, 1000)),
        min_vram_mib=st.sampled_from((0, 10_000)),
        models=st.lists(MODELS, max_size=2, unique=True).map(tuple),
    ),
)
TERMS = st.just(NO_TERMS) | st.builds(
    SlaTerms,
    uptime_ppm=st.sampled_from((0, 999_000)),
    start_ms=st.sampled_from((0, 1_000, 60_000)),
    notice_ms=st.sampled_from((0, 1)),
    penalty_ppm=st.sampled_from((0, 100_000)),
)
asks = st.builds(
    Ask,
    gpu=st.dictionaries(MODELS, PRICES, max_size=2).map(
        lambda prices: tuple(GpuPrice(model, price) for model, price in prices.items())
    ),
    gpu_per_hour=PRICES,
    cpu_core_per_hour=PRICES,
    memory_gib_per_hour=PRICES,
    disk_gib_per_hour=PRICES,
    network_gib=st.just(0),
    storage_gib_per_hour=PRICES,
    second_ppm=st.sampled_from((0, 900_000, 1_000_000)),
    hour_ppm=st.just(1_000_000),
    day_ppm=st.just(1_000_000),
    terms=TERMS,
)
tiers = st.sampled_from(Tier)
placements = st.builds(
    Placement,
    regions=st.lists(REGIONS, max_size=2, unique=True).map(tuple),
    hosts=st.lists(st.sampled_from(HOST_IDS), max_size=2, unique=True).map(tuple),
    providers_allowed=st.lists(PROVIDERS, max_size=1).map(tuple),
    providers_denied=st.lists(PROVIDERS, max_size=1).map(tuple),
    tiers=st.lists(tiers, max_size=2, unique=True).map(tuple),
    verified_only=st.booleans(),
    allow_simulated=st.booleans(),
    min_network_mbps=st.sampled_from((0, 100)),
    max_latency_ms=st.sampled_from((0, 0, 50)),
    capabilities=st.sampled_from((NOTHING, NOTHING, DOCKER, SANDBOXED)),
    layout=st.just(Layout.ANY),
    min_terms=TERMS,
)


def hosts_with(identity: str) -> st.SearchStrategy[Host]:
    return st.builds(
        Host,
        id=st.just(identity),
        provider=PROVIDERS,
        status=st.sampled_from((HostStatus.ONLINE, HostStatus.ONLINE, HostStatus.OFFLINE)),
        total=st.just(Capacity(8000, 8192, 20)),
        free=capacities,
        devices=st.lists(devices, max_size=4).map(tuple),
        ask=asks,
        region=REGIONS,
        tier=tiers,
        capabilities=st.sampled_from((DOCKER, DOCKER, NOTHING, SANDBOXED)),
        network_mbps_down=st.sampled_from((0, 1000)),
        network_mbps_up=st.sampled_from((0, 1000)),
        latency_ms=st.sampled_from((0, 50, 51)),
        last_heartbeat=st.integers(0, 10**6),
        downtime_ms=st.just(0),
        live_leases=st.just(0),
    )


def leases_with(identity: int) -> st.SearchStrategy[Lease]:
    return st.builds(
        Lease,
        id=st.just(identity),
        host=st.sampled_from(HOST_IDS),
        devices=st.just(()),
        state=st.sampled_from(LeaseState),
        created_at=st.integers(0, 10**6),
        escrow=st.builds(
            escrow,
            rate_per_hour=st.sampled_from((0, 10**12)),
            since=st.none() | st.integers(0, 10**6),
            until=st.none() | st.integers(0, 10**6),
        ),
        reclaim_at=st.none() | st.integers(0, 10**6),
    )


@st.composite
def tasks_with(draw: st.DrawFn, identity: int) -> Task:
    task = draw(_tasks(identity))
    if task.state is TaskState.QUEUED:
        count = draw(st.sampled_from((0, task.pods_min, task.pods_min + 2)))
        return replace(task, open_pods=tuple(range(count)))
    if task.kind is not TaskKind.JOB and task.state in (TaskState.ASSIGNED, TaskState.RUNNING):
        return replace(task, open_pods=tuple(sorted(draw(st.sets(st.integers(1, 4), max_size=3)))))
    return task


def _tasks(identity: int) -> st.SearchStrategy[Task]:
    return st.builds(
        Task,
        id=st.just(identity),
        tenant=TENANTS,
        state=st.sampled_from(TaskState),
        kind=st.sampled_from(TaskKind),
        resources=resources,
        placement=placements,
        unit=st.sampled_from(BillingUnit),
        pods_min=st.integers(1, 3),
        max_rate_per_hour=st.sampled_from((10**12, 10**14, 10**16)),
        max_duration_ms=st.integers(1, 10**8),
        deadline=st.none() | st.integers(0, 10**6),
        priority=st.integers(0, 3),
        queue=st.just(b"default"),
        generation=st.just(0),
        submitted_at=st.integers(0, 3),
        changed_at=st.integers(0, 10**6),
        open_pods=st.just(()),
        refused_by=st.sets(st.sampled_from(HOST_IDS), max_size=2).map(lambda names: tuple(sorted(names))),
        leases=st.lists(leases_with(lease_id(identity, 0, 0)), max_size=1).map(tuple),
    )


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    hosts = [draw(hosts_with(name)) for name in HOST_IDS[: draw(st.integers(0, len(HOST_IDS)))]]
    tasks = [draw(tasks_with(number)) for number in range(1, 1 + draw(st.integers(0, 8)))]
    return Snapshot(
        number=1,
        now_ms=0,
        periods=PERIODS,
        agenda_at=draw(st.none() | st.integers(0, 10**6)),
        hosts={host.id: host for host in hosts},
        tasks={task.id: task for task in tasks},
    )


_SHAPES = (
    (1000, 1024, 0, 0, ()),
    (1000, 1024, 1, 400, ()),
    (1000, 1024, 1, 700, ()),
    (1000, 2048, 1, 1000, (b"A100",)),
    (2000, 1024, 1, 1000, ()),
    (2000, 2048, 2, 1000, ()),
    (3000, 1024, 2, 500, (b"T4",)),
    (1000, 1024, 3, 1000, ()),
)
"""Cores, memory, GPUs, thousandths of each, models."""


@st.composite
def _roomy_host(draw: st.DrawFn, identity: str) -> Host:
    spec = DeviceSpec(vendor=Vendor.NVIDIA, model=draw(MODELS), vram_mib=40_960, simulated=False)
    free = st.sampled_from(((1000, None), (1000, None), (1000, None), (600, "t"), (300, "u"), (0, None)))
    return replace(
        draw(hosts_with(identity)),
        status=HostStatus.ONLINE,
        free=Capacity(draw(st.sampled_from((2000, 3000, 4000, 8000))), draw(st.sampled_from((2048, 4096, 8192))), 20),
        devices=tuple(
            _device(draw(free), spec=spec, attested=True, healthy=True) for _ in range(draw(st.integers(1, 4)))
        ),
        ask=ask(
            gpu_per_hour=draw(st.sampled_from((1, 2, 3))) * 10**11, cpu_core_per_hour=10**9, memory_gib_per_hour=10**9
        ),
    )


@st.composite
def _modest_task(draw: st.DrawFn, identity: int) -> Task:
    cpu, memory, count, milli, models = draw(st.sampled_from(_SHAPES))
    pods = draw(st.sampled_from((1, 1, 1, 2, 3)))
    least = draw(st.sampled_from((pods, pods, pods, 1)))
    return replace(
        draw(_tasks(identity)),
        state=TaskState.QUEUED,
        kind=TaskKind.JOB,
        resources=Resources(cpu, memory, 0, GpuRequest(count=count, milli=milli, min_vram_mib=0, models=models)),
        placement=placement(),
        pods_min=least,
        open_pods=tuple(range(pods)),
        layout=draw(st.sampled_from(Layout)) if pods > 1 else Layout.ANY,
        max_rate_per_hour=draw(st.sampled_from((15, 25, 70))) * 10**10 * max(1, count),
        leases=(),
        deadline=None,
    )


@st.composite
def crowded(draw: st.DrawFn) -> Snapshot:
    """Hosts on which most tasks would find a place, and more tasks than places: gangs, layouts, GPUs, prices."""
    hosts = [draw(_roomy_host(name)) for name in HOST_IDS[: draw(st.integers(1, 4))]]
    tasks = [draw(_modest_task(number)) for number in range(1, 1 + draw(st.integers(2, 9)))]
    return replace(_EMPTY, hosts={host.id: host for host in hosts}, tasks={task.id: task for task in tasks})


_EMPTY = Snapshot(number=1, now_ms=0, periods=PERIODS, agenda_at=None, hosts={}, tasks={})
seeds = st.binary(max_size=64)
times = st.integers(0, 2 * 10**6)


def carried_out(snapshot: Snapshot, placements: Mapping[int, Sequence[PodPlacement]]) -> Snapshot:
    """The snapshot as the chain would have it after these assignments."""
    hosts, tasks = dict(snapshot.hosts), dict(snapshot.tasks)
    for number, pods in placements.items():
        task = tasks[number]
        tasks[number] = replace(task, open_pods=())
        for pod in pods:
            hosts[pod.host] = take(hosts[pod.host], PodRequest.of(task), pod.devices)
    return replace(snapshot, hosts=hosts, tasks=tasks)
