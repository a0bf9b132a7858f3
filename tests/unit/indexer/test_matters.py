"""Rows of challenges, disputes and schedulers. Events are encoded and decoded by the chain's types first."""

import json
from pathlib import Path

import pytest

from offchain.adapters.chain.runtime import ChainRuntime
from offchain.indexer.block_rows import read_block
from offchain.indexer.matter_rows import (
    MATTER_ROWS,
    ChallengeRow,
    CommitteeRow,
    DisputeRow,
    EvidenceRow,
    SchedulerPenaltyRow,
    SchedulerRow,
    StakeRow,
    VoteRow,
)
from offchain.indexer.projection import Projection
from offchain.indexer.rows import MentionRow
from offchain.ports import Block, BlockRef, Inclusion
from offchain.schema.chain_types.ids import lease_id
from tests.support import matter_blocks as made
from tests.support.history_blocks import HOSTS, PROVIDERS, TENANTS

TENANT, HOST, OTHER, PROVIDER = TENANTS[0], HOSTS[0], HOSTS[1], PROVIDERS[0]
LEASE = lease_id(7, 0, 0)
SUBMITTED = (
    "Tasks",
    "Submitted",
    {"first": 7, "count": 1, "tenant": TENANT, "kind": "Job", "manifest_digest": bytes(32)},
)
ASSIGNED = (
    "Tasks",
    "Assigned",
    {"task": 7, "generation": 0, "leases": [(LEASE, HOST, 100, 1000)], "state": "Assigned"},
)


@pytest.fixture(scope="module")
def runtime():
    metadata = Path(__file__).resolve().parents[3] / "chain" / "metadata" / "gantry.scale"
    return ChainRuntime(metadata.read_bytes(), "gantry", 0, 0)


@pytest.fixture
def after(runtime):
    """The rows after these blocks of events; `signer`: of the extrinsic that caused them."""

    def fold(*blocks, signer=None):
        found = Projection()
        for number, events in enumerate(blocks, start=1):
            found.apply(read_block(block_of(runtime, number, events, signer)).indexed)
        return found

    return fold


def block_of(runtime, number, told, signer):
    entry = runtime.entry("System", "Events").value
    records = [
        {"phase": {"ApplyExtrinsic": 0}, "event": {pallet: {name: fields}}, "topics": []}
        for pallet, name, fields in told
    ]
    events = tuple(runtime.decode_events(runtime.encode(entry, records)))
    sent = (Inclusion(0, bytes(32), None, call="Tasks.assign", signer=signer),)
    return Block(BlockRef(number, bytes(32)), bytes(32), number * 1000, events, sent)


def challenge(fold, number=3):
    return fold.state[ChallengeRow][number,]


def dispute(fold):
    return fold.state[DisputeRow][7,]


def hexed(value):
    return f"0x{value.hex()}"


def test_a_challenge_waits_for_its_committee_and_its_answer(after):
    story = made.passed(3, HOST, TENANT)
    opened = challenge(after(story[0]))
    assert (opened.host, opened.opener, opened.fee, opened.state) == (HOST, TENANT, made.FEE, "Waiting")
    assert (opened.until_ms, opened.opened_block, opened.opened_ms) == (None, 1, 1000)
    assert json.loads(opened.claim)["vram_mib"] == made.CLAIM.vram_mib
    asked = challenge(after(*story[:2]))
    assert (asked.state, asked.until_ms, asked.answer_digest) == ("Answering", made.UNTIL, None)
    answered = challenge(after(*story[:3]))
    assert (answered.state, answered.answer_digest, answered.answered_ms) == ("Committing", hexed(made.PROOF), 3000)
    assert challenge(after(*story[:4])).state == "Revealing"


