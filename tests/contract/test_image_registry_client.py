"""The registry client: hostile registries, and the images that the engine gets through the agent."""

import asyncio
import logging
import shutil
import ssl
import subprocess
from types import SimpleNamespace

import aiohttp
import hostile_registry
import psutil
import pytest
from aiohttp import web
from hostile_registry import (
    LAYER,
    ScriptedResolver,
    answering,
    client_for,
    digest_of,
    fetched,
    internal_service,
    moved,
    refusal_of,
    scripted_registry,
    unauthorized,
)

from node_agent.images.manifests import MAX_MANIFEST_BYTES
from node_agent.images.policy import PullFault
from node_agent.images.ports import PullRefused
from node_agent.images.pull_through import PullThrough
from node_agent.images.registries import RegistryRules
from node_agent.images.registry_client import MAX_REDIRECTS, MAX_TOKEN_BYTES, RegistryClient, RegistryLimits

QUICK = RegistryLimits(connect_s=0.3, answer_s=0.3, stall_s=0.3)

registry, client = hostile_registry.registry, hostile_registry.client


@pytest.fixture
async def internal():
    async with internal_service() as found:
        yield found


async def test_an_image_comes_with_its_layers(registry, client):
    digest, layer = registry.add_image(LAYER)
    source = client.source(registry.reference(digest))
    manifest = await source.manifest(digest)
    assert dict(manifest.blobs)[layer] == len(LAYER)
    assert await fetched(source, layer, len(LAYER)) == (LAYER, None)


# --- where it does not connect to -----------------------------------------------------------------------------------


async def test_a_registry_that_nobody_allowed_is_not_connected_to(registry):
    digest, _ = registry.add_image(LAYER)
    async with client_for() as client:
        with pytest.raises(PullRefused, match="is not a public address") as caught:
            client.source(registry.reference(digest))
    assert caught.value.fault is PullFault.FORBIDDEN
    assert registry.seen == []


@pytest.mark.parametrize("attack", [moved, unauthorized])
@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"])
async def test_a_registry_leads_to_no_private_address(registry, client, internal, attack, scheme, host):
    port, visitors = internal
    digest, _ = registry.add_image(LAYER)
    registry.handlers[digest] = attack(f"{scheme}://{host}:{port}/latest/meta-data/")
    refused = await refusal_of(client, registry.reference(digest))
    assert refused.fault is PullFault.FORBIDDEN, refused
    assert visitors == []


@pytest.mark.parametrize("address", ["{}\\@{}", "{}#@{}", "{}?@{}", "{} @{}"])
async def test_an_address_is_read_in_one_way_only(registry, client, internal, address):
    port, visitors = internal
    digest, _ = registry.add_image(LAYER)
    there = address.format(registry.endpoint.netloc, f"127.0.0.1:{port}/")
    registry.handlers[digest] = moved(f"http://{there}")
    await refusal_of(client, registry.reference(digest))
    assert visitors == []


async def test_a_name_with_a_private_address_is_not_connected_to(internal):
    port, visitors = internal
    async with client_for(resolver=ScriptedResolver(["127.0.0.1", "::1", "169.254.169.254"])) as client:
        refused = await refusal_of(client, f"registry.example:{port}/x@{digest_of(b'')}")
    assert (refused.fault, str(refused)) == (PullFault.FORBIDDEN, "registry.example has no public address")
    assert visitors == []


async def test_a_name_that_does_not_exist_looks_like_a_private_one(internal):
    async with client_for(resolver=ScriptedResolver([])) as client:
        refused = await refusal_of(client, f"registry.example:{internal[0]}/x@{digest_of(b'')}")
    assert (refused.fault, str(refused)) == (PullFault.FORBIDDEN, "registry.example has no public address")


async def test_a_name_that_turns_private_between_two_requests_is_not_connected_to(internal):
    port, visitors = internal
    # No host has the first address: 3000::/4 is not given out.
    resolver = ScriptedResolver(["3000::1"], ["127.0.0.1"])
    async with client_for(limits=QUICK, resolver=resolver) as client:
        reference = f"registry.example:{port}/x@{digest_of(b'')}"
        assert (await refusal_of(client, reference)).fault is PullFault.PASSING
        assert (await refusal_of(client, reference)).fault is PullFault.FORBIDDEN
    assert visitors == []


async def test_a_public_address_of_this_machine_is_not_connected_to(monkeypatch):
    own = SimpleNamespace(address="8.8.8.8")
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: {"eth0": [own]})
    async with client_for(limits=QUICK, resolver=ScriptedResolver(["8.8.8.8"])) as client:
        refused = await refusal_of(client, f"registry.example/x@{digest_of(b'')}")
    assert refused.fault is PullFault.FORBIDDEN


