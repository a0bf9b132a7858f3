"""gantry dispute, gantry juror status, and the same in the SDK: what is sent, and what is refused before it is sent."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import gantry
import pytest
from cli_world import CHARLIE, DIGEST, GTY, HOST, LEASE, RESULT, World, the_lease
from pod_host import RealHost

from offchain.adapters.keys.signer import from_uri
from offchain.core.verifier.duties import vote_commitment
from offchain.ports import Call
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import DisputePhase, Vote
from offchain.schema.protocol.evidence import BUNDLE_FILE, lease_member, own_member, unpack
from offchain.services.evidence_files import checked_files
from tests.support.chain_records import Tasks, task_spec
from tests.support.dispute_records import dispute, params, seat

WHO = ("--account", "//Charlie")
DAVE, EVE = from_uri("//Dave"), from_uri("//Eve")
JUROR = ("--account", "//Dave")
STAKE = 10 * GTY
REPORTED_AT = 1_700_000_000_000
TEXT = f"services: {{train: {{image: tool@{DIGEST}}}}}".encode()
MATTER = gen.MatterDispute(0)


@pytest.fixture
def sent(world: World) -> list[Call]:
    """Task 0 of Charlie is reported, and Dave and Eve have coins. Gives the calls that the chain will see."""
    calls: list[Call] = []

    def effects(call: Call, _account: str) -> list[Any]:
        calls.append(call)
        if call.function == "open_dispute":
            put(
                world,
                dispute(DisputePhase.HEARING, opener=CHARLIE, tenant=CHARLIE, accused=tuple(call.args["accused"])),
            )
            Tasks(world.chain).change(0, state=gen.TaskStateDisputed())
        return []

    tasks = Tasks(world.chain)
    tasks.clear()
    tasks.submit(
        CHARLIE, replace(task_spec(), manifest_digest=hashlib.sha256(TEXT).digest()), manifest=TEXT, now=REPORTED_AT
    )
    tasks.change(0, state=gen.TaskStateReported(), leases=(the_lease(0),))
    world.put("Verification", "Params", (), params(min_verifiers=3))
    for who in (DAVE, EVE):
        world.put("System", "Account", who.address, {"data": {"free": 1000 * GTY, "reserved": 0}})
    world.chain.effects = effects
    return calls


def put(world: World, record: gen.DisputeRecord) -> None:
    """The dispute about task 0, with time left."""
    world.put("Verification", "Disputes", 0, replace(record, until=2**60).encode())


def at(world: World, now: int) -> None:
    world.put("Timestamp", "Now", (), now)


# --- open ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("host")
def test_a_dispute_names_the_digest_of_the_evidence_that_is_stored(
    world: World, sent: list[Call], tmp_path: Path
) -> None:
    (tmp_path / "report.txt").write_bytes(b"rows 3 to 5 are wrong")
    output = tmp_path / "evidence.tar"
    found = world.json("dispute", "open", "0", "--file", tmp_path / "report.txt", "-o", output, *WHO)
    data = output.read_bytes()
    digest = hashlib.sha256(data).digest()
    assert sent == [Call("Verification", "open_dispute", {"task": 0, "accused": [LEASE], "evidence": digest})]
    assert found["stored"] == {"file": str(output), "sha256": digest.hex(), "problems": []}
    assert (found["task"], found["phase"], found["opener"]) == (0, "Hearing", CHARLIE)
    members = unpack(data, 1 << 20)
    assert members[lease_member(LEASE, "output")] == RESULT
    assert members[own_member("report.txt")] == b"rows 3 to 5 are wrong"
    assert members["manifest.yaml"] == TEXT
    about = json.loads(members[BUNDLE_FILE])
    assert (about["accused"][0]["host"], about["task"], about["tenant"]) == (HOST, 0, CHARLIE)
    assert about["accused"][0]["result"]["sha256"] == hashlib.sha256(RESULT).hexdigest()
    assert output.stat().st_mode & 0o777 == 0o600


def test_the_files_of_the_opener_are_sent_to_the_accused_host_and_shown_again(
    world: World, host: RealHost, sent: list[Call], tmp_path: Path
) -> None:
    """With them the archive that is fetched has the digest that the opener named."""
    (tmp_path / "report.txt").write_bytes(b"rows 3 to 5 are wrong")
    output = tmp_path / "evidence.tar"
    opened = world.json("dispute", "open", "0", "--file", tmp_path / "report.txt", "-o", output, *WHO)
    kept = host.evidence_files
    files = checked_files(kept, world.chain.genesis, 0, CHARLIE)
    assert files == {own_member("report.txt"): b"rows 3 to 5 are wrong"}
    (archive,) = world.json("dispute", "show", "0", "--fetch", tmp_path / "again.tar", *WHO)["archives"]
    assert archive["sha256"] == opened["stored"]["sha256"]

    host.evidence_files = None
    (archive,) = world.json("dispute", "show", "0", "--fetch", tmp_path / "without.tar", *WHO)["archives"]
    assert archive["sha256"] != opened["stored"]["sha256"], "nobody shows the files"
    assert world.json("dispute", "deliver", "0", output, *WHO) == {
        "task": 0,
        "files": ["report.txt"],
        "taken_by_leases": 1,
    }
    assert checked_files(host.evidence_files, world.chain.genesis, 0, CHARLIE) == files
    assert len(sent) == 1, "files are no call"

    host.evidence_files = kept[:-1024]
    (archive,) = world.json("dispute", "show", "0", "--fetch", tmp_path / "broken.tar", *WHO)["archives"]
    assert any("archive" in problem for problem in archive["problems"])


def test_only_the_opener_delivers_files_and_only_from_an_archive_that_has_some(
    world: World, host: RealHost, sent: list[Call], tmp_path: Path
) -> None:
    output = tmp_path / "evidence.tar"
    world.json("dispute", "open", "0", "-o", output, *WHO)
    status, _, err = world.run("dispute", "deliver", "0", output, *WHO)
    assert (status, host.evidence_files, len(sent)) == (2, None, 1)
    assert "has no files of the opener" in err
    (tmp_path / "report.txt").write_bytes(b"wrong")
    Tasks(world.chain).change(0, state=gen.TaskStateReported())
    world.json("dispute", "open", "0", "--file", tmp_path / "report.txt", "-o", output, *WHO)
    status, _, err = world.run("dispute", "deliver", "0", output, *JUROR)
    assert status == 1
    assert f"{DAVE.address} has not opened the dispute" in err


def test_an_output_that_the_host_did_not_report_is_pointed_out(
    world: World, host: RealHost, sent: list[Call], tmp_path: Path
) -> None:
    host.evidence["output"] = b"another output"
    status, _, err = world.run("dispute", "open", "0", "-o", tmp_path / "evidence.tar", *WHO)
    assert status == 0
    assert hashlib.sha256(b"another output").hexdigest() in err
    assert len(sent) == 1


def test_a_host_that_shows_nothing_does_not_prevent_a_dispute(
    world: World, host: RealHost, sent: list[Call], tmp_path: Path
) -> None:
    host.ended = True
    status, out, err = world.run("dispute", "open", "0", "-o", tmp_path / "evidence.tar", *WHO)
    assert status == 0
    assert "its host sent no evidence: The lease has ended" in err
    assert "Task 0 is in dispute" in out
    assert len(sent) == 1


@pytest.mark.parametrize(
    ("account", "state", "now", "code", "text"),
    [
        ("//Charlie", gen.TaskStateRunning(), 0, "not_reported", "gantry task wait 0 waits for its result"),
        ("//Charlie", gen.TaskStateDisputed(), 0, "already_disputed", "has one dispute at a time"),
        ("//Charlie", gen.TaskStateReported(), REPORTED_AT + 6_000, "window_closed", "is 6 s long"),
        ("//Dave", gen.TaskStateReported(), 0, "not_yours", "is no verifier"),
    ],
)
def test_a_dispute_that_the_chain_would_refuse_is_not_sent(
    world: World, sent: list[Call], account: str, state: gen.TaskState, now: int, code: str, text: str
) -> None:
    Tasks(world.chain).change(0, state=state)
    at(world, now)
    status, out, err = world.run("dispute", "open", "0", "--account", account, "--json")
    assert (status, sent) == (1, [])
    assert json.loads(out)["error"]["code"] == code
    assert text in err


def test_a_verifier_disputes_work_that_is_not_of_its_own_hosts(world: World, sent: list[Call]) -> None:
    record = gen.VerifierRecord(STAKE, gen.VerifierStatusActive(), 0).encode()
    world.put("Verification", "Verifiers", DAVE.address, record)
    world.chain.storage["Hosts", "Hosts"].clear()
    assert world.run("dispute", "open", "0", *JUROR)[0] == 0
    assert [call.function for call in sent] == ["open_dispute"]


def test_a_provider_that_is_a_verifier_does_not_dispute_its_own_work(world: World, sent: list[Call]) -> None:
    record = gen.VerifierRecord(STAKE, gen.VerifierStatusActive(), 0).encode()
    world.put("Verification", "Verifiers", from_uri("//Bob").address, record)
    world.put("System", "Account", from_uri("//Bob").address, {"data": {"free": 1000 * GTY, "reserved": 0}})
    status, _, err = world.run("dispute", "open", "0", "--account", "//Bob")
    assert (status, sent) == (1, [])
    assert "is the provider of a host that worked on task 0" in err


def test_too_much_evidence_is_refused_with_the_limit(world: World, sent: list[Call], tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(bytes((4 << 20) + 1))
    status, _, err = world.run("dispute", "open", "0", "--file", tmp_path / "big", *WHO)
    assert (status, sent) == (1, [])
    assert "more than 4194304 bytes" in err


# --- show ---------------------------------------------------------------------------------------------------------


def test_a_dispute_is_shown_with_jury_stakes_and_evidence(world: World, sent: list[Call], tmp_path: Path) -> None:
    archive = tmp_path / "evidence.bin"
    archive.write_bytes(b"what the tenant kept")
    named = gen.Evidence(CHARLIE, hashlib.sha256(b"what the tenant kept").digest(), 0)
    record = dispute(
        DisputePhase.REVEALING,
        seat(DAVE.address, bytes(32), Vote.YES),
        seat(EVE.address),
        tenant=CHARLIE,
        opener=CHARLIE,
    )
    put(world, replace(record, evidence=(named,), accused=(LEASE,)))
    found = world.json("dispute", "show", "0", "--check", archive)
    assert found["jury"] == [
        {"account": DAVE.address, "committed": True, "vote": "yes"},
        {"account": EVE.address, "committed": False, "vote": None},
    ]
    assert found["archives"][0]["named_by"] == [CHARLIE]
    assert found["accused"][0]["result_digest"] == hashlib.sha256(RESULT).hexdigest()
    status, out, _ = world.run("dispute", "show", "0", "--check", archive)
    assert status == 0
    assert "before its jury, which reveals its votes" in out
    assert f"named by {CHARLIE}" in out
    assert not sent


def test_a_task_without_a_dispute_is_said_to_have_none(world: World, sent: list[Call]) -> None:
    for command in (("show",), ("appeal", *WHO), ("vote", "yes", *JUROR)):
        name, *rest = command
        status, _, err = world.run("dispute", name, "0", *rest)
        assert (status, sent) == (1, [])
        assert "task 0 is not in dispute" in err


# --- vote, reveal, appeal -----------------------------------------------------------------------------------------


def test_a_vote_is_stored_before_it_is_committed_and_revealed_later(
    world: World, sent: list[Call], tmp_path: Path
) -> None:
    put(world, dispute(DisputePhase.COMMITTING, seat(DAVE.address), ballot_round=1))
    folder = ("--state-dir", tmp_path / "juror")
    world.json("dispute", "vote", "0", "yes", *folder, *JUROR)
    (file,) = (tmp_path / "juror").rglob("0-1.json")
    salt = bytes.fromhex(json.loads(file.read_text())["salt"])
    commitment = vote_commitment(MATTER, 1, Vote.YES, salt, DAVE.public_key)
    assert sent == [Call("Verification", "commit_vote", {"matter": MATTER.encode(), "commitment": commitment})]
    put(world, dispute(DisputePhase.REVEALING, seat(DAVE.address, commitment), ballot_round=1))
    assert world.json("dispute", "reveal", "0", *folder, *JUROR)["vote"] == "yes"
    assert sent[1] == Call("Verification", "reveal_vote", {"matter": MATTER.encode(), "vote": "Yes", "salt": salt})


def test_a_second_opinion_is_not_sent_and_the_first_is_sent_again(
    world: World, sent: list[Call], tmp_path: Path
) -> None:
    """The first commitment may have been lost with the connection."""
    put(world, dispute(DisputePhase.COMMITTING, seat(DAVE.address)))
    folder = ("--state-dir", tmp_path / "juror")
    assert world.run("dispute", "vote", "0", "no", *folder, *JUROR)[0] == 0
    status, _, err = world.run("dispute", "vote", "0", "yes", *folder, *JUROR)
    assert status == 1
    assert "the vote no about task 0 is stored for this ballot" in err
    assert world.run("dispute", "vote", "0", "no", *folder, *JUROR)[0] == 0
    assert sent[0] == sent[1]


def test_votes_that_the_chain_would_refuse_are_not_sent(world: World, sent: list[Call], tmp_path: Path) -> None:
    folder = ("--state-dir", tmp_path / "juror")
    put(world, dispute(DisputePhase.COMMITTING, seat(EVE.address)))
    assert "is not on the jury" in world.run("dispute", "vote", "0", "yes", *folder, *JUROR)[2]
    put(world, dispute(DisputePhase.COMMITTING, seat(DAVE.address, bytes(32))))
    assert "has already voted" in world.run("dispute", "vote", "0", "yes", *folder, *JUROR)[2]
    put(world, dispute(DisputePhase.REVEALING, seat(DAVE.address, bytes(32))))
    assert "is not in this folder" in world.run("dispute", "reveal", "0", *folder, *JUROR)[2]
    assert sent == []
    assert not list((tmp_path / "juror").rglob("*.json"))


def test_the_losing_side_appeals(world: World, sent: list[Call]) -> None:
    staked = (gen.Stake(CHARLIE, 8 * GTY, 2 * GTY, Vote.YES),)
    decided = dispute(DisputePhase.DECIDED, tenant=CHARLIE, opener=CHARLIE, verdict=Vote.NO, stakes=staked)
    put(world, decided)
    assert world.run("dispute", "appeal", "0", *WHO)[0] == 0
    assert sent == [Call("Verification", "appeal", {"task": 0})]
    assert "is not against" in world.run("dispute", "appeal", "0", *JUROR)[2]
    world.put("System", "Account", CHARLIE, {"data": {"free": 19 * GTY, "reserved": 0}})
    assert "the stake of this appeal is 20 GTY" in world.run("dispute", "appeal", "0", *WHO)[2]
    assert len(sent) == 1


def test_evidence_is_named_in_the_hearing(world: World, sent: list[Call], tmp_path: Path) -> None:
    put(world, dispute(DisputePhase.HEARING, tenant=CHARLIE, opener=EVE.address))
    (tmp_path / "answer").write_bytes(b"it is right")
    assert world.run("dispute", "add-evidence", "0", tmp_path / "answer", *WHO)[0] == 0
    digest = hashlib.sha256(b"it is right").digest()
    assert sent == [Call("Verification", "add_evidence", {"task": 0, "digest": digest})]
    assert "is no party" in world.run("dispute", "add-evidence", "0", tmp_path / "answer", *JUROR)[2]


@pytest.mark.usefixtures("sent")
def test_a_juror_sees_its_seats(world: World) -> None:
    world.put(
        "Verification", "Verifiers", DAVE.address, gen.VerifierRecord(STAKE, gen.VerifierStatusActive(), 1).encode()
    )
    put(world, dispute(DisputePhase.COMMITTING, seat(DAVE.address)))
    found = world.json("juror", "status", *JUROR)
    assert (found["status"], found["bond"], found["duties"]) == ("Active", STAKE, 1)
    assert [(one["task"], one["phase"], one["committed"]) for one in found["disputes"]] == [(0, "Committing", False)]
    assert world.json("juror", "status", "--account", "//Eve")["disputes"] == []
    assert "COMMITTED" in world.run("juror", "status", *JUROR)[1]


# --- SDK ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("host")
def test_the_sdk_has_the_same_verbs(world: World, sent: list[Call], tmp_path: Path) -> None:
    with gantry.connect(account="//Charlie") as network:
        task = network.task(0)
        opened = task.open_dispute()
        assert opened.sha256 == hashlib.sha256(opened.file.read_bytes()).digest() == sent[0].args["evidence"]
        assert task.dispute().phase == "Hearing"
        put(world, dispute(DisputePhase.DECIDED, tenant=CHARLIE, opener=CHARLIE, verdict=Vote.NO))
        task.appeal_dispute()
    put(world, dispute(DisputePhase.COMMITTING, seat(DAVE.address)))
    with gantry.connect(account="//Dave") as network:
        task = network.task(0)
        task.vote_on_dispute("no", state_dir=tmp_path / "juror")
        commitment = sent[-1].args["commitment"]
        put(world, dispute(DisputePhase.REVEALING, seat(DAVE.address, commitment)))
        task.reveal_vote(state_dir=tmp_path / "juror")
    assert [call.function for call in sent] == ["open_dispute", "appeal", "commit_vote", "reveal_vote"]
