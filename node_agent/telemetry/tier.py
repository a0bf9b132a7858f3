"""What class of machine this is, and what it can run, by what is found on it."""

from __future__ import annotations

from collections.abc import Iterable

from node_agent.telemetry.hardware import Device
from offchain.schema.chain_types._generated_chain import Capabilities, Tier

_DATACENTER = frozenset((
    "A10", "A30", "A40", "A100", "B100", "B200", "B300", "GB200", "GH200", "H100", "H200", "L4", "L40", "L40S", "P40",
    "P100", "T4", "V100", "MI100", "MI200", "MI210", "MI250", "MI250X", "MI300X", "MI325X", "MI355X",
))  # fmt: skip
_PROFESSIONAL = frozenset((
    "Quadro", "A2000", "A4000", "A4500", "A5000", "A5500", "A6000", "Ada", "PRO", "W6800", "W7800", "W7900",
))  # fmt: skip


def tier_of(devices: Iterable[Device]) -> Tier:
    """The class that the models of the GPUs belong to, by their names; the highest where they differ."""
    words = {word for device in devices for word in device.model.replace("-", " ").replace("_", " ").split()}
    if words & _DATACENTER:
        return Tier.DATACENTER
    return Tier.PROFESSIONAL if words & _PROFESSIONAL else Tier.CONSUMER


def capabilities_of(devices: Iterable[Device]) -> Capabilities:
    """Return what the agent can run here with the drivers that it has, which is the one for Docker.

    A machine with /dev/kvm runs no virtual machines for tenants as long as there is no driver for them. CDI and the
    sandbox follow from what the engine shows, and shares of GPUs from what the owner says: see
    :func:`node_agent.runtime.settings.probe_hardware`.
    """
    mig = any(device.mig for device in devices)
    return Capabilities(docker=True, kvm=False, kubernetes=False, cdi=False, mig=mig, shares=False, sandboxed=False)