async def test_the_socket_is_refused_even_where_the_resolver_is_not_asked(internal):
    port, visitors = internal
    async with client_for() as client:
        session = client._session(allowed=False)
        with pytest.raises(aiohttp.ClientConnectorError):
            await session.get(f"http://127.0.0.1:{port}/")
    assert visitors == []


async def test_an_allowed_name_may_have_any_address_and_another_name_there_may_not(registry):
    digest, _ = registry.add_image(LAYER)
    named = RegistryRules().endpoint(f"registry.example:{registry.endpoint.port}")
    plain = type(named)(named.host, named.port, plain=True)
    rules = RegistryRules(frozenset({plain}))
    client = RegistryClient(rules, resolver=lambda: ScriptedResolver(["127.0.0.1"]))
    try:
        await client.source(f"{named.netloc}/lab/x@{digest}").manifest(digest)
        other = f"other.example:{named.port}/lab/x@{digest}"
        assert (await refusal_of(client, other)).fault is PullFault.FORBIDDEN
    finally:
        await client.close()


async def test_a_certificate_that_nobody_signed_is_refused(tmp_path):
    certificate = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate.load_cert_chain(*self_signed(tmp_path))
    async with scripted_registry(certificate) as registry, client_for(registry) as client:
        digest, _ = registry.add_image(LAYER)
        refused = await refusal_of(client, registry.reference(digest))
        assert "its certificate is not valid" in str(refused)
        assert registry.seen == []


