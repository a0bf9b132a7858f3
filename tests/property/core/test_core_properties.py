"""What holds for every snapshot: capacity, price limits, whole gangs, and the same plan for the same input."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.feasibility import Fit, fit, take
from offchain.core.pricing import PPM, UNPAYABLE, deposit, offers, owed, rate_per_hour, storage_rate_per_hour
from offchain.core.scheduler.pod_request import plain_request
from offchain.core.snapshot import Snapshot
from offchain.core.values import (
    Ask,
    BillingUnit,
    Device,
    Host,
    HostStatus,
    Layout,
    Placement,
    Resources,
    TaskState,
)
from offchain.schema.durations import HOUR_MS
from tests.support.core_strategies import (
    PRICES,
    asks,
    carried_out,
    crowded,
    devices,
    hosts_with,
    placements,
    resources,
    seeds,
    snapshots,
    times,
)
from tests.support.examples import examples
from tests.support.plan_once import Plan, plan


@settings(max_examples=examples(60))
@given(snapshots() | crowded(), times, seeds)
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


@settings(max_examples=examples(60))
@given(snapshots() | crowded(), times, seeds)
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
            longest = task.placement.max_latency_ms
            assert not longest or 0 < host.latency_ms <= longest
            assert host.capabilities.docker or not task.placement.capabilities.docker
            for index in pod.devices:
                device = host.devices[index]
                assert device.healthy
                assert device.attested or not task.placement.verified_only
                assert task.placement.allow_simulated or not device.spec.simulated
                assert device.spec.vram_mib >= task.resources.gpus.min_vram_mib
                assert not task.resources.gpus.models or device.spec.model in task.resources.gpus.models


@settings(max_examples=examples(60))
@given(snapshots() | crowded(), times, seeds)
def test_gangs_are_whole_and_every_queued_task_is_answered(snapshot: Snapshot, now: int, seed: bytes):
    made = plan(snapshot, now, seed)
    for task_id, pods in made.placements.items():
        task = snapshot.tasks[task_id]
        assert tuple(pod.pod for pod in pods) == task.open_pods[: len(pods)]
        assert len(pods) >= (task.pods_min if task.state is TaskState.QUEUED else 1)
    answered = sorted([*made.placements, *(waiting.task for waiting in made.waiting)])
    assert answered == [t.id for t in snapshot.tasks.values() if t.open_pods]


@settings(max_examples=examples(60))
@given(snapshots() | crowded(), times, seeds)
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


@settings(max_examples=examples(60))
@given(snapshots() | crowded(), times, seeds)
def test_a_waiting_task_fits_nowhere_once_the_plan_is_carried_out(snapshot: Snapshot, now: int, seed: bytes):
    made = plan(snapshot, now, seed)
    after = carried_out(snapshot, made.placements)
    again: Plan = plan(after, now, seed)
    assert not again.placements
    assert {w.task for w in again.waiting} == {w.task for w in made.waiting}


@settings(max_examples=examples(40))
@given(crowded(), times, seeds)
def test_a_plan_keeps_to_layouts(snapshot: Snapshot, now: int, seed: bytes):
    for number, pods in plan(snapshot, now, seed).placements.items():
        layout, on = snapshot.tasks[number].layout, [pod.host for pod in pods]
        assert layout is not Layout.HOSTS or len(set(on)) == len(on)
        assert layout is not Layout.PROVIDERS or len({snapshot.hosts[name].provider for name in on}) == len(on)


@given(hosts_with("h0"), resources, placements, st.sampled_from(BillingUnit), PRICES)
def test_what_fits_can_be_taken(host: Host, wanted: Resources, placement: Placement, unit: BillingUnit, limit: int):
    request = plain_request(wanted, placement, unit, limit, "5Tenant")
    found = fit(host, request)
    if isinstance(found, Fit):
        left = take(host, request, found.devices)
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
