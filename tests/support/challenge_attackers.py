"""Hosts that attack challenges, and honest ones, as plans for `tests/support/challenge_simulation.py`.

Times follow from the rates of the models (data sheets) and from rates that were measured on an H200 (docs/trust.md,
section 7); proofs are computed, small ones, and the product's verifier judges them.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from node_agent.challenge.devices import SimulatedDevice
from offchain.schema.chain_types._generated_chain import ChallengeOutcome
from offchain.schema.challenge.models import MODELS, GpuModel, model_named
from offchain.schema.challenge.order import ChallengeWork
from offchain.schema.challenge.page_graph import all_pages, chain_ends, page_graph
from offchain.schema.challenge.sizing import ChallengeTerms, deadline_ms, expected_seconds, work_of
from tests.support.challenge_samples import Proof, honest, no_limit, partial
from tests.support.challenge_simulation import SMALL_WORK, ChallengeEnd, ChallengeRun, HostPlan

RUNS: Final = 100
SLOWEST: Final = 1.05
"""Time of an honest device in parts of the expected time, at most; at least 0.85."""
PAGED_WORK: Final = ChallengeWork(64, 1, 1_000, 256, 1, 64, 64)
"""Work with as many opened reads as in production: 20 chains of 64."""
MANY_ROWS: Final = ChallengeWork(64, 32, 8, 256, 2, 32, 2)
"""Work with 2,048 rows, of which 20 are drawn almost as with replacement."""
BUS_RATE: Final = 51e9
"""Bytes a second of reads of pages in the host's memory, measured on an H200 (PCIe 5)."""
RECOMPUTE_RATE: Final = 9.5e9
"""Bytes a second of reads of pages that are computed again, measured on an H200."""
SMALL_MEMORY_GIB: Final = 24
BLOCKS_S: Final = 4
"""Seconds that an answer loses to blocks on average: the host sees the seed, and its call gets into a block."""
NETWORK_MS: Final = 400
"""Time that a proxied challenge loses on the way to the other device and back."""


def model(name: str) -> GpuModel:
    found = model_named(name)
    assert found is not None, name
    return found


H100: Final = model("H100 80GB HBM3")
A100: Final = model("A100-SXM4-80GB")


def terms_with(claimed: GpuModel, work: ChallengeWork = SMALL_WORK) -> ChallengeTerms:
    """The deadline of a claimed model, with a small work: the simulated time is that of the model's work."""
    full = work_of(claimed, claimed.vram_gib * 1024)
    return ChallengeTerms(work, deadline_ms(full, claimed), is_simulated=True)


def honest_seconds(claimed: GpuModel) -> float:
    """Seconds of the claimed model for its work at the rates that are expected of it."""
    return expected_seconds(work_of(claimed, claimed.vram_gib * 1024), claimed)


def seconds_of(actual: GpuModel, claimed: GpuModel, *, product_gain: float = 1.0) -> float:
    """Seconds of another model for the work of the claimed one, at the rates that are expected of the actual one.

    `product_gain`: how much faster than with 16-bit units it multiplies. The memory is taken to be enough.
    """
    work = work_of(claimed, claimed.vram_gib * 1024)
    products = work.operations / (actual.expected_flops * product_gain)
    return products + (work.filled_bytes + work.read_bytes) / actual.expected_read_rate


def seconds_with_missing_pages(claimed: GpuModel, missing: float, rate: float) -> float:
    """Seconds of the claimed model for its work where reads of this share of the pages have another rate (bytes/s)."""
    work = work_of(claimed, claimed.vram_gib * 1024)
    extra = missing * work.read_bytes * (1 / rate - 1 / claimed.expected_read_rate)
    return honest_seconds(claimed) + extra


def missing_share(claimed: GpuModel, memory_gib: float) -> float:
    """Share of the pages of the claimed model that do not fit into this memory."""
    return 1 - memory_gib / (work_of(claimed, claimed.vram_gib * 1024).memory_bytes / 2**30)


def unnoticed_missing_share(claimed: GpuModel, rate: float) -> float:
    """Largest share of the pages outside of the device with which an answer is expected within the deadline."""
    work = work_of(claimed, claimed.vram_gib * 1024)
    slack = deadline_ms(work, claimed) / 1000 - BLOCKS_S - honest_seconds(claimed)
    return slack / (work.read_bytes * (1 / rate - 1 / claimed.expected_read_rate))


def _spread(dice: np.random.Generator) -> float:
    return float(dice.uniform(0.85, SLOWEST))


def honest_plan(run: int) -> HostPlan:
    """An honest host with a device of some model, whose rates differ by some per cent from the expected ones."""
    dice = np.random.default_rng((run, 1))
    claimed = MODELS[int(dice.integers(len(MODELS)))]
    compute_ms = round(1000 * honest_seconds(claimed) * _spread(dice))
    return HostPlan(terms_with(claimed), compute_ms, lambda seed: honest(SMALL_WORK, seed))


def _slow(seconds: Callable[[], float]) -> Callable[[int], HostPlan]:
    """A host whose proof is right, but late if its device is too slow. It does not give up."""

    def plan(run: int) -> HostPlan:
        compute_ms = round(1000 * seconds() * _spread(np.random.default_rng((run, 2))))
        return HostPlan(terms_with(H100), compute_ms, lambda seed: honest(SMALL_WORK, seed), is_patient=True)

    return plan


