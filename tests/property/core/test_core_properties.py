"""What holds for every snapshot: capacity, price limits, whole gangs, and the same plan for the same input."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from offchain.core.fit import Fit, fit, take
from offchain.core.plan import Plan, plan
from offchain.core.rate import HOUR_MS, PPM, UNPAYABLE, deposit, offers, owed, rate_per_hour, storage_rate_per_hour
from offchain.core.settle import due
from offchain.core.snapshot import Snapshot, with_pending
from offchain.core.values import (
    Ask,
    BillingUnit,
    Capacity,
    Device,
    DeviceSpec,
    GpuRequest,
    Host,
    HostStatus,
    Lease,
    LeaseState,
    Periods,
    Placement,
    Resources,
    Task,
    TaskKind,
    TaskState,
    Tier,
    Vendor,
)
from offchain.schema._generated_chain import GpuPrice
from offchain.schema.ids import lease_id
from tests.chain_records import DOCKER, NOTHING, escrow

MODELS = st.sampled_from((b"A100", b"T4"))
REGIONS = st.sampled_from((b"eu", b"us"))
HOST_IDS = ("h0", "h1", "h2", "h3", "h4")
PROVIDERS = st.sampled_from(("p", "q"))
PRICES = st.integers(0, 10**13)

capacities = st.builds(
    Capacity, cpu_milli=st.integers(0, 8000), memory_mib=st.integers(0, 8192), disk_gib=st.integers(0, 20)
)
devices = st.builds(
    Device,
    spec=st.builds(
        DeviceSpec,
        vendor=st.just(Vendor.NVIDIA),
        model=MODELS,
        vram_mib=st.sampled_from((8_192, 40_960)),
        simulated=st.booleans(),
    ),
    milli_free=st.integers(0, 1000),
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
    capabilities=st.sampled_from((NOTHING, NOTHING, DOCKER)),
)


def hosts_with(identity: str) -> st.SearchStrategy[Host]:
    return st.builds(
        Host,
        id=st.just(identity),
        provider=PROVIDERS,
        status=st.sampled_from((HostStatus.ONLINE, HostStatus.ONLINE, HostStatus.OFFLINE)),
        free=capacities,
        devices=st.lists(devices, max_size=4).map(tuple),
        ask=asks,
        region=REGIONS,
        tier=tiers,
        capabilities=st.sampled_from((DOCKER, DOCKER, NOTHING)),
        network_mbps_down=st.sampled_from((0, 1000)),
        network_mbps_up=st.sampled_from((0, 1000)),
        last_heartbeat=st.integers(0, 10**6),
        downtime_ms=st.just(0),
        live_leases=st.just(0),
    )


def leases_with(identity: int) -> st.SearchStrategy[Lease]:
    return st.builds(
        Lease,
        id=st.just(identity),
        host=st.sampled_from(HOST_IDS),
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
        tenant=st.just("t"),
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
        leases=st.lists(leases_with(lease_id(identity, 0, 0)), max_size=1).map(tuple),
    )


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    hosts = [draw(hosts_with(name)) for name in HOST_IDS[: draw(st.integers(0, len(HOST_IDS)))]]
    tasks = [draw(tasks_with(number)) for number in range(1, 1 + draw(st.integers(0, 8)))]
    return Snapshot(
        number=1,
        now_ms=0,
        periods=Periods(
            start_timeout_ms=60_000, dispute_window_ms=10_000, absence_limit_ms=30_000, archive_after_ms=100_000
        ),
        agenda_at=draw(st.none() | st.integers(0, 10**6)),
        hosts={host.id: host for host in hosts},
        tasks={task.id: task for task in tasks},
    )


seeds = st.binary(max_size=64)
times = st.integers(0, 2 * 10**6)


@given(snapshots(), times, seeds)
def test_no_host_is_filled_over_its_capacity(snapshot: Snapshot, now: int, seed: bytes):
    cpu: dict[str, int] = defaultdict(int)
    memory: dict[str, int] = defaultdict(int)
    disk: dict[str, int] = defaultdict(int)
    milli: dict[tuple[str, int], int] = defaultdict(int)
    for task_id, pods in plan(snapshot, now, seed).placements.items():
        wanted = snapshot.tasks[task_id].resources
        for pod in pods:
            cpu[pod.host] += wanted.cpu_milli
            memory[pod.host] += wanted.memory_mib
            disk[pod.host] += wanted.disk_gib
            assert len(set(pod.devices)) == wanted.gpus.count
            for index in pod.devices:
                milli[pod.host, index] += wanted.gpus.milli
    for name, cpu_milli in cpu.items():
        free = snapshot.hosts[name].free
        assert cpu_milli <= free.cpu_milli
        assert memory[name] <= free.memory_mib
        assert disk[name] <= free.disk_gib
    for (name, index), taken in milli.items():
        assert taken <= snapshot.hosts[name].devices[index].milli_free


@given(snapshots(), times, seeds)
def test_every_placed_pod_satisfies_the_tasks_own_conditions(snapshot: Snapshot, now: int, seed: bytes):
    for task_id, pods in plan(snapshot, now, seed).placements.items():
        task = snapshot.tasks[task_id]
        assert task.state is not TaskState.QUEUED or task.deadline is None or now <= task.deadline
        for pod in pods:
            host = snapshot.hosts[pod.host]
            assert host.status is HostStatus.ONLINE
            assert (
                rate_per_hour(task.resources, host.devices, pod.devices, host.ask, task.unit) <= task.max_rate_per_hour
            )
            assert not task.placement.hosts or host.id in task.placement.hosts
            assert not task.placement.regions or host.region in task.placement.regions
            assert not task.placement.providers_allowed or host.provider in task.placement.providers_allowed
            assert host.provider not in task.placement.providers_denied
            assert not task.placement.tiers or host.tier in task.placement.tiers
            assert min(host.network_mbps_down, host.network_mbps_up) >= task.placement.min_network_mbps
            assert host.capabilities.docker or not task.placement.capabilities.docker
            for index in pod.devices:
                device = host.devices[index]
                assert device.healthy
                assert device.attested or not task.placement.verified_only
                assert task.placement.allow_simulated or not device.spec.simulated
                assert device.spec.vram_mib >= task.resources.gpus.min_vram_mib
                assert not task.resources.gpus.models or device.spec.model in task.resources.gpus.models


@given(snapshots(), times, seeds)
def test_gangs_are_whole_and_every_queued_task_is_answered(snapshot: Snapshot, now: int, seed: bytes):
    made = plan(snapshot, now, seed)
    for task_id, pods in made.placements.items():
        task = snapshot.tasks[task_id]
        assert tuple(pod.pod for pod in pods) == task.open_pods[: len(pods)]
        assert len(pods) >= (task.pods_min if task.state is TaskState.QUEUED else 1)
    answered = sorted([*made.placements, *(waiting.task for waiting in made.waiting)])
    assert answered == [t.id for t in snapshot.tasks.values() if t.open_pods]


@given(snapshots(), times, seeds)
def test_the_same_input_gives_the_same_plan(snapshot: Snapshot, now: int, seed: bytes):
    backwards = Snapshot(
        number=snapshot.number,
        now_ms=snapshot.now_ms,
        periods=snapshot.periods,
        hosts=dict(reversed(snapshot.hosts.items())),
        tasks=dict(reversed(snapshot.tasks.items())),
    )
    first, second = plan(snapshot, now, seed), plan(backwards, now, seed)
    assert first == second
    assert list(first.placements) == list(second.placements)


@given(snapshots(), times, seeds)
def test_a_waiting_task_fits_nowhere_once_the_plan_is_carried_out(snapshot: Snapshot, now: int, seed: bytes):
    made = plan(snapshot, now, seed)
    after = with_pending(snapshot, made.placements)
    again: Plan = plan(after, now, seed)
    assert not again.placements
    assert {w.task for w in again.waiting} == {w.task for w in made.waiting}


@given(hosts_with("h0"), resources, placements, st.sampled_from(BillingUnit), PRICES)
def test_what_fits_can_be_taken(host: Host, wanted: Resources, placement: Placement, unit: BillingUnit, limit: int):
    found = fit(host, wanted, placement, unit, limit)
    if isinstance(found, Fit):
        left = take(host, wanted, found.devices, placement)
        assert left.free.cpu_milli == host.free.cpu_milli - wanted.cpu_milli
        assert found.rate_per_hour <= limit


@given(resources, st.lists(devices, max_size=3).map(tuple), asks, st.sampled_from(BillingUnit))
def test_a_rate_is_the_exact_price_less_what_rounding_takes(
    wanted: Resources, of: tuple[Device, ...], prices: Ask, unit: BillingUnit
):
    chosen = tuple(range(len(of)))
    rate = rate_per_hour(wanted, of, chosen, prices, unit)
    if not offers(prices, unit):
        assert rate == storage_rate_per_hour(wanted, prices, unit) == UNPAYABLE
        return
    by_model = {price.model: price.per_hour for price in prices.gpu}
    parts = [Fraction(by_model.get(d.spec.model, prices.gpu_per_hour) * wanted.gpus.milli, 1000) for d in of]
    parts.append(Fraction(wanted.cpu_milli * prices.cpu_core_per_hour, 1000))
    parts.append(Fraction(wanted.memory_mib * prices.memory_gib_per_hour, 1024))
    parts.append(Fraction(wanted.disk_gib * prices.disk_gib_per_hour))
    factors = {
        BillingUnit.SECOND: prices.second_ppm,
        BillingUnit.HOUR: prices.hour_ppm,
        BillingUnit.DAY: prices.day_ppm,
    }
    exact = sum(parts) * Fraction(factors[unit], PPM)
    # Each device, the processor and the memory lose less than one unit, and so does the product.
    assert exact - (len(of) + 3) < rate <= exact


@given(st.sampled_from(BillingUnit), PRICES, st.integers(1, 10**9), st.integers(0, 2 * 10**9), st.integers(0, 10**9))
def test_owed_grows_with_time_and_stays_within_the_deposit(unit, rate, duration, elapsed, more):
    held = deposit(rate, duration)
    assert held * HOUR_MS >= rate * duration
    assert 0 <= owed(unit, held, rate, elapsed) <= owed(unit, held, rate, elapsed + more) <= held
    assert owed(unit, held, rate, elapsed, host_at_fault=True) <= owed(unit, held, rate, elapsed)


@given(snapshots(), times)
def test_what_is_not_due_now_is_due_at_the_wake_up_and_not_before(snapshot: Snapshot, now: int):
    first = due(snapshot, now)
    if first.wake_at is None:
        later = due(snapshot, 10**12).commands
        # Only a lease whose host was lost meanwhile changes what is to be done about it.
        assert len(later) == len(first.commands)
    else:
        assert first.wake_at > now
        assert due(snapshot, first.wake_at - 1).commands == first.commands
        assert due(snapshot, first.wake_at).commands != first.commands
