"""Bringing a host onto the chain: what its key signs, and the call its provider signs."""

from __future__ import annotations

from typing import Final

from node_agent.telemetry.hardware import Hardware
from offchain.adapters.chain.registration import register
from offchain.ports import Call, Signer
from offchain.schema.chain_types._generated_chain import Ask, DeviceSpec, HardwareSpec, Vendor

NETWORK_UNKNOWN = 0
"""Nothing has measured it yet: such a host gets no task that wants a certain speed."""
ANSWERS_CHALLENGES: Final = False
"""Whether the agent answers challenges. No part of it computes proofs yet, so its hosts are not challenged."""


def hardware_spec(hardware: Hardware) -> HardwareSpec:
    """The chain's form of what a machine has."""
    return HardwareSpec(
        tier=hardware.tier,
        capabilities=hardware.capabilities,
        answers_challenges=ANSWERS_CHALLENGES,
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
    """`Hosts.register`, countersigned by the host key, for the provider to sign and send."""
    return register(host_key, genesis_hash, provider, hardware_spec(hardware), endpoint, region, ask)
