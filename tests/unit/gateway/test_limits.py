"""How much a gateway carries, and for whom."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offchain.gateway.limits import LEAST_WINDOW, MOST_WINDOW, RelayedStream, RelayLimits, refusal, window
from offchain.schema.protocol.messages import Code

LIMITS = RelayLimits(streams=6, streams_of_host=3, streams_of_tenant=2)
STREAMS = st.lists(st.builds(RelayedStream, st.sampled_from("abcd"), st.sampled_from("xyz")), max_size=40)


@given(STREAMS)
def test_no_limit_is_exceeded_and_no_stream_refused_below_the_limits(asked):
    carried = []
    for stream in asked:
        of_host = sum(one.host == stream.host for one in carried)
        of_tenant = sum(one.tenant == stream.tenant for one in carried)
        no = refusal(carried, stream, LIMITS)
        assert (no is None) == (len(carried) < 6 and of_host < 3 and of_tenant < 2)
        if no is None:
            carried.append(stream)
        else:
            assert (no.code, bool(no.message), bool(no.hint)) == (Code.BUSY, True, True)


@pytest.mark.parametrize(
    ("carried", "says"),
    [
        ([RelayedStream("a", "x")] * 6, "6 streams"),
        ([RelayedStream("b", "x")] * 3, "host x"),
        ([RelayedStream("a", "y")] * 2, "for a"),
    ],
)
def test_the_reached_limit_is_named(carried, says):
    assert says in refusal(carried, RelayedStream("a", "x"), LIMITS).message


def test_the_buffer_of_all_streams_together_is_limited():
    limits = RelayLimits()
    assert window(0, limits) == MOST_WINDOW
    assert window(limits.streams, limits) == LEAST_WINDOW
    assert sum(window(streams, limits) for streams in range(limits.streams)) < 320 << 20
