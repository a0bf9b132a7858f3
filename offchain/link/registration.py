"""What a host's key signs when the host is registered, and the call that its provider signs."""

from __future__ import annotations

from hashlib import blake2b

from offchain.link import ss58
from offchain.link.ports import Call, Signer
from offchain.schema._generated_chain import Ask, HardwareSpec, calls
from offchain.schema.chain import compact

_CONTEXT = b"gantry/register/v2"


def registration_payload(
    genesis: bytes, provider: str, hardware: HardwareSpec, endpoint: bytes, region: bytes, ask: Ask
) -> bytes:
    """The 32 bytes to sign: a hash over the content, this chain and the provider (docs/protocol.md, Hosts)."""
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
