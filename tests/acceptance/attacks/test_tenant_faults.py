"""A tenant who prevents the start of its own pods pays the minimum charge; the host is neither slashed nor scored.

The security test of 2026-11-23 (B3) had hosts slashed by a secret that was never delivered and by a registry that
accepts connections and never answers.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from tenant_faults import manifest, one_short_attempt, refused, told

from offchain.schema.chain_types.reasons import TENANTS_FAULTS, code
from tests.support.local_network import ALLOWED_REGISTRY, TENANT, Net, sha256

__all__ = ["one_short_attempt"]

SLOW_BYTES: Final = 10 << 10
"""So many bytes of a layer each half second."""
NO_IMAGE: Final = "sha256:" + "1" * 64


@asynccontextmanager
async def registry(answer: bytes | None) -> AsyncIterator[str]:
    """A registry on this machine that answers each request with these bytes, or never. Yields its address."""
    silent: set[asyncio.StreamWriter] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        silent.add(writer)
        with suppress(OSError, asyncio.IncompleteReadError):
            while answer is not None:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(answer)
                await writer.drain()

    server = await asyncio.start_server(serve, *ALLOWED_REGISTRY.split(":"))
    try:
        yield ALLOWED_REGISTRY
    finally:
        server.close()
        for writer in silent:
            writer.close()


@asynccontextmanager
async def slow_registry() -> AsyncIterator[tuple[str, str]]:
    """A registry with one image, of which a layer comes at 20 KiB a second. Yields its address and the digest."""
    layer = os.urandom(1 << 20)
    config = json.dumps(
        {"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [digest(layer)]}}
    ).encode()
    kinds = "application/vnd.docker."
    text = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": f"{kinds}distribution.manifest.v2+json",
            "config": {"mediaType": f"{kinds}container.image.v1+json", "size": len(config), "digest": digest(config)},
            "layers": [
                {"mediaType": f"{kinds}image.rootfs.diff.tar.gzip", "size": len(layer), "digest": digest(layer)}
            ],
        }
    ).encode()
    bodies = {digest(text): text, digest(config): config, digest(layer): layer}
    connections: set[asyncio.StreamWriter] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.add(writer)
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                request = (await reader.readuntil(b"\r\n\r\n")).decode()
                method, path, _ = request.split(" ", 2)
                body = bodies.get(path.rpartition("/")[2], b"{}")
                kind = f"{kinds}distribution.manifest.v2+json" if body is text else "application/octet-stream"
                head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
                writer.write(f"{head}Docker-Content-Digest: {digest(body)}\r\n\r\n".encode())
                for at in range(0, len(body) if method == "GET" else 0, SLOW_BYTES):
                    writer.write(body[at : at + SLOW_BYTES])
                    await writer.drain()
                    if body is layer:
                        await asyncio.sleep(0.5)

    server = await asyncio.start_server(serve, *ALLOWED_REGISTRY.split(":"))
    try:
        yield ALLOWED_REGISTRY, digest(text)
    finally:
        server.close()
        for writer in connections:
            writer.close()


def digest(data: bytes) -> str:
    return f"sha256:{sha256(data)}"


async def test_a_secret_that_is_never_delivered_costs_the_tenant_and_not_the_host(net: Net, tmp_path: Path) -> None:
    done = await refused(net, manifest(tmp_path, secret=True))
    await told(net, done, "input_missing")
    number = done.json["task"]
    assert f"gantry deliver {number} api-key FILE" in done.err
    assert "a secret or an input was not delivered in time" in done.err


async def test_a_registry_that_never_answers_costs_the_tenant_and_not_the_host(net: Net, tmp_path: Path) -> None:
    async with registry(None) as address:
        done = await refused(net, manifest(tmp_path, image=f"{address}/lab/silent@{NO_IMAGE}"))
        await told(net, done, done.json["reason"])
    assert done.json["reason"] in {code(fault) for fault in TENANTS_FAULTS}


async def test_an_image_that_its_registry_does_not_have_costs_the_tenant(net: Net, tmp_path: Path) -> None:
    body = b'{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}'
    head = f"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    async with registry(head + body) as address:
        done = await refused(net, manifest(tmp_path, image=f"{address}/lab/missing@{NO_IMAGE}"))
        await told(net, done, done.json["reason"])
    assert done.json["reason"] in {code(fault) for fault in TENANTS_FAULTS}


async def test_an_image_that_cannot_run_costs_the_tenant_and_not_the_host(net: Net, tmp_path: Path) -> None:
    done = await refused(net, manifest(tmp_path, user="nobody-here"))
    await told(net, done, "image_cannot_run")
    assert "no program of the image could be started" in done.err


async def test_an_image_that_comes_slowly_costs_the_minimum_however_long_it_took(net: Net, tmp_path: Path) -> None:
    async with slow_registry() as (address, image):
        done = await refused(net, manifest(tmp_path, image=f"{address}/lab/slow@{image}"), for_all_time=False)
        await told(net, done, "image_too_slow")
    logs = await net.gantry("logs", str(done.json["task"]), "--account", TENANT)
    assert "is being pulled: " in logs.out, logs.said
    assert " of 1.0 MiB" in logs.out, logs.said


async def test_the_host_works_on_after_all_of_it(net: Net) -> None:
    number = await net.submit(1)
    await net.until(number, {"Settled"})
    await net.assert_paid_once(number)
