"""gantry service: a service is updated, rolled back, and found by its name."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from cli_world import CHARLIE, World, install

from offchain.adapters.outbox import store
from offchain.ports import Call
from offchain.schema.chain_types import _generated_chain as gen
from offchain.services import host_connections
from tests.support.inline import Inline
from tests.support.service_world import HOST, MANIFEST, NEXT, TENANT, ServiceWorld

WHO = ("--account", "//Charlie")


class Live(ServiceWorld):
    """The chain of commands: blocks come by themselves, time passes with them, and calls take effect."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.chain.storage |= {
            key: value for key, value in world.chain.storage.items() if key[1] in ("Account", "Params", "Hosts")
        }
        hosts = self.chain.storage["Hosts", "Hosts"]
        hosts[HOST,] = next(iter(hosts.values()))
        self.chain.constants = world.chain.constants
        self.chain.effects = self._effects
        self.exit_code = 0
        produce = self.chain.produce

        async def passing(*args: Any, **options: Any) -> Any:
            self.block()
            return await produce(*args, **options)

        monkeypatch.setattr(self.chain, "produce", passing)
        monkeypatch.setattr(host_connections, "open_host", self._open)
        world.chain = self.chain
        install(monkeypatch, self.chain)

    def _effects(self, call: Call, account: str) -> list[Any]:
        assert account == CHARLIE == TENANT
        self.calls.append(("", call))
        self.apply(call)
        return []

    @contextlib.asynccontextmanager
    async def _open(self, *_args: Any, **_options: Any) -> AsyncIterator[Live]:
        yield self

    async def exec(self, _lease: int, _args: Any) -> Live:
        return self

    async def read(self) -> None:
        """A program that ends at once."""


@pytest.fixture
def live(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Live:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    # Blocks come at each turn of the event loop, which must not turn while a thread writes.
    monkeypatch.setattr(store, "ThreadPoolExecutor", lambda *_args: Inline())
    return Live(world, monkeypatch)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "hello.yaml"
    path.write_bytes(NEXT)
    return path


def test_an_update_and_its_rollback(world: World, live: Live, file: Path) -> None:
    live.submit(MANIFEST, 2)
    done = world.json("service", "update", file, *WHO)
    assert done == {"task": 1, "pods": 2, "failed": None}
    assert live.done[0] == ("submit", None)
    assert live.done[-1] == ("end", 0)
    assert world.json("service", "status", "hello", *WHO)["takes_place_of"] == 0
    # The chain keeps nothing of what is final for long; the tenant does.
    live.tasks.put(0, None)
    assert world.json("service", "rollback", "hello", *WHO) == {"task": 2, "pods": 2, "failed": None}
    (now,) = [world.json("service", "status", "2", *WHO)]
    assert (now["service"], now["task"], now["pods_wanted"], now["coming"]) == ("hello", 2, 2, None)
    assert b"serve, v1" in live.chain.storage["Tasks", "Manifests"][(2).to_bytes(8, "big"),]


def test_an_unhealthy_version_is_rolled_back_and_the_command_fails(world: World, live: Live, file: Path) -> None:
    live.submit(MANIFEST)
    live.exit_code = 1
    status, out, err = world.run("service", "update", file, *WHO, "--patience", "10s", "--json")
    assert status == 1
    why = "only 0 of 1 pods of the new version are healthy, without progress for 10 s"
    assert json.loads(out) == {"task": 0, "pods": 1, "failed": why}
    assert f"Rolling back to task 0: {why}." in err
    assert live.done[-1] == ("end", 1)


def test_an_interrupted_update_is_shown_and_can_continue_or_be_undone(world: World, live: Live, file: Path) -> None:
    live.submit(MANIFEST, 2)
    live.exit_code = 1
    live.stuck.add(1)
    status, _, _ = world.run("service", "update", file, *WHO, "--patience", "10s")
    assert status == 1
    live.exit_code, text = 0, live.chain.storage["Tasks", "Manifests"][(1).to_bytes(8, "big"),]
    live.tasks.change(1, state=gen.TaskStateSettled())
    live.submit(text)
    status, out, _ = world.run("service", "status", "hello", *WHO)
    assert status == 0
    assert "New version  2 (Running)" in out
    assert "gantry service rollback hello" in out
    status, out, _ = world.run("service", "list", *WHO)
    assert out.splitlines()[1].split() == ["hello", "0", "2", "2"]
    file.write_bytes(NEXT.replace(b"v2", b"v3"))
    status, _, err = world.run("service", "update", file, *WHO)
    assert status == 1
    assert "task 2 is replacing task 0, with another manifest" in err
    file.write_bytes(NEXT)
    assert world.json("service", "update", file, *WHO) == {"task": 2, "pods": 2, "failed": None}


@pytest.mark.parametrize(
    ("text", "arguments", "says"),
    [
        (NEXT.replace(b"name: hello\n", b""), (), "has no name"),
        (NEXT.replace(b"hello", b"other"), (), "No service 'other' of this account is live. Live are: hello."),
        (NEXT.replace(b"kind: service", b"kind: job").replace(b"{min: 1, max: 4}", b"1"), (), "job"),
        (NEXT.replace(b"min: 1", b"min: 3"), ("--surge", "1"), "not possible with a surge of 1"),
        (NEXT.replace(b'cpus: "0.5"', b'cpus: "500"'), (), "none of the"),
    ],
)
def test_impossible_requests_are_refused_before_sending(
    world: World, live: Live, file: Path, text: bytes, arguments: tuple[str, ...], says: str
) -> None:
    live.submit(MANIFEST, 3)
    file.write_bytes(text)
    status, _, err = world.run("service", "update", file, *arguments, *WHO)
    assert status == 1
    assert says in err
    assert live.done == []


def test_the_same_manifest_again_changes_nothing(world: World, live: Live, file: Path) -> None:
    live.submit(NEXT)
    assert world.json("service", "update", file, *WHO) == {"task": 0, "pods": 1, "failed": None}
    assert live.done == []
    status, _, err = world.run("service", "rollback", "hello", *WHO)
    assert status == 1
    assert "has no previous version" in err
