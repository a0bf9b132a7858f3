"""The cases of tests/vectors/fit.json, which the chain runs too."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from offchain.core.feasibility import Misfit, first_devices, fits, placement_misfit
from offchain.core.pricing import UNPAYABLE, deposit, fee, offers, owed, rate_per_hour, storage_rate_per_hour
from offchain.core.scheduler.cycle_filters import excluded_by_layout
from offchain.core.scheduler.hosts import HostTable
from offchain.core.scheduler.pod_request import shape_of
from offchain.core.values import (
    NO_TERMS,
    Ask,
    BillingUnit,
    Capabilities,
    Capacity,
    Device,
    DeviceSpec,
    GpuRequest,
    Layout,
    Placement,
    Resources,
    SlaTerms,
    Tier,
    Vendor,
)
from offchain.schema.chain_types._generated_chain import GpuPrice
from tests.support.chain_records import ask as plain_ask
from tests.support.core_builders import ANYWHERE, gpu, host

CASES = json.loads((Path(__file__).parents[2] / "vectors" / "fit.json").read_text(encoding="utf-8"))


def cases(rule: str) -> pytest.MarkDecorator:
    assert CASES[rule]
    return pytest.mark.parametrize("case", CASES[rule], ids=lambda case: case["name"])


def resources(plain: dict[str, Any]) -> Resources:
    gpus = plain["gpus"]
    models = tuple(model.encode() for model in gpus["models"])
    request = GpuRequest(gpus["count"], gpus["milli"], gpus["min_vram_mib"], models)
    return Resources(plain["cpu_milli"], plain["memory_mib"], plain["disk_gib"], request)


def device(plain: dict[str, Any]) -> Device:
    spec = DeviceSpec(Vendor(plain["vendor"]), plain["model"].encode(), plain["vram_mib"], plain["simulated"])
    whose = None if plain["shared_by"] is None else str(plain["shared_by"])
    return Device(spec, plain["milli_free"], whose, attested=plain["attested"], healthy=plain["healthy"])


def ask(plain: dict[str, Any]) -> Ask:
    prices = tuple(GpuPrice(price["model"].encode(), int(price["per_hour"])) for price in plain["gpu"])
    return Ask(gpu=prices, terms=NO_TERMS, **{name: int(value) for name, value in plain.items() if name != "gpu"})


def wanted(plain: dict[str, Any]) -> Placement:
    lists = {name: tuple(map(str, plain[name])) for name in ("hosts", "providers_allowed", "providers_denied")}
    rest = {name: plain[name] for name in ("verified_only", "allow_simulated", "min_network_mbps", "max_latency_ms")}
    return Placement(
        regions=tuple(region.encode() for region in plain["regions"]),
        tiers=tuple(Tier(tier) for tier in plain["tiers"]),
        capabilities=Capabilities(**plain["capabilities"]),
        layout=Layout.ANY,
        min_terms=SlaTerms(**plain["min_terms"]),
        **lists,
        **rest,
    )


def name_of(misfit: Misfit | None) -> str | None:
    """A misfit as the chain calls it."""
    return None if misfit is None else "".join(part.capitalize() for part in misfit.name.split("_"))


def written(rate: int, ask: Ask, unit: BillingUnit) -> str:
    """A rate as the cases write it."""
    if not offers(ask, unit):
        assert rate == UNPAYABLE
        return "NotOffered"
    return "Overflow" if rate == UNPAYABLE else str(rate)


def great(text: str | None) -> int:
    """A number written in digits; null is what the chain cannot compute."""
    return UNPAYABLE if text is None else int(text)


@cases("fit")
def test_fit(case):
    needs, devices = resources(case["resources"]), [device(plain) for plain in case["devices"]]
    placement = replace(ANYWHERE, allow_simulated=case["allow_simulated"], verified_only=case["verified_only"])
    shape = shape_of(needs, placement, account=str(case["tenant"]))
    assert name_of(fits(Capacity(**case["free"]), devices, shape, case["chosen"])) == case["refused"]
    first = first_devices(devices, shape)
    assert (None if isinstance(first, Misfit) else list(first)) == case["first_devices"]


@cases("placement")
def test_placement(case):
    plain = CASES["placement_defaults"]["host"] | case["host"]
    of = host(
        str(plain["id"]),
        provider=str(plain["provider"]),
        region=plain["region"].encode(),
        tier=Tier(plain["tier"]),
        capabilities=Capabilities(**plain["capabilities"]),
        network_mbps_down=plain["network_mbps_down"],
        network_mbps_up=plain["network_mbps_up"],
        latency_ms=plain["latency_ms"],
        ask=replace(plain_ask(), terms=SlaTerms(**plain["terms"])),
    )
    placement = wanted(CASES["placement_defaults"]["anywhere"] | case["placement"])
    assert name_of(placement_misfit(of, placement)) == case["refused"]


@cases("layout")
def test_layout(case):
    places = {str(place["host"]): str(place["provider"]) for place in case["there"] + case["coming"]}
    fleet = HostTable()
    fleet.put(host(number, provider=provider) for number, provider in places.items())
    taken = [fleet.cluster.row(str(place["host"])) for place in case["there"]]
    allowed = True
    for place in case["coming"]:
        row = fleet.cluster.row(str(place["host"]))
        allowed = allowed and not excluded_by_layout(Layout(case["layout"]), taken, fleet.attributes)[row]
        taken.append(row)
    assert allowed == case["allowed"]


@cases("rate")
def test_rate(case):
    prices, unit = ask(case["ask"]), BillingUnit(case["unit"])
    devices = [gpu(model=model.encode()) for model in case["devices"]]
    rate = rate_per_hour(resources(case["resources"]), devices, case["chosen"], prices, unit)
    assert written(rate, prices, unit) == case["rate"]


@cases("storage_rate")
def test_storage_rate(case):
    prices, unit = ask(case["ask"]), BillingUnit(case["unit"])
    rate = storage_rate_per_hour(resources(case["resources"]), prices, unit)
    assert written(rate, prices, unit) == case["rate"]


@cases("deposit")
def test_deposit(case):
    assert deposit(int(case["rate_per_hour"]), int(case["max_duration_ms"])) == great(case["deposit"])


@cases("owed")
def test_owed(case):
    found = owed(
        BillingUnit(case["unit"]),
        int(case["deposit"]),
        int(case["rate_per_hour"]),
        int(case["time_ms"]),
        host_at_fault=case["pro_rata"],
    )
    assert found == int(case["owed"])


@cases("fee")
def test_fee(case):
    assert fee(int(case["paid"]), case["fee_ppm"]) == int(case["fee"])
