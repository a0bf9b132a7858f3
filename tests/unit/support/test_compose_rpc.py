"""What RPC servers docker-compose.yml starts, and where they are published."""

import re

import pytest
import yaml

from offchain.devnet.paths import ROOT

NODE_SCRIPT = (ROOT / "scripts" / "lib-node-container").read_text(encoding="utf-8")
COMPOSE = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
SERVICES = yaml.safe_load(COMPOSE)["services"]
WORKERS_PORT = "9945"


def with_defaults(text):
    return re.sub(r"\$\{\w+:?-([^}]*)\}", r"\1", text)


def published(name):
    """Address on the machine, port there, port in the container."""
    for written in SERVICES[name].get("ports", ()):
        parts = with_defaults(written).removesuffix("/tcp").split(":")
        yield (parts[0] if len(parts) == 3 else "0.0.0.0"), parts[-2], parts[-1]  # noqa: S104  (what the engine does)


@pytest.mark.parametrize("text", [NODE_SCRIPT, COMPOSE], ids=["node", "compose"])
def test_no_server_offers_unsafe_methods_or_answers_every_origin(text):
    assert "methods=safe" in text
    assert "methods=unsafe" not in text
    assert "cors=all" not in text


def test_the_server_of_the_workers_is_not_published():
    assert f"listen-addr=0.0.0.0:{WORKERS_PORT},methods=safe" in NODE_SCRIPT
    for name in SERVICES:
        assert all(inside != WORKERS_PORT for _, _, inside in published(name)), name
    urls = set(re.findall(r"ws://node:(\d+)", COMPOSE))
    assert urls == {WORKERS_PORT}


@pytest.mark.parametrize(("name", "port"), [("node", "9944"), ("validator-1", "9954")])
def test_a_published_server_has_the_same_port_inside_and_is_on_loopback(name, port):
    """The node refuses a Host header with another port than its own."""
    assert ("127.0.0.1", port, port) in published(name)
    others = [(at, outside) for at, outside, _ in published(name) if outside != "30333"]
    assert others == [("127.0.0.1", port)]


def test_a_published_server_lists_the_origins_that_it_answers():
    """The list also turns on the node's check of the Host header."""
    (listed,) = re.findall(r'listen-addr=0\.0\.0\.0:\$port,([^"]*)"', NODE_SCRIPT)
    assert [part for part in listed.split(",") if part.startswith("cors=")] == ["cors=https://polkadot.js.org"]
    # Without --rpc-cors the node uses such a list of its own; with experimental endpoints it uses none.
    assert not any("cors" in part or "experimental" in part for part in SERVICES["validator-1"]["entrypoint"])


def test_validators_of_the_script_offer_unsafe_methods_on_loopback_alone():
    script = (ROOT / "scripts" / "validators").read_text(encoding="utf-8")
    servers = re.findall(r"listen-addr=([^,]*),methods=(\w+)", script)
    assert sorted(servers) == [("127.0.0.1:{RPC_PORT}", "unsafe"), ("{net.address(number)}:{RPC_PORT}", "safe")]
