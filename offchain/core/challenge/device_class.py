"""Measured class of a device, the models that it may be, and its tier."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from offchain.core.challenge.models import EXPECTED_READ_SHARE, MODELS, GpuModel
from offchain.schema.challenge.order import ChallengeWork, MeasuredClass

FILLED_SHARE_MIN: Final = 0.85
"""Share of a model's memory that a proof for it fills at least."""
GEMM_SHARE_MAX: Final = 1.05
"""Rates above this share of the stated one exclude the model; clocks above the stated ones are seen."""


class DeviceTier(StrEnum):
    """Tiers for placement and prices. Each tier's smallest memory and rate are in `TIERS`."""

    FLAGSHIP = "flagship"
    LARGE = "large"
    MEDIUM = "medium"
    SMALL = "small"
    SIMULATED = "simulated"


TIERS: Final = (
    (DeviceTier.FLAGSHIP, 70, 400_000, 1_500_000),
    (DeviceTier.LARGE, 35, 120_000, 500_000),
    (DeviceTier.MEDIUM, 20, 40_000, 200_000),
)
"""Tier, GiB that the pages filled, GFLOP/s of the products and MB/s of the reads, each at least."""


def tier_of(measured: MeasuredClass) -> DeviceTier:
    """Return the highest tier whose three bounds the device reaches."""
    if measured.is_simulated:
        return DeviceTier.SIMULATED
    for tier, memory_gib, gflops, read_mbs in TIERS:
        if (
            measured.memory_mib >= memory_gib * 1024
            and measured.gemm_gflops >= gflops
            and measured.read_mbs >= read_mbs
        ):
            return tier
    return DeviceTier.SMALL


def plausible_models(measured: MeasuredClass) -> tuple[GpuModel, ...]:
    """Return the models that reach what was measured, and of which no more is expected; none for simulated devices."""
    if measured.is_simulated:
        return ()
    return tuple(model for model in MODELS if _is_plausible(model, measured))


def _is_plausible(model: GpuModel, measured: MeasuredClass) -> bool:
    memory_mib = model.vram_gib * 1024
    gflops, read_mbs = model.tflops * 1000, model.bandwidth_gbs * 1000
    return (
        FILLED_SHARE_MIN * memory_mib <= measured.memory_mib <= memory_mib
        and model.product_share * gflops <= measured.gemm_gflops <= GEMM_SHARE_MAX * gflops
        and EXPECTED_READ_SHARE * read_mbs <= measured.read_mbs <= read_mbs
    )


def proven_class(work: ChallengeWork, elapsed_ms: int, *, is_simulated: bool) -> MeasuredClass:
    """Return what a right proof proves by the chain's clock alone: both rates over the whole time, so lower bounds.

    `elapsed_ms`: from the block with the seed to the block with the answer.
    """
    seconds = max(elapsed_ms, 1) / 1000
    return MeasuredClass(
        gemm_gflops=int(work.operations / seconds / 1e9),
        read_mbs=int(work.read_bytes / seconds / 1e6),
        memory_mib=work.memory_bytes >> 20,
        is_simulated=is_simulated,
    )
