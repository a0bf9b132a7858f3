"""Output stored for a lost connection: it is read again in order, for all sizes of its pieces."""

from hypothesis import given
from hypothesis import strategies as st

from node_agent.handlers.programs import OutputReplay

PIECES = st.lists(st.tuples(st.sampled_from([0, 1, 2]), st.binary(min_size=1, max_size=40)), max_size=60)


def read_all(replay, place):
    found = []
    while (piece := replay.after(place)) is not None:
        found.append(piece)
        place += len(piece[1])
    return found


def flat(pieces):
    """Each byte with its channel."""
    return [(channel, byte) for channel, data in pieces for byte in data]


@given(PIECES, st.data())
def test_every_byte_comes_once_in_order_and_on_its_channel(pieces, data):
    replay = OutputReplay(keep=1 << 20)
    for channel, content in pieces:
        replay.add(channel, content)
    place = data.draw(st.integers(0, replay.end))
    assert flat(read_all(replay, place)) == flat(pieces)[place:]


@given(PIECES, st.integers(0, 200))
def test_what_is_needed_is_kept_and_what_is_older_is_forgotten(pieces, keep):
    replay, sent = OutputReplay(keep=keep), 0
    for channel, content in pieces:
        replay.add(channel, content)
        sent += len(content)
        replay.forget_before(sent)
        assert max(0, sent - keep) >= replay.start or replay.start <= sent - keep
        assert flat(read_all(replay, replay.start)) == flat(pieces)[replay.start : sent]
    for place in (replay.start - 1, replay.end + 1):
        try:
            replay.after(place)
        except LookupError:
            continue
        raise AssertionError(place)


def test_a_piece_is_found_without_looking_at_those_before_it():
    """Pieces of alternating channels cannot be put together: half a million of them are read in one pass."""
    replay = OutputReplay(keep=1 << 30)
    count = 100_000
    for number in range(count):
        replay.add(number % 2, b"x")
    looked = Counting(replay._starts)
    replay._starts = looked
    for place in range(0, count, 1000):
        assert replay.after(place) == (place % 2, b"x")
    assert looked.reads < 100 * 30


class Counting(list):
    reads = 0

    def __getitem__(self, index):
        self.reads += 1
        return super().__getitem__(index)
