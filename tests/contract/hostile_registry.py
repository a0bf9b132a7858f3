"""A registry on loopback that a test scripts, answer by answer, and a registry client that asks it."""

import asyncio
import hashlib
import json
import os
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver

from node_agent.images.ports import PullRefused
from node_agent.images.registries import Endpoint, RegistryRules
from node_agent.images.registry_client import RegistryClient

LAYER = os.urandom(300_000)
BASIC = "Basic YW5uYTpzZWNyZXQ="
"""anna:secret."""
OCI = "application/vnd.oci.image.manifest.v1+json"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


class ScriptedRegistry:
    """A registry that gives out `bodies` by digest, unless a handler is set for the last part of a path.

    `seen`: every request, as path and Authorization header.
    """

    def __init__(self, port: int, *, plain: bool = True) -> None:
        self.endpoint = Endpoint("127.0.0.1", port, plain)
        self.bodies: dict[str, tuple[bytes, str]] = {}
        self.handlers: dict[str, Handler] = {}
        self.first: Handler | None = None
        """Asked before everything else, for each request that has no Authorization."""
        self.accepts: str | None = None
        """The only Authorization that it takes; None: any."""
        self.denied = 401
        """How it answers another one."""
        self.seen: list[tuple[str, str | None]] = []

    def add(self, body: bytes, kind: str = "application/octet-stream") -> str:
        """Give out these bytes; returns their digest."""
        self.bodies[digest_of(body)] = (body, kind)
        return digest_of(body)

    def add_image(self, layer: bytes, *, size: int | None = None) -> tuple[str, str]:
        """An image of one layer, whose manifest may lie about its size. Returns the digests of both."""
        config = b'{"architecture":"amd64","os":"linux"}'
        parts = [{"digest": self.add(body), "size": len(body)} for body in (config, layer)]
        if size is not None:
            parts[1]["size"] = size
        text = json.dumps({"schemaVersion": 2, "mediaType": OCI, "config": parts[0], "layers": parts[1:]})
        return self.add(text.encode(), OCI), digest_of(layer)

    def reference(self, digest: str) -> str:
        return f"{self.endpoint.netloc}/lab/x@{digest}"

    async def answer(self, request: web.Request) -> web.StreamResponse:
        last = request.path.rpartition("/")[2]
        authorization = request.headers.get("Authorization")
        self.seen.append((request.path, authorization))
        if last in self.handlers:
            return await self.handlers[last](request)
        if self.first is not None and authorization is None:
            return await self.first(request)
        if self.accepts is not None and authorization != self.accepts:
            return web.Response(status=self.denied)
        if last not in self.bodies:
            return web.Response(status=404)
        body, kind = self.bodies[last]
        return web.Response(body=body, content_type=kind)


@asynccontextmanager
async def scripted_registry(tls: ssl.SSLContext | None = None) -> AsyncIterator[ScriptedRegistry]:
    """A registry at a free port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        registry = ScriptedRegistry(listening.getsockname()[1], plain=tls is None)
        runner = web.ServerRunner(web.Server(registry.answer), handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        await web.SockSite(runner, listening, ssl_context=tls).start()
        try:
            yield registry
        finally:
            await runner.cleanup()


@asynccontextmanager
async def internal_service() -> AsyncIterator[tuple[int, list[str]]]:
    """A service on loopback that nobody may connect to. Yields its port and those who connected."""
    visitors: list[str] = []

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visitors.append(str(writer.get_extra_info("peername")))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], visitors
    finally:
        server.close()


class ScriptedResolver(AbstractResolver):
    """Gives the next list of addresses for each question, whatever the name; the last one again and again."""

    def __init__(self, *answers: list[str]) -> None:
        self._answers = list(answers)

    async def resolve(self, host, port=0, family=socket.AF_INET):  # noqa: ARG002  (aiohttp's)
        found = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if not found:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [
            {
                "hostname": host,
                "host": address,
                "port": port,
                "family": socket.AF_INET6 if ":" in address else socket.AF_INET,
                "proto": 0,
                "flags": socket.AI_NUMERICHOST,
            }
            for address in found
        ]

    async def close(self) -> None:
        pass


@asynccontextmanager
async def client_for(*registries, limits=None, resolver=None):
    """A client whose operator allows these registries, and no others."""
    rules = RegistryRules(frozenset(registry.endpoint for registry in registries))
    made = RegistryClient(rules, limits=limits, resolver=None if resolver is None else lambda: resolver)
    try:
        yield made
    finally:
        await made.close()


async def fetched(source, digest, size):
    """What came of a blob, and why it ended."""
    came = bytearray()
    try:
        async with aclosing(source.blob(digest, size)) as pieces:
            async for piece in pieces:
                came += piece
    except PullRefused as error:
        return bytes(came), error
    return bytes(came), None


async def refusal_of(client, reference, login=None):
    """Why the image is refused, which tells nothing of the login."""
    with pytest.raises(PullRefused) as caught:
        await client.source(reference, login).manifest(reference.partition("@")[2])
    assert "secret" not in str(caught.value)
    assert BASIC not in str(caught.value)
    return caught.value


def answering(**response):
    async def handle(_):
        return web.Response(**response)

    return handle


def moved(location):
    return answering(status=307, headers={"Location": location})


def unauthorized(realm):
    return answering(status=401, headers={"WWW-Authenticate": f'Bearer realm="{realm}",service="x"'})


# Fixtures, not in conftest.py: `client` is a different one in other modules of this folder. A test module binds them.


@pytest.fixture
async def registry():
    async with scripted_registry() as found:
        yield found


@pytest.fixture
async def client(registry):
    async with client_for(registry) as made:
        yield made
