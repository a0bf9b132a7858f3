"""Commands to a host that only its gateway reaches, and where the gateways that they ask come from."""

import asyncio
import dataclasses
import json

import cli_world
import pytest
from pod_host import CHARLIE, HOST, RealHost

from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import Ed25519Signer
from offchain.adapters.transport.gateway import GatewayTransport
from offchain.adapters.transport.multi_transport import MultiTransport
from offchain.adapters.transport.routing import RoutedTransport
from offchain.gateway.service import GatewayServer
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.protocol.gateway import parse_gateway
from tests.support.chain_records import Tasks, task_spec

KEY = Ed25519Signer(b"gateway" + bytes(25))


class Hidden(GatewayTransport):
    """Closes with it what it goes by."""

    async def close(self):
        await super().close()
        await self.gateway.close()
        await self._base.close()


class HiddenHost(RealHost):
    """A host without a port of its own, and a gateway to which it keeps a stream."""

    async def _listen(self):
        async def anybody(_request):
            pass

        at = await MultiTransport.bind(KEY.seed(), "127.0.0.1:0")
        self.gateway = GatewayServer(at, genesis_hash=self._genesis, authorise=anybody)
        self._serving = asyncio.create_task(self.gateway.serve())
        self.address = f"{ss58.encode(at.key)}@{at.addresses[0]}"
        base = await MultiTransport.client(HOST.seed(), "127.0.0.1:0")
        hidden = Hidden(base, HOST.seed(), genesis_hash=self._genesis, signer=HOST)
        hidden.gateway = self.gateway
        hidden.listen([parse_gateway(self.address)])
        await hidden.wait_registered()
        return hidden


@pytest.fixture
def task(world):
    """Task 0 runs on the host."""
    tasks = Tasks(world.chain)
    tasks.submit(cli_world.CHARLIE, task_spec(), now=1)
    running = dataclasses.replace(cli_world.the_lease(0), state=gen.LeaseStateActive(), ended_at=None, result=None)
    tasks.change(0, state=gen.TaskStateRunning(), leases=(running,))
    return 0


@pytest.fixture
def hidden(world, task, tmp_path):
    assert task == 0
    with HiddenHost(tmp_path / "uploads", world.chain.genesis).running() as made:
        yield made


def name(world, endpoint):
    """What the chain has as the host's endpoint."""
    world.put("Hosts", "Hosts", cli_world.HOST, cli_world.the_host(endpoint=endpoint.encode()))


def test_logs_come_through_the_gateway_that_the_host_names(world, hidden):
    name(world, hidden.address)
    status, out, err = world.run("logs", "0", *CHARLIE)
    assert (status, json.loads(out)) == (0, [None, None, False, None])
    assert "connecting through a gateway" in err


@pytest.mark.parametrize("how", ["option", "variable", "file", "network"])
def test_a_gateway_that_the_host_does_not_name_may_be_given(world, hidden, how, monkeypatch, home):
    name(world, "127.0.0.1:1")
    given = ()
    match how:
        case "option":
            given = ("--gateway", hidden.address)
        case "variable":
            monkeypatch.setenv("GANTRY_GATEWAY", hidden.address)
        case "file":
            (home / "config" / "gantry").mkdir(parents=True, exist_ok=True)
            (home / "config" / "gantry" / "gateways").write_text(f"# ours\n\n{hidden.address}  # the first\n")
        case _:
            (home / "network" / "gateway").mkdir(parents=True)
            (home / "network" / "gateway" / "address").write_text(hidden.address + "\n")
    monkeypatch.setitem(RoutedTransport.__init__.__kwdefaults__, "head_start_s", 0.1)
    status, out, err = world.run("logs", "0", *CHARLIE, *given)
    assert (status, json.loads(out)) == (0, [None, None, False, None]), err


def test_a_gateway_with_another_key_is_not_trusted(world, hidden):
    other = Ed25519Signer(b"other" + bytes(27)).address
    name(world, f"{other}@{hidden.address.rpartition('@')[2]}")
    status, _, err = world.run("logs", "0", *CHARLIE)
    assert status == 1
    assert "through gateway" in err


@pytest.mark.parametrize("how", ["option", "variable", "file"])
@pytest.mark.usefixtures("task")
def test_a_malformed_gateway_address_is_reported(world, how, monkeypatch, home):
    given = ()
    match how:
        case "option":
            given = ("--gateway", "gateway.example.org:4435")
        case "variable":
            monkeypatch.setenv("GANTRY_GATEWAY", "gateway.example.org:4435")
        case _:
            (home / "config" / "gantry").mkdir(parents=True, exist_ok=True)
            (home / "config" / "gantry" / "gateways").write_text("\ngateway.example.org:4435\n")
    status, _, err = world.run("logs", "0", *CHARLIE, *given)
    assert status != 0
    assert "ACCOUNT@" in err
    assert {"option": "--gateway", "variable": "GANTRY_GATEWAY", "file": "gateways:2"}[how] in err


def test_doctor_checks_whether_a_gateway_answers(world, hidden, monkeypatch):
    monkeypatch.setenv("GANTRY_GATEWAY", hidden.address)
    assert f"{hidden.address} answers in" in world.run("doctor")[1]
    silent = f"{hidden.address.rpartition(':')[0]}:1"
    monkeypatch.setenv("GANTRY_GATEWAY", silent)
    monkeypatch.setattr("offchain.adapters.transport.host_client.DIAL_TIMEOUT_S", 0.5)
    assert f"missing  Gateway: {silent}" in world.run("doctor")[1]


def test_the_address_of_a_gateway_is_shown_without_starting_it(world, home):
    command = ("worker", "gateway", "--state-dir", home / "gw", "--show-address")
    status, out, _ = world.run(*command, "--public", "gw.example.org:4435")
    assert (status, out.strip().rpartition("@")[2]) == (0, "gw.example.org:4435")
    assert world.run(*command, "--public", "gw.example.org:4435")[1] == out
    status, _, err = world.run(*command)
    assert status != 0
    assert "--public" in err
