"""Who signs for the provider, and what somebody without the key is shown."""

import asyncio
import json
import os
from dataclasses import replace

import pytest

from offchain.adapters.keys import keystore
from offchain.adapters.keys.signer import from_uri
from offchain.cli.kit.output import StepOutput
from offchain.cli.provider import signing
from offchain.errors import CallFailed, OurError
from offchain.ports import Call
from offchain.schema.chain_types._generated_chain import calls
from offchain.services.call_text import call_lines
from tests.support.fake_chain import FakeChain

BOB, EVE = from_uri("//Bob"), from_uri("//Eve")
HOST = from_uri("//Host", "ed25519").address
DRAIN = calls.hosts_drain(host=HOST)
NOTHING = signing.SigningOptions(None, None, None, None, None)


def keys(**given):
    names = ("provider", "provider_uri_env", "provider_key_file", "proxy_for", "by_hand")
    return signing.SigningOptions(**{name: given.get(name) for name in names})


def test_the_providers_key_signs():
    assert keys(provider="//Bob").authority(None).provider == BOB.address
    assert not keys(provider="//Bob").authority(None).by_proxy


def test_a_proxys_key_signs_for_the_provider():
    authority = keys(provider="//Eve", proxy_for=BOB.address).authority(None)
    assert (authority.provider, authority.by_proxy) == (BOB.address, True)


def test_a_call_without_a_key_here_is_shown_to_be_signed():
    assert keys(by_hand=BOB.address).authority(None) == signing.SigningAuthority(BOB.address)
    assert NOTHING.authority(BOB.address) == signing.SigningAuthority(BOB.address)


def test_a_secret_is_not_inherited_by_later_processes(monkeypatch, tmp_path):
    """The agent would have it in its environment for as long as it runs."""
    monkeypatch.setenv("PROVIDER", "//Bob")
    assert keys(provider_uri_env="PROVIDER").authority(None).provider == BOB.address
    monkeypatch.setenv("GANTRY_PASSWORD", "hunter2")
    keystore.save(tmp_path / "key.json", BOB, "hunter2")
    assert keys(provider_key_file=tmp_path / "key.json").authority(None).provider == BOB.address
    assert not {"PROVIDER", "GANTRY_PASSWORD"} & set(os.environ)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"provider": "//Bob", "provider_uri_env": "X"},
        {"provider": "//Bob", "by_hand": BOB.address},
        {"proxy_for": BOB.address},
        {"proxy_for": BOB.address, "by_hand": BOB.address},
    ],
)
def test_what_does_not_fit_together_is_refused(given):
    with pytest.raises(OurError, match="Exactly one of"):
        keys(**given).authority(None)


@pytest.fixture
async def chain():
    made = FakeChain()
    await made.produce(2)

    async def clock():
        while True:
            for _ in range(20):
                await asyncio.sleep(0)
            await made.produce()

    blocks = asyncio.create_task(clock())
    yield made
    blocks.cancel()
    await asyncio.gather(blocks, return_exceptions=True)


def session(chain, authority, *, as_json=False):
    return signing.SigningSession(chain, authority, StepOutput(as_json=as_json), "ws://n")


async def yes():
    return True


async def test_a_call_is_signed_by_the_key(chain):
    await session(chain, signing.SigningAuthority(BOB.address, BOB)).submit(DRAIN, "Why.", yes)
    assert [(call, who) for call, who, _ in chain.executed] == [(DRAIN, BOB.address)]


async def test_a_sent_call_is_reported_on_a_terminal_unless_quiet(chain, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    by_key = session(chain, signing.SigningAuthority(BOB.address, BOB))
    await by_key.submit(DRAIN, "Why.", yes)
    assert capsys.readouterr().err == "Sent; it takes effect when its block is final, in some seconds.\n"
    await replace(by_key, quiet=True).submit(DRAIN, "Why.", yes)
    assert capsys.readouterr().err == ""
    assert len(chain.executed) == 2


async def test_a_call_is_wrapped_for_a_proxy_and_its_refusal_is_told(chain):
    chain.effects = lambda _call, _who: [("Proxy", "ProxyExecuted", {"result": {"Ok": ()}})]
    by_proxy = session(chain, signing.SigningAuthority(BOB.address, EVE))
    await by_proxy.submit(DRAIN, "Why.", yes)
    ((call, who, _),) = chain.executed
    assert (call, who) == (signing.proxied(BOB.address, DRAIN), EVE.address)
    assert call.args["call"] == {"Hosts": {"drain": {"host": HOST}}}
    chain.effects = lambda _call, _who: [("Proxy", "ProxyExecuted", {"result": {"Err": {"System": "CallFiltered"}}})]
    with pytest.raises(CallFailed, match=r"System\.CallFiltered"):
        await by_proxy.submit(DRAIN, "Why.", yes)


async def test_a_call_that_is_signed_elsewhere_is_shown_and_waited_for(chain, capsys):
    looks = []

    async def third_time():
        looks.append(None)
        return len(looks) == 3

    await session(chain, signing.SigningAuthority(BOB.address), as_json=True).submit(DRAIN, "Why.", third_time)
    said = json.loads(capsys.readouterr().out.splitlines()[0])
    assert said["call"] == "0x" + (await chain.encode_call(DRAIN)).hex()
    assert (said["function"], said["provider"]) == ("Hosts.drain", BOB.address)
    assert len(looks) == 3
    assert chain.executed == []


async def test_without_waiting_it_is_only_shown(chain, capsys):
    async def never():
        raise AssertionError

    await session(chain, signing.SigningAuthority(BOB.address)).submit(DRAIN, "Why.", never, wait=False)
    assert "polkadot.js" in capsys.readouterr().out


def test_what_is_to_be_signed_is_shown_in_words():
    call = Call(
        "Hosts", "set_ask", {"host": HOST, "ask": {"gpu": [{"model": b"H100", "per_hour": 2 * 10**12}], "x": []}}
    )
    lines = call_lines(call)
    assert lines[0] == "Hosts.set_ask"
    assert "      - 0:" in lines
    assert "        model: H100" in lines
    assert "        per_hour: 2 GTY" in lines
    request = signing.signing_request(call, b"\x01\x02", BOB.address, "ws://node:9944", "Why.")
    assert request[0] == f"Why. This call needs the signature of {BOB.address}:"
    assert "  0x0102" in request
    assert signing.wallet_link("ws://node:9944", b"\x01") == (
        "https://polkadot.js.org/apps/?rpc=ws%3A%2F%2Fnode%3A9944#/extrinsics/decode/0x01"
    )


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0, "0s"), (59_999, "59s"), (61_000, "1m 1s"), (90_061_000, "1d 1h"), (-5, "0s"), (3_600_000, "1h")],
)
def test_times(ms, text):
    assert signing.duration(ms) == text