def _proxied(devices: int) -> Callable[[int], HostPlan]:
    """A host that forwards its challenge to a device of the claimed model, which computes this many proofs in turn."""

    def plan(run: int) -> HostPlan:
        seconds = honest_seconds(H100) * _spread(np.random.default_rng((run, 3)))
        compute_ms = round(1000 * seconds * devices) + NETWORK_MS
        terms = terms_with(H100)
        return HostPlan(terms, compute_ms, lambda seed: honest(SMALL_WORK, seed), is_patient=devices > 1)

    return plan


def _wrong(
    proof: Callable[[int, bytes], Proof], work: ChallengeWork = SMALL_WORK, share: float = 1.0
) -> Callable[[int], HostPlan]:
    """A host that answers in time with another proof than the right one. `share`: of the time for the whole work."""

    def plan(run: int) -> HostPlan:
        compute_ms = round(1000 * share * honest_seconds(H100))
        return HostPlan(terms_with(H100, work), compute_ms, lambda seed: proof(run, seed), is_patient=True)

    return plan


def _precomputed(run: int, seed: bytes) -> Proof:
    """A proof for another seed: in even runs it says so, in odd runs it claims to be for the right one."""
    other = honest(SMALL_WORK, bytes(32))
    return other if run % 2 == 0 else Proof(other.rows, other.chains, SMALL_WORK, seed)


def _without_pages(run: int, seed: bytes) -> Proof:
    """A proof whose chains read a hundredth of the pages from other pages."""
    del run
    graph = page_graph(seed, PAGED_WORK.pages, PAGED_WORK.page_words, PAGED_WORK.layers)
    stored = all_pages(graph)
    stored[:, 990:] = stored[:, :10]
    chains = chain_ends(graph, np.arange(PAGED_WORK.chains, dtype=np.uint64), PAGED_WORK.chain_reads, stored)
    return Proof(SimulatedDevice().row_fingerprints(seed, PAGED_WORK, no_limit), chains, PAGED_WORK, seed)


def _partial(share: float) -> Callable[[int, bytes], Proof]:
    return lambda run, seed: partial(honest(MANY_ROWS, seed), "rows", share, run)


@dataclass(frozen=True, slots=True)
class ChallengeAttack:
    """An attack. `expected`: computed share of runs in which it is caught; None where it depends on the rates."""

    name: str
    about: str
    plan: Callable[[int], HostPlan]
    expected: float | None = None


_MISSING: Final = missing_share(H100, SMALL_MEMORY_GIB)
ATTACKS: Final = (
    ChallengeAttack("fake-model", "an A100 claimed as an H100", _slow(lambda: seconds_of(A100, H100)), 1.0),
    ChallengeAttack(
        "fake-model-8bit",
        "the same, with products by 8-bit units at twice the rate",
        _slow(lambda: seconds_of(A100, H100, product_gain=2)),
    ),
    ChallengeAttack(
        "memory-pages-missing", "1 % of the pages are not stored", _wrong(_without_pages, PAGED_WORK), 1 - 0.99**1280
    ),
    ChallengeAttack(
        "memory-in-host",
        f"{SMALL_MEMORY_GIB} GiB claimed as 80: the other pages in the host's memory",
        _slow(lambda: seconds_with_missing_pages(H100, _MISSING, BUS_RATE)),
        1.0,
    ),
    ChallengeAttack(
        "memory-computed-again",
        f"{SMALL_MEMORY_GIB} GiB claimed as 80: the other pages computed at each read",
        _slow(lambda: seconds_with_missing_pages(H100, _MISSING, RECOMPUTE_RATE)),
        1.0,
    ),
    ChallengeAttack("proxied", "forwarded to a device of the claimed model elsewhere", _proxied(1), 0.0),
    ChallengeAttack("proxied-shared", "the second of two challenges at once, on one device", _proxied(2)),
    ChallengeAttack("precomputed", "a proof that was computed in advance", _wrong(_precomputed, share=0), 1.0),
    ChallengeAttack("partial-50", "half of the rows", _wrong(_partial(0.5), MANY_ROWS, 0.5), 1 - 0.5**20),
    ChallengeAttack("partial-80", "80 % of the rows", _wrong(_partial(0.8), MANY_ROWS, 0.8), 1 - 0.8**20),
    ChallengeAttack("partial-95", "95 % of the rows", _wrong(_partial(0.95), MANY_ROWS, 0.95), 1 - 0.95**20),
)
ATTACK: Final[Mapping[str, ChallengeAttack]] = {attack.name: attack for attack in ATTACKS}


@dataclass(frozen=True, slots=True)
class AttackCount:
    """Ends of the runs of an attack. `open_s`: median time from opening to verdict; `examinations`: for each run."""

    attack: ChallengeAttack
    runs: int
    caught: int
    passed: int
    open_s: float
    device_s: float
    examinations: float


def counted(attack: ChallengeAttack, runs: int = RUNS) -> AttackCount:
    """Run an attack against committees of honest verifiers."""
    plans = [attack.plan(run) for run in range(runs)]
    ends: list[ChallengeEnd] = [ChallengeRun(plan, run).result() for run, plan in enumerate(plans)]
    return AttackCount(
        attack=attack,
        runs=runs,
        caught=sum(end.outcome is ChallengeOutcome.FAILED for end in ends),
        passed=sum(end.outcome is ChallengeOutcome.PASSED for end in ends),
        open_s=statistics.median(end.open_ms for end in ends) / 1000,
        device_s=statistics.median(plan.compute_ms for plan in plans) / 1000,
        examinations=statistics.mean(end.examinations for end in ends),
    )
