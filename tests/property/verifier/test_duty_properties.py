"""Invariants of a verifier's duties over any order of events, with restarts."""

from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.verifier.duties import (
    CallEnded,
    ChallengesSeen,
    CommitVote,
    DutyKey,
    Examine,
    Examined,
    Finding,
    FindingKind,
    RevealVote,
    StoredVote,
    StoreVote,
    VerifierState,
    VoteStored,
    handle,
    vote_commitment,
)
from offchain.schema.chain_types._generated_chain import ChallengePhase, MatterChallenge, Vote
from tests.support.challenge_records import ANSWERED_AT, COMMIT_MS, ME, challenge, seat
from tests.support.examples import examples

KEY = DutyKey(7, 0)
STEPS = st.lists(st.tuples(st.sampled_from(["block", "finding", "stored", "call", "restart"]), st.integers(0, 3)))


@settings(max_examples=examples(150))
@given(STEPS)
def test_only_one_vote_is_ever_committed_and_only_the_stored_one_is_revealed(steps: list[tuple[str, int]]) -> None:
    state = VerifierState(ME)
    disk: dict[DutyKey, StoredVote] = {}
    on_chain: StoredVote | None = None
    pending: list[object] = []
    now = ANSWERED_AT
    for what, choice in steps:
        now += 1_000
        commands: tuple[object, ...] = ()
        if what == "block":
            committed = on_chain is not None
            phase = ChallengePhase.REVEALING if committed else ChallengePhase.COMMITTING
            record = challenge(phase, seat(ME, bytes(32) if committed else None))
            state, commands = handle(state, ChallengesSeen({7: record}, COMMIT_MS), now)
        elif what == "restart":
            state, pending = VerifierState(ME, dict(disk)), []
        for one in [one for one in pending if _belongs(one, what)][:1]:
            pending.remove(one)
            if isinstance(one, Examine):
                kind = list(FindingKind)[choice]
                state, commands = handle(state, Examined(KEY, Finding(kind, "")), now)
            elif isinstance(one, StoreVote):
                stored = disk.setdefault(KEY, StoredVote(one.vote, bytes([choice] * 32), ""))
                state, commands = handle(state, VoteStored(KEY, stored), now)
            elif isinstance(one, (CommitVote, RevealVote)):
                assert one.stored == disk[KEY], "a vote is on the disk before it is sent"
                refused = choice == 0
                if isinstance(one, CommitVote) and not refused:
                    assert on_chain in (None, one.stored)
                    on_chain = one.stored
                if isinstance(one, RevealVote):
                    assert one.stored == on_chain
                state, commands = handle(state, CallEnded(one, refused), now)
        pending += commands
        kinds = [type(one) for one in pending]
        assert len(kinds) == len(set(kinds)), "nothing is begun twice"


def _belongs(command: object, what: str) -> bool:
    kinds = {"finding": Examine, "stored": StoreVote, "call": (CommitVote, RevealVote)}
    return what in kinds and isinstance(command, kinds[what])  # type: ignore[arg-type]


@given(st.integers(0, 2**32), st.integers(0, 255), st.binary(min_size=32, max_size=32))
def test_a_commitment_binds_vote_round_matter_and_voter(number: int, ballot_round: int, salt: bytes) -> None:
    matter = MatterChallenge(number)
    voter = bytes([1] * 32)
    found = {
        vote_commitment(matter, ballot_round, Vote.YES, salt, voter),
        vote_commitment(matter, ballot_round, Vote.NO, salt, voter),
        vote_commitment(MatterChallenge(number + 1), ballot_round, Vote.YES, salt, voter),
        vote_commitment(matter, (ballot_round + 1) % 256, Vote.YES, salt, voter),
        vote_commitment(matter, ballot_round, Vote.YES, salt, bytes(32)),
    }
    assert len(found) == 5
