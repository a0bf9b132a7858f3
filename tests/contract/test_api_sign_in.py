"""Sign-in at gateways that share an index, on SQLite and PostgreSQL."""

import asyncio
import contextlib
import json
from dataclasses import replace

import aiohttp
import pytest

from offchain.adapters.keys.signer import from_uri
from offchain.gateway.api import actions, client_limits, sign_in, sign_in_store
from offchain.gateway.api.notifications import MOST_WEBHOOKS
from offchain.gateway.api.server import ApiServer, ApiSettings
from offchain.gateway.api.sign_in_message import LIFETIME_MS
from offchain.gateway.api.sign_in_store import MOST_KEYS, MOST_SESSIONS, SESSION_MS, token_hash
from offchain.indexer.genesis import store_genesis_balances
from offchain.indexer.notification_rows import DeliveryRow
from offchain.indexer.rows import HostRow
from offchain.indexer.sign_in_rows import ApiKeyRow, SessionRow, UsedNonceRow
from offchain.indexer.state_rows import GenesisBalanceRow
from tests.support.history_blocks import History
from tests.support.index_rig import opened

ALICE, BOB, HOST = from_uri("//Alice"), from_uri("//Bob", "ed25519"), from_uri("//Host")
STRANGER = from_uri("//Nobody")
DOMAIN = "gateway.example.org"


class Clock:
    """The clock of all gateways."""

    def __init__(self):
        self.ms = 1_790_000_000_000

    def now_ms(self):
        return self.ms


class Client:
    """A client of a gateway."""

    def __init__(self, url, session):
        self.url, self.session = url, session

    async def ask(self, method, path, status=200, *, token=None, body=None):
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        async with self.session.request(method, self.url + path, json=body, headers=headers) as answer:
            text = await answer.text()
            assert answer.status == status, text
            found = json.loads(text)
            return found["data"] if status == 200 else found

    async def message(self, account):
        return (await self.ask("POST", "/v1/sign-in/message", body={"account": account}))["message"]

    async def signed(self, signer, *, wrap=False):
        """Return the body of a sign-in."""
        text = await self.message(signer.address)
        payload = f"<Bytes>{text}</Bytes>" if wrap else text
        return {"message": text, "signature": f"0x{signer.sign(payload.encode()).hex()}"}

    async def token(self, signer):
        return (await self.ask("POST", "/v1/sign-in", body=await self.signed(signer)))["token"]


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(sign_in, "unix_ms", made.now_ms)
    monkeypatch.setattr(actions, "_WRITES_PER_S", 1000.0)
    return made


@pytest.fixture
async def gateway(address, clock):  # noqa: ARG001  (the gateways take it)
    """A function that starts a gateway at a domain."""
    db, index = opened(address)
    index.add(list(History(5).blocks(3)))
    store_genesis_balances(db, [GenesisBalanceRow(one.address, 1, 0) for one in (ALICE, BOB, HOST)])
    template = db.rows(HostRow, limit=1)[0]
    db.upsert(HostRow, [replace(template, host=HOST.address, provider=BOB.address)])
    async with contextlib.AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession())

        async def start(domain=DOMAIN, operators=()):
            settings = ApiSettings(
                host="127.0.0.1",
                port=0,
                index=address,
                requests_per_s=1000,
                domain=domain,
                operators=frozenset(operators),
            )
            return Client(await stack.enter_async_context(ApiServer(settings).listening()), session)

        start.db = db
        yield start
    db.close()


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("signer", [ALICE, BOB], ids=["sr25519", "ed25519"])
async def test_a_token_of_one_gateway_is_known_at_another(gateway, signer, wrap):
    one, other = await gateway(), await gateway("other.example.org", [ALICE.address])
    begun = await one.ask("POST", "/v1/sign-in", body=await one.signed(signer, wrap=wrap))
    assert begun["account"] == signer.address
    session = await other.ask("GET", "/v1/session", token=begun["token"])
    assert session["account"] == signer.address
    assert session["expires_ms"] == begun["expires_ms"]


async def test_roles_are_those_of_the_account_now(gateway):
    plain, with_operator = await gateway(), await gateway(operators=[ALICE.address])
    alice, bob = await plain.token(ALICE), await plain.token(BOB)
    assert (await plain.ask("GET", "/v1/session", token=alice))["roles"] == ["tenant"]
    assert (await with_operator.ask("GET", "/v1/session", token=alice))["roles"] == ["tenant", "operator"]
    assert (await plain.ask("GET", "/v1/session", token=bob))["roles"] == ["tenant", "provider"]


