"""The release of node and runtime: what scripts/release-chain refuses, and what the released node refuses."""

import json
import os
import runpy
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from offchain.adapters.keys.ss58 import encode
from offchain.devnet import node
from offchain.devnet.paths import ROOT
from offchain.devnet.ports import free
from offchain.devnet.release import Binaries, binaries

SCRIPT = runpy.run_path(str(ROOT / "scripts" / "release-chain"))
"""The names that the script defines."""
PARTS = (
    "release",
    "metadata",
    "Cargo.toml",
    "Cargo.lock",
    *sorted({Path(folder).name for folders in SCRIPT["SOURCES"].values() for folder in folders}),
)
NODE_SECONDS = 60


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of what the release is checked against."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "release-chain", tmp_path / "scripts")
    (tmp_path / "chain").mkdir()
    for part in PARTS:
        source = ROOT / "chain" / part
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / "chain" / part)
    return tmp_path


def check(project: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, str(project / "scripts" / "release-chain"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def test_the_release_of_this_clone_is_whole_and_fresh(project: Path) -> None:
    assert check(project) == (0, "release-chain: the release is whole and fresh\n")


def _altered(project: Path) -> None:
    path = project / "chain" / "release" / "gantry-runtime.wasm"
    data = bytearray(path.read_bytes())
    data[1000] ^= 1
    path.write_bytes(data)


def _gone(project: Path) -> None:
    (project / "chain" / "release" / "gantry-node.xz").unlink()


def _stale(project: Path) -> None:
    with (project / "chain" / "pallets" / "tasks" / "src" / "lib.rs").open("a") as source:
        source.write("// a change\n")


def _other_dependency(project: Path) -> None:
    lock = project / "chain" / "Cargo.lock"
    lock.write_text(
        lock.read_text().replace('name = "sp-io"\nversion = "49.0.0"', 'name = "sp-io"\nversion = "49.0.9"')
    )


def _other_metadata(project: Path) -> None:
    with (project / "chain" / "metadata" / "gantry.scale").open("ab") as metadata:
        metadata.write(b"x")


def _no_manifest(project: Path) -> None:
    (project / "chain" / "release" / "MANIFEST.json").unlink()


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (_altered, "chain/release/gantry-runtime.wasm was altered"),
        (_gone, "chain/release/gantry-node.xz is missing"),
        (_stale, "chain/release/gantry-runtime.wasm is stale"),
        (_other_dependency, "chain/release/gantry-node.xz is stale"),
        (_other_metadata, "chain/metadata/gantry.scale is missing or altered"),
        (_no_manifest, "chain/release/MANIFEST.json is missing"),
    ],
)
def test_a_release_that_does_not_hold_is_refused_by_name(
    project: Path, damage: Callable[[Path], None], named: str
) -> None:
    damage(project)
    code, said = check(project)
    assert (code, named in said, "scripts/release-chain" in said) == (1, True, True), said


def test_changed_tests_do_not_make_a_release_stale(project: Path) -> None:
    with (project / "chain" / "pallets" / "tasks" / "src" / "tests" / "mod.rs").open("a") as source:
        source.write("// a change\n")
    assert check(project)[0] == 0


def make_spec(found: Binaries, spec: Path, *options: str) -> subprocess.CompletedProcess[str]:
    make = [str(found.node), "chain-spec", f"--runtime={found.runtime}", f"--output={spec}", *options]
    return subprocess.run(make, check=False, capture_output=True, text=True)


def run_until_block(found: Binaries, spec: Path, data: Path, *options: str) -> tuple[int | None, str]:
    """Runs a node until it has a block or ends; its exit status and what it said."""
    command = node.command(found, spec, data, *options, rpc_port=free())
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=node.with_certificates(os.environ)
    ) as process:
        assert process.stderr is not None
        watchdog = signal.signal(signal.SIGALRM, lambda *_: process.kill())
        signal.alarm(NODE_SECONDS)
        try:
            lines = []
            for line in process.stderr:
                lines.append(line)
                if "Imported #1 " in line:
                    process.terminate()
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, watchdog)
    return process.returncode, "".join(lines)


def account(number: int) -> str:
    """An account that nobody is known to have, with keys that no keystore holds."""
    return encode(bytes([number]) * 32)


def production(tmp_path: Path, **changes: object) -> str:
    """The option for a patch with which the production preset is complete."""
    keys = {"babe": account(101), "grandpa": account(102)}
    people = {"session": {"keys": [[account(100), account(100), keys]]}, "council": {"members": [account(103)]}}
    patch = tmp_path / "patch.json"
    patch.write_text(json.dumps({**people, **changes}), encoding="utf-8")
    return f"--patch={patch}"


def test_a_validator_of_a_developers_chain_may_use_a_well_known_key(tmp_path: Path) -> None:
    found, spec = binaries(from_source=False), tmp_path / "chain.json"
    assert make_spec(found, spec, "--preset=development").returncode == 0
    _, said = run_until_block(found, spec, tmp_path / "data", *node.AUTHOR)
    assert "Imported #1 " in said


def test_the_production_preset_names_the_people_who_are_missing(tmp_path: Path) -> None:
    found, spec = binaries(from_source=False), tmp_path / "chain.json"
    live = ("--preset=production", "--chain-type=live")
    alone = make_spec(found, spec, *live)
    assert (alone.returncode, "session.keys" in alone.stderr) == (1, True), alone.stderr
    ungoverned = make_spec(found, spec, *live, production(tmp_path, council={}))
    assert (ungoverned.returncode, "council.members" in ungoverned.stderr) == (1, True), ungoverned.stderr
    whole = make_spec(found, spec, *live, production(tmp_path))
    assert whole.returncode == 0, whole.stderr


ALICE = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"


@pytest.mark.parametrize(
    "change",
    [
        {"session": {"keys": [[ALICE, ALICE, {"babe": ALICE, "grandpa": account(102)}]]}},
        {"council": {"members": [ALICE]}},
        {"sudo": {"key": ALICE}},
        {"balances": {"balances": [[ALICE, 10**12]]}},
    ],
    ids=["validator", "council", "sudo", "coins"],
)
def test_a_live_chain_with_a_well_known_key_is_neither_made_nor_started(
    tmp_path: Path, change: dict[str, object]
) -> None:
    found, spec = binaries(from_source=False), tmp_path / "chain.json"
    patch = production(tmp_path, **change)
    live = make_spec(found, spec, "--preset=production", "--chain-type=live", patch)
    assert (live.returncode, "Alice (sr25519)" in live.stderr) == (1, True), live.stderr
    # Made as another type, and changed by hand.
    assert make_spec(found, spec, "--preset=production", "--chain-type=local", patch).returncode == 0
    text = spec.read_text(encoding="utf-8")
    spec.write_text(text.replace('"chainType": "Local"', '"chainType": "Live"'), encoding="utf-8")
    code, said = run_until_block(found, spec, tmp_path / "data")
    assert (code, "Alice (sr25519)" in said, "Imported #1 " in said) == (1, True, False), said


def test_a_validator_of_a_live_chain_must_not_sign_with_a_well_known_key(tmp_path: Path) -> None:
    found, spec = binaries(from_source=False), tmp_path / "chain.json"
    live = make_spec(found, spec, "--preset=production", "--chain-type=live", production(tmp_path))
    assert live.returncode == 0, live.stderr
    code, said = run_until_block(found, spec, tmp_path / "data", *node.AUTHOR)
    assert (code, "must not use a well-known key" in said) == (1, True), said
