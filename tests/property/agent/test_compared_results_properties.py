"""When an agent shows tag and result of a compared job: never before the chain asks for it, nor where tags differ."""

from hypothesis import given
from hypothesis import strategies as st

from node_agent.core.replica_results import URGENT_PART, HeldResult, ResultStep, ResultView, next_step
from offchain.schema.chain_types import _generated_chain as gen

RESULT = gen.PodResult(b"\7" * 32, 0, gen.Usage(1_000, 10, 1))
HELD = HeldResult(5, 1_000, RESULT, b"\3" * 32)
OURS = HELD.commitment(bytes(32))
REVEAL_MS, UNTIL_MS = 18_000, 20_000
TAGS = st.none() | st.sampled_from([HELD.tag, b"\1" * 32, b"\2" * 32])
OTHERS = st.builds(
    gen.Replica,
    lease=st.integers(6, 8),
    host=st.just("them"),
    commitment=st.sampled_from([b"\4" * 32, b"\5" * 32]),
    tag=TAGS,
    result=st.none() | st.just(RESULT),
)
MINE = st.builds(
    gen.Replica,
    lease=st.just(5),
    host=st.just("us"),
    commitment=st.sampled_from([OURS, OURS, OURS, b"\6" * 32]),
    tag=st.none() | st.just(HELD.tag),
    result=st.none() | st.just(RESULT),
)
RECORDS = st.builds(
    gen.ResultsRecord,
    phase=st.sampled_from(gen.ResultsPhase),
    until=st.just(UNTIL_MS),
    opened_at=st.just(0),
    wanted=st.integers(1, 3),
    extended=st.booleans(),
    audit=st.sampled_from([gen.AuditStateNotDrawn(), gen.AuditStateRepeated(5), gen.AuditStateSingle()]),
    replicas=st.tuples(MINE) | st.tuples(MINE, OTHERS) | st.tuples(OTHERS, MINE, OTHERS) | st.tuples(OTHERS),
)
VIEWS = st.builds(
    ResultView,
    lease=st.just(5),
    commitment=st.just(OURS),
    best=st.none() | RECORDS,
    final=st.none() | RECORDS,
    is_over=st.booleans(),
    now_ms=st.integers(0, UNTIL_MS + 1_000),
    reveal_ms=st.just(REVEAL_MS),
)


def mine(record: gen.ResultsRecord | None) -> gen.Replica | None:
    return None if record is None else next((one for one in record.replicas if one.lease == 5), None)


@given(VIEWS)
def test_nothing_is_shown_that_the_chain_does_not_ask_for(view: ResultView) -> None:
    step, replica = next_step(view), mine(view.best)
    if step not in (ResultStep.TAG, ResultStep.REVEAL):
        return
    assert view.best is not None
    assert replica is not None
    assert (replica.commitment, replica.result) == (OURS, None)
    assert view.now_ms <= view.best.until
    if step is ResultStep.TAG:
        assert (view.best.phase, replica.tag) == (gen.ResultsPhase.TAGGING, None)
    else:
        assert view.best.phase is gen.ResultsPhase.REVEALING
        tags = [one.tag for one in view.best.replicas if one.tag is not None]
        agree = [tag for tag in tags if tags.count(tag) >= 2 and 2 * tags.count(tag) > len(tags)]
        assert agree or not tags


@given(VIEWS)
def test_before_time_is_short_only_what_is_bound_in_a_final_block_is_shown(view: ResultView) -> None:
    step = next_step(view)
    if step not in (ResultStep.TAG, ResultStep.REVEAL) or view.best is None:
        return
    if URGENT_PART * (view.best.until - view.now_ms) >= view.reveal_ms:
        assert view.final is not None
        assert view.final.phase is view.best.phase
        bound = [[one.commitment for one in record.replicas] for record in (view.final, view.best)]
        assert bound[0] == bound[1]


@given(RECORDS, st.integers(0, UNTIL_MS))
def test_what_the_chain_asks_for_is_shown_as_soon_as_it_is_final(record: gen.ResultsRecord, now_ms: int) -> None:
    replica = mine(record)
    view = ResultView(5, OURS, record, record, is_over=True, now_ms=now_ms, reveal_ms=REVEAL_MS)
    if replica is not None and (replica.commitment, replica.result, replica.tag) == (OURS, None, None):
        shows = {gen.ResultsPhase.TAGGING: ResultStep.TAG}
        if all(one.tag is None for one in record.replicas):
            shows[gen.ResultsPhase.REVEALING] = ResultStep.REVEAL
        if record.phase in shows:
            assert next_step(view) is shows[record.phase]


@given(VIEWS)
def test_a_result_is_forgotten_only_when_its_lease_is_over_and_nothing_is_asked_of_it(view: ResultView) -> None:
    final = mine(view.final)
    is_done = view.is_over and (final is None or final.result is not None)
    assert (next_step(view) is ResultStep.FORGET) == is_done
