"""Pods from a page: a session key that a wallet delegated to, through the gateway's relay, to a host that checks it."""

import asyncio
import dataclasses
import os

import aiohttp
import p2p_endpoints as p2p
import pytest
from p2p_endpoints import DIGEST, GENESIS, LEASE, NOW_MS, RESULT, SILENT, STRANGER, TENANT, refusal

from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import Ed25519Signer, from_uri
from offchain.adapters.transport import relayed
from offchain.adapters.transport.host_client import HostClient
from offchain.adapters.transport.iroh_quic import IrohTransport
from offchain.adapters.transport.port import ConnectionLost, HostMisbehaved, HostUnreachable
from offchain.adapters.transport.session import BULK_WINDOW
from offchain.clock import unix_ms
from offchain.gateway.admission import GatewayAdmission
from offchain.gateway.api.relay_socket import RELAY_PATH, JoinedTransport, RelaySockets
from offchain.gateway.api.server import ApiServer, ApiSettings
from offchain.gateway.service import GatewayServer
from offchain.schema.durations import HOUR_MS
from offchain.schema.protocol.delegation import DELEGABLE, MOST_LIFE_MS, Delegation, SignedDelegation, chain_of
from offchain.schema.protocol.gateway import parse_gateway
from offchain.schema.protocol.messages import Code, Op
from offchain.schema.protocol.operations import DeliverArgs, ExecArgs, LogsArgs, PutArgs, ReceiptArgs
from tests.support.chain_records import GTY, host_record
from tests.support.fake_chain import FakeChain
from tests.support.memory_transport import MemoryNetwork
from tests.support.relay_client import PageTransport

KEY = Ed25519Signer(b"session key of a page, 32 bytes.")


def delegation(wallet=TENANT, *, wrapped=False, now_ms=NOW_MS, **changes):
    """What a wallet signs for the page, with changes to the text."""
    made = Delegation(
        "console.example.org", wallet.address, KEY.address, DELEGABLE, chain_of(GENESIS), "0f" * 16, 0, HOUR_MS
    )
    made = dataclasses.replace(made, issued_ms=now_ms, expires_ms=now_ms + HOUR_MS)
    return signed(dataclasses.replace(made, **changes).text(), wallet, wrapped=wrapped)


def signed(text, wallet=TENANT, *, wrapped=False):
    payload = f"<Bytes>{text}</Bytes>" if wrapped else text
    return SignedDelegation(text=text, signature=wallet.sign(payload.encode()))


@pytest.fixture
async def host():
    network = MemoryNetwork()
    made = p2p.Host(network.endpoint(Ed25519Signer(os.urandom(32)).public_key), {Op.EXEC: _exec, Op.PUT: _exec})
    made.network = network
    yield made
    await made.close()


async def _exec(_request, session):
    session.accept()
    await session.write(b"$ ")


@pytest.fixture
async def page(host):
    """Makes a client of the host with the page's key, and this delegation."""
    clients = []

    def make(given, signer=KEY, **options):
        made = HostClient(
            host.network.endpoint(Ed25519Signer(os.urandom(32)).public_key),
            host.transport.key,
            host.transport.addresses,
            genesis_hash=GENESIS,
            signer=signer,
            delegation=given,
            **{"now_ms": lambda: NOW_MS, **options},
        )
        clients.append(made)
        return made

    yield make
    for made in clients:
        await made.close()


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("wallet", [TENANT, from_uri("//Tenant", "ed25519")], ids=["sr25519", "ed25519"])
async def test_a_session_key_may_read_what_its_tenant_may(host, page, wallet, wrapped):
    host.answers.tenants = {wallet.address}
    client = page(delegation(wallet, wrapped=wrapped))
    assert await client.result(LEASE, DIGEST) == RESULT
    assert b"".join([piece async for piece in client.logs(LEASE)]) == b"line 1\nline 2\n"
    session, _ = await client.ask(ExecArgs(("sh",)), LEASE)
    assert await session.read_main() == b"$ "


def _text(**changes):
    return delegation(**changes).text


