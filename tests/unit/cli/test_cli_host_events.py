"""The events of hosts as sentences."""

from __future__ import annotations

from typing import Any

import pytest

from offchain.ports import ChainEvent
from offchain.schema.chain_types import _generated_chain as gen
from offchain.services.event_text import event_text
from tests.support.chain_records import GTY, ask

ASK = ask(gpu=(gen.GpuPrice(b"A100", 2 * GTY),), gpu_per_hour=GTY, cpu_core_per_hour=GTY // 100)
ASK_TEXT = (
    "Its prices changed. Per hour: A100 2 GTY, GPU 1 GTY, core 0.01 GTY, GiB of memory 0 GTY, GiB of disk 0 GTY, "
    "GiB of a stopped rental's disk 0 GTY."
)
MEASURED = {"down_mbps": 1000, "up_mbps": 500}
MEASURED_TEXT = "The host measured its network: 1000 Mbit/s to it, 500 Mbit/s from it; latency: "


@pytest.mark.parametrize(
    ("name", "fields", "text"),
    [
        (
            "AskChanged",
            {"ask": ASK.encode()},
            ASK_TEXT,
        ),
        (
            "HardwareChanged",
            {"generation": 2, "bond_required": 5 * GTY},
            "Its hardware was registered again (change 2); the required bond is 5 GTY.",
        ),
        ("DeviceHealthChanged", {"unhealthy": b"\0\2"}, "The host reported its unhealthy GPUs: 0, 2."),
        ("DeviceHealthChanged", {"unhealthy": b""}, "The host reported its unhealthy GPUs: none."),
        ("NetworkMeasured", {**MEASURED, "latency_ms": 12}, MEASURED_TEXT + "12 ms."),
        ("NetworkMeasured", {**MEASURED, "latency_ms": 0}, MEASURED_TEXT + "unknown."),
        ("DeviceAttested", {"device": 1, "attested": True}, "A challenge proved that GPU 1 is genuine."),
        ("DeviceAttested", {"device": 0, "attested": False}, "A challenge did not prove that GPU 0 is genuine."),
        (
            "DeviceChallenged",
            {"device": 0},
            "GPU under challenge, which takes no new lease until the host has answered: 0.",
        ),
        (
            "DeviceChallenged",
            {"device": None},
            "GPU under challenge, which takes no new lease until the host has answered: none.",
        ),
        (
            "AbsenceReported",
            {"reporter": "5Dave", "bounty": GTY, "forfeited": 2 * GTY},
            "5Dave reported that the host is absent: 1 GTY of its bond went to the reporter, 2 GTY to the treasury.",
        ),
        (
            "Slashed",
            {"fault": "LostPod", "amount": GTY},
            "Slashed: the host lost 1 GTY of its bond because it lost a pod.",
        ),
        ("BondToppedUp", {"amount": GTY}, "1 GTY added to its bond."),
        ("BondWithdrawn", {"amount": GTY}, "The provider withdrew the bond of 1 GTY."),
    ],
)
def test_an_event_of_a_host_is_a_sentence(name: str, fields: dict[str, Any], text: str) -> None:
    assert event_text(ChainEvent("Hosts", name, {"host": "5Host", **fields}, None)) == text