async def test_a_replayed_sign_in_is_refused_at_every_gateway(gateway):
    one, other = await gateway(), await gateway()
    body = await one.signed(ALICE)
    await one.ask("POST", "/v1/sign-in", body=body)
    for client in (one, other):
        problem = await client.ask("POST", "/v1/sign-in", 403, body=body)
        assert problem["code"] == "sign_in_refused"
        assert "used before" in problem["detail"]


async def test_of_simultaneous_sign_ins_with_one_message_one_succeeds(gateway):
    one, other = await gateway(), await gateway()
    body = await one.signed(ALICE)
    asked = [client.session.post(f"{client.url}/v1/sign-in", json=body) for client in (one, other) * 4]
    statuses = [answer.status for answer in await asyncio.gather(*asked)]
    assert statuses.count(200) == 1
    assert set(statuses) <= {200, 403}


async def test_an_expired_message_is_refused(gateway, clock):
    client = await gateway()
    body = await client.signed(ALICE)
    clock.ms += LIFETIME_MS
    problem = await client.ask("POST", "/v1/sign-in", 403, body=body)
    assert "expired" in problem["detail"]


async def test_a_gateway_whose_clock_is_behind_refuses_a_message_that_another_saw_expire(gateway, clock):
    ahead, behind = await gateway(), await gateway()
    body = await ahead.signed(ALICE)
    await ahead.ask("POST", "/v1/sign-in", body=body)
    clock.ms += LIFETIME_MS + 1_000
    await ahead.token(ALICE)
    clock.ms -= 2_000
    assert "used before" in (await behind.ask("POST", "/v1/sign-in", 403, body=body))["detail"]


async def test_a_message_for_another_domain_is_refused(gateway):
    here, there = await gateway(), await gateway("evil.example.net")
    problem = await here.ask("POST", "/v1/sign-in", 403, body=await there.signed(ALICE))
    assert "evil.example.net" in problem["detail"]
    assert gateway.db.rows(UsedNonceRow) == []


async def test_a_signature_of_another_account_is_refused(gateway):
    client = await gateway()
    text = await client.message(ALICE.address)
    body = {"message": text, "signature": BOB.sign(text.encode()).hex()}
    assert "not by" in (await client.ask("POST", "/v1/sign-in", 403, body=body))["detail"]


async def test_an_account_that_the_chain_does_not_know_writes_nothing(gateway):
    client = await gateway()
    problem = await client.ask("POST", "/v1/sign-in", 403, body=await client.signed(STRANGER))
    assert "does not know" in problem["detail"]
    assert gateway.db.rows(UsedNonceRow) == gateway.db.rows(SessionRow) == []


async def test_a_token_ends_by_time_and_by_sign_out(gateway, clock):
    one, other = await gateway(), await gateway()
    first, second = await one.token(ALICE), await one.token(ALICE)
    assert (await one.ask("DELETE", "/v1/session", token=first))["revoked"]
    assert (await other.ask("GET", "/v1/session", 401, token=first))["code"] == "not_signed_in"
    await other.ask("GET", "/v1/session", token=second)
    clock.ms += SESSION_MS
    await other.ask("GET", "/v1/session", 401, token=second)
    await one.token(ALICE)
    assert len(gateway.db.rows(SessionRow)) == 1
    assert len(gateway.db.rows(UsedNonceRow)) == 1


async def test_the_sign_ins_of_an_account_are_bounded(gateway):
    client = await gateway()
    tokens = [await client.token(ALICE) for _ in range(MOST_SESSIONS + 2)]
    bob = await client.token(BOB)
    assert len(gateway.db.rows(SessionRow)) == MOST_SESSIONS + 1
    await client.ask("GET", "/v1/session", token=tokens[-1])
    await client.ask("GET", "/v1/session", token=bob)