def self_signed(folder):
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not installed")
    files = folder / "certificate.pem", folder / "key.pem"
    command = f"req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -out {files[0]} -keyout {files[1]}"
    options = ["-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([program, *command.split(), *options], check=True, capture_output=True)
    return files


async def test_redirects_end(registry, client):
    digest, _ = registry.add_image(LAYER)
    registry.handlers[digest] = moved(f"/v2/lab/x/manifests/{digest}")
    refused = await refusal_of(client, registry.reference(digest))
    assert "more than 5 times" in str(refused)
    assert len(registry.seen) == MAX_REDIRECTS + 1


# --- how much, and how long -----------------------------------------------------------------------------------------


async def test_the_end_of_a_blob_with_other_bytes_is_held_back(registry, client):
    digest, layer = registry.add_image(LAYER)
    wrong = LAYER[:-1] + bytes([LAYER[-1] ^ 1])
    registry.bodies[layer] = (wrong, "application/octet-stream")
    came, refused = await fetched(client.source(registry.reference(digest)), layer, len(LAYER))
    assert refused.fault is PullFault.CORRUPT
    assert len(came) < len(LAYER)


async def test_a_blob_without_an_end_is_cut_off(registry, client):
    digest, layer = registry.add_image(LAYER, size=100_000)

    async def endless(request):
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(bytes(1 << 16))

    registry.handlers[layer] = endless
    came, refused = await fetched(client.source(registry.reference(digest)), layer, 100_000)
    assert refused.fault is PullFault.CORRUPT
    assert "more than the 100000 bytes" in str(refused)
    assert len(came) <= 100_000


async def test_a_manifest_that_is_too_large_is_cut_off(registry, client):
    digest = registry.add(bytes(MAX_MANIFEST_BYTES + 1))
    refused = await refusal_of(client, registry.reference(digest))
    assert (refused.fault, str(refused)) == (PullFault.UNFIT, f"the manifest has more than {MAX_MANIFEST_BYTES} bytes")


@pytest.mark.parametrize("body", [b"x" * (MAX_TOKEN_BYTES + 1), b"[]", b'{"token": "a\\r\\nHost: b"}', b"{" * 5000])
async def test_an_answer_that_is_no_token_is_refused(registry, client, body):
    digest, _ = registry.add_image(LAYER)
    registry.first = unauthorized(f"{registry.endpoint.url}/token")
    registry.handlers["token"] = answering(body=body)
    assert (await refusal_of(client, registry.reference(digest))).fault in (PullFault.DENIED, PullFault.UNFIT)


async def never(_):
    await asyncio.Event().wait()


async def stalls(request):
    response = web.StreamResponse(headers={"Content-Length": str(len(LAYER))})
    await response.prepare(request)
    await response.write(LAYER[:1000])
    await asyncio.Event().wait()


async def test_a_registry_that_does_not_answer_is_given_up(registry):
    digest, _ = registry.add_image(LAYER)
    registry.handlers[digest] = never
    async with client_for(registry, limits=QUICK) as client:
        refused = await refusal_of(client, registry.reference(digest))
    assert (refused.fault, str(refused)) == (PullFault.PASSING, "the registry does not answer in time")


async def test_a_download_that_stands_still_is_given_up(registry):
    digest, layer = registry.add_image(LAYER)
    registry.handlers[layer] = stalls
    async with client_for(registry, limits=QUICK) as client:
        came, refused = await fetched(client.source(registry.reference(digest)), layer, len(LAYER))
    assert refused.fault is PullFault.PASSING or "cannot continue" in str(refused)
    assert len(came) < len(LAYER)


async def test_a_pull_has_an_end_however_it_comes(registry):
    digest, layer = registry.add_image(LAYER)
    async with client_for(registry, limits=RegistryLimits(total_s=0)) as client:
        _, refused = await fetched(client.source(registry.reference(digest)), layer, len(LAYER))
    assert refused.fault is PullFault.SLOW


async def test_a_download_that_breaks_off_is_continued(registry, client):
    digest, layer = registry.add_image(LAYER)
    asked = []

    async def breaks(request):
        asked.append(request.headers.get("Range"))
        start = int(asked[-1][6:-1]) if asked[-1] else 0
        status = 206 if start else 200
        headers = {"Content-Length": str(len(LAYER) - start), "Content-Range": f"bytes {start}-"}
        response = web.StreamResponse(status=status, headers=headers)
        await response.prepare(request)
        await response.write(LAYER[start : start + 150_000])
        request.transport.close()
        return response

    registry.handlers[layer] = breaks
    assert await fetched(client.source(registry.reference(digest)), layer, len(LAYER)) == (LAYER, None)
    assert asked[0] is None
    assert all(asked[1:])
    assert len(asked) > 1


# --- what the engine gets -------------------------------------------------------------------------------------------


async def get(url):
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return response.status, await response.read()


async def test_the_engine_gets_what_one_image_lists_until_its_pull_ends(registry, client):
    digest, layer = registry.add_image(LAYER)
    other, other_layer = registry.add_image(LAYER + b"more")
    through = PullThrough(client)
    offer = await through.offer(registry.reference(digest), lambda _: True)
    address, _, path = offer.repository.partition("/")
    url = f"http://{address}/v2/{path}"
    assert await get(f"{url}/blobs/{layer}") == (200, LAYER)
    assert (await get(f"{url}/manifests/{digest}"))[0] == 200
    assert (await get(f"http://{address}/v2/gantry/{'0' * 32}/manifests/{digest}"))[0] == 404
    assert (await get(f"{url}/blobs/{other_layer}"))[0] == 403
    assert offer.refused is not None
    assert (await get(f"{url}/blobs/{layer}"))[0] == 403, "a pull that was refused is over"
    through.withdraw(offer)
    assert (await get(f"{url}/blobs/{layer}"))[0] == 404
    assert not any(other in path or other_layer in path for path, _ in registry.seen)
    await through.close()


async def test_an_image_that_does_not_fit_is_refused_before_its_layers_are_asked_for(registry, client):
    digest, layer = registry.add_image(LAYER, size=10 << 30)
    through = PullThrough(client)
    with pytest.raises(PullRefused, match="do not fit") as caught:
        await through.offer(registry.reference(digest), lambda size_bytes: size_bytes < 1 << 30)
    assert caught.value.fault is PullFault.FULL
    assert not any(layer in path for path, _ in registry.seen)
    await through.close()


async def test_the_engine_never_has_all_bytes_of_a_wrong_blob(registry, client):
    digest, layer = registry.add_image(LAYER)
    registry.bodies[layer] = (bytes(len(LAYER)), "application/octet-stream")
    through = PullThrough(client)
    offer = await through.offer(registry.reference(digest), lambda _: True)
    with pytest.raises(aiohttp.ClientError):
        await get(f"http://{offer.repository.replace('/', '/v2/', 1)}/blobs/{layer}")
    assert offer.refused is not None
    assert offer.refused.fault is PullFault.CORRUPT
    await through.close()


async def test_an_engine_that_tries_tls_first_is_answered_without_it(registry, client, caplog):
    digest, _ = registry.add_image(LAYER)
    through = PullThrough(client)
    offer = await through.offer(registry.reference(digest), lambda _: True)
    host, _, port = offer.repository.partition("/")[0].partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"\x16\x03\x01\x00\xc2\x01\x00\x00\xbe\x03\x03" + bytes(190))
    assert (await reader.read(12)).startswith(b"HTTP/1.")
    writer.close()
    await through.close()
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []
