"""Votes that finalise a header, and those that do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from offchain.core.proofs.grandpa import FinalityVotes, VoterSet, check_finality, decode_justification
from offchain.core.proofs.header import decode_authorities, decode_header, scheduled_change
from offchain.errors import ProofRefused
from tests.support.proof_samples import (
    ROUND,
    VALIDATORS,
    authorities_of,
    change_log,
    make_header,
    precommit,
    public,
    votes_for,
)
from tests.support.trie_builder import blake2, scale_length

SET = 5
VOTERS = VoterSet(SET, decode_authorities(authorities_of(VALIDATORS[:4]), "test"))
HEADER = make_header(10, blake2(b"9"), blake2(b"state"))
CHILD = make_header(11, HEADER.hash, blake2(b"later"))
GRANDCHILD = make_header(12, CHILD.hash, blake2(b"later still"))
FORK = make_header(11, blake2(b"another parent"), blake2(b"later"))


def votes(*precommits, ancestry=(), round_=ROUND):
    ordered = tuple(sorted(precommits, key=lambda vote: vote.voter))
    return FinalityVotes(round_, ordered, tuple(sorted(ancestry, key=lambda header: header.hash)))


def refusal(found, voters=VOTERS, header=HEADER):
    with pytest.raises(ProofRefused) as refused:
        check_finality(header, found, voters, "Link 1")
    assert refused.value.where == "Link 1"
    return refused.value.reason


def signed(*numbers, header=HEADER, set_id=SET):
    return [precommit(VALIDATORS[number], header, set_id) for number in numbers]


def test_more_than_two_thirds_of_the_weight_finalise_a_header():
    check_finality(HEADER, votes(*signed(0, 1, 2)), VOTERS, "")
    check_finality(HEADER, votes(*signed(0, 1, 2, 3)), VOTERS, "")
    assert "have the weight 2, and set 5 needs 3" in refusal(votes(*signed(0, 1)))
    assert "have the weight 0" in refusal(votes())


@pytest.mark.parametrize(("count", "threshold"), [(1, 1), (2, 2), (3, 3), (4, 3), (6, 5), (7, 5), (10, 7), (100, 67)])
def test_the_threshold_is_that_of_grandpa(count, threshold):
    assert VoterSet(0, tuple((bytes([number]) * 32, 1) for number in range(count))).threshold == threshold


def test_weights_count_and_not_heads():
    heavy = VoterSet(SET, tuple((public(key), weight) for key, weight in zip(VALIDATORS[:3], (1, 1, 8), strict=True)))
    check_finality(HEADER, votes(*signed(2)), heavy, "")
    assert "have the weight 2, and set 5 needs 7" in refusal(votes(*signed(0, 1)), heavy)


def test_a_set_without_weight_finalises_nothing():
    assert "no weight" in refusal(votes(), VoterSet(SET, ()))
    assert "no weight" in refusal(votes(*signed(0)), VoterSet(SET, ((public(VALIDATORS[0]), 0),)))
    assert "too much" in refusal(votes(*signed(0)), VoterSet(SET, tuple((public(key), 1 << 63) for key in VALIDATORS)))


def test_a_vote_for_a_descendant_supports_the_header():
    later = [*signed(0, 1), *signed(2, header=GRANDCHILD)]
    check_finality(HEADER, votes(*later, ancestry=[CHILD, GRANDCHILD]), VOTERS, "")
    assert "for no descendant" in refusal(votes(*later, ancestry=[GRANDCHILD]))
    assert "for no descendant" in refusal(votes(*later, ancestry=[CHILD]))


def test_a_vote_for_an_ancestor_or_a_fork_supports_nothing():
    assert "for no descendant" in refusal(votes(*signed(0, 1), *signed(2, header=FORK), ancestry=[FORK]))
    older = make_header(9, blake2(b"8"), blake2(b"state"))
    assert "for no descendant" in refusal(votes(*signed(0, 1), *signed(2, header=older), ancestry=[older]))


def test_a_vote_with_another_number_than_its_block_supports_nothing():
    odd = [replace(vote, target_number=11) for vote in signed(0, 1, 2)]
    assert "for no descendant" in refusal(votes(*odd))


def test_headers_that_no_vote_needs_are_refused():
    assert "no vote needs" in refusal(votes(*signed(0, 1, 2), ancestry=[CHILD]))


def test_a_voter_counts_once():
    one = signed(0)[0]
    assert "twice" in refusal(votes(one, one, one))
    other = signed(0, header=CHILD)[0]
    assert "twice" in refusal(votes(*signed(0, 1), other, ancestry=[CHILD]))


def test_votes_and_headers_have_one_order():
    right = votes(*signed(0, 1, 2))
    assert "not in its order" in refusal(replace(right, precommits=right.precommits[::-1]))
    later = votes(*signed(0, 1, 2, header=GRANDCHILD), ancestry=[CHILD, GRANDCHILD])
    check_finality(HEADER, later, VOTERS, "")
    assert "not in its order" in refusal(replace(later, ancestry=later.ancestry[::-1]))


def test_signatures_of_other_sets_rounds_keys_and_blocks_are_refused():
    assert "is not an authority of set 5" in refusal(votes(*signed(0, 1, 4)))
    assert "is wrong" in refusal(votes(*signed(0, 1), *signed(2, set_id=SET - 1)))
    assert "is wrong" in refusal(votes(*signed(0, 1, 2), round_=ROUND + 1))
    stolen = replace(signed(2)[0], signature=signed(1)[0].signature)
    assert "is wrong" in refusal(votes(*signed(0, 1), stolen))
    moved = replace(signed(2, header=CHILD)[0], target_hash=HEADER.hash, target_number=HEADER.number)
    assert "is wrong" in refusal(votes(*signed(0, 1), moved))


def justification(precommits, ancestry=(), target=HEADER):
    """The bytes that a node stores."""
    parts = [ROUND.to_bytes(8, "little"), target.hash, target.number.to_bytes(4, "little")]
    parts.append(scale_length(len(precommits)))
    for vote in precommits:
        parts += [vote.target_hash, vote.target_number.to_bytes(4, "little"), vote.signature, vote.voter]
    parts += [scale_length(len(ancestry)), *(header.raw for header in ancestry)]
    return b"".join(parts)


def quorum(raw, header=HEADER):
    return decode_justification(raw, "test").quorum(header, VOTERS, "test")


def test_the_fewest_votes_are_taken_from_a_justification():
    found = quorum(justification(signed(3, 2, 1, 0)))
    assert len(found.precommits) == VOTERS.threshold
    assert found.ancestry == ()
    for left_out in range(3):
        fewer = found.precommits[:left_out] + found.precommits[left_out + 1 :]
        assert "have the weight 2" in refusal(replace(found, precommits=fewer))


def test_votes_for_the_header_itself_are_preferred():
    found = quorum(justification([*signed(3, header=GRANDCHILD), *signed(0, 1, 2)], [GRANDCHILD, CHILD]))
    assert found.ancestry == ()
    found = quorum(justification([*signed(3, header=GRANDCHILD), *signed(0, 1)], [GRANDCHILD, CHILD]))
    assert {header.number for header in found.ancestry} == {11, 12}


def test_votes_that_do_not_count_are_left_out_of_a_quorum():
    bad = replace(signed(0)[0], signature=bytes(64))
    equivocation = signed(1, header=CHILD)
    found = quorum(justification([bad, *signed(4), *equivocation, *signed(1, 2, 3)], [CHILD]))
    assert {vote.voter for vote in found.precommits} == {public(VALIDATORS[number]) for number in (1, 2, 3)}
    with pytest.raises(ProofRefused, match="have the weight 2"):
        quorum(justification([bad, *signed(1, 2)]))


def test_a_justification_is_for_one_header():
    with pytest.raises(ProofRefused, match="but for block 10"):
        quorum(justification(signed(0, 1, 2)), CHILD)


def test_bytes_after_a_justification_are_refused():
    with pytest.raises(ProofRefused, match="follow its end"):
        quorum(justification(signed(0, 1, 2)) + b"\0")
    with pytest.raises(ProofRefused, match="too early"):
        quorum(justification(signed(0, 1, 2))[:-1])


def change(*logs):
    return scheduled_change(make_header(10, bytes(32), bytes(32), logs), "test")


def test_the_next_authorities_are_in_the_digest():
    assert change() is None
    assert change(change_log(VALIDATORS[2:4])) == tuple((public(key), 1) for key in VALIDATORS[2:4])
    of_another_engine = b"\x04BEEF" + change_log(VALIDATORS[:1])[5:]
    assert change(of_another_engine) is None
    assert change(b"\x04FRNK" + scale_length(9) + b"\x03" + bytes(8)) is None  # OnDisabled
    assert change(b"\x08", b"\x00" + scale_length(2) + b"xx") is None


@pytest.mark.parametrize(
    ("logs", "reason"),
    [
        ([change_log(VALIDATORS[:1]), change_log(VALIDATORS[:2])], "second or a delayed"),
        ([change_log(VALIDATORS[:1], delay=1)], "second or a delayed"),
        ([change_log(VALIDATORS[:1], kind=2)], "forces a change"),
    ],
)
def test_changes_that_cannot_be_followed_are_refused(logs, reason):
    with pytest.raises(ProofRefused, match=reason):
        change(*logs)


def test_votes_of_a_set_are_made_by_the_helper_of_the_tests():
    check_finality(HEADER, votes_for(HEADER, VALIDATORS[:3], SET), VOTERS, "")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "too early"),
        (bytes(32) + b"\x07" + bytes(4), "larger than 32 bits"),
        (bytes(32) + b"\x01\x00" + bytes(64), "shortest form"),
        (HEADER.raw + b"\0", "follow its end"),
        (bytes(32) + b"\x04" + bytes(64) + b"\x05\x01", "at most 64"),
        (bytes(32) + b"\x04" + bytes(64) + b"\x04\x07", "unknown kind 7"),
    ],
)
def test_malformed_headers_are_refused(raw, reason):
    with pytest.raises(ProofRefused, match=reason):
        decode_header(raw, "test")
