"""The same task from other people's clients, with nothing but the chain's metadata.

`GANTRY_TEST_NODE` and `GANTRY_TEST_SUBSTRATE_PYTHON` name the programs that scripts/test has prepared: Node.js with the
packages of examples/package.json beside it, and the Python of an environment with substrate-interface.
"""

import os
import shutil

import pytest

from offchain.devnet.paths import ROOT
from tests.support.local_network import Net, run


def prepared(variable: str, default: str | None = None) -> str:
    program = os.environ.get(variable) or (default and shutil.which(default))
    if not program:
        pytest.fail(f"{variable} is not set: scripts/test prepares the environment that it names")
    return program


async def submitted_and_settled(net: Net, *command: str) -> None:
    before = await net.chain.query("Tasks", "NextTaskId") or 0
    env = {
        "GANTRY_URL": net.url,
        "GANTRY_DEMO_IMAGE": net.variables["GANTRY_DEMO_IMAGE"],
        "GANTRY_STATE": str(net.state),
    }
    done = await run(*command, env=env)
    assert done.code == 0, done.said
    assert "Settled" in done.out, done.said
    after = await net.chain.query("Tasks", "NextTaskId")
    assert after == before + 1
    await net.until(before, {"Settled"})
    await net.assert_paid_once(before)


async def test_polkadot_js(net: Net):
    node = prepared("GANTRY_TEST_NODE", "node")
    await submitted_and_settled(net, node, str(ROOT / "examples" / "submit.mjs"))


async def test_substrate_interface(net: Net):
    python = prepared("GANTRY_TEST_SUBSTRATE_PYTHON")
    await submitted_and_settled(net, python, str(ROOT / "examples" / "submit_substrate_interface.py"))


async def test_polkadot_js_reads_every_storage_item_and_every_error(net: Net):
    node = prepared("GANTRY_TEST_NODE", "node")
    done = await run(node, str(ROOT / "examples" / "read_chain.mjs"), net.url, "--json", env={})
    assert done.code == 0, done.said
    found = done.json
    assert found["wrong"] == []
    read = {item["name"] for item in found["storage"]}
    assert {"tasks.tasks", "tasks.byState", "leases.byHost", "hosts.hosts", "verification.params"} <= read
    assert len(found["errors"]) > 200
