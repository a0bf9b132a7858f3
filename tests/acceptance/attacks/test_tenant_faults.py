"""A tenant who prevents the start of its own pods pays the minimum charge; the host is neither slashed nor scored.

The security test of 2026-11-23 (B3) had hosts slashed by a secret that was never delivered and by a registry that
accepts connections and never answers.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from offchain.cli.session import send
from offchain.link.keys import from_uri
from offchain.schema._generated_chain import calls
from offchain.schema.reasons import TENANTS_FAULTS, code
from tests.real_chain import by_sudo
from tests.support.local_network import TENANT, Done, Net, Pods, sha256

START_TIMEOUT_MS: Final = 20_000
SLOW_BYTES: Final = 10 << 10
"""So many bytes of a layer each half second."""
MS_PER_HOUR: Final = 3_600_000
SUDO: Final = "//Alice"
NO_IMAGE: Final = "sha256:" + "1" * 64
MANIFEST: Final = """\
name: tenant-fault
services:
  main:
    image: {image}
    command: ["true"]
    user: "{user}"
    {secret}
    deploy:
      resources:
        limits: {{cpus: "0.2", memory: 32M, pids: 16}}
{secrets}
x-gantry:
  kind: job
  price: {{max_per_hour: 2.5 GTY}}
  duration: 10m
"""
DEMO: Final = "${GANTRY_DEMO_IMAGE:?scripts/demo-image builds the image and prints its name}"


@pytest.fixture(autouse=True)
async def one_short_attempt(net: Net) -> AsyncIterator[None]:
    """A task fails with its first attempt, and a pod must start within `START_TIMEOUT_MS`."""
    before = await net.typed.params("Tasks")
    short = replace(before, start_timeout_ms=START_TIMEOUT_MS, max_attempts=1)
    await send(net.chain, by_sudo(calls.tasks_set_params(params=short)), from_uri(SUDO))
    try:
        yield
    finally:
        await send(net.chain, by_sudo(calls.tasks_set_params(params=before)), from_uri(SUDO))


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

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
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
            "config": {
                "mediaType": f"{kinds}container.image.v1+json",
                "size": len(config),
                "digest": digest(config),
            },
            "layers": [
                {
                    "mediaType": f"{kinds}image.rootfs.diff.tar.gzip",
                    "size": len(layer),
                    "digest": digest(layer),
                }
            ],
        }
    ).encode()
    bodies = {digest(text): text, digest(config): config, digest(layer): layer}
    connections: set[asyncio.StreamWriter] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.add(writer)
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                first = await reader.readexactly(4)
                if first not in (b"GET ", b"HEAD"):
                    break  # The engine tries TLS first, and goes on without it where that fails at once.
                request = (first + await reader.readuntil(b"\r\n\r\n")).decode()
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
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", digest(text)
    finally:
        server.close()
        for writer in connections:
            writer.close()


def digest(data: bytes) -> str:
    return f"sha256:{sha256(data)}"


def manifest(folder: Path, image: str = DEMO, user: str = "65534:65534", *, secret: bool = False) -> Path:
    file = folder / "fault.yaml"
    text = MANIFEST.format(
        image=image,
        user=user,
        secret="secrets: [api-key]" if secret else "",
        secrets="secrets: {api-key: {external: true}}" if secret else "",
    )
    file.write_text(text, encoding="utf-8")
    return file


def image_with_volume(net: Net, pods: Pods, path: str) -> str:
    """Make an image of the demo image that declares a volume; return its digest."""
    lines = (net.state / "env").read_text(encoding="utf-8").splitlines()
    demo = dict(line.split("=", 1) for line in lines if "=" in line)["GANTRY_DEMO_IMAGE"]
    container = pods.client.containers.create(demo.partition("@")[2])
    try:
        return str(container.commit("lab/volume", changes=f"VOLUME {path}").id)
    finally:
        container.remove()


async def host_facts(net: Net) -> dict[str, Any]:
    """Bond and score of every host."""
    hosts = await net.typed.hosts()
    return {
        name: (record.bond, await net.chain.query("Reputation", "HostScores", [name])) for name, record in hosts.items()
    }


async def refused(net: Net, file: Path, *, charged: bool = True) -> Done:
    """Submit and wait until the task has failed; check what the chain did, and return what the command said."""
    before, first = await host_facts(net), (await net.chain.finalized_head()).number
    done = await net.gantry("submit", file, "--account", TENANT, "--wait", "--json")
    assert done.code == 1, done.said
    assert done.json["state"] == "Failed(AttemptsExhausted)", done.said
    (lease,) = await net.leases(done.json["task"])
    params = await net.typed.params("Tasks")
    charge = min(lease.escrow.deposit, lease.escrow.rate_per_hour * params.min_charge_ms // MS_PER_HOUR)
    assert charge > 0
    charge = charge if charged else 0
    assert (lease.escrow.paid, lease.escrow.fee, lease.escrow.open) == (charge, charge, False), done.said
    assert lease.started_at is None
    assert lease.ended_at is not None
    assert lease.ended_at - lease.created_at < START_TIMEOUT_MS
    assert await host_facts(net) == before, "neither bond nor score of a host has changed"
    for number in range(first, (await net.chain.finalized_head()).number + 1):
        assert "Slashed" not in {event.name for event in (await net.chain.block(number)).events}
    return done


async def told(net: Net, done: Done, reason: str) -> None:
    """The tenant's commands say the cause: waiting, showing, and the log of a pod that never started."""
    assert done.json["reason"] == reason, done.said
    shown = await net.gantry("task", "show", str(done.json["task"]))
    assert "  Reason" in shown.out, shown.said
    logs = await net.gantry("logs", str(done.json["task"]), "--account", TENANT)
    assert logs.code == 0, logs.said
    assert f"the host gave this pod back ({reason})" in logs.out, logs.said
    for text in (done.err, shown.out, logs.out):
        assert "HostRefused" not in text


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


async def test_an_image_with_a_volume_over_proc_costs_the_tenant_and_not_the_host(
    net: Net, pods: Pods, tmp_path: Path
) -> None:
    image = await asyncio.to_thread(image_with_volume, net, pods, "/proc")
    done = await refused(net, manifest(tmp_path, image=f"lab/volume@{image}"))
    await told(net, done, done.json["reason"])
    assert done.json["reason"] in {"image_invalid", "image_cannot_run"}


async def test_an_image_that_comes_slowly_costs_nobody(net: Net, tmp_path: Path) -> None:
    async with slow_registry() as (address, image):
        done = await refused(net, manifest(tmp_path, image=f"{address}/lab/slow@{image}"), charged=False)
        await told(net, done, "image_too_slow")
    logs = await net.gantry("logs", str(done.json["task"]), "--account", TENANT)
    assert "is being pulled: " in logs.out, logs.said
    assert " of 1.0 MiB" in logs.out, logs.said


async def test_the_host_works_on_after_all_of_it(net: Net) -> None:
    number = await net.submit(1)
    await net.until(number, {"Settled"})
    await net.assert_paid_once(number)
