"""The registry client: hostile registries, and the images that the engine gets through the agent."""

import asyncio
import json
import logging
import os
import shutil
import ssl
import subprocess
from contextlib import aclosing, asynccontextmanager
from types import SimpleNamespace

import aiohttp
import psutil
import pytest
from aiohttp import web
from hostile_registry import ScriptedResolver, digest_of, internal_service, scripted_registry

from node_agent.images.logins import Login
from node_agent.images.manifests import MAX_MANIFEST_BYTES
from node_agent.images.policy import PullFault
from node_agent.images.ports import PullRefused
from node_agent.images.pull_through import PullThrough
from node_agent.images.registries import Endpoint, RegistryRules, Repository
from node_agent.images.registry_client import (
    MAX_REDIRECTS,
    MAX_TOKEN_BYTES,
    ImageSource,
    RegistryClient,
    RegistryLimits,
)

LAYER = os.urandom(300_000)
BASIC = "Basic YW5uYTpzZWNyZXQ="
"""anna:secret."""
QUICK = RegistryLimits(connect_s=0.3, answer_s=0.3, stall_s=0.3)


@pytest.fixture
async def registry():
    async with scripted_registry() as found:
        yield found


@pytest.fixture
async def internal():
    async with internal_service() as found:
        yield found


@asynccontextmanager
async def client_for(*registries, limits=None, resolver=None):
    """A client whose operator allows these registries, and no others."""
    rules = RegistryRules(frozenset(registry.endpoint for registry in registries))
    made = RegistryClient(rules, limits=limits, resolver=None if resolver is None else lambda: resolver)
    try:
        yield made
    finally:
        await made.close()


@pytest.fixture
async def client(registry):
    async with client_for(registry) as made:
        yield made


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


# --- what it tells to whom ------------------------------------------------------------------------------------------


async def test_a_token_goes_to_the_registry_alone(registry):
    async with scripted_registry() as other, client_for(registry, other) as client:
        digest, layer = registry.add_image(LAYER)
        other.add(LAYER)
        registry.first = unauthorized(f"{registry.endpoint.url}/token")
        gives_token(registry, "secret")
        registry.handlers[layer] = moved(f"{other.endpoint.url}/blobs/{layer}")
        source = client.source(registry.reference(digest))
        await source.manifest(digest)
        assert await fetched(source, layer, len(LAYER)) == (LAYER, None)
        assert ("/v2/lab/x/manifests/" + digest, "Bearer secret") in registry.seen
        assert [authorization for _, authorization in other.seen] == [None]
        # Back at the registry, by a way that the other server chose: without the token.
        registry.add(b"back")
        other.handlers[layer] = moved(f"{registry.endpoint.url}/elsewhere/{digest_of(b'back')}")
        await fetched(source, layer, len(LAYER))
        assert all(authorization is None for path, authorization in registry.seen if "elsewhere" in path)


async def test_another_server_that_asks_for_a_token_gets_no_answer(registry):
    async with scripted_registry() as other, client_for(registry, other) as client:
        digest, _ = registry.add_image(LAYER)
        registry.handlers[digest] = moved(f"{other.endpoint.url}/{digest}")
        other.handlers[digest] = unauthorized(f"{other.endpoint.url}/token")
        assert (await refusal_of(client, registry.reference(digest))).fault is PullFault.DENIED
        assert [path for path, _ in other.seen] == [f"/{digest}"]


# --- logins ---------------------------------------------------------------------------------------------------------


def login_at(registry):
    return Login(registry.endpoint.netloc, "anna", "secret")


def closed(registry, *, challenge='Basic realm="x"', accepts=BASIC):
    """Have the registry refuse everything without this Authorization."""
    registry.first = answering(status=401, headers={"WWW-Authenticate": challenge})
    registry.accepts = accepts


def gives_token(registry, value="t"):
    registry.handlers["token"] = answering(text=json.dumps({"token": value}), content_type="application/json")


def told(server):
    """Whether a login ever came there."""
    return [path for path, authorization in server.seen if authorization is not None and "Basic" in authorization]


async def test_a_registry_that_wants_a_password_gets_the_login_when_it_asks(registry, client):
    closed(registry)
    digest, layer = registry.add_image(LAYER)
    assert (await refusal_of(client, registry.reference(digest))).fault is PullFault.DENIED
    assert told(registry) == []
    source = client.source(registry.reference(digest), login_at(registry))
    await source.manifest(digest)
    assert await fetched(source, layer, len(LAYER)) == (LAYER, None)
    # The first request had none: whoever does not ask for a login does not get it.
    assert registry.seen[1:3] == [(f"/v2/lab/x/manifests/{digest}", None), (f"/v2/lab/x/manifests/{digest}", BASIC)]


