"""gantry audit verify, and the arguments of gantry audit prove."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from offchain.cli.main import main
from offchain.core.proofs.subject import task_subject
from offchain.schema.chain_types.ids import lease_id
from offchain.services.audit_facts import subject_of_storage
from tests.support.proof_samples import HOST, PAID, RUNTIME, TASK, TENANT, SampleChain, without_genesis

SAMPLE = SampleChain()
GENESIS = "0x" + SAMPLE.genesis.hash.hex()


@pytest.fixture
def proof(tmp_path: Path) -> Path:
    path = tmp_path / "task.proof"
    path.write_bytes(SAMPLE.proof().encode())
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    capsys.readouterr()
    status = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    return status, out, err


def test_a_verified_task_is_told_with_its_bill(proof: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "audit", "verify", proof, "--genesis", GENESIS)
    assert (status, err) == (0, "")
    assert f"block 30, 0x{SAMPLE.header.hash.hex()}" in out
    assert "authority set 2, 2 changes of authorities after genesis, 9 signatures" in out
    assert "Settled" in out
    assert "time at the rate" in out
    assert f"Paid in all: 0.025 GTY ({PAID} base units), 0.0005 GTY of it protocol fee." in out
    assert TENANT in out
    assert HOST in out


def test_a_verified_task_is_one_object_with_json(proof: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "audit", "verify", proof, "--genesis", GENESIS, "--json")
    found = json.loads(out)
    assert status == 0
    assert (found["verified"], found["block"], found["genesis_hash"]) == (True, 30, GENESIS)
    assert found["finality"] == {"block": 32, "set_id": 2, "first_set": 0, "authorities": 4, "signatures": 9}
    assert found["subject"] == {"kind": "task", "task": TASK, "exists": True, "next_task": TASK + 1}
    (bill,) = found["bills"]
    assert (bill["lease"], bill["paid"], bill["agrees"], bill["basis"]) == (lease_id(TASK, 0, 0), PAID, True, "time")
    assert found["tasks"][0]["leases"][0]["paid"] == PAID
    assert found["account"]["address"] == TENANT


def test_the_genesis_hash_may_be_in_the_environment(
    proof: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(capsys, "audit", "verify", proof)[0] == 2
    monkeypatch.setenv("GANTRY_GENESIS", GENESIS)
    assert run(capsys, "audit", "verify", proof)[0] == 0


def test_a_refusal_names_the_part_and_has_a_code(proof: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed = bytearray(proof.read_bytes())
    changed[len(changed) // 20] ^= 1
    proof.write_bytes(changed)
    status, out, err = run(capsys, "audit", "verify", proof, "--genesis", GENESIS, "--json")
    assert status == 1
    assert json.loads(out)["error"]["code"] == "proof_refused"
    assert "The proof is refused. " in err


def test_a_proof_for_another_chain_is_refused(proof: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "audit", "verify", proof, "--genesis", "0x" + "11" * 32)
    assert (status, out) == (1, "")
    assert "The genesis block" in err
    assert "another chain" in err


@pytest.mark.parametrize("genesis", ["", "0x12", "zz" * 32, "0x" + "11" * 33])
def test_a_malformed_genesis_hash_is_a_usage_error(
    proof: Path, capsys: pytest.CaptureFixture[str], genesis: str
) -> None:
    status, _, err = run(capsys, "audit", "verify", proof, "--genesis", genesis)
    assert status == 2
    assert "genesis" in err


def test_later_proofs_start_from_a_saved_checkpoint(
    proof: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "chain.checkpoint"
    assert run(capsys, "audit", "verify", proof, "--genesis", GENESIS, "--save-checkpoint", saved)[0] == 0
    assert saved.stat().st_mode & 0o777 == 0o600
    proof.write_bytes(without_genesis(SAMPLE.proof(), 2).encode())
    assert run(capsys, "audit", "verify", proof, "--genesis", GENESIS)[0] == 1
    status, out, _ = run(capsys, "audit", "verify", proof, "--genesis", GENESIS, "--checkpoint", saved)
    assert status == 0
    assert "0 changes of authorities after the checkpoint of set 2, 3 signatures" in out


def test_nothing_is_saved_from_a_refused_proof(proof: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof.write_bytes(replace(SAMPLE.proof(), links=()).encode())
    saved = tmp_path / "chain.checkpoint"
    assert run(capsys, "audit", "verify", proof, "--genesis", GENESIS, "--save-checkpoint", saved)[0] == 1
    assert not saved.exists()


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe", b" " * 300_000])
def test_a_file_that_is_no_checkpoint_is_named(
    proof: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    bad = tmp_path / "bad.checkpoint"
    bad.write_bytes(content)
    status, _, err = run(capsys, "audit", "verify", proof, "--genesis", GENESIS, "--checkpoint", bad)
    assert status == 1
    assert "bad.checkpoint" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("task", "x", "-o", "file"),
        ("task", "7"),
        ("task", "7", "-o", "file", "--at", "0"),
        ("account", "5Grwx", "-o", "file"),
        ("host", "abc", "-o", "file"),
        ("lease", "-o", "file"),
    ],
)
def test_malformed_arguments_of_prove_are_usage_errors(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    assert run(capsys, "audit", "prove", *arguments)[0] == 2


def test_an_absent_task_is_told_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, words in ((3, "it was pruned"), (99, "it was never submitted: the next is 8")):
        path = tmp_path / f"{number}.proof"
        path.write_bytes(SAMPLE.proof(SAMPLE.task_keys(number), task_subject(number)).encode())
        status, out, _ = run(capsys, "audit", "verify", path, "--genesis", GENESIS)
        assert status == 0
        assert f"Task {number} is not in this state: {words}." in out


def test_stored_values_are_printed_with_their_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "account.proof"
    subject = subject_of_storage(RUNTIME, "System", "Account", [(TENANT,), (HOST,)])
    entry = RUNTIME.entry("System", "Account")
    keys = [RUNTIME.storage_key(entry, (account,)) for account in (TENANT, HOST)]
    path.write_bytes(SAMPLE.proof([*SAMPLE.task_keys()[:5], *keys], subject).encode())
    status, out, _ = run(capsys, "audit", "verify", path, "--genesis", GENESIS)
    assert status == 0
    raw = SAMPLE.state[keys[0]]
    assert f"{len(raw)} bytes, 0x{raw.hex()}" in out
    assert "Default" in out
    assert "nothing" in out
    status, out, _ = run(capsys, "audit", "verify", path, "--genesis", GENESIS, "--json")
    found = {value["keys"][0]: value for value in json.loads(out)["values"]}
    assert (found[TENANT]["raw"], found[HOST]["raw"]) == (f"0x{raw.hex()}", None)
    assert found[TENANT]["value"]["data"]["free"] == RUNTIME.decode(entry.value, raw)["data"]["free"]
