"""The parts of the local network's supervisor that need no network."""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import os
import platform
import signal
import socket
import sys
import tarfile
from pathlib import Path

import pytest

from offchain.adapters.keys.signer import from_uri
from offchain.devnet import demo_image, engine, node, ports, up
from offchain.devnet.__main__ import main as local_main
from offchain.devnet.cleanup import clean
from offchain.devnet.network import network_supervisor
from offchain.devnet.paths import DevnetError, DevnetPaths
from offchain.devnet.release import binaries
from offchain.devnet.verifiers import GENESIS, VERIFIERS, verifier_commands
from offchain.files import part_of
from offchain.processes import end, read_record, start_time, write_record
from offchain.supervisor import Child


def child(folder: Path, code: str, name: str = "part") -> Child:
    command = [sys.executable, "-c", code]
    return Child(name, command, log=folder / "log", run=folder / "run", env=dict(os.environ))


# --- processes ----------------------------------------------------------------------------------------------------


def test_a_record_names_a_process_only_as_long_as_it_is_the_same(tmp_path: Path) -> None:
    record = tmp_path / "run" / "x.json"
    write_record(record, os.getpid())
    assert read_record(record) == os.getpid()
    record.write_text(json.dumps({"pid": os.getpid(), "start_time": (start_time(os.getpid()) or 0) + 1}))
    assert read_record(record) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x", "start_time": 1}', '{"pid": 1, "start_time": null}'])
def test_a_damaged_record_names_no_process(tmp_path: Path, text: str) -> None:
    record = tmp_path / "x.json"
    record.write_text(text)
    assert read_record(record) is None


def test_a_process_that_does_not_listen_is_forced_to_end(tmp_path: Path) -> None:
    code = "import signal, sys; signal.signal(15, signal.SIG_IGN); print('up', flush=True); signal.pause()"
    started = child(tmp_path, code)
    pid = started.start()
    while "up" not in started.last_lines():
        assert started.ended() is None
    end(pid, term_s=0.1)
    started.reap()
    assert start_time(pid) is None


def test_a_process_that_ended_is_restarted(tmp_path: Path) -> None:
    keeper = network_supervisor()
    keeper.starting = False
    try:
        part = keeper.add(child(tmp_path, "import signal; signal.pause()"))
        first = read_record(part.record_path)
        assert first is not None
        os.kill(first, signal.SIGKILL)
        while keeper.restarts == 0:
            keeper.wait(1)
        second = read_record(part.record_path)
        assert second not in (None, first)
    finally:
        keeper.stop()
    assert not list((tmp_path / "run").iterdir())


def test_a_process_that_never_starts_is_given_up_with_its_last_lines(tmp_path: Path) -> None:
    keeper = network_supervisor()

    def mind() -> None:
        while True:
            keeper.wait(1)

    try:
        keeper.add(child(tmp_path, "raise SystemExit('no such folder')", "node"))
        with pytest.raises(DevnetError, match="no such folder"):
            mind()
    finally:
        keeper.stop()


def test_cleaning_ends_what_was_left_and_keeps_the_logs(tmp_path: Path) -> None:
    places = DevnetPaths(tmp_path / "net")
    left = Child(
        "agent", [sys.executable, "-c", "import signal; signal.pause()"], log=places.log, run=places.run, env={}
    )
    pid = left.start()
    places.node.mkdir(parents=True)
    places.network_file.write_text("{}")
    part_of(places.network_file).write_text("{")
    assert clean(places)
    left.reap()
    assert start_time(pid) is None
    assert sorted(path.name for path in places.state.iterdir()) == ["log"]
    assert not clean(places)


# --- release ------------------------------------------------------------------------------------------------------


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "release"
    folder.mkdir()
    node, runtime = b"#!/bin/sh\necho node\n", b"\0asm"
    (folder / "gantry-node.xz").write_bytes(lzma.compress(node))
    (folder / "gantry-runtime.wasm").write_bytes(runtime)
    manifest = {
        "platform": f"{platform.system().lower()}-{platform.machine()}",
        "node": {
            "file": "gantry-node.xz",
            "sha256": hashlib.sha256(lzma.compress(node)).hexdigest(),
            "unpacked_sha256": hashlib.sha256(node).hexdigest(),
        },
        "runtime": {"file": "gantry-runtime.wasm", "sha256": hashlib.sha256(runtime).hexdigest()},
    }
    (folder / "MANIFEST.json").write_text(json.dumps(manifest))
    monkeypatch.setenv("GANTRY_RELEASE", str(folder))
    monkeypatch.setenv("GANTRY_CACHE", str(tmp_path / "cache"))
    return folder


def test_the_node_is_unpacked_once_and_can_be_run(release: Path) -> None:
    found = binaries()
    assert found.node.read_bytes() == b"#!/bin/sh\necho node\n"
    assert os.access(found.node, os.X_OK)
    assert found.runtime == release / "gantry-runtime.wasm"
    before = found.node.stat().st_mtime_ns
    assert binaries().node.stat().st_mtime_ns == before


def test_a_node_that_was_altered_in_the_cache_is_unpacked_again(release: Path) -> None:
    node = binaries().node
    node.write_bytes(b"something else")
    assert binaries().node.read_bytes() == b"#!/bin/sh\necho node\n"
    assert release.exists()


