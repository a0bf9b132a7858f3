"""Who may use a gateway, by the chain."""

import asyncio

import pytest

from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import from_uri
from offchain.adapters.transport.port import HostRefused
from offchain.errors import ChainBehind, Reorganised
from offchain.gateway import service
from offchain.gateway.admission import GatewayAdmission
from offchain.gateway.service import ChainWatch
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.protocol.delegation import Delegation, SignedDelegation
from offchain.schema.protocol.messages import Code, Op, Request
from offchain.schema.protocol.operations import AcceptArgs, LogsArgs, ProbeArgs, RegisterArgs, RelayArgs
from tests.support.chain_records import host_record
from tests.support.fake_chain import FakeChain

HOST = from_uri("//Host", "ed25519").address
RETIRED = from_uri("//Retired", "ed25519").address
RICH, POOR = from_uri("//Rich").address, from_uri("//Poor").address
CARRY = RelayArgs("00" * 32)


@pytest.fixture
def chain():
    made = FakeChain()
    made.storage["Hosts", "Hosts"][(HOST,)] = host_record("5P").encode()
    made.storage["Hosts", "Hosts"][(RETIRED,)] = host_record("5P", status=gen.HostStatusRetired()).encode()
    made.storage["System", "Account"][(RICH,)] = {"data": {"free": 0, "reserved": 1, "frozen": 0}}
    return made


async def verdict(chain, args, account, crypto="ed25519", lease=None):
    request = Request(args=args, account=account, nonce="00" * 16, expires_ms=1, crypto=crypto, lease=lease)
    try:
        await GatewayAdmission(GantryChain(chain))(request)
    except HostRefused as no:
        assert no.refusal.message
        assert no.refusal.hint
        return no.refusal.code
    return None


@pytest.mark.parametrize("args", [RegisterArgs(), AcceptArgs("00" * 16), ProbeArgs(1)])
async def test_only_hosts_of_the_chain_attach_take_and_probe(chain, args):
    assert await verdict(chain, args, HOST) is None
    assert await verdict(chain, args, RETIRED) is Code.NOT_A_HOST
    assert await verdict(chain, args, RICH) is Code.NOT_A_HOST
    assert await verdict(chain, args, HOST, crypto="sr25519") is Code.NOT_A_HOST


async def test_connections_are_relayed_for_accounts_that_hold_coins(chain):
    assert await verdict(chain, CARRY, RICH, crypto="sr25519") is None
    assert await verdict(chain, CARRY, POOR) is Code.NOT_FOUND


@pytest.mark.parametrize(("payer", "code"), [(RICH, None), (POOR, Code.NOT_FOUND)])
async def test_a_session_key_needs_no_coins_and_its_tenant_does(chain, payer, code):
    text = Delegation("a", payer, HOST, (Op.LOGS,), "0" * 32, "0" * 32, 0, 1).text()
    request = Request(
        args=CARRY,
        account=HOST,
        nonce="00" * 16,
        expires_ms=1,
        crypto="ed25519",
        delegation=SignedDelegation(text=text, signature=bytes(64)),
    )
    admission = GatewayAdmission(GantryChain(chain))
    if code is None:
        await admission(request)
        return
    with pytest.raises(HostRefused) as refused:
        await admission(request)
    assert refused.value.refusal.code is code


async def test_requests_to_hosts_are_refused_by_a_gateway(chain):
    assert await verdict(chain, LogsArgs(), RICH, lease=1) is Code.UNSUPPORTED


@pytest.mark.parametrize("args", [RegisterArgs(), CARRY])
async def test_an_unreachable_node_is_reported(chain, args):
    chain.unreachable = True
    assert await verdict(chain, args, HOST) is Code.BUSY


async def test_nothing_is_relayed_while_the_node_has_lost_blocks(chain):
    request = Request(args=CARRY, account=RICH, nonce="00" * 16, expires_ms=1, crypto="sr25519", lease=None)
    await GatewayAdmission(GantryChain(chain), lambda: False)(request)
    with pytest.raises(HostRefused) as refused:
        await GatewayAdmission(GantryChain(chain), lambda: True)(request)
    assert refused.value.refusal.code == Code.BUSY


async def test_a_restarted_chain_is_reported_and_ends_the_watch(chain, monkeypatch):
    monkeypatch.setattr(service, "RECONNECT_S", 0)
    told = []
    watch = ChainWatch(chain)
    running = asyncio.create_task(watch.run(told.append))

    async def until(condition):
        for _ in range(10_000):
            if condition():
                return
            await asyncio.sleep(0)
        raise AssertionError("it does not come to that")

    await chain.produce(5)
    await until(lambda: watch._last is not None and watch._last.number == 5)
    assert not watch.is_behind
    await chain.start_anew()
    await until(lambda: watch.is_behind)
    assert isinstance(told[0], ChainBehind)
    await chain.produce(5)
    with pytest.raises(Reorganised):
        await asyncio.wait_for(running, 10)


async def test_a_node_that_catches_up_is_accepted(chain, monkeypatch):
    monkeypatch.setattr(service, "RECONNECT_S", 0)
    watch = ChainWatch(chain)
    running = asyncio.create_task(watch.run(lambda _: None))
    await chain.produce(5)
    ahead = None
    for _ in range(10_000):
        await asyncio.sleep(0)
        if ahead is None and watch._last is not None and watch._last.number == 5:
            ahead = chain._final[3:]
            del chain._final[3:]
            await chain.drop_subscriptions()
        if ahead and watch.is_behind:
            chain._final += ahead
            await chain.produce()
            ahead = []
        if ahead == [] and not watch.is_behind:
            break
    else:
        raise AssertionError("it did not catch up")
    assert not running.done()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