async def test_the_token_server_of_a_registry_gets_the_login_and_the_registry_the_token(registry):
    async with scripted_registry() as server, client_for(registry, server) as client:
        digest, _ = registry.add_image(LAYER)
        closed(registry, challenge=f'Bearer realm="{server.endpoint.url}/token",service="x"', accepts="Bearer t")
        gives_token(server)
        await client.source(registry.reference(digest), login_at(registry)).manifest(digest)
        assert server.seen == [("/token", BASIC)]
        assert told(registry) == []


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("server", ["registry", "token"])
async def test_a_login_that_is_denied_is_no_fault_of_the_host(registry, client, status, server):
    digest, _ = registry.add_image(LAYER)
    if server == "token":
        closed(registry, challenge=f'Bearer realm="{registry.endpoint.url}/token"')
        registry.handlers["token"] = answering(status=status)
    else:
        closed(registry, accepts="Basic other")
        registry.denied = status
    refused = await refusal_of(client, registry.reference(digest), login_at(registry))
    assert refused.fault is PullFault.DENIED
    assert str(status) in str(refused)
    assert told(registry)


@pytest.mark.parametrize("registry_of_login", ["127.0.0.1", "127.0.0.1:1", "registry.example", "docker.io"])
async def test_a_login_goes_to_no_other_registry(registry, client, registry_of_login):
    closed(registry)
    digest, _ = registry.add_image(LAYER)
    login = Login(registry_of_login, "anna", "secret")
    assert (await refusal_of(client, registry.reference(digest), login)).fault is PullFault.DENIED
    assert told(registry) == []


@pytest.mark.parametrize("challenge", ['Basic realm="x"', 'Bearer realm="{}/token"'])
async def test_a_login_does_not_follow_a_redirect(registry, challenge):
    """Neither the server there gets it, whatever it asks for, nor the registry by a way that another server chose."""
    async with scripted_registry() as other, client_for(registry, other) as client:
        digest, layer = registry.add_image(LAYER)
        closed(registry)
        closed(other, challenge=challenge.format(other.endpoint.url))
        gives_token(other)
        registry.handlers[layer] = moved(f"{other.endpoint.url}/{layer}")
        source = client.source(registry.reference(digest), login_at(registry))
        await source.manifest(digest)
        _, refused = await fetched(source, layer, len(LAYER))
        assert refused.fault is PullFault.DENIED
        assert [(path, authorization) for path, authorization in other.seen] == [(f"/{layer}", None)]
        other.first = None
        other.handlers[layer] = moved(f"{registry.endpoint.url}/elsewhere")
        await fetched(source, layer, len(LAYER))
        registry.handlers[layer] = moved("/elsewhere")
        await fetched(source, layer, len(LAYER))
        assert {authorization for path, authorization in registry.seen if path == "/elsewhere"} == {None}


async def test_a_token_server_does_not_pass_a_login_on(registry):
    async with (
        scripted_registry() as server,
        scripted_registry() as other,
        client_for(registry, server, other) as client,
    ):
        digest, _ = registry.add_image(LAYER)
        closed(registry, challenge=f'Bearer realm="{server.endpoint.url}/token"')
        server.handlers["token"] = moved(f"{other.endpoint.url}/token")
        closed(other)
        assert (await refusal_of(client, registry.reference(digest), login_at(registry))).fault is PullFault.DENIED
        assert told(server) == ["/token"]
        assert other.seen == [("/token", None)]


async def test_a_login_is_not_sent_without_tls(registry):
    digest, _ = registry.add_image(LAYER)
    port = registry.endpoint.port
    plain = Endpoint("registry.example", port, plain=True)
    rules = RegistryRules(frozenset({plain, registry.endpoint}))
    client = RegistryClient(rules, resolver=lambda: ScriptedResolver(["127.0.0.1"]))
    try:
        reference = f"registry.example:{port}/lab/x@{digest}"
        refused = await refusal_of(client, reference, Login(f"registry.example:{port}", "anna", "secret"))
        assert (refused.fault, registry.seen) == (PullFault.FORBIDDEN, [])
        closed(registry, challenge=f'Bearer realm="{plain.url}/token"')
        refused = await refusal_of(client, registry.reference(digest), login_at(registry))
        assert (refused.fault, told(registry)) == (PullFault.FORBIDDEN, [])
        assert "has no TLS" in str(refused)
    finally:
        await client.close()


@pytest.mark.parametrize("attack", [moved, unauthorized])
async def test_a_strangers_registry_leads_to_no_registry_that_the_operator_allows(registry, attack):
    """It could have a token of the operator's registry sent back to it."""
    async with scripted_registry() as private:
        digest, _ = registry.add_image(LAYER)
        registry.handlers[digest] = attack(f"{private.endpoint.url}/token")
        gives_token(private)
        client = RegistryClient(RegistryRules(frozenset({private.endpoint})))
        try:
            # As if it were public: there is no public address here.
            rules = client.source(f"registry.example/lab/x@{digest}")._rules
            where = Repository(registry.endpoint, "lab/x")
            reachable = RegistryRules(rules.allowed | {registry.endpoint})
            with pytest.raises(PullRefused) as caught:
                await ImageSource(client, where, reachable, None).manifest(digest)
            assert caught.value.fault is PullFault.FORBIDDEN
        finally:
            await client.close()
        assert registry.seen
        assert private.seen == []


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