@pytest.mark.parametrize("name", ["gantry-node.xz", "gantry-runtime.wasm"])
def test_an_altered_release_is_refused(release: Path, name: str) -> None:
    data = bytearray((release / name).read_bytes())
    data[-1] ^= 1
    (release / name).write_bytes(data)
    with pytest.raises(DevnetError, match=name) as caught:
        binaries()
    assert "git checkout" in caught.value.hint


@pytest.mark.parametrize("name", ["gantry-node.xz", "gantry-runtime.wasm", "MANIFEST.json"])
def test_an_incomplete_release_is_refused(release: Path, name: str) -> None:
    (release / name).unlink()
    with pytest.raises(DevnetError, match="is missing"):
        binaries()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"node": {}, "runtime": 1}'])
def test_a_damaged_manifest_is_refused(release: Path, text: str) -> None:
    (release / "MANIFEST.json").write_text(text)
    with pytest.raises(DevnetError, match=r"MANIFEST\.json"):
        binaries()


def test_a_release_for_another_machine_says_how_to_go_on(release: Path) -> None:
    manifest = json.loads((release / "MANIFEST.json").read_text()) | {"platform": "plan9-vax"}
    (release / "MANIFEST.json").write_text(json.dumps(manifest))
    with pytest.raises(DevnetError) as caught:
        binaries()
    assert "--from-source" in caught.value.hint


# --- engine, ports, image -----------------------------------------------------------------------------------------


def test_a_named_engine_that_does_not_answer_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(DevnetError, match="DOCKER_HOST"):
        engine.find()


def test_a_stopped_engine_is_reported_with_the_command_that_starts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    monkeypatch.setattr(engine.shutil, "which", lambda *_args, **_kwargs: "/usr/sbin/dockerd")
    with pytest.raises(DevnetError) as caught:
        engine.private_child(DevnetPaths(tmp_path), {})
    assert caught.value.hint == "Run: sudo systemctl start docker"


def test_sockets_have_a_short_path_even_where_the_state_has_not(tmp_path: Path) -> None:
    assert DevnetPaths(Path("/s")).sockets == Path("/s/sock")
    far = DevnetPaths(tmp_path / ("d" * 100))
    assert len(str(far.sockets)) < 80
    assert far.sockets == DevnetPaths(tmp_path / ("d" * 100)).sockets


def test_a_port_in_use_is_named() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(DevnetError, match=f"port {port}, for tests, is in use"):
            ports.require_free(port, "for tests", "Choose another")
    ports.require_free(ports.free(), "for tests", "Choose another")


def test_the_demo_image_is_the_same_bytes_every_time() -> None:
    data = demo_image.archive()
    assert data == demo_image.archive()
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        (manifest,) = json.load(tar.extractfile("manifest.json") or io.BytesIO())
        config = (tar.extractfile(manifest["Config"]) or io.BytesIO()).read()
        layer = (tar.extractfile(manifest["Layers"][0]) or io.BytesIO()).read()
    assert manifest["Config"] == f"{hashlib.sha256(config).hexdigest()}.json"
    assert json.loads(config)["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(layer).hexdigest()}"]
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        names = tar.getnames()
        assert {"bin/sh", "bin/awk", "bin/sleep", "bin/cat"} <= set(names)
        assert all(member.mtime == 0 for member in tar)
        assert [member.name for member in tar if member.uid != 0] == ["opt", "workspace"]
        assert not any(name.startswith(("/", "..")) for name in names)
        there = {f"bin/{program}" for program in demo_image.EXTRAS} - {f"bin/{name}" for name in demo_image.missing()}
        assert there <= set(names)
        if "bin/busybox" in there:
            assert tar.getmember("bin/httpd").linkname == "busybox"
            assert tar.getmember("bin/sh").isfile()


def test_the_verifiers_addresses_are_those_of_their_accounts() -> None:
    for account, address in VERIFIERS.items():
        assert from_uri(account).address == address
    assert GENESIS["verification"]["verifiers"] == [from_uri(account).address for account in VERIFIERS]


def test_each_verifier_has_an_account_and_a_folder_of_its_own(tmp_path: Path) -> None:
    commands = dict(verifier_commands(tmp_path))
    options = [set(command[5:]) for command in commands.values()]
    assert list(commands) == ["verifier-1", "verifier-2", "verifier-3"]
    assert options[0] & options[1] & options[2] == {"--challenge-budget=10"}


@pytest.mark.parametrize("arguments", [["--rpc-port", "0"], ["--rpc-port", "x"], ["--once", "--detach"], ["--two"]])
def test_wrong_options_of_up_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        up.parse(arguments)
    assert caught.value.code == 2
    assert "error" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "status"), [(["--help"], 0), (["start"], 2), (["base"], 2)])
def test_unknown_commands_start_no_network(
    words: list[str], status: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["offchain.devnet", *words])
    monkeypatch.setattr("offchain.devnet.__main__.up", lambda _options: pytest.fail("a network was started"))
    assert local_main() == status
    assert "Usage:" in capsys.readouterr().err


def test_a_genesis_patch_is_merged_over_that_of_the_local_network() -> None:
    patch = node.merged(node.LOCAL_GENESIS, {"tasks": {"params": {"maxAttempts": 2}}, "validators": {"slotMs": 500}})
    params = {"archiveAfterMs": 604_800_000, "maxReplicas": 3, "maxAttempts": 2}
    assert patch == {"tasks": {"params": params}, "validators": {"slotMs": 500}}