ATTACKS = {
    "another chain": lambda: delegation(chain=chain_of(b"h" * 32)),
    "another key": lambda: delegation(key=STRANGER.address),
    "another operation": lambda: delegation(may=(Op.RESULT,)),
    "expired": lambda: delegation(now_ms=NOW_MS - HOUR_MS),
    "too long": lambda: delegation(expires_ms=NOW_MS + MOST_LIFE_MS + 1),
    "from the future": lambda: delegation(now_ms=NOW_MS + HOUR_MS),
    "a line more": lambda: signed(_text() + "\nMay: put"),
    "a text before": lambda: signed("Sign in to win.\n" + _text()),
    "signed by another account": lambda: signed(_text(), STRANGER),
    "the signature of another text": lambda: dataclasses.replace(delegation(), text=_text(nonce="ab" * 16)),
    "no signature": lambda: dataclasses.replace(delegation(), signature=bytes(64)),
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
async def test_a_delegation_that_does_not_fit_is_refused(page, attack):
    client = page(attack())
    assert await refusal(client.ask(LogsArgs(), LEASE)) is Code.BAD_DELEGATION
    # Nothing of it is remembered: it is refused again, and a valid one on the same connection works.
    assert await refusal(client.ask(LogsArgs(), LEASE)) is Code.BAD_DELEGATION
    client._delegation = delegation()
    await client.ask(LogsArgs(), LEASE)


@pytest.mark.parametrize(
    "args",
    [DeliverArgs("secret", 9), PutArgs("/x", "0f" * 16, 9), ReceiptArgs(), ReceiptArgs("ab" * 32, "cd" * 64)],
    ids=lambda args: type(args).__name__,
)
async def test_what_moves_coins_or_changes_a_pod_is_not_delegable(page, args):
    assert await refusal(page(delegation()).ask(args, LEASE)) is Code.BAD_DELEGATION


async def test_the_delegation_of_another_account_gives_no_right_to_the_lease(page):
    assert await refusal(page(delegation(STRANGER)).ask(LogsArgs(), LEASE)) is Code.NOT_YOUR_LEASE


async def test_a_delegation_is_worth_nothing_with_another_key(page):
    """Who reads a delegation, a gateway or a host, cannot use it."""
    thief = Ed25519Signer(os.urandom(32))
    assert await refusal(page(delegation(), thief).ask(LogsArgs(), LEASE)) is Code.BAD_DELEGATION
    named = page(delegation(), thief)
    named._signer = _Claims(thief, KEY.address)
    assert await refusal(named.ask(LogsArgs(), LEASE)) is Code.BAD_SIGNATURE


class _Claims:
    """A signer that names another account."""

    crypto = "ed25519"

    def __init__(self, signer, address):
        self.sign, self.address = signer.sign, address


async def test_a_session_key_is_an_ed25519_key(page):
    other = from_uri("//Session")
    given = delegation(key=other.address)
    assert await refusal(page(given, other).ask(LogsArgs(), LEASE)) is Code.BAD_DELEGATION


async def test_a_request_that_was_sent_before_is_refused(page):
    client = page(delegation())
    request = client._signed(LogsArgs(), LEASE)
    client._signed = lambda *_: request
    await client.ask(LogsArgs(), LEASE)
    assert await refusal(client.ask(LogsArgs(), LEASE)) is Code.REPLAYED
    # Without the delegation, or with another one, it is another request, which the key did not sign.
    again = page(delegation())
    again._signed = lambda *_: request.replace(b'"v":3', b'"v":2')
    assert await refusal(again.ask(LogsArgs(), LEASE)) is Code.BAD_REQUEST


async def test_a_session_ends_when_its_delegation_expires(host, page):
    now = [NOW_MS]
    host.server._now_ms = lambda: now[0]
    client = page(delegation())
    logs = client.logs(SILENT)
    assert await anext(logs) == b"line 1\n"
    await host.server.recheck()
    now[0] += HOUR_MS
    await host.server.recheck()
    assert await refusal(anext(logs)) is Code.BAD_DELEGATION
    async with asyncio.timeout(p2p.PATIENCE_S):
        await host.answers.left.wait()


async def test_all_session_keys_of_a_tenant_share_its_nonces(host, page):
    await page(delegation()).ask(LogsArgs(), LEASE)
    assert host.server._nonces._of_account == {TENANT.address: 1}


# --- from end to end --------------------------------------------------------------------------------------------------


class Gateway:
    """A gateway with its API, on a chain in memory, which relays for pages."""

    def __init__(self, tmp_path):
        self.seed, self.chain = os.urandom(32), FakeChain()
        self.chain.genesis = GENESIS
        self.sockets = RelaySockets(self.seed, {"https://console.example.org"})
        settings = ApiSettings(host="127.0.0.1", port=0, index=str(tmp_path / "index.db"), console=tmp_path / "none")
        self.api = ApiServer(settings, relay=self.sockets)

    async def start(self):
        base = await IrohTransport.bind(self.seed, "127.0.0.1:0")
        self.address = parse_gateway(f"{ss58.encode(base.key)}@{base.addresses[0]}")
        admission = GatewayAdmission(GantryChain(self.chain))
        self.server = GatewayServer(JoinedTransport(base, self.sockets), genesis_hash=GENESIS, authorise=admission)
        self.serving = asyncio.create_task(self.server.serve())

    async def close(self):
        await self.server.close()
        await self.serving


class World:
    """A host behind a gateway, and pages that reach it through the relay."""

    def __init__(self, gateway, url, host):
        self.gateway, self.url, self.host, self.made = gateway, url, host, []

    def client(self, given, headers=None):
        """A client of the gateway with the page's key."""
        transport = PageTransport(KEY.seed(), headers)
        client = HostClient(
            transport, self.gateway.sockets.key, [self.url], genesis_hash=GENESIS, signer=KEY, delegation=given
        )
        self.made += [client, transport]
        return client

    async def through(self, given, host_key=None):
        """A connection with TLS to the host through the relay, as a page opens it."""
        key = host_key or self.host.transport.key
        session = await self.client(given).carry(self.host.transport.key, window=BULK_WINDOW)
        return await relayed.dial(relayed.SessionStream(session), key, KEY)


@pytest.fixture
async def world(tmp_path):
    gateway = Gateway(tmp_path)
    await gateway.start()
    async with gateway.api.listening() as url:
        seed = os.urandom(32)
        own = Ed25519Signer(seed)
        gateway.chain.storage["Hosts", "Hosts"][own.address,] = host_record("5P").encode()
        gateway.chain.storage["System", "Account"][TENANT.address,] = {
            "data": {"free": GTY, "reserved": 0, "frozen": 0}
        }
        attached = await p2p.through(gateway, seed=seed, signer=own)
        host = p2p.Host(attached)
        host.server._now_ms = unix_ms
        made = World(gateway, url, host)
        yield made
        for one in made.made:
            await one.close()
        await host.close()
        await gateway.close()


class OneConnection:
    """A transport whose only connection is there already."""

    addresses = ()

    def __init__(self, connection):
        self._connection, self.key = connection, KEY.public_key

    async def dial(self, *_):
        return self._connection


async def test_a_page_reads_the_log_of_a_pod_through_the_relay(world):
    given = delegation(wrapped=True, now_ms=unix_ms())
    connection = await world.through(given)
    assert connection.remote_key == world.host.transport.key
    client = HostClient(
        OneConnection(connection), connection.remote_key, (), genesis_hash=GENESIS, signer=KEY, delegation=given
    )
    assert b"".join([piece async for piece in client.logs(LEASE)]) == b"line 1\nline 2\n"
    assert await client.result(LEASE, DIGEST) == RESULT
    await client.close()


async def test_the_gateway_relays_for_accounts_with_coins_and_valid_delegations_only(world):
    now_ms = unix_ms()
    for given, code in [
        (delegation(STRANGER, now_ms=now_ms), Code.NOT_FOUND),
        (delegation(now_ms=now_ms - HOUR_MS), Code.BAD_DELEGATION),
        (delegation(now_ms=now_ms, chain=chain_of(b"h" * 32)), Code.BAD_DELEGATION),
        (None, Code.NOT_FOUND),
    ]:
        assert await refusal(world.client(given).carry(world.host.transport.key, window=BULK_WINDOW)) is code
    assert world.gateway.server.relay.load.carried_streams == 0


async def test_the_page_notices_another_host_behind_the_relay(world):
    with pytest.raises(HostUnreachable, match="host's key"):
        await world.through(delegation(now_ms=unix_ms()), os.urandom(32))


async def test_a_gateway_that_changes_bytes_breaks_the_connection(world):
    relay = world.gateway.server.relay
    pass_on = type(relay).pass_on

    async def changed(piece, from_caller, sink):
        last = bytes([piece[-1] ^ 1])
        await pass_on(relay, piece if from_caller else piece[:-1] + last, from_caller, sink)

    relay.pass_on = changed
    with pytest.raises((HostUnreachable, HostMisbehaved, ConnectionLost)):
        await world.through(delegation(now_ms=unix_ms()))


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 101),
        ("https://console.example.org", 101),
        ("own", 101),
        ("https://evil.example", 403),
        ("null", 403),
        ("http://[", 403),
    ],
)
async def test_pages_of_other_origins_may_not_use_the_relay(world, origin, status):
    headers = {} if origin is None else {"Origin": world.url if origin == "own" else origin}
    async with aiohttp.ClientSession() as session:
        try:
            async with session.ws_connect(world.url + RELAY_PATH, headers=headers) as socket:
                assert len((await socket.receive()).data) == 32
                found = 101
        except aiohttp.WSServerHandshakeError as error:
            found = error.status
    assert found == status


async def test_what_is_no_websocket_is_told_so(world):
    async with aiohttp.ClientSession() as session, session.get(world.url + RELAY_PATH) as answer:
        assert (answer.status, (await answer.json(content_type=None))["code"]) == (426, "no_websocket")


@pytest.mark.parametrize("said", [b"", b"x", bytes(32 + 64 + 32), bytes(200_000), "text"])
async def test_who_proves_no_key_is_disconnected(world, said):
    async with aiohttp.ClientSession() as session, session.ws_connect(world.url + RELAY_PATH) as socket:
        await socket.receive()
        await (socket.send_str(said) if isinstance(said, str) else socket.send_bytes(said))
        async with asyncio.timeout(p2p.PATIENCE_S):
            assert (await socket.receive()).type is not aiohttp.WSMsgType.BINARY
    assert not world.gateway.sockets._open