def test_a_challenge_that_is_passed_keeps_its_votes_and_what_they_paid(after):
    fold = after(*made.passed(3, HOST, TENANT))
    found = challenge(fold)
    assert (found.state, found.outcome, found.returned, found.until_ms) == ("Closed", "Passed", made.FEE // 2, None)
    assert (found.changed_block, found.changed_ms) == (5, 5000)
    (committee,) = fold.state[CommitteeRow].values()
    assert (committee.seed, committee.seed_block, committee.seats) == (hexed(made.SEED), 5, 3)
    assert (committee.verdict, committee.closed_ms, committee.confirming) == ("Yes", 5000, 0)
    votes = sorted(fold.state[VoteRow].values(), key=lambda vote: vote.seat)
    assert [vote.account for vote in votes] == made.MEMBERS[:3]
    assert [vote.vote for vote in votes] == ["Yes", "Yes", None]
    assert {vote.commitment for vote in votes} == {hexed(made.COMMITMENT)}
    assert [(vote.rewarded, vote.penalised, vote.reason) for vote in votes] == [
        (made.SHARE, 0, None),
        (made.SHARE, 0, None),
        (0, made.PENALTY, "Absent"),
    ]


def test_a_verdict_against_a_host_is_confirmed_by_others_with_the_same_seed(after):
    story = made.failed(3, HOST, TENANT)
    waiting = after(*story[:5])
    assert (challenge(waiting).state, challenge(waiting).round) == ("Committing", 1)
    fold = after(*story)
    assert (challenge(fold).state, challenge(fold).outcome) == ("Closed", "Failed")
    first, second = fold.state[CommitteeRow].values()
    assert (first.round, first.confirming, first.verdict) == (0, 0, "No")
    assert (second.round, second.confirming, second.verdict) == (1, 1, "No")
    assert first.seed == second.seed
    assert {vote.account for vote in fold.state[VoteRow].values() if vote.round == 1} == set(made.MEMBERS[3:])


def test_a_committee_without_a_verdict_is_followed_by_a_second_one(after):
    matter, votes = {"Challenge": 3}, dict.fromkeys(made.MEMBERS[:3])
    story = [*made.passed(3, HOST, TENANT)[:3], made.voted(matter, votes), made.closed(matter, votes, None)]
    fold = after(*story)
    assert (challenge(fold).state, challenge(fold).until_ms) == ("Waiting", None)
    again = [made.drawn(matter, made.MEMBERS[3:], 1), made.told("AnswerAwaited", challenge=3, until=9)]
    fold = after(*story, again)
    assert (challenge(fold).state, challenge(fold).round, challenge(fold).until_ms) == ("Answering", 1, 9)
    assert [row.verdict for row in fold.state[CommitteeRow].values()] == [None, None]


def test_a_committee_that_cannot_be_drawn_has_no_seats(after):
    none = made.told("CommitteeNotDrawn", matter={"Challenge": 3}, round=0, seed=made.SEED, block=5)
    end = made.closed_challenge(3, HOST, "TooFewVerifiers")
    fold = after(made.opened_challenge(3, HOST, None), [none, end])
    (committee,) = fold.state[CommitteeRow].values()
    assert (committee.seats, challenge(fold).outcome, challenge(fold).opener) == (0, "TooFewVerifiers", None)


def test_a_missed_challenge_pays_its_committee(after):
    paid = [made.told("VerifierRewarded", matter={"Challenge": 3}, who=who, amount=5) for who in made.MEMBERS[:3]]
    end = [*paid, made.closed_challenge(3, HOST, "Missed")]
    fold = after(made.opened_challenge(3, HOST, TENANT), made.drawn_challenge(3), end)
    assert challenge(fold).outcome == "Missed"
    assert [vote.rewarded for vote in fold.state[VoteRow].values()] == [5, 5, 5]


def test_events_about_a_challenge_mention_it(after):
    fold = after(*made.passed(3, HOST, TENANT))
    about = [row.block for row in fold.appended[MentionRow] if row.subject == "challenge:3"]
    assert len(about) == sum(len(part) for part in made.passed(3, HOST, TENANT))
    assert {row.block for row in fold.appended[MentionRow] if row.subject == HOST} == {1, 5}


def test_a_dispute_goes_from_the_hearing_to_its_last_verdict(after):
    story = made.appealed(7, LEASE, TENANT, PROVIDER)
    states = []
    for parts in range(1, len(story) + 1):
        found = dispute(after([SUBMITTED], *story[:parts]))
        states.append((found.state, found.level, found.verdict))
    assert states == [
        ("Hearing", 0, None),
        ("Hearing", 0, None),
        ("Waiting", 0, None),
        ("Committing", 0, None),
        ("Revealing", 0, None),
        ("Decided", 0, "Yes"),
        ("Hearing", 1, "Yes"),
        ("Waiting", 1, "Yes"),
        ("Committing", 1, "Yes"),
        ("Revealing", 1, "Yes"),
        ("Decided", 1, "No"),
        ("Closed", 1, "No"),
    ]
    assert (found.opener, found.tenant, json.loads(found.accused)) == (TENANT, TENANT, [LEASE])
    assert (found.outcome, found.until_ms, found.opened_ms) == ("Rejected", None, 2000)


def test_a_dispute_keeps_its_juries_evidence_and_stakes(after):
    fold = after([SUBMITTED], *made.appealed(7, LEASE, TENANT, PROVIDER))
    assert [(row.round, row.level, row.verdict) for row in fold.state[CommitteeRow].values()] == [
        (0, 0, "Yes"),
        (1, 1, "No"),
    ]
    assert [(row.account, row.digest, row.level) for row in fold.appended[EvidenceRow]] == [
        (TENANT, hexed(made.EVIDENCE), 0),
        (PROVIDER, hexed(made.MORE_EVIDENCE), 0),
    ]
    stakes = {row.account: row for row in fold.state[StakeRow].values()}
    assert (stakes[TENANT].staked, stakes[TENANT].lost, stakes[TENANT].returned) == (made.STAKE, made.STAKE, 0)
    of_provider = stakes[PROVIDER]
    assert (of_provider.staked, of_provider.returned, of_provider.refunded) == (
        2 * made.STAKE,
        2 * made.STAKE,
        made.SHARE,
    )


def test_events_about_unknown_matters_change_nothing(after):
    challenged, disputed = made.passed(3, HOST, TENANT)[1:], made.appealed(7, LEASE, TENANT, PROVIDER)[1:]
    fold = after(*challenged, *disputed)
    assert not any(fold.state.get(row_type) for row_type in MATTER_ROWS)
    assert not fold.appended.get(EvidenceRow)


def test_results_of_replicas_are_no_matter_of_a_committee(after):
    revealed = made.told("ResultCommitted", task=7, lease=LEASE, commitment=made.COMMITMENT)
    fold = after([SUBMITTED], [revealed], [made.told("StepFailed", matter={"Results": 7}, error="CannotLookup")])
    assert not any(fold.state.get(row_type) for row_type in MATTER_ROWS)


def scheduler(fold):
    return fold.state[SchedulerRow][made.SCHEDULER,]


def test_a_scheduler_has_the_bond_that_is_held_of_it(after):
    fold = after(made.bonded())
    found = scheduler(fold)
    assert (found.state, found.bond, found.bonded_ms, found.queues) == ("Bonded", made.BOND, 1000, hexed(made.QUEUES))
    fold = after(made.bonded(), made.punished(LEASE, OTHER, TENANT))
    assert (scheduler(fold).bond, scheduler(fold).lost) == (made.BOND - made.PENALTY, made.PENALTY)
    (penalty,) = fold.appended[SchedulerPenaltyRow]
    assert (penalty.lease, penalty.cheaper, penalty.to_tenant, penalty.to_treasury) == (LEASE, OTHER, made.PENALTY, 0)


def test_a_scheduler_leaves_and_gets_its_bond_back(after):
    leaving = [("Tasks", "SchedulerLeaving", {"who": made.SCHEDULER, "until": 99})]
    fold = after(made.bonded(), leaving)
    assert (scheduler(fold).state, scheduler(fold).until_ms, scheduler(fold).queues) == ("Leaving", 99, None)
    reason = {"Tasks": "SchedulerBond"}
    gone = [
        ("Balances", "Released", {"reason": reason, "who": made.SCHEDULER, "amount": made.BOND}),
        ("Tasks", "SchedulerUnbonded", {"who": made.SCHEDULER}),
    ]
    fold = after(made.bonded(), leaving, gone)
    assert (scheduler(fold).state, scheduler(fold).bond, scheduler(fold).until_ms) == ("Unbonded", 0, None)


def test_leases_are_counted_for_the_scheduler_that_signed_their_assignment(after):
    fold = after(made.bonded(), [SUBMITTED], [ASSIGNED], signer=made.SCHEDULER)
    assert (scheduler(fold).placed, scheduler(fold).placed_ms) == (1, 3000)
    by_tenant = after(made.bonded(), [SUBMITTED], [ASSIGNED], signer=TENANT)
    assert scheduler(by_tenant).placed == 0
    left = [("Tasks", "SchedulerLeaving", {"who": made.SCHEDULER, "until": 99})]
    assert scheduler(after(made.bonded(), left, [SUBMITTED], [ASSIGNED], signer=made.SCHEDULER)).placed == 0


def test_the_bond_of_a_scheduler_of_the_genesis_block_is_not_known(after):
    published = [("Tasks", "QueuesPublished", {"who": made.SCHEDULER, "digest": None})]
    found = scheduler(after(published))
    assert (found.state, found.bond, found.bonded_ms, found.queues) == ("Bonded", None, None, None)


def test_other_coins_on_hold_are_no_bond(after):
    held = ("Balances", "Held", {"reason": {"Billing": "Escrow"}, "who": TENANT, "amount": 5})
    assert not after([held]).state.get(SchedulerRow)
