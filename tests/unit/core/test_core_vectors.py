"""The cases of tests/vectors/fit.json, which the chain runs too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from offchain.core.fit import Misfit, first_devices, fits
from offchain.core.rate import UNPAYABLE, deposit, fee, owed, rate_per_hour
from offchain.core.values import Ask, BillingUnit, Capacity, Device, DeviceSpec, GpuRequest, Resources, Vendor

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
    return Device(spec, plain["milli_free"], attested=False)


def great(text: str | None) -> int:
    """A number written in digits; null is what the chain cannot compute."""
    return UNPAYABLE if text is None else int(text)


@cases("fit")
def test_fit(case):
    needs, devices = resources(case["resources"]), [device(plain) for plain in case["devices"]]
    allow = case["allow_simulated"]
    found = fits(Capacity(**case["free"]), devices, needs, case["chosen"], allow_simulated=allow)
    refused = None if found is None else "".join(part.capitalize() for part in found.name.split("_"))
    assert refused == case["refused"]
    first = first_devices(devices, needs.gpus, allow_simulated=allow)
    assert (None if isinstance(first, Misfit) else list(first)) == case["first_devices"]


@cases("rate")
def test_rate(case):
    ask = Ask(**{name: int(price) for name, price in case["ask"].items()})
    assert rate_per_hour(resources(case["resources"]), ask) == great(case["rate_per_hour"])


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
