"""Registration of a host: its hardware on the chain, the call that its provider signs, and checks of both."""

from __future__ import annotations

import logging

from node_agent.core.values import LocalDevice
from node_agent.telemetry.hardware import Hardware
from offchain.adapters.chain.registration import register
from offchain.errors import OurError
from offchain.ports import Call, Signer
from offchain.schema.chain_types._generated_chain import Ask, DeviceSpec, HardwareSpec, HostRecord, Vendor

log = logging.getLogger(__name__)

NETWORK_UNKNOWN = 0
"""No measurement yet: such a host gets no task with a bandwidth requirement."""


def hardware_spec(hardware: Hardware) -> HardwareSpec:
    """Return the chain's form of a machine's hardware."""
    return HardwareSpec(
        tier=hardware.tier,
        capabilities=hardware.capabilities,
        answers_challenges=hardware.answers_challenges,
        cpu_milli=hardware.cpu_milli,
        memory_mib=hardware.memory_mib,
        disk_gib=hardware.disk_gib,
        network_mbps_down=NETWORK_UNKNOWN,
        network_mbps_up=NETWORK_UNKNOWN,
        devices=tuple(
            DeviceSpec(Vendor(device.vendor), device.model.encode(), device.vram_mib, device.simulated)
            for device in hardware.devices
        ),
    )


def registration_call(
    host_key: Signer,
    *,
    genesis_hash: bytes,
    provider: str,
    hardware: Hardware,
    endpoint: bytes,
    region: bytes,
    ask: Ask,
) -> Call:
    """Return `Hosts.register`, countersigned by the host key, for the provider to sign and send."""
    return register(host_key, genesis_hash, provider, hardware_spec(hardware), endpoint, region, ask)


def local_devices(hardware: Hardware) -> tuple[LocalDevice, ...]:
    """Return the devices as values of the core."""
    return tuple(LocalDevice(device.uuid, device.model, device.vram_mib) for device in hardware.devices)


def check_devices(record: HostRecord | None, hardware: Hardware) -> None:
    """Raise OurError if the chain lists other devices for this host: leases name them by their index."""
    if record is None:
        return
    listed = [
        (device.spec.model.decode(errors="replace"), device.spec.vram_mib, device.spec.simulated)
        for device in record.devices
    ]
    here = [(device.model, device.vram_mib, device.simulated) for device in hardware.devices]
    if listed != here:
        raise OurError(
            f"The chain lists {_named(listed)} for this host, but here there is {_named(here)}.",
            "Start the agent with the hardware it was registered with (the same --simulate profile), "
            "or have the chain take what is here: gantry agent change-hardware.",
        )


def check_answers(record: HostRecord | None, hardware: Hardware | None = None) -> None:
    """Warn if the host is registered as answering challenges and this agent answers none: that costs its bond."""
    answers = hardware is not None and hardware.answers_challenges
    if record is not None and record.answers_challenges and not answers:
        log.warning(
            "the host is registered as one that answers challenges, and this agent answers none: "
            "gantry agent change-hardware registers it as it is"
        )


def _named(devices: list[tuple[str, int, bool]]) -> str:
    return ", ".join(model for model, _, _ in devices) or "no device"
