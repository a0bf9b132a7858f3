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
    JuryEvent,
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
    world = World()
    for what, choice in steps:
        world.step(what, choice)
        kinds = [type(one) for one in world.pending]
        assert len(kinds) == len(set(kinds)), "nothing is begun twice"


class World:
    """A juror with its disk, a chain with its commitment, and a person who may vote, too."""

    def __init__(self) -> None:
        self.state = JuryState(ME)
        self.disk: dict[JuryKey, StoredVote] = {}
        self.on_chain: StoredVote | None = None
        self.pending: list[object] = []
        self.now = UNTIL - COMMIT_MS

    def step(self, what: str, choice: int) -> None:
        self.now += 500
        if what == "block":
            committed = self.on_chain is not None
            phase = DisputePhase.REVEALING if committed else DisputePhase.COMMITTING
            record = dispute(phase, seat(ME, bytes(32) if committed else None))
            self.take(DisputesSeen({7: record}, dict(self.disk), COMMIT_MS))
        elif what == "restart":
            self.state, self.pending = JuryState(ME), []
        elif what == "person":
            self.disk.setdefault(KEY, StoredVote(list(Vote)[choice % 2], bytes([choice] * 32), "a person"))
        for one in [one for one in self.pending if _belongs(one, what)][:1]:
            self.pending.remove(one)
            self.take(self.outcome(one, choice))

    def take(self, event: JuryEvent) -> None:
        self.state, commands = handle_jury(self.state, event, self.now)
        self.pending += [one for one in commands if not isinstance(one, WarnJuror)]

    def outcome(self, command: object, choice: int) -> JuryEvent:
        if isinstance(command, ExecuteAccused):
            return Judged(KEY, Judgement(list(JudgementKind)[choice], ""))
        if isinstance(command, StoreJuryVote):
            stored = self.disk.setdefault(KEY, StoredVote(command.vote, bytes([10 + choice] * 32), ""))
            return JuryVoteStored(KEY, stored)
        assert isinstance(command, (CommitJuryVote, RevealJuryVote))
        assert command.stored == self.disk[KEY], "a vote is on the disk before it is sent"
        refused = choice == 0
        if isinstance(command, CommitJuryVote) and not refused:
            assert self.on_chain in (None, command.stored)
            self.on_chain = command.stored
        if isinstance(command, RevealJuryVote):
            assert command.stored == self.on_chain
        return JuryCallEnded(command, refused)


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
