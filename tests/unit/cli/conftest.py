"""Commands against a chain in memory, in a home of their own."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cli_world
import pytest
from pod_host import RealHost

from offchain.cli.tenant import follow
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.protocol.messages import endpoint_text
from tests.support.chain_records import Tasks, task_spec
from tests.support.history_blocks import History
from tests.support.index_rig import opened


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in (
        "GANTRY_URL",
        "GANTRY_GENESIS",
        "GANTRY_ACCOUNT",
        "GANTRY_PASSWORD",
        "GANTRY_GATEWAY",
        "GANTRY_DEMO_IMAGE",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("GANTRY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GANTRY_STATE", str(tmp_path / "network"))
    return tmp_path


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of 40 blocks with tasks, leases and bills."""
    path = tmp_path_factory.mktemp("index") / "index.db"
    db, made = opened(str(path))
    made.add(list(History(6).blocks(40)))
    db.close()
    return path


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> cli_world.World:
    chain = cli_world.make_chain()
    cli_world.install(monkeypatch, chain)
    return cli_world.World(chain, capsys)


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    path = tmp_path / "task.yaml"
    path.write_text(cli_world.MANIFEST)
    return path


@pytest.fixture
def pallets(world: cli_world.World, monkeypatch: pytest.MonkeyPatch) -> cli_world.Pallets:
    found = cli_world.Pallets(world.chain)
    world.chain.effects = found.effects

    async def fetch(_chain: Any, _lease: Any, _signer: Any) -> bytes:
        return cli_world.RESULT

    monkeypatch.setattr(follow, "fetch_result", fetch)
    return found


@pytest.fixture
def host(world: cli_world.World, tmp_path: Path) -> Iterator[RealHost]:
    with RealHost(tmp_path / "uploads", world.chain.genesis).running() as made:
        world.put("Hosts", "Hosts", cli_world.HOST, cli_world.the_host(endpoint=endpoint_text(made.addresses)))
        tasks = Tasks(world.chain)
        tasks.submit(cli_world.CHARLIE, task_spec(), manifest=cli_world.MANIFEST.encode(), now=1)
        running = dataclasses.replace(cli_world.the_lease(0), state=gen.LeaseStateActive(), ended_at=None, result=None)
        tasks.change(0, state=gen.TaskStateRunning(), leases=(running,))
        yield made