async def test_a_key_acts_within_its_scopes_until_it_is_revoked(gateway, clock):
    one, other = await gateway(), await gateway()
    token = await one.token(BOB)
    made = await one.ask("POST", "/v1/api-keys", token=token, body={"name": "ci", "scopes": ["provider"], "days": 2})
    key = made.pop("key")
    assert (await other.ask("GET", "/v1/session", token=key))["roles"] == ["provider"]
    assert (await other.ask("GET", "/v1/api-keys", token=token))["keys"] == [made]
    # A key is no sign-in.
    for method, path, body in (
        ("GET", "/v1/api-keys", None),
        ("POST", "/v1/api-keys", {"name": "x", "scopes": ["tenant"]}),
        ("DELETE", f"/v1/api-keys/{made['id']}", None),
        ("DELETE", "/v1/session", None),
    ):
        assert (await one.ask(method, path, 403, token=key, body=body))["code"] == "not_allowed"
    assert (await one.ask("DELETE", f"/v1/api-keys/{made['id']}", token=token))["revoked"]
    await other.ask("GET", "/v1/session", 401, token=key)
    await one.ask("DELETE", f"/v1/api-keys/{made['id']}", 404, token=token)
    short = await one.ask("POST", "/v1/api-keys", token=token, body={"name": "x", "scopes": ["tenant"], "days": 1})
    clock.ms += 86_400_000
    await one.ask("GET", "/v1/session", 401, token=short["key"])


async def test_keys_of_other_accounts_cannot_be_seen_or_revoked(gateway):
    client = await gateway()
    alice, bob = await client.token(ALICE), await client.token(BOB)
    made = await client.ask("POST", "/v1/api-keys", token=alice, body={"name": "a", "scopes": ["tenant"]})
    assert (await client.ask("GET", "/v1/api-keys", token=bob))["keys"] == []
    await client.ask("DELETE", f"/v1/api-keys/{made['id']}", 404, token=bob)
    problem = await client.ask("POST", "/v1/api-keys", 403, token=alice, body={"name": "b", "scopes": ["provider"]})
    assert "is no provider" in problem["detail"]


async def test_the_keys_of_an_account_are_bounded(gateway, monkeypatch):
    monkeypatch.setattr(sign_in_store, "MOST_KEYS", 3)
    assert MOST_KEYS > 3
    client = await gateway()
    token = await client.token(ALICE)
    for _ in range(3):
        await client.ask("POST", "/v1/api-keys", token=token, body={"name": "a", "scopes": ["tenant"]})
    problem = await client.ask("POST", "/v1/api-keys", 400, token=token, body={"name": "a", "scopes": ["tenant"]})
    assert "3 keys" in problem["detail"]


async def test_no_secret_is_in_the_index(gateway):
    client = await gateway()
    token = await client.token(ALICE)
    key = (await client.ask("POST", "/v1/api-keys", token=token, body={"name": "a", "scopes": ["tenant"]}))["key"]
    (session,), (row,) = gateway.db.rows(SessionRow), gateway.db.rows(ApiKeyRow)
    assert session.token_hash == token_hash(token)
    assert row.key_hash == token_hash(key)
    stored = repr((session, row))
    assert token[4:] not in stored
    assert key.rpartition("_")[2] not in stored


@pytest.mark.parametrize("token", [None, "", "gts_x", "gtk_x", "gtk_0123456789abcdef_x", "x" * 4000])
async def test_other_tokens_are_refused(gateway, token):
    client = await gateway()
    problem = await client.ask("GET", "/v1/session", 401, token=token)
    assert problem["code"] == "not_signed_in"


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/v1/sign-in/message", {"account": "5Fx"}, 400, "invalid_parameter"),
        ("/v1/sign-in/message", {}, 400, "invalid_parameter"),
        ("/v1/sign-in", {"message": "hello", "signature": "00" * 64}, 403, "sign_in_refused"),
        ("/v1/sign-in", {"message": "hello", "signature": "00"}, 400, "invalid_parameter"),
        ("/v1/sign-in", {"message": "x" * 2000, "signature": "00" * 64}, 400, "invalid_parameter"),
        ("/v1/sign-in", {"message": "x" * 9000, "signature": "00" * 64}, 413, "too_large"),
        ("/v1/sign-in", ["x"], 400, "invalid_parameter"),
        ("/v1/api-keys", {"name": "x", "scopes": ["tenant"]}, 401, "not_signed_in"),
    ],
)
async def test_wrong_bodies_are_refused_by_name(gateway, path, body, status, code):
    client = await gateway()
    assert (await client.ask("POST", path, status, body=body))["code"] == code


