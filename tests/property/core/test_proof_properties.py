"""Tries of any keys and values are read back, and no change of a proof file survives verification."""

import asyncio
import contextlib
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from offchain.core.proofs.proof_file import decode_proof
from offchain.core.proofs.trie import TrieProof
from offchain.errors import ProofRefused
from offchain.services.audit_verifier import verify_file
from tests.support.examples import IS_LONG, examples
from tests.support.proof_samples import METADATA, SampleChain
from tests.support.trie_builder import blake2, build_trie

# Few different bytes, so that keys share parts and contain each other.
keys = st.binary(max_size=6) | st.lists(st.sampled_from([0x00, 0x01, 0x10, 0xFF]), max_size=6).map(bytes)
values = st.binary(max_size=80)
SAMPLE = SampleChain()
FILE = SAMPLE.proof().encode()
GENESIS = SAMPLE.genesis.hash
BEFORE_METADATA = len(FILE) - len(METADATA)
STRIDE = 17


@given(st.dictionaries(keys, values, max_size=40), st.lists(keys, max_size=10), st.booleans())
@settings(max_examples=examples(200))
def test_a_trie_proof_gives_each_value_and_each_absence(stored, others, hashed):
    trie = build_trie(stored, hashed=hashed)
    wanted = {*stored, *others}
    proof = TrieProof(trie.hash, sorted(trie.nodes_for(wanted)), "test")
    assert {key: proof.read(key) for key in wanted} == {key: stored.get(key) for key in wanted}
    if wanted:
        proof.refuse_unused()


@given(st.dictionaries(keys, values, min_size=1, max_size=20), st.data())
@settings(max_examples=examples(100))
def test_a_proof_of_one_key_gives_no_wrong_answer_for_another(stored, data):
    trie = build_trie(stored)
    known, other = data.draw(st.sampled_from(sorted(stored))), data.draw(keys)
    proof = TrieProof(trie.hash, sorted(trie.nodes_for([known])), "test")
    try:
        assert proof.read(other) == stored.get(other)
    except ProofRefused as refused:
        assert "is missing" in refused.reason


@given(st.binary(max_size=200), st.binary(max_size=20))
def test_any_bytes_as_nodes_end_in_an_answer_or_a_refusal(node, key):
    with contextlib.suppress(ProofRefused):
        TrieProof(blake2(node), [node], "test").read(key)


@given(st.binary(max_size=400))
def test_any_bytes_as_a_file_are_refused(data):
    for file in (data, FILE[:10] + data):
        with pytest.raises(ProofRefused):
            decode_proof(file)


def refused(data):
    with pytest.raises(ProofRefused) as error:
        asyncio.run(verify_file(data, GENESIS))
    return error.value


def test_the_unchanged_file_is_accepted():
    asyncio.run(verify_file(FILE, GENESIS))


def test_no_byte_before_the_metadata_can_be_changed():
    """At the long level every byte; at the default level one of each stride, so that each field has some."""
    for place in range(0, BEFORE_METADATA, 1 if IS_LONG else STRIDE):
        changed = bytearray(FILE)
        changed[place] ^= 1 + place % 255
        refused(bytes(changed))


@given(st.integers(0, BEFORE_METADATA - 1) | st.integers(BEFORE_METADATA, len(FILE) - 1), st.integers(1, 255))
@example(BEFORE_METADATA, 1)
@example(len(FILE) - 1, 255)
@settings(max_examples=examples(300))
def test_no_byte_can_be_changed(place, bits):
    changed = bytearray(FILE)
    changed[place] ^= bits
    refused(bytes(changed))


@given(st.integers(0, BEFORE_METADATA), st.integers(0, 200), st.binary(max_size=40))
@settings(max_examples=examples(300))
def test_no_part_can_be_cut_out_or_put_in(start, length, inserted):
    changed = FILE[:start] + inserted + FILE[start + length :]
    if changed != FILE:
        refused(changed)


@given(st.data())
@settings(max_examples=examples(100))
def test_no_signature_can_be_left_out_moved_or_repeated(data):
    proof = decode_proof(FILE)
    which = data.draw(st.integers(0, len(proof.links)))
    votes = proof.votes if which == len(proof.links) else proof.links[which].votes
    count = len(votes.precommits)
    chosen = data.draw(
        st.lists(st.integers(0, count - 1), max_size=6).filter(lambda places: places != list(range(count)))
    )
    other = replace(votes, precommits=tuple(votes.precommits[place] for place in chosen))
    if which == len(proof.links):
        changed = replace(proof, votes=other)
    else:
        links = list(proof.links)
        links[which] = replace(links[which], votes=other)
        changed = replace(proof, links=tuple(links))
    error = refused(changed.encode())
    assert error.where == ("The finality of the block" if which == len(proof.links) else error.where)
    if which < len(proof.links):
        assert error.where.startswith(f"Link {which + 1}")
