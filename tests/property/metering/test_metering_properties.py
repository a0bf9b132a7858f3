"""Usage sums: for all samples in any order, no sum decreased_totals and nothing is counted twice."""

from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from node_agent.metering.usage import (
    FIRST_MS,
    LONGEST_GAP_MS,
    ContainerRun,
    CountedRun,
    GpuReading,
    MeteredUsage,
    PodSample,
    fold,
)
from node_agent.runtime.codec import dumps, loads
from offchain.core.receipt_check import decreased_totals

AMOUNTS = st.integers(0, 1 << 50)
NAMES = st.sampled_from(["a@1", "a@2", "b@1", "sandbox@1"])
RUNS = st.builds(
    ContainerRun,
    name=NAMES,
    age_ms=st.integers(-10_000, 10**9),
    cpu_us=AMOUNTS,
    memory_bytes=AMOUNTS,
    received_bytes=AMOUNTS,
    sent_bytes=AMOUNTS,
    own=st.booleans(),
)
GPUS = st.builds(
    GpuReading, busy_ppm=st.none() | st.integers(-5, 2_000_000), memory_bytes=st.none() | st.integers(0, 1 << 40)
)
SAMPLES = st.builds(
    PodSample,
    boot=st.sampled_from(["one", "two"]),
    steady_ms=st.integers(0, 10**7),
    runs=st.lists(RUNS, max_size=4, unique_by=lambda run: run.name).map(tuple),
    gpus=st.lists(GPUS, max_size=2).map(tuple),
    disk_bytes=st.none() | AMOUNTS,
)


def folded(samples, metered=None):
    for sample in samples:
        metered = fold(metered or MeteredUsage(), sample)
    return metered or MeteredUsage()


@given(st.lists(SAMPLES, max_size=12))
def test_no_total_ever_falls(samples):
    metered = MeteredUsage()
    for sample in samples:
        after = fold(metered, sample)
        assert decreased_totals(metered.totals, after.totals) == ()
        metered = after


@given(st.lists(SAMPLES, max_size=12))
def test_counters_are_the_highest_readings_of_each_run(samples):
    """So the order, repetitions and readings that fall back change nothing."""
    highest = {}
    for sample in samples:
        for run in sample.runs:
            highest[run.name] = max(highest.get(run.name, 0), run.cpu_us)
    assert folded(samples).cpu_us == sum(highest.values())
    assert folded(reversed(samples)).cpu_us == sum(highest.values())
    assert folded([one for sample in samples for one in (sample, sample)]).cpu_us == sum(highest.values())


@given(st.lists(SAMPLES, min_size=1, max_size=12))
def test_time_is_never_more_than_has_passed(samples):
    samples = [replace(one, boot="one") for one in samples]
    passed_ms = max(one.steady_ms for one in samples) - samples[0].steady_ms
    metered = folded(samples)
    assert metered.wall_ms <= max(0, passed_ms) + FIRST_MS
    assert metered.unmetered_ms <= metered.wall_ms


@given(st.lists(SAMPLES, max_size=8), SAMPLES)
@example(
    [PodSample(boot="one", steady_ms=0, runs=(ContainerRun(name="a@1"),))],
    PodSample(
        boot="one",
        steady_ms=60_001,
        runs=(ContainerRun(name="a@1"),),
        gpus=(GpuReading(busy_ppm=None, memory_bytes=0),),
    ),
)
def test_a_sample_that_comes_twice_counts_once(samples, sample):
    once = folded([*samples, sample])
    assert fold(once, sample).totals == once.totals


@given(st.lists(SAMPLES, max_size=12), st.integers(0, 12))
def test_a_restart_of_the_agent_changes_nothing(samples, cut):
    before = folded(samples[:cut])
    assert folded(samples[cut:], loads(MeteredUsage, dumps(before))) == folded(samples)


