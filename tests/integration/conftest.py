"""A running local network, as scripts/up left it in the folder named by GANTRY_TEST_STATE."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import docker
import pytest
from local_network import ROOT, Net, Pods

from offchain.link.substrate import SubstrateChain

HERE = Path(__file__).parent
_SETTLED = pytest.StashKey[int]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.network)


@pytest.fixture(scope="session")
def state() -> Path:
    named = os.environ.get("GANTRY_TEST_STATE")
    if not named:
        pytest.fail("GANTRY_TEST_STATE names no running network. scripts/test starts one and sets it.")
    folder = Path(named).absolute()
    if not (folder / "network.json").is_file():
        pytest.fail(f"{folder} is not the state of a running network: it has no network.json")
    return folder


@pytest.fixture
async def net(state: Path) -> AsyncIterator[Net]:
    facts = json.loads((state / "network.json").read_text(encoding="utf-8"))
    genesis = bytes.fromhex(facts["genesis_hash"].removeprefix("0x"))
    chain = SubstrateChain(facts["url"], expected_genesis=genesis)
    await chain.connect()
    try:
        yield Net(state, facts["url"], genesis, chain)
    finally:
        await chain.close()


@pytest.fixture
def pods(state: Path) -> AsyncIterator[Pods]:
    own = state / "sock" / "docker.sock"
    url = os.environ.get("DOCKER_HOST") or (f"unix://{own}" if own.exists() else "unix:///var/run/docker.sock")
    client = docker.DockerClient(base_url=url, timeout=30)
    try:
        yield Pods(client)
    finally:
        client.close()


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture
async def settled(net: Net, request: pytest.FixtureRequest) -> int:
    """A task of three steps that is settled: the same one for all tests that only look at it."""
    stash = request.session.stash
    if _SETTLED not in stash:
        task = await net.submit(steps=3)
        await net.until(task, {"Settled"})
        stash[_SETTLED] = task
    return stash[_SETTLED]
