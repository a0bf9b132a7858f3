"""The address of a gateway: its account, which is its key, and one port for QUIC and for secure websockets.

Its text is `ACCOUNT@HOST:PORT`, in commands, configurations, and `HostRecord.endpoint`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from offchain.schema.manifest.values import check_address
from offchain.schema.protocol.fields import WireError

DEFAULT_PORT: Final = 4435
MAX_HOST: Final = 100
_HOST: Final = re.compile(r"\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?")


@dataclass(frozen=True, slots=True)
class GatewayAddress:
    """`account`: SS58 address of its ed25519 key. `host`: a name, an IPv4 address, or an IPv6 address in brackets."""

    account: str
    host: str
    port: int

    @property
    def text(self) -> str:
        return f"{self.account}@{self.host}:{self.port}"


def parse_gateway(text: str) -> GatewayAddress:
    """Return the address in a text. Raise :class:`WireError` that says what is wrong with it."""
    account, at, place = text.rpartition("@")
    host, _, port = place.rpartition(":")
    if not at or not port.isdecimal() or not 0 < int(port) < 65536:
        raise WireError(f"{text[:200]!r} is not a gateway's address: write it like ACCOUNT@192.0.2.1:{DEFAULT_PORT}")
    if len(host) > MAX_HOST or _HOST.fullmatch(host) is None:
        raise WireError(f"{host[:200]!r} in the gateway's address {text[:200]!r} is neither a name nor an IP address")
    try:
        return GatewayAddress(check_address(account), host, int(port))
    except ValueError as error:
        raise WireError(f"the gateway's address {text[:200]!r} does not begin with its account: {error}") from None


def is_gateway(address: str) -> bool:
    """Return whether this part of an endpoint is the address of a gateway, and not of the host itself."""
    return "@" in address
