"""Calls that a host countersigns: its registration and changes of its hardware."""

from __future__ import annotations

from hashlib import blake2b

from offchain.adapters.keys import ss58
from offchain.ports import Call, Signer
from offchain.schema.chain_types._generated_chain import Ask, HardwareSpec, calls
from offchain.schema.chain_types.values import compact

_CONTEXT = b"gantry/register/v2"
_HARDWARE_CONTEXT = b"gantry/hardware/v1"


def registration_payload(
    genesis: bytes, provider: str, hardware: HardwareSpec, endpoint: bytes, region: bytes, ask: Ask
) -> bytes:
    """The 32 bytes that the host signs: a hash of content, chain and provider (docs/protocol.md, Hosts)."""
    content = (
        _CONTEXT
        + genesis
        + ss58.decode(provider)
        + hardware.scale()
        + compact(len(endpoint))
        + endpoint
        + compact(len(region))
        + region
        + ask.scale()
    )
    return blake2b(content, digest_size=32).digest()


def sign_registration(
    host: Signer, genesis: bytes, provider: str, hardware: HardwareSpec, endpoint: bytes, region: bytes, ask: Ask
) -> bytes:
    """The host's countersignature for `Hosts.register`."""
    return host.sign(registration_payload(genesis, provider, hardware, endpoint, region, ask))


def register(
    host: Signer, genesis: bytes, provider: str, hardware: HardwareSpec, endpoint: bytes, region: bytes, ask: Ask
) -> Call:
    """`Hosts.register`, countersigned by the host, for its provider to sign and send."""
    signature = sign_registration(host, genesis, provider, hardware, endpoint, region, ask)
    return calls.hosts_register(
        host=host.address, hardware=hardware, endpoint=endpoint, region=region, ask=ask, host_signature=signature
    )


def change_hardware(host: Signer, genesis: bytes, provider: str, generation: int, hardware: HardwareSpec) -> Call:
    """`Hosts.change_hardware`, countersigned by the host. `generation`: that of the record on the chain now."""
    content = (
        _HARDWARE_CONTEXT + genesis + ss58.decode(provider) + (generation + 1).to_bytes(4, "little") + hardware.scale()
    )
    signature = host.sign(blake2b(content, digest_size=32).digest())
    return calls.hosts_change_hardware(host=host.address, hardware=hardware, host_signature=signature)
