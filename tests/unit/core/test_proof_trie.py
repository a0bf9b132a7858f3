"""Reading values and absences from parts of a trie, which the builder of the tests has made."""

from __future__ import annotations

import pytest

from offchain.core.proofs.trie import TrieProof
from offchain.errors import ProofRefused
from tests.support.trie_builder import blake2, build_trie

VALUES = {
    b"\x12\x34": b"branch with a value",
    b"\x12\x34\x56": b"short",
    b"\x12\x34\x57": b"x" * 33,
    b"\x12\x3f": b"y" * 32,
    b"\x12": b"",
    b"\xff" * 60: b"z" * 5_000,
    b"\xff" * 60 + b"\x01": b"below a long key",
}
LONG_KEY = b"k" * 150
ABSENT = [b"", b"\x12\x35", b"\x12\x34\x56\x00", b"\x13", b"\xff" * 59, b"\xff" * 61, b"\xfe", b"\x12\x34\x58"]

both_layouts = pytest.mark.parametrize("hashed", [False, True], ids=["V0", "V1"])


def proof_of(values, keys, *, hashed):
    trie = build_trie(values, hashed=hashed)
    return TrieProof(trie.hash, sorted(trie.nodes_for(keys)), "test")


def refusal(call, *arguments):
    with pytest.raises(ProofRefused) as refused:
        call(*arguments)
    return refused.value.reason


@both_layouts
def test_every_value_is_read_with_its_own_nodes_alone(hashed):
    for key, value in VALUES.items():
        proof = proof_of(VALUES, [key], hashed=hashed)
        assert proof.read(key) == value
        proof.refuse_unused()


@both_layouts
def test_absent_keys_are_proven_absent(hashed):
    for key in ABSENT:
        proof = proof_of(VALUES, [key], hashed=hashed)
        assert proof.read(key) is None
        proof.refuse_unused()


@both_layouts
def test_a_key_part_longer_than_its_first_byte_can_count(hashed):
    values = {LONG_KEY: b"v" * 40, LONG_KEY[:75] + b"other": b"w"}
    proof = proof_of(values, values, hashed=hashed)
    assert {key: proof.read(key) for key in values} == values


def test_the_empty_trie_has_no_keys():
    proof = proof_of({}, [b"any"], hashed=True)
    assert proof.read(b"any") is None
    proof.refuse_unused()


def test_the_root_of_the_empty_trie_is_the_known_one():
    assert build_trie({}).hash.hex() == "03170a2e7597b7b7e3d84c05391d139a62b157e78786d8c082f29dcf4c111314"


@both_layouts
def test_neither_value_nor_absence_follows_from_missing_nodes(hashed):
    trie = build_trie(VALUES, hashed=hashed)
    for key in [*VALUES, *ABSENT]:
        for missing in trie.nodes_for([key]):
            proof = TrieProof(trie.hash, sorted(trie.nodes_for([key]) - {missing}), "test")
            assert "is missing" in refusal(proof.read, key)


@both_layouts
def test_a_changed_node_proves_nothing(hashed):
    trie = build_trie(VALUES, hashed=hashed)
    key = b"\x12\x34\x57"
    for node in trie.nodes_for([key]):
        others = trie.nodes_for([key]) - {node}
        for place in range(len(node)):
            changed = node[:place] + bytes([node[place] ^ 1]) + node[place + 1 :]
            assert "is missing" in refusal(TrieProof(trie.hash, [*others, changed], "test").read, key)


def test_nodes_that_are_there_twice_or_for_nothing_are_refused():
    trie = build_trie(VALUES)
    nodes = sorted(trie.nodes_for([b"\x12\x34"]))
    assert "twice" in refusal(TrieProof, trie.hash, [*nodes, nodes[0]], "test")
    proof = TrieProof(trie.hash, [*nodes, b"anything"], "test")
    proof.read(b"\x12\x34")
    assert "prove nothing" in refusal(proof.refuse_unused)


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (b"", "ends 1 bytes too early"),
        (b"\0\0", "bytes follow its end"),
        (b"\x01\0", "unknown byte 0x01"),
        (b"\x41\xf0\x00", "padding"),
        (b"\x41\x01\x04", "too early"),
        (b"\x40\x00\x00", "bytes follow its end"),
        (b"\x80\x00\x00", "no children"),
        (b"\x80\x01\x00\x84" + bytes(33), "at most 32"),
        (b"\x40\x01\x00", "shortest form"),
        (b"\x40\xfe\xff\xff\xff", "at most 1048576"),
        (b"\x7f" + b"\xff" * 5, "more than 512 bytes"),
        (b"\x20" + bytes(31), "too early"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_malformed_node_is_refused_even_if_its_hash_is_right(node, reason):
    assert reason in refusal(TrieProof(blake2(node), [node], "test").read, b"")
