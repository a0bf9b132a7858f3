"""Invariants of a juror's duties over any order of events, with restarts and a person who votes, too."""

from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.disputes.judgement import Comparison, Judgement, JudgementKind, LeaseComparison, judgement
from offchain.core.disputes.jury_duties import (
    CommitJuryVote,
    DisputesSeen,
    ExecuteAccused,
    Judged,
    JuryCallEnded,
    JuryKey,
    JuryState,
    JuryVoteStored,
    RevealJuryVote,
    StoreJuryVote,
    WarnJuror,
    handle_jury,
)
from offchain.core.verifier.duties import StoredVote
from offchain.schema.chain_types._generated_chain import DisputePhase, Vote
from tests.support.dispute_records import COMMIT_MS, ME, UNTIL, dispute, seat
from tests.support.examples import examples

KEY = JuryKey(7, 0)
STEPS = st.lists(
    st.tuples(st.sampled_from(["block", "judged", "stored", "call", "person", "restart"]), st.integers(0, 3)),
    max_size=60,
)


@settings(max_examples=examples(150))
@given(STEPS)
def test_only_one_vote_is_ever_committed_and_only_the_stored_one_is_revealed(steps: list[tuple[str, int]]) -> None:
    state = JuryState(ME)
    disk: dict[JuryKey, StoredVote] = {}
    on_chain: StoredVote | None = None
    pending: list[object] = []
    now = UNTIL - COMMIT_MS
    for what, choice in steps:
        now += 500
        commands: tuple[object, ...] = ()
        if what == "block":
            committed = on_chain is not None
            phase = DisputePhase.REVEALING if committed else DisputePhase.COMMITTING
            record = dispute(phase, seat(ME, bytes(32) if committed else None))
            state, commands = handle_jury(state, DisputesSeen({7: record}, dict(disk), COMMIT_MS), now)
        elif what == "restart":
            state, pending = JuryState(ME), []
        elif what == "person":
            disk.setdefault(KEY, StoredVote(list(Vote)[choice % 2], bytes([choice] * 32), "a person"))
        for one in [one for one in pending if _belongs(one, what)][:1]:
            pending.remove(one)
            if isinstance(one, ExecuteAccused):
                state, commands = handle_jury(state, Judged(KEY, Judgement(list(JudgementKind)[choice], "")), now)
            elif isinstance(one, StoreJuryVote):
                stored = disk.setdefault(KEY, StoredVote(one.vote, bytes([10 + choice] * 32), ""))
                state, commands = handle_jury(state, JuryVoteStored(KEY, stored), now)
            elif isinstance(one, (CommitJuryVote, RevealJuryVote)):
                assert one.stored == disk[KEY], "a vote is on the disk before it is sent"
                refused = choice == 0
                if isinstance(one, CommitJuryVote) and not refused:
                    assert on_chain in (None, one.stored)
                    on_chain = one.stored
                if isinstance(one, RevealJuryVote):
                    assert one.stored == on_chain
                state, commands = handle_jury(state, JuryCallEnded(one, refused), now)
        pending += [one for one in commands if not isinstance(one, WarnJuror)]
        kinds = [type(one) for one in pending]
        assert len(kinds) == len(set(kinds)), "nothing is begun twice"


def _belongs(command: object, what: str) -> bool:
    kinds = {"judged": ExecuteAccused, "stored": StoreJuryVote, "call": (CommitJuryVote, RevealJuryVote)}
    return what in kinds and isinstance(command, kinds[what])  # type: ignore[arg-type]


@given(st.lists(st.sampled_from(Comparison), max_size=16), st.integers(0, 2))
def test_no_dispute_with_a_right_or_unknown_result_is_upheld(outcomes: list[Comparison], level: int) -> None:
    found = judgement([LeaseComparison(number, one, "") for number, one in enumerate(outcomes)], level)
    if found.vote is Vote.YES:
        assert set(outcomes) == {Comparison.DIFFERENT}
        assert level == 0
    if found.vote is Vote.NO:
        assert Comparison.SAME in outcomes
