"""Table of models, work and deadline, tiers."""

import pytest

from offchain.core.challenge.device_class import DeviceTier, plausible_models, proven_class, tier_of
from offchain.core.challenge.models import MODELS, GpuModel, model_named, normal_name
from offchain.core.challenge.sizing import FILLED_SHARE, SIMULATED_WORK, deadline_ms, expected_seconds, work_of
from offchain.schema.challenge.order import MeasuredClass


def measured(model: GpuModel, share: float = 0.8) -> MeasuredClass:
    work = work_of(model, model.vram_gib * 1024)
    return MeasuredClass(
        int(model.tflops * 1000 * share), int(model.bandwidth_gbs * 1000 * share), work.memory_bytes >> 20,
        is_simulated=False,
    )  # fmt: skip


def test_names_of_models_are_unique_and_found_as_tools_print_them() -> None:
    assert len({normal_name(model.name) for model in MODELS}) == len(MODELS)
    for printed in (
        "NVIDIA H200",
        "NVIDIA H100 80GB HBM3",
        "Tesla T4",
        "AMD Instinct MI300X",
        "NVIDIA GeForce RTX 4090",
    ):
        assert model_named(printed) is not None
    assert model_named("NVIDIA H300") is None


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_work_fills_the_memory_and_takes_about_as_long_on_every_model(model: GpuModel) -> None:
    vram_mib = model.vram_gib * 1000
    work = work_of(model, vram_mib)
    assert 0.999 * FILLED_SHARE <= work.memory_bytes / (vram_mib << 20) <= FILLED_SHARE
    assert 20 <= expected_seconds(work, model) <= 26
    assert deadline_ms(work, model) <= 45_000


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_a_device_is_plausible_as_what_it_is(model: GpuModel) -> None:
    assert model in plausible_models(measured(model))


def test_less_memory_bandwidth_or_rate_excludes_a_model() -> None:
    h200, h100, a100 = (model_named(name) for name in ("H200", "H100 80GB HBM3", "A100-SXM4-80GB"))
    assert h200 is not None
    assert h100 is not None
    assert a100 is not None
    assert h200 not in plausible_models(measured(h100))
    assert h100 not in plausible_models(measured(a100))
    assert a100 not in plausible_models(measured(h100))


def test_tiers_follow_all_three_bounds() -> None:
    tiers = {
        name: tier_of(measured(model))
        for name in ("H200", "A100-SXM4-40GB", "L40S", "GeForce RTX 4090", "T4", "L4")
        if (model := model_named(name)) is not None
    }
    assert tiers == {
        "H200": DeviceTier.FLAGSHIP,
        "A100-SXM4-40GB": DeviceTier.LARGE,
        "L40S": DeviceTier.LARGE,
        "GeForce RTX 4090": DeviceTier.MEDIUM,
        "L4": DeviceTier.MEDIUM,
        "T4": DeviceTier.SMALL,
    }


def test_a_simulated_device_has_its_own_tier_and_no_model() -> None:
    simulated = MeasuredClass(10**9, 10**9, 10**6, is_simulated=True)
    assert tier_of(simulated) is DeviceTier.SIMULATED
    assert plausible_models(simulated) == ()


def test_the_proven_class_is_the_work_over_the_time_of_the_chain() -> None:
    proven = proven_class(SIMULATED_WORK, 2000, is_simulated=True)
    assert proven.gemm_gflops == SIMULATED_WORK.operations // 2 // 10**9
    assert proven.read_mbs == SIMULATED_WORK.read_bytes // 2 // 10**6