async def test_sign_ins_of_one_address_are_limited(gateway, monkeypatch):
    monkeypatch.setattr(actions, "_WRITES_PER_S", 1.0)
    monkeypatch.setattr(client_limits, "now_s", lambda: 100.0)
    client = await gateway()
    statuses = []
    for _ in range(8):
        async with client.session.post(f"{client.url}/v1/sign-in/message", json={"account": ALICE.address}) as answer:
            statuses.append(answer.status)
    assert statuses[:4] == [200] * 4
    assert statuses[-1] == 429


async def test_without_a_domain_there_is_no_sign_in(gateway):
    client = await gateway(domain=None)
    problem = await client.ask("POST", "/v1/sign-in/message", 404, body={"account": ALICE.address})
    assert problem["code"] == "sign_in_off"


async def test_an_account_adds_lists_and_removes_its_own_webhooks(gateway):
    client = await gateway()
    alice, bob = await client.token(ALICE), await client.token(BOB)
    body = {"url": "https://hooks.example.org/gantry", "topics": ["lease_ended"]}
    added = await client.ask("POST", "/v1/notifications", token=alice, body=body)
    assert len(added["secret"]) >= 40
    listed = await client.ask("GET", "/v1/notifications", token=alice)
    idle = {"waiting": 0, "failed_attempts": 0, "failure": None, "next_attempt_ms": None, "test": False}
    assert listed["webhooks"] == [{name: added[name] for name in ("id", "url", "topics", "created_ms")} | idle]
    assert (await client.ask("GET", "/v1/notifications", token=bob))["webhooks"] == []
    await client.ask("DELETE", f"/v1/notifications/{added['id']}", 404, token=bob)
    assert await client.ask("DELETE", f"/v1/notifications/{added['id']}", token=alice) == {"removed": True}
    await client.ask("DELETE", f"/v1/notifications/{added['id']}", 404, token=alice)
    for _ in range(MOST_WEBHOOKS):
        await client.ask("POST", "/v1/notifications", token=alice, body=body)
    assert (await client.ask("POST", "/v1/notifications", 400, token=alice, body=body))["field"] == "url"
    await client.ask("POST", "/v1/notifications", 401, body=body)
    refused = await client.ask("POST", "/v1/notifications", 400, token=bob, body=body | {"url": "https://10.0.0.1/"})
    assert (refused["code"], refused["field"]) == ("invalid_parameter", "url")


async def test_a_test_notice_waits_for_the_notifier_once(gateway):
    client = await gateway()
    alice, bob = await client.token(ALICE), await client.token(BOB)
    body = {"url": "https://hooks.example.org/gantry", "topics": ["lease_ended"]}
    added = await client.ask("POST", "/v1/notifications", token=alice, body=body)
    chosen = {"id": added["id"]}
    await client.ask("POST", "/v1/notifications/test", 401, body=chosen)
    await client.ask("POST", "/v1/notifications/test", 404, token=bob, body=chosen)
    assert gateway.db.rows(DeliveryRow) == []
    asked = await client.ask("POST", "/v1/notifications/test", token=alice, body=chosen)
    (waiting,) = gateway.db.rows(DeliveryRow)
    notice = json.loads(waiting.body)
    assert (waiting.recipient, waiting.notice, waiting.attempts) == (added["id"], asked["notice"], 0)
    assert (notice["topic"], notice["account"], notice["webhook"]) == ("test", ALICE.address, added["id"])
    # Its attempts fail for an hour; the receiver is repaired, and the account asks again.
    gateway.db.upsert(DeliveryRow, [replace(waiting, due_ms=2**52, attempts=3, failure="status 500")])
    (listed,) = (await client.ask("GET", "/v1/notifications", token=alice))["webhooks"]
    assert {name: listed[name] for name in ("waiting", "failed_attempts", "failure", "next_attempt_ms", "test")} == {
        "waiting": 1,
        "failed_attempts": 3,
        "failure": "status 500",
        "next_attempt_ms": 2**52,
        "test": True,
    }
    assert await client.ask("POST", "/v1/notifications/test", token=alice, body=chosen) == asked
    (again,) = gateway.db.rows(DeliveryRow)
    assert again.due_ms < 2**52
    assert replace(again, due_ms=0) == replace(waiting, due_ms=0, attempts=3, failure="status 500")
