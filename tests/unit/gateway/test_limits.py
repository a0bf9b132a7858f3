"""How much a gateway carries, and for whom."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offchain.gateway.limits import LEAST_WINDOW, MOST_WINDOW, Limits, Stream, refusal, window
from offchain.schema.protocol.messages import Code

LIMITS = Limits(streams=6, streams_of_host=3, streams_of_tenant=2)
STREAMS = st.lists(st.builds(Stream, st.sampled_from("abcd"), st.sampled_from("xyz")), max_size=40)


@given(STREAMS)
def test_no_bound_is_ever_passed_and_nobody_is_turned_away_below_all(asked):
    carried = []
    for stream in asked:
        of_host = sum(one.host == stream.host for one in carried)
        of_tenant = sum(one.tenant == stream.tenant for one in carried)
        no = refusal(carried, stream, LIMITS)
        assert (no is None) == (len(carried) < 6 and of_host < 3 and of_tenant < 2)
        if no is None:
            carried.append(stream)
        else:
            assert (no.code, bool(no.message), bool(no.remedy)) == (Code.BUSY, True, True)


@pytest.mark.parametrize(
    ("carried", "says"),
    [
        ([Stream("a", "x")] * 6, "6 streams"),
        ([Stream("b", "x")] * 3, "host x"),
        ([Stream("a", "y")] * 2, "for a"),
    ],
)
def test_the_bound_that_was_met_is_named(carried, says):
    assert says in refusal(carried, Stream("a", "x"), LIMITS).message


def test_what_all_streams_may_hold_together_is_bounded():
    limits = Limits()
    assert window(0, limits) == MOST_WINDOW
    assert window(limits.streams, limits) == LEAST_WINDOW
    assert sum(window(streams, limits) for streams in range(limits.streams)) < 320 << 20