@given(st.lists(st.integers(0, 20_000), min_size=1, max_size=20), st.integers(0, 1 << 34))
def test_a_pod_that_runs_on_is_metered_exactly(pauses, memory):
    now_ms, metered = 5_000, MeteredUsage()
    for pause_ms in [0, *pauses]:
        now_ms += pause_ms
        run = ContainerRun(name="a@1", age_ms=now_ms - 5_000, cpu_us=now_ms * 500, memory_bytes=memory)
        metered = fold(metered, PodSample(boot="b", steady_ms=now_ms, runs=(run,)))
    assert metered.wall_ms == sum(pauses)
    assert metered.memory_byte_ms == memory * sum(pauses)
    assert metered.cpu_us == now_ms * 500
    assert metered.unmetered_ms == 0


@given(st.integers(LONGEST_GAP_MS + 1, 10**9), AMOUNTS)
def test_a_gap_adds_time_and_counters_but_no_estimates(gap_ms, memory):
    """The agent was away; its container ran on."""
    first = PodSample(boot="b", steady_ms=0, runs=(ContainerRun(name="a@1", cpu_us=100, memory_bytes=memory),))
    later = PodSample(boot="b", steady_ms=gap_ms, runs=(ContainerRun(name="a@1", cpu_us=900, memory_bytes=memory),))
    metered = folded([first, later])
    assert (metered.wall_ms, metered.unmetered_ms, metered.cpu_us) == (gap_ms, gap_ms, 900)
    assert metered.memory_byte_ms == 0
    assert metered.memory_peak_bytes == memory


@given(st.lists(AMOUNTS, min_size=1, max_size=100))
def test_runs_add_up_however_many_there_are(counts):
    metered = MeteredUsage()
    for number, cpu_us in enumerate(counts):
        metered = fold(
            metered, PodSample(boot="b", steady_ms=number, runs=(ContainerRun(name=f"a@{number}", cpu_us=cpu_us),))
        )
    assert metered.cpu_us == sum(counts)
    assert len(metered.runs) <= 64


def test_a_run_that_is_missing_in_one_sample_is_not_counted_twice():
    run = ContainerRun(name="a@1", cpu_us=700)
    there, gone = (PodSample(boot="b", steady_ms=moment, runs=runs) for moment, runs in ((1, (run,)), (2, ())))
    back = replace(there, steady_ms=3)
    metered = folded([there, gone, back])
    assert metered.cpu_us == 700
    assert metered.runs == (CountedRun(name="a@1", cpu_us=700, received_bytes=0, sent_bytes=0, seen=True),)


def test_a_pod_sandbox_does_not_show_that_the_pod_runs():
    sandbox = ContainerRun(name="sandbox@1", received_bytes=5, own=False)
    samples = [PodSample(boot="b", steady_ms=moment, runs=(sandbox,)) for moment in (0, 1_000)]
    assert (folded(samples).wall_ms, folded(samples).received_bytes) == (0, 5)


def test_gpus_without_a_reading_have_no_sum():
    blind = PodSample(
        boot="b", steady_ms=0, runs=(ContainerRun(name="a@1"),), gpus=(GpuReading(busy_ppm=None, memory_bytes=None),)
    )
    totals = folded([blind, replace(blind, steady_ms=9_000)]).totals
    assert (totals.gpu_ms, totals.gpu_memory_mib_s, totals.gpu_memory_peak_mib) == (None, None, None)
    half = replace(blind, gpus=(GpuReading(busy_ppm=500_000, memory_bytes=3 << 20),))
    totals = folded([half, replace(half, steady_ms=9_000)]).totals
    assert (totals.gpu_ms, totals.gpu_memory_mib_s, totals.gpu_memory_peak_mib) == (4_500, 27, 3)


def test_the_disk_of_a_stopped_pod_counts_on():
    stopped = PodSample(boot="b", steady_ms=0, runs=(), disk_bytes=2 << 20)
    totals = folded([stopped, replace(stopped, steady_ms=10_000)]).totals
    assert (totals.wall_ms, totals.disk_mib_s, totals.disk_peak_mib) == (0, 20, 2)
