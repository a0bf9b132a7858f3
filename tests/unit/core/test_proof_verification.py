"""The way from a genesis hash or a checkpoint to the state of a final block, and every gap in it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from offchain.adapters.chain.runtime import storage_prefix
from offchain.core.proofs import proof_file
from offchain.core.proofs.checkpoint import decode_checkpoint
from offchain.core.proofs.proof_file import MAGIC, AuthorityLink, decode_proof
from offchain.core.proofs.reader import ProofReader
from offchain.core.proofs.subject import (
    ProofSubject,
    SubjectKind,
    leases_subject,
    read_subject,
    storage_subject,
    task_subject,
)
from offchain.core.proofs.verification import AUTHORITIES_KEY, verify_proof
from offchain.errors import BadValue, ProofRefused
from tests.support.proof_samples import (
    TASK,
    VALIDATORS,
    SampleChain,
    change_log,
    make_header,
    public,
    votes_for,
    without_genesis,
)
from tests.support.trie_builder import blake2

SAMPLE = SampleChain()
GENESIS = SAMPLE.genesis.hash
PROOF = SAMPLE.proof()


def checkpoint_of(links):
    """The checkpoint that an auditor saves after a proof with so many links."""
    shorter = replace(
        PROOF,
        links=PROOF.links[:links],
        votes=votes_for(SAMPLE.descendants[-1], SAMPLE.sets[links][:3], links),
    )
    return verify_proof(shorter, GENESIS, None).checkpoint


def refusal(proof, checkpoint=None, genesis=GENESIS):
    with pytest.raises(ProofRefused) as refused:
        verify_proof(proof, genesis, checkpoint)
    assert refused.value.hint
    return f"{refused.value.where}: {refused.value.reason}"


def test_the_key_of_the_authorities_is_that_of_the_pallet():
    assert storage_prefix("Grandpa", "Authorities") == AUTHORITIES_KEY


@pytest.mark.parametrize("hashed", [False, True], ids=["V0", "V1"])
def test_a_proof_from_genesis_is_verified_with_the_genesis_hash_alone(hashed):
    sample = SampleChain(hashed=hashed)
    found = verify_proof(sample.proof(), sample.genesis.hash, None)
    assert (found.header.number, found.finalised.number, found.finalised_by.set_id) == (30, 32, 2)
    assert found.signatures == 9
    assert [key for key, _ in found.finalised_by.authorities] == [public(key) for key in VALIDATORS[2:6]]
    assert (found.checkpoint.block, found.checkpoint.voters) == (20, found.finalised_by)
    for key in sample.task_keys():
        assert found.state.read(key) == sample.state.get(key)


def test_another_genesis_hash_is_refused():
    assert refusal(PROOF, genesis=blake2(b"another chain")).startswith("The genesis block: its hash is")
    elsewhere = replace(PROOF.genesis, header=make_header(1, bytes(32), SAMPLE.genesis_state.hash))
    assert refusal(replace(PROOF, genesis=elsewhere), genesis=elsewhere.header.hash).startswith("The genesis block")


def test_genesis_authorities_that_its_state_does_not_have_are_refused():
    without = replace(PROOF.genesis, nodes=())
    assert "is missing" in refusal(replace(PROOF, genesis=without))
    more = replace(PROOF.genesis, nodes=(*PROOF.genesis.nodes, b"x"))
    assert "prove nothing" in refusal(replace(PROOF, genesis=more))


def test_a_missing_link_is_refused():
    assert "Link 1, the change from authority set 0 to 1" in refusal(replace(PROOF, links=PROOF.links[1:]))
    assert "The finality of the block: the signature" in refusal(replace(PROOF, links=PROOF.links[:1]))


def test_links_in_another_order_are_refused():
    assert "Link 1" in refusal(replace(PROOF, links=PROOF.links[::-1]))
    assert "Link 2" in refusal(replace(PROOF, links=(PROOF.links[0], PROOF.links[0])))


def test_a_link_that_goes_back_is_refused():
    header = make_header(10, blake2(b"x"), blake2(b"b"), [change_log(SAMPLE.sets[2])])
    link = AuthorityLink(header, votes_for(header, SAMPLE.sets[1][:3], 1))
    assert "is not after block 10" in refusal(replace(PROOF, links=(PROOF.links[0], link)))


def test_a_link_without_a_change_is_refused():
    header = make_header(20, blake2(b"19"), blake2(b"b"))
    link = AuthorityLink(header, votes_for(header, SAMPLE.sets[1][:3], 1))
    assert "does not change the authorities" in refusal(replace(PROOF, links=(PROOF.links[0], link)))


def test_a_change_to_the_attackers_own_authorities_needs_votes_of_the_set_before():
    forged = make_header(20, blake2(b"19"), blake2(b"b"), [change_log(VALIDATORS[5:])])
    link = AuthorityLink(forged, replace(PROOF.links[1].votes))
    assert refusal(replace(PROOF, links=(PROOF.links[0], link))).startswith("Link 2, the change from authority set 1")


def test_a_forced_change_ends_the_chain_of_trust():
    header = make_header(20, blake2(b"19"), blake2(b"b"), [change_log(SAMPLE.sets[2], kind=2)])
    link = AuthorityLink(header, votes_for(header, SAMPLE.sets[1][:3], 1))
    assert "forces a change" in refusal(replace(PROOF, links=(PROOF.links[0], link)))


def test_headers_after_the_block_must_be_its_descendants():
    assert "The headers after the block" in refusal(replace(PROOF, descendants=PROOF.descendants[1:]))
    assert "The headers after the block" in refusal(replace(PROOF, descendants=PROOF.descendants[::-1]))
    other = make_header(30, blake2(b"29"), blake2(b"a state of the attacker"))
    assert "is not the child of block 30" in refusal(replace(PROOF, header=other))
    jump = make_header(33, SAMPLE.header.hash, blake2(b"d"))
    voted = votes_for(jump, SAMPLE.sets[2][:3], 2)
    assert "is not the child of block 30" in refusal(replace(PROOF, descendants=(jump,), votes=voted))


def test_a_block_that_is_voted_for_itself_needs_no_descendants():
    direct = replace(PROOF, descendants=(), votes=votes_for(SAMPLE.header, SAMPLE.sets[2][:3], 2))
    assert verify_proof(direct, GENESIS, None).finalised == SAMPLE.header
    assert "for no descendant" in refusal(replace(PROOF, descendants=()))


# --- checkpoints --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("links", [0, 1, 2])
def test_a_proof_may_start_from_any_checkpoint(links):
    checkpoint = checkpoint_of(links)
    shorter = without_genesis(PROOF, links)
    found = verify_proof(shorter, GENESIS, checkpoint)
    assert found.checkpoint == checkpoint_of(2)
    assert refusal(shorter).startswith("The start of the proof")


@pytest.mark.parametrize("links", [0, 1, 2])
def test_a_proof_from_genesis_must_agree_with_a_checkpoint(links):
    checkpoint = checkpoint_of(links)
    verify_proof(PROOF, GENESIS, checkpoint)
    other = replace(checkpoint, block_hash=blake2(b"another block"))
    assert f"another authority set {links}" in refusal(PROOF, other)


def test_the_checkpoint_of_another_set_or_chain_is_refused():
    assert "set 1 is known" in refusal(without_genesis(PROOF, 2), checkpoint_of(1))
    assert "set 2 is known" in refusal(without_genesis(PROOF, 1), checkpoint_of(2))
    stranger = replace(checkpoint_of(1), genesis_hash=blake2(b"another chain"))
    assert refusal(without_genesis(PROOF, 1), stranger).startswith("The checkpoint: it is for the chain")


def test_a_proof_that_ends_before_the_checkpoint_is_refused():
    shorter = replace(PROOF, links=PROOF.links[:1], votes=votes_for(SAMPLE.descendants[-1], SAMPLE.sets[1][:3], 1))
    assert "and the checkpoint has set 2" in refusal(shorter, checkpoint_of(2))


def test_a_checkpoint_survives_its_file():
    checkpoint = checkpoint_of(2)
    assert decode_checkpoint(checkpoint.encode(), "file") == checkpoint


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("format", "gantry-checkpoint-2"),
        ("genesis_hash", "0x12"),
        ("genesis_hash", "12" * 33),
        ("genesis_hash", "0x" + "zz" * 32),
        ("block", -1),
        ("block", 1 << 32),
        ("block", True),
        ("block", "7"),
        ("set_id", 1.0),
        ("authorities", []),
        ("authorities", [["0x" + "00" * 32]]),
        ("authorities", [["0x" + "00" * 32, 1]] * 1_001),
        ("authorities", 7),
        ("more", 1),
    ],
)
def test_a_malformed_checkpoint_is_refused(field, value):
    plain = json.loads(checkpoint_of(1).encode()) | {field: value}
    with pytest.raises(BadValue, match=r"x\.json is not a checkpoint"):
        decode_checkpoint(json.dumps(plain), "x.json")


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 100_000, "\0"])
def test_a_file_that_is_no_checkpoint_is_refused(text):
    with pytest.raises(BadValue, match="is not a checkpoint"):
        decode_checkpoint(text, "x.json")


# --- files --------------------------------------------------------------------------------------------------------

SUBJECTS = [
    task_subject(TASK),
    leases_subject({5, 3, 1 << 90}),
    ProofSubject(SubjectKind.ACCOUNT, key=blake2(b"account")),
    ProofSubject(SubjectKind.HOST, key=blake2(b"host")),
]


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.kind.name)
@pytest.mark.parametrize("first_set", [None, 1])
def test_a_proof_survives_its_file(subject, first_set):
    proof = replace(PROOF if first_set is None else without_genesis(PROOF, first_set), subject=subject)
    assert decode_proof(proof.encode()) == proof


def decoding(data):
    with pytest.raises(ProofRefused) as refused:
        decode_proof(data)
    return f"{refused.value.where}: {refused.value.reason}"


def test_files_of_other_formats_are_refused():
    assert "not a proof file" in decoding(b"PK\x03\x04" + bytes(100))
    assert "too early" in decoding(b"")
    assert "it has version 2" in decoding(MAGIC + b"\x02\x00")
    assert "follow its end" in decoding(PROOF.encode() + b"\0")


def test_a_file_that_ends_anywhere_is_refused():
    data = replace(PROOF, metadata=b"").encode()
    for size in range(len(data)):
        assert decoding(data[:size])


def test_lists_without_end_are_refused_before_they_are_read():
    start = MAGIC + b"\x01\x00" + task_subject(TASK).encode()
    most = b"\x03\xff\xff\xff\xff"
    assert "4294967295 links" in decoding(start + b"\0" + bytes(8) + most)
    assert "its flag is 2" in decoding(start + b"\2")
    assert "4294967295 trie nodes" in decoding(start + b"\1" + SAMPLE.genesis.raw + most)
    assert "a trie node has 4294967295 bytes" in decoding(start + b"\1" + SAMPLE.genesis.raw + b"\x04" + most)
    assert "4294967295 leases" in decoding(MAGIC + b"\x01\x00\x03" + most)
    assert "1 to 256" in decoding(MAGIC + b"\x01\x00\x03\x00")
    assert "unknown kind 5" in decoding(MAGIC + b"\x01\x00\x05")
    names = storage_subject("Tasks", "Params", [b""]).encode()[:-2]
    assert "4294967295 keys" in decoding(MAGIC + b"\x01\x00" + names + most)
    assert "a key has 4294967295 bytes" in decoding(MAGIC + b"\x01\x00" + names + b"\x04" + most)
    assert "it has 0 keys, and 1 to 32" in decoding(MAGIC + b"\x01\x00" + names + b"\x00")


def test_a_storage_item_is_a_subject_with_one_encoding():
    subject = storage_subject("System", "Account", [b"b" * 32, b"a" * 32, b"b" * 32])
    assert subject.storage is not None
    assert subject.storage.keys == (b"a" * 32, b"b" * 32)
    data = subject.encode()
    assert read_subject(ProofReader(data, "test")) == subject
    other = data.replace(b"a" * 32, b"c" * 32)
    for wrong in (other, data.replace(b"a" * 32, b"b" * 32)):
        assert "rising order" in decoding(MAGIC + b"\x01\x00" + wrong)
    for name in ("Sy-tem", "S\u00ffstem", "System\0"):
        raw = name.encode("latin-1")
        assert "is not the name" in decoding(
            MAGIC + b"\x01\x00\x04" + bytes([len(raw) << 2]) + raw + data[data.index(b"\x1cAccount") :]
        )
    with pytest.raises(ProofRefused, match="a key has 257 bytes"):
        storage_subject("System", "Account", [bytes(257)])
    with pytest.raises(ProofRefused, match="it has 33 keys"):
        storage_subject("System", "Account", [bytes([number]) for number in range(33)])


def test_leases_of_a_subject_have_one_order():
    head = MAGIC + b"\x01\x00\x03\x08"
    assert "rising order" in decoding(head + (5).to_bytes(12, "little") + (3).to_bytes(12, "little"))
    assert "rising order" in decoding(head + (5).to_bytes(12, "little") * 2)


def test_a_file_that_is_too_large_is_neither_written_nor_read(monkeypatch):
    monkeypatch.setattr(proof_file, "MOST_FILE_BYTES", 1_000)
    with pytest.raises(ProofRefused, match="at most 1000 are allowed"):
        PROOF.encode()
    assert "at most 1000" in decoding(bytes(1_001))


@pytest.mark.parametrize("task", [-1, 1 << 64])
def test_numbers_that_the_chain_does_not_have_are_no_subject(task):
    with pytest.raises(ProofRefused, match="not the number of a task"):
        task_subject(task)
    with pytest.raises(ProofRefused):
        leases_subject({task if task < 0 else 1 << 96})
