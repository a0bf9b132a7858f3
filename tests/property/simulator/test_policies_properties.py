"""Whatever comes: no more is taken than there is, what fits is placed, and the same seed does the same."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.scheduler.cluster import Cluster, HostSpec
from offchain.core.scheduler.demand import DemandDistribution
from offchain.core.scheduler.pod_request import WHOLE_GPU, PodShape
from offchain.simulator.names import BASELINES
from offchain.simulator.policies import make_policy
from offchain.simulator.sim_score_cache import SimScoreCache
from tests.support.examples import examples
from tests.support.placing_samples import is_feasible

MODELS = ("red", "blue", "green")

hosts = st.lists(
    st.builds(
        HostSpec,
        name=st.just("host"),
        cpu_milli=st.integers(0, 32).map(lambda cores: cores * 1000),
        memory_mib=st.integers(0, 64).map(lambda gib: gib * 1024),
        gpus=st.integers(0, 8),
        model=st.sampled_from(MODELS),
    ),
    min_size=1,
    max_size=6,
).map(lambda specs: [replace(spec, name=f"host-{place}") for place, spec in enumerate(specs)])


@st.composite
def shapes(draw):
    cpu = draw(st.integers(0, 16)) * 1000
    memory = draw(st.integers(0, 32)) * 1024
    gpus = draw(st.sampled_from([0, 1, 1, 1, 2, 4]))
    if not gpus:
        return PodShape(cpu, memory)
    milli = draw(st.sampled_from([100, 190, 320, 470, 500, 810, WHOLE_GPU, WHOLE_GPU]))
    models = draw(st.frozensets(st.sampled_from(MODELS), max_size=2))
    return PodShape(cpu, memory, gpus, milli, models)


def work(specs, pods, policy, seed, check):
    cluster = Cluster.of(specs)
    board = SimScoreCache(cluster, make_policy(policy, cluster, DemandDistribution.of(pods)), seed)
    return [check(cluster, board, pod) for pod in pods]


@settings(max_examples=examples(60))
@given(
    specs=hosts,
    pods=st.lists(shapes(), min_size=1, max_size=40),
    policy=st.sampled_from(BASELINES),
    seed=st.integers(0, 9),
)
def test_feasible_pods_are_placed_and_nothing_is_allocated_twice(specs, pods, policy, seed):
    def check(cluster, board, pod):
        feasible = [is_feasible(cluster, host, pod) for host in range(len(cluster))]
        device = cluster.free.device.copy()
        free_milli, cpu, memory = cluster.free_milli, cluster.free.cpu.copy(), cluster.free.memory.copy()
        slot = board.place(pod)
        assert (slot is not None) == any(feasible)
        if slot is not None:
            assert feasible[slot.host]
            taken = device[slot.host] - cluster.free.device[slot.host]
            assert sorted(taken)[-pod.gpus :] == [pod.gpu_milli] * pod.gpus or not pod.gpus
            assert free_milli - cluster.free_milli == pod.total_milli == taken.sum()
            assert cpu.sum() - cluster.free.cpu.sum() == pod.cpu_milli
            assert memory.sum() - cluster.free.memory.sum() == pod.memory_mib
        assert min(cluster.free.cpu) >= 0
        assert min(cluster.free.memory) >= 0
        assert cluster.free.device.min() >= 0
        return slot

    first = work(specs, pods, policy, seed, check)
    assert first == work(specs, pods, policy, seed, lambda _, board, pod: board.place(pod))


@settings(max_examples=examples(40))
@given(specs=hosts, pods=st.lists(shapes(), min_size=1, max_size=30), policy=st.sampled_from(["fgd", "best_fit"]))
def test_cached_scores_equal_recomputed_ones(specs, pods, policy):
    def check(cluster, board, pod):
        fresh = SimScoreCache(cluster, make_policy(policy, cluster, DemandDistribution.of(pods)), 1)
        board.score_all(pod)
        assert (board.score_all(pod) == fresh.score_all(pod)).all()
        return board.place(pod)

    work(specs, pods, policy, 1, check)
