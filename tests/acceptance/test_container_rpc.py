"""The RPC servers of the node in its container: its start script, run here with the released node."""

import http.client
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from offchain.devnet import node, ports
from offchain.devnet.release import binaries

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "lib-node-container"
PATIENCE_SECONDS = 120.0
Servers = tuple[int, int]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """The ports of the published server and of the workers' one."""
    folder, found = tmp_path_factory.mktemp("node"), binaries()
    published, inner, peers = (ports.free() for _ in range(3))
    (folder / "bin").mkdir()
    (folder / "bin" / "gantry-node").symlink_to(found.node)
    text = SCRIPT.read_text(encoding="utf-8")
    for old, new in (
        ("/usr/local/share/gantry/gantry-runtime.wasm", str(found.runtime)),
        ("data=/var/lib/gantry\n", f"data={folder}\n"),
        (":9945", f":{inner}"),
        ("tcp/30333", f"tcp/{peers}"),
    ):
        assert old in text
        text = text.replace(old, new)
    (folder / "start").write_text(text, encoding="utf-8")
    env = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "GANTRY_RPC_PORT": str(published)}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            ["/bin/sh", str(folder / "start")], env=node.with_certificates(env), stdout=log, stderr=log
        )
    try:
        limit = time.monotonic() + PATIENCE_SECONDS
        while not listens(inner):
            assert process.poll() is None, (folder / "log").read_text(errors="replace")
            assert time.monotonic() < limit, "the node does not answer"
            time.sleep(0.2)
        yield published, inner
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def listens(port: int) -> bool:
    try:
        return asked(port, "system_chain")[0] == 200
    except OSError:
        return False


def asked(
    port: int, method: str, verb: str = "POST", parameters: list[object] | None = None, **headers: str
) -> tuple[int, str, http.client.HTTPMessage]:
    """Status, body and headers of the answer to a call over HTTP."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        body = json.dumps({"id": 1, "jsonrpc": "2.0", "method": method, "params": parameters or []})
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(verb, "/", body, {"Content-Type": "application/json", **named})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer.headers
    finally:
        connection.close()


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_programs_of_this_machine_are_answered(servers: Servers, name: str) -> None:
    status, body, _ = asked(servers[0], "system_chain", Host=f"{name}:{servers[0]}")
    assert (status, "Gantry" in body) == (200, True), body


@pytest.mark.parametrize("host", ["evil.example", "evil.example:PORT", "node:PORT", "127.0.0.1:1"])
def test_a_request_for_another_host_is_refused(servers: Servers, host: str) -> None:
    status, body, _ = asked(servers[0], "system_chain", Host=host.replace("PORT", str(servers[0])))
    assert (status, "Gantry" in body) == (403, False), body


def test_a_websocket_for_another_host_is_refused(servers: Servers) -> None:
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13"}
    key = "dGhlIHNhbXBsZSBub25jZQ=="
    for host, status in ((f"evil.example:{servers[0]}", 403), (f"localhost:{servers[0]}", 101)):
        found, _, _ = asked(servers[0], "", "GET", Host=host, Sec_WebSocket_Key=key, **upgrade)
        assert found == status, host


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("http://evil.example", False),
        ("https://localhost.evil.example", False),
        ("null", False),
        ("http://localhost:3000", False),
        ("https://polkadot.js.org", True),
    ],
)
def test_a_page_of_another_origin_may_not_read_an_answer(servers: Servers, origin: str, allowed: bool) -> None:  # noqa: FBT001
    for verb in ("OPTIONS", "POST"):
        _, _, headers = asked(servers[0], "system_chain", verb, Origin=origin, Access_Control_Request_Method="POST")
        assert ("Access-Control-Allow-Origin" in headers) is allowed, verb


@pytest.mark.parametrize(
    ("method", "parameters"),
    [("author_rotateKeys", []), ("author_insertKey", ["babe", "//Eve", "0x00"]), ("author_removeExtrinsic", [[]])],
)
def test_methods_that_change_the_node_are_refused(servers: Servers, method: str, parameters: list[object]) -> None:
    for port in servers:
        assert "unsafe" in asked(port, method, parameters=parameters)[1]


def test_the_workers_call_the_node_by_the_name_of_its_service(servers: Servers) -> None:
    status, body, _ = asked(servers[1], "system_chain", Host=f"node:{servers[1]}")
    assert (status, "Gantry" in body) == (200, True), body
