"""Rules for registries: which addresses an image may be fetched from, and how. No IO, no clock.

A tenant chooses the registry of an image, and a registry chooses where its tokens and blobs are. Neither may make the
agent connect to an address that is not public, unless the operator allowed that registry by name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

from offchain.schema.manifest.types import DOCKER_HUB, ImageRef
from offchain.schema.public_address import is_public

MAX_URL = 8192
"""Most characters of an address that a registry names."""
_DOCKER_HUB = frozenset({DOCKER_HUB, "index.docker.io"})
_DOCKER_HUB_REGISTRY = "registry-1.docker.io"
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?\.?", re.ASCII)
_TARGET = re.compile(r"/[\x21\x22\x24-\x7e]*", re.ASCII)
_NO_ADDRESS = "the registry names an address that is not valid"


class RegistryRefusedError(Exception):
    """The rules forbid a connection to this address; the text is fit for tenants and names no resolved address."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An HTTP server: `host` in lower case and without brackets. `plain`: without TLS."""

    host: str
    port: int
    plain: bool = False

    @property
    def netloc(self) -> str:
        """Host and port as in a URL; the port only if it is not the scheme's default."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (80 if self.plain else 443) else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The address without a path: https://registry.example:5000."""
        return f"{'http' if self.plain else 'https'}://{self.netloc}"


@dataclass(frozen=True, slots=True)
class RegistryAddress:
    """An address at a server. `target`: path and query, beginning with a slash."""

    endpoint: Endpoint
    target: str

    @property
    def url(self) -> str:
        """The address, built from the checked parts, so that no other interpretation of the text applies."""
        return f"{self.endpoint.url}{self.target}"


@dataclass(frozen=True, slots=True)
class Repository:
    """The source of an image: a registry and the image's path in it."""

    registry: Endpoint
    path: str


@dataclass(frozen=True, slots=True)
class RegistryRules:
    """The rules of one host. `allowed`: registries that the operator named, including the mirror."""

    allowed: frozenset[Endpoint] = field(default_factory=frozenset)

    def allows(self, endpoint: Endpoint) -> bool:
        """Return whether the operator named this endpoint, so that its address is not checked."""
        return endpoint in self.allowed

    def check(self, endpoint: Endpoint) -> None:
        """Raise RegistryRefusedError if the endpoint itself, before its name is resolved, is not allowed."""
        if self.allows(endpoint):
            return
        literal = _literal(endpoint.host)
        if endpoint.host == "localhost" or (literal is not None and not is_public(literal)):
            raise RegistryRefusedError(f"{endpoint.netloc} is not a public address")
        if endpoint.plain:
            raise RegistryRefusedError(f"{endpoint.netloc} is asked for without TLS, which is not allowed")

    def led_by(self, registry: Endpoint) -> RegistryRules:
        """Return the rules for redirects and realms of this registry.

        Only a registry that the operator allowed may lead to others that the operator allowed: a foreign one could make
        the agent fetch a token of the operator's registry and return it.
        """
        return self if self.allows(registry) else RegistryRules()

    def endpoint(self, host: str) -> Endpoint:
        """Return the registry with this host, with or without a port, as in an image's name.

        Without TLS if the operator allowed it so.
        """
        encrypted = _endpoint(host, plain=False)
        plain = _endpoint(host, plain=True)
        return plain if plain in self.allowed and encrypted not in self.allowed else encrypted

    def follow(self, url: str) -> RegistryAddress:
        """Return the checked address that a registry named (a redirect or a realm).

        Raises RegistryRefusedError.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
            host = _host(parts.hostname or "")
        except ValueError:
            raise RegistryRefusedError(_NO_ADDRESS) from None
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        is_sound = len(url) <= MAX_URL and _TARGET.fullmatch(target) and parts.username is None
        if not is_sound or parts.scheme not in ("http", "https"):
            raise RegistryRefusedError(_NO_ADDRESS)
        plain = parts.scheme == "http"
        endpoint = Endpoint(host, port or (80 if plain else 443), plain)
        self.check(endpoint)
        return RegistryAddress(endpoint, target)


def parse_allowed(text: str) -> Endpoint:
    """Parse a registry that an operator allows: HOST[:PORT], or http://HOST[:PORT] for one without TLS.

    Raises ValueError with a sentence for the operator.
    """
    plain = text.startswith("http://")
    rest = text.removeprefix("http://").removeprefix("https://").removesuffix("/")
    try:
        return _endpoint(rest, plain=plain)
    except RegistryRefusedError:
        raise ValueError(
            f'"{text}" is not a registry; write HOST or HOST:PORT, or http://HOST:PORT where it has no TLS'
        ) from None


def repository(reference: str, rules: RegistryRules) -> Repository:
    """Return the source of the image `name@digest`. Raises RegistryRefusedError if it is not allowed."""
    name = reference.partition("@")[0]
    first, path = split_name(name)
    host = _DOCKER_HUB_REGISTRY if first in _DOCKER_HUB else first
    endpoint = rules.endpoint(host)
    rules.check(endpoint)
    return Repository(endpoint, path)


def split_name(name: str) -> tuple[str, str]:
    """Split an image's name into its registry ("docker.io" if it names none) and its path there."""
    registry = ImageRef(name, "").registry
    path = name.removeprefix(f"{registry}/")
    return registry, f"library/{path}" if registry in _DOCKER_HUB and "/" not in path else path


def check_login(endpoint: Endpoint) -> None:
    """Raise RegistryRefusedError if a login would leave this machine without TLS."""
    literal = _literal(endpoint.host)
    if endpoint.plain and (literal is None or not literal.is_loopback):
        raise RegistryRefusedError(f"{endpoint.netloc} has no TLS, so no login is sent to it")


def _endpoint(text: str, *, plain: bool) -> Endpoint:
    try:
        parts = urlsplit(f"//{text}")
        port, host = parts.port, _host(parts.hostname or "")
    except ValueError:
        raise RegistryRefusedError(f'"{text}" is not the address of a registry') from None
    if parts.path or parts.query or parts.fragment or parts.username is not None:
        raise RegistryRefusedError(f'"{text}" is not the address of a registry')
    return Endpoint(host, port or (80 if plain else 443), plain)


def _host(text: str) -> str:
    """Return a host name or address in canonical form. Raises ValueError."""
    literal = _literal(text)
    if literal is not None:
        return str(literal)
    lowered = text.lower()
    if len(lowered) > 253 or not _HOST.fullmatch(lowered):
        raise ValueError(text)
    return lowered.removesuffix(".")


def _literal(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
