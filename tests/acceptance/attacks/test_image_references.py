"""A tenant's image cannot make a host send a request to an address that is not public.

In the security test of 2026-11-23 (B2) the container engine connected to the loopback address in an image's name,
fetched any address that the registry named as its token server, and sent a field of the answer back to the registry.
"""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
from tenant_faults import host_facts, manifest, one_short_attempt, refused, told

from tests.support.local_network import ALLOWED_REGISTRY, TENANT, Done, Net

__all__ = ["one_short_attempt"]

DIGEST: Final = "sha256:" + "1" * 64
SECRET: Final = "INTERNAL-SESSION-TOKEN-1234"
PASSWORD: Final = "registry-password-1234"
HEADER: Final = base64.b64encode(f"robot:{PASSWORD}".encode())
MAX_BYTES: Final = 32 << 20
"""Files that are searched for a login; larger ones are the chain's."""


def unauthorized(realm: str) -> bytes:
    return answer("401 Unauthorized", f'WWW-Authenticate: Bearer realm="{realm}",service="x"')


def moved(location: str) -> bytes:
    return answer("307 Temporary Redirect", f"Location: {location}")


def answer(status: str, header: str, body: bytes = b"{}") -> bytes:
    return f"HTTP/1.1 {status}\r\n{header}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@asynccontextmanager
async def server(
    host: str, port: int | str, reply: bytes | Callable[[bytes], bytes]
) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server that answers each request with these bytes. Yields its address, and what it received."""
    received: list[bytes] = []
    writers: set[asyncio.StreamWriter] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.add(writer)
        received.append(b"")
        place = len(received) - 1
        while data := await reader.read(4096):
            received[place] += data
            if b"\r\n\r\n" in data:
                writer.write(reply if isinstance(reply, bytes) else reply(data))

    listening = await asyncio.start_server(serve, host, port)
    try:
        yield "{}:{}".format(*listening.sockets[0].getsockname()[:2]), received
    finally:
        listening.close()
        for writer in writers:
            writer.close()


async def assert_explained(net: Net, done: Done) -> None:
    """The tenant is told what to do."""
    await told(net, done, "image_unavailable")
    logs = await net.gantry("logs", str(done.json["task"]), "--account", TENANT)
    assert "--allow-registry" in logs.out, logs.said


async def test_a_registry_at_a_loopback_address_receives_nothing(net: Net, tmp_path: Path) -> None:
    async with server("127.0.0.1", 0, unauthorized("http://127.0.0.1:1/")) as (address, received):
        done = await refused(net, manifest(tmp_path, image=f"{address}/x/y@{DIGEST}"))
    assert received == []
    await assert_explained(net, done)


@pytest.mark.parametrize(
    ("attack", "scheme"), [(unauthorized, "http"), (moved, "https")], ids=["realm", "redirect_tls"]
)
async def test_a_registry_leads_to_no_internal_service(
    net: Net, tmp_path: Path, attack: Callable[[str], bytes], scheme: str
) -> None:
    body = f'{{"token":"{SECRET}"}}'.encode()
    async with server("127.0.0.1", 0, answer("200 OK", "Content-Type: application/json", body)) as (internal, asked):
        reply = attack(f"{scheme}://{internal}/latest/meta-data/")
        async with server(*ALLOWED_REGISTRY.split(":"), reply) as (registry, received):
            done = await refused(net, manifest(tmp_path, image=f"{registry}/x/y@{DIGEST}"))
    assert received, "the registry itself is allowed, and was asked"
    assert asked == []
    assert not any(SECRET.encode() in request or b"authorization" in request.lower() for request in received)
    await assert_explained(net, done)


@pytest.mark.parametrize("attack", ["realm", "denied"])
async def test_a_login_goes_to_the_registry_that_its_tenant_names_alone(net: Net, tmp_path: Path, attack: str) -> None:
    """A registry that sends the agent elsewhere for a token gets no login there; one that denies it is told as such."""
    secret = tmp_path / "login"
    secret.write_text(f"robot:{PASSWORD}\n", encoding="utf-8")
    async with server("127.0.0.1", 0, answer("200 OK", "Content-Type: application/json")) as (internal, asked):
        denied = answer("401 Unauthorized", 'WWW-Authenticate: Basic realm="x"')
        reply = unauthorized(f"http://{internal}/token") if attack == "realm" else denied
        async with server(*ALLOWED_REGISTRY.split(":"), reply) as (registry, received):
            before = await host_facts(net)
            file = with_login(manifest(tmp_path, image=f"{registry}/x/y@{DIGEST}"), registry)
            done = await net.check("submit", file, "--account", TENANT, "--json")
            number = str(done.json["task"])

            async def delivered() -> bool:
                return (await net.gantry("deliver", number, "registry", secret, "--account", TENANT)).code == 0

            await net.each_block(delivered, f"the login of task {number} to be delivered")
            await net.until(int(number), {"Failed"})
    logs = await net.gantry("logs", number, "--account", TENANT)
    assert "the host gave this pod back (image_unavailable)" in logs.out, logs.said
    (lease,) = await net.leases(int(number))
    before.assert_only_charged(await host_facts(net), lease.host, lease.escrow.paid)
    assert asked == []
    logins = [request for request in received if HEADER in request]
    if attack == "realm":
        assert received
        assert logins == []
    else:
        assert logins, received
        assert "denies it for the login of x-gantry.registry_login" in logs.out, logs.said
    assert PASSWORD not in logs.out
    assert await asyncio.to_thread(files_with, net.state, (PASSWORD.encode(), HEADER)) == []


def with_login(file: Path, registry: str) -> Path:
    text = file.read_text(encoding="utf-8").replace("x-gantry:", "secrets: {registry: {external: true}}\nx-gantry:")
    file.write_text(f"{text}  registry_login: {{registry: '{registry}', secret: registry}}\n", encoding="utf-8")
    return file


def files_with(folder: Path, words: tuple[bytes, ...]) -> list[Path]:
    """The files of a network with one of these words: logs, databases, books."""
    found = []
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # it may be gone meanwhile
            if path.is_file() and path.stat().st_size < MAX_BYTES:
                data = path.read_bytes()
                if any(word in data for word in words):
                    found.append(path)
    return found


async def test_the_host_works_on_after_all_of_it(net: Net) -> None:
    number = await net.submit(1)
    await net.until(number, {"Settled"})
    await net.assert_paid_once(number)
