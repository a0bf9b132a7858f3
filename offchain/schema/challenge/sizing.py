"""Work and deadline of a challenge, from the claimed model and its memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from offchain.schema.challenge.models import GpuModel, model_named
from offchain.schema.challenge.order import OPENED, ChallengeWork

DIMENSION: Final = 8192
PAGE_WORDS: Final = 512
LAYERS: Final = 6
CHAIN_READS: Final = 64
FILLED_SHARE: Final = 0.9
"""Share of the claimed memory that the pages fill; the rest is for driver, library and a desktop."""
PRODUCTS_S: Final = 15
"""Seconds that the products take at the expected rate."""
READS_S: Final = 5
"""Seconds that the chains of reads take at the expected rate."""
CHAIN_ALLOWANCE_S: Final = 14
"""Seconds for blocks: the host sees the seed, and its answer is in a block by `not_after`."""
HASH_RATE: Final = 100e6
"""Fingerprints and ends of chains that a host's processor hashes in a second."""
SLACK: Final = 1.25

SIMULATED_WORK: Final = ChallengeWork(512, 4, 1024, 256, 4, 4096, 16)
"""Work of every simulated device: a second of one processor core."""
SIMULATED_DEADLINE_S: Final = 120


def work_of(model: GpuModel, vram_mib: int) -> ChallengeWork:
    """Return the work for a claimed device. `vram_mib`: memory that its record states."""
    page_bytes = 4 * PAGE_WORDS
    return ChallengeWork(
        dimension=DIMENSION,
        products=max(1, round(PRODUCTS_S * model.expected_flops / (2 * DIMENSION**3))),
        pages=max(1, int(FILLED_SHARE * (vram_mib << 20)) // (2 * page_bytes)) * 2,
        page_words=PAGE_WORDS,
        layers=LAYERS,
        chains=max(OPENED, round(READS_S * model.expected_read_rate / (CHAIN_READS * page_bytes))),
        chain_reads=CHAIN_READS,
    )


def expected_seconds(work: ChallengeWork, model: GpuModel) -> float:
    """Return the seconds from the seed to the commitment at the expected rates of the model."""
    moved = work.filled_bytes + work.read_bytes
    return (
        work.operations / model.expected_flops
        + moved / model.expected_read_rate
        + (work.rows + work.chains) / HASH_RATE
    )


def deadline_ms(work: ChallengeWork, model: GpuModel) -> int:
    """Return the longest time between the blocks with the seed and with the answer, in ms of the chain's clock."""
    return round(1000 * (CHAIN_ALLOWANCE_S + SLACK * expected_seconds(work, model)))


@dataclass(frozen=True, slots=True)
class ChallengeTerms:
    """What a claimed device has to compute, and in which time.

    `deadline_ms`: longest time between the blocks with the seed and with the answer, by the chain's clock.
    """

    work: ChallengeWork
    deadline_ms: int
    is_simulated: bool


def terms_of(model: str, vram_mib: int, *, simulated: bool) -> ChallengeTerms | None:
    """Return the terms of a challenge of a claimed device; None for a model that the table does not have."""
    if simulated:
        return ChallengeTerms(SIMULATED_WORK, SIMULATED_DEADLINE_S * 1000, is_simulated=True)
    known = model_named(model)
    if known is None:
        return None
    work = work_of(known, vram_mib)
    return ChallengeTerms(work, deadline_ms(work, known), is_simulated=False)
