"""Tokens and logins of the registry client: which server gets them, and which does not."""

import json

import hostile_registry
import pytest
from hostile_registry import (
    BASIC,
    LAYER,
    ScriptedResolver,
    answering,
    client_for,
    digest_of,
    fetched,
    moved,
    refusal_of,
    scripted_registry,
    unauthorized,
)

from node_agent.images.logins import Login
from node_agent.images.policy import PullFault
from node_agent.images.ports import PullRefused
from node_agent.images.registries import Endpoint, RegistryRules, Repository
from node_agent.images.registry_client import ImageSource, RegistryClient

registry, client = hostile_registry.registry, hostile_registry.client

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
