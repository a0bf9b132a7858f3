"""Connections to public addresses only: checked when a name is resolved, and again when a socket is made."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from typing import Any

import psutil
from aiohttp.abc import AbstractResolver, ResolveResult

from offchain.schema.public_address import is_public

_NO_NAME = frozenset({socket.EAI_NONAME, socket.EAI_NODATA})


class NotPublicError(OSError):
    """A name has no public address."""


class PublicResolver(AbstractResolver):
    """Resolves names to their public addresses only.

    aiohttp connects to exactly these, so a later DNS answer has no effect.
    """

    def __init__(self, resolver: AbstractResolver) -> None:
        self._resolver = resolver

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Implement aiohttp's resolver. Raises OSError if the name has no public address.

        A name that does not exist gives the same error: otherwise tenants could list the names of the host's network.
        """
        try:
            found = await self._resolver.resolve(host, port, family)
        except OSError as error:
            cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
            if cause.errno not in _NO_NAME:
                raise
            found = []
        public = [result for result in found if _may_connect(result["host"])]
        if not public:
            raise NotPublicError("no public address")
        return public

    async def close(self) -> None:
        await self._resolver.close()


def _may_connect(address: str) -> bool:
    try:
        return is_public(ip_address(address)) and address not in _own_addresses()
    except ValueError:
        return False


def _own_addresses() -> frozenset[str]:
    """Return the addresses of this machine: a public one may serve what only the machine itself can reach."""
    return frozenset(entry.address for entries in psutil.net_if_addrs().values() for entry in entries)


def public_socket(address: tuple[Any, ...]) -> socket.socket:
    """Return a socket for a connection to a public address: the last check, independent of the resolver."""
    family, kind, protocol, _, where = address
    if not _may_connect(str(where[0])):
        raise NotPublicError("not a public address")
    return socket.socket(family, kind, protocol)


def is_caused_by_rules(error: BaseException | None) -> bool:
    """Return whether the rules caused an error of aiohttp, which wraps errors of its resolver and its sockets."""
    for _ in range(8):
        if error is None:
            return False
        if isinstance(error, NotPublicError) or isinstance(getattr(error, "os_error", None), NotPublicError):
            return True
        error = error.__cause__ or error.__context__
    return False
