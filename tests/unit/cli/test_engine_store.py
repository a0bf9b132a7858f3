"""A network that an engine was removing when it was killed: found, and let go, without touching anything else."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path

import pytest
from cli_world import World

from offchain.devnet import engine_store
from offchain.devnet.engine_store import SYSTEM_DATA, half_removed, repair, system_data

POOL = json.dumps([{"IPAMData": '{"Pool":"172.18.0.0/16"}', "PoolID": "LocalDefault/172.18.0.0/16"}])


def record(name: str, *, removing: bool, pool: str | None = POOL) -> bytes:
    """A network as libnetwork writes it down: keys in order, no spaces."""
    found = {
        "addrSpace": "LocalDefault",
        "attachable": False,
        "configFrom": "",
        "configOnly": False,
        "created": "2026-11-21T16:00:00Z",
        "generic": {"label": {"note": 'a trap: "configOnly":false and "inDelete":true'}},
        "inDelete": removing,
        "ipamV4Config": '[{"PreferredPool":"","SubPool":"","Gateway":"","AuxAddresses":null}]',
        "name": name,
    }
    if pool is not None:
        found["ipamV4Info"] = pool
    return json.dumps(found, separators=(",", ":"), sort_keys=True).encode()


WHOLE = record("gantry-whole", removing=False)
BEING_REMOVED = record("gantry-removing", removing=True)
HALF = record("gantry-half-é", removing=True, pool=None)


def engine_data(folder: Path, *records: bytes) -> Path:
    """An engine's folder whose store holds these records between bytes of other meaning."""
    store = folder / "network" / "files" / "local-kv.db"
    store.parent.mkdir(parents=True)
    store.write_bytes(b"\0\xff\xfe{" * 1000 + b"".join(one + b"\0\x01\x80" * 99 for one in records))
    return store


def test_a_half_removed_network_is_marked_in_its_place_and_nothing_else_moves(tmp_path: Path) -> None:
    store = engine_data(tmp_path, WHOLE, HALF, BEING_REMOVED)
    before = store.read_bytes()
    assert half_removed(tmp_path) == repair(tmp_path) != []
    after = store.read_bytes()
    marked = HALF.replace(b'"configOnly":false,"created"', b'"configOnly":true ,"created"')
    assert after == before.replace(HALF, marked)
    assert json.loads(marked)["configOnly"] is True
    assert half_removed(tmp_path) == repair(tmp_path) == []
    assert store.read_bytes() == after


@pytest.mark.parametrize("records", [(), (WHOLE,), (BEING_REMOVED,), (HALF[:200],)])
def test_a_store_without_one_stays_as_it_is(tmp_path: Path, records: tuple[bytes, ...]) -> None:
    store = engine_data(tmp_path, *records)
    before = store.read_bytes()
    assert repair(tmp_path) == []
    assert store.read_bytes() == before


def test_an_engine_that_runs_is_left_alone(tmp_path: Path) -> None:
    store = engine_data(tmp_path, HALF)
    before = store.read_bytes()
    with store.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert repair(tmp_path) == []
    assert store.read_bytes() == before


def test_an_engine_that_never_ran_has_nothing_to_repair(tmp_path: Path) -> None:
    assert half_removed(tmp_path / "none") == repair(tmp_path / "none") == []


@pytest.mark.parametrize(
    ("text", "folder"),
    [('{"data-root": "/big/docker"}', Path("/big/docker")), ("{}", SYSTEM_DATA), ('{"data-root"', SYSTEM_DATA)],
)
def test_the_engines_configuration_names_its_data_folder(tmp_path: Path, text: str, folder: Path) -> None:
    (tmp_path / "daemon.json").write_text(text)
    assert system_data(tmp_path / "daemon.json") == folder
    assert system_data(tmp_path / "none.json") == SYSTEM_DATA


def test_doctor_knows_why_an_engine_does_not_start_and_repairs_it(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine_data(tmp_path, WHOLE, record("gantry-half", removing=True, pool=None))
    monkeypatch.setattr(engine_store, "system_data", lambda: tmp_path)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    status, out, _ = world.run("doctor")
    assert status == 1
    assert "while it removed the network gantry-half" in out
    assert "sudo gantry doctor --mend-engine" in out
    assert world.json("doctor", "--mend-engine") == {"data_root": str(tmp_path), "networks": ["gantry-half"]}
    status, out, _ = world.run("doctor", "--mend-engine")
    assert status == 0
    assert "journalctl" in out
    status, out, _ = world.run("doctor")
    assert "none.sock" in out
    assert "gantry-half" not in out


def test_doctor_does_one_thing_at_a_time(world: World) -> None:
    status, _, err = world.run("doctor", "--audit", "--mend-engine")
    assert status != 0
    assert "Give one of them" in err
