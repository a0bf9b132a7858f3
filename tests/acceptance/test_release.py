"""The release of node and runtime: what scripts/release-chain refuses, and what the released node refuses."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from offchain.local.ports import free
from offchain.local.release import binaries

ROOT = Path(__file__).resolve().parent.parent.parent
PARTS = ("release", "metadata", "node", "runtime", "primitives", "pallets", "migrations", "Cargo.toml", "Cargo.lock")
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


@pytest.mark.parametrize(("kind", "starts"), [("live", False), ("development", True)])
def test_a_validator_of_a_live_chain_must_not_use_a_well_known_key(tmp_path: Path, kind: str, *, starts: bool) -> None:
    found = binaries(from_source=False)
    spec = tmp_path / "chain.json"
    make = [str(found.node), "chain-spec", f"--runtime={found.runtime}", "--preset=development", f"--output={spec}"]
    subprocess.run([*make, f"--chain-type={kind}"], check=True, capture_output=True)
    command = [str(found.node), f"--chain={spec}", "--alice", "--validator", f"--base-path={tmp_path / 'data'}"]
    command += [f"--rpc-port={free()}", f"--listen-addr=/ip4/127.0.0.1/tcp/{free()}", "--no-prometheus"]
    command += ["--no-telemetry", "--no-mdns", f"--node-key={'01' * 32}", "--force-authoring", "--database=paritydb"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ)) as node:
        assert node.stderr is not None
        watchdog = signal.signal(signal.SIGALRM, lambda *_: node.kill())
        signal.alarm(NODE_SECONDS)
        try:
            lines = []
            for line in node.stderr:
                lines.append(line)
                if "Imported #1 " in line:
                    node.terminate()
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, watchdog)
    said = "".join(lines)
    assert ("Imported #1 " in said) is starts, said
    assert ("must not use a well-known key" in said) is not starts, said
    assert starts or node.returncode == 1
