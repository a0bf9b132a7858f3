"""The state machine under the sessions: what each side may do, and what the other is told."""

from pathlib import Path

import pytest

from offchain.schema.protocol import mux, mux_events, session_states
from offchain.schema.protocol.frames import FrameKind, encode
from offchain.schema.protocol.messages import Answer, Code, Refusal

NO = Refusal(Code.GONE, "No.", "Go.")


class Pair:
    """Both ends of a connection."""

    def __init__(self):
        self.tenant, self.host = mux.Mux(dialler=True), mux.Mux(dialler=False)
        self.swap()

    def swap(self):
        """Everything that was said arrives; what each end was told, the tenant's first."""
        to_host, to_tenant = [], []
        while self.tenant.pending or self.host.pending:
            to_host += self.host.receive(self.tenant.take())
            to_tenant += self.tenant.receive(self.host.take())
        return to_tenant, to_host

    def session(self, *, tenant_window=1000, host_window=1000):
        number = self.tenant.open(b"request", tenant_window)
        self.swap()
        self.host.accept(number, Answer(), host_window)
        self.swap()
        return number


def test_both_sides_say_hello_first():
    tenant, host = mux.Mux(dialler=True), mux.Mux(dialler=False)
    assert host.receive(tenant.take()) == [mux_events.Ready(2)]
    assert tenant.receive(host.take()) == [mux_events.Ready(2)]


def test_the_newest_common_version_is_spoken():
    newer, older = mux.Mux(dialler=True, newest=9), mux.Mux(dialler=False)
    assert newer.receive(older.take()) == [mux_events.Ready(2)]


def test_without_a_common_version_both_are_told_what_to_update():
    new, old = mux.Mux(dialler=True, newest=9, oldest=7), mux.Mux(dialler=False)
    with pytest.raises(mux.RemoteProtocolError, match="7 to 9"):
        old.receive(new.take())
    (gone,) = [event for event in mux.Mux(dialler=True).receive(old.take()) if isinstance(event, mux_events.GoneAway)]
    assert gone.refusal.code is Code.UNSUPPORTED_VERSION
    assert "Update" in gone.refusal.hint


def test_a_question_and_its_answer():
    pair = Pair()
    number = pair.tenant.open(b"request", 100)
    assert pair.swap() == ([], [mux_events.Opened(number, b"request"), mux_events.Granted(number)])
    pair.host.accept(number, Answer(size=2), 50)
    assert pair.swap() == ([mux_events.Accepted(number, Answer(size=2)), mux_events.Granted(number)], [])
    pair.tenant.data(number, mux.MAIN, b"in")
    pair.tenant.end(number)
    pair.host.data(number, mux.OUT, b"out")
    pair.host.end(number)
    assert pair.swap() == (
        [mux_events.Received(number, mux.OUT, b"out"), mux_events.Ended(number)],
        [mux_events.Received(number, mux.MAIN, b"in"), mux_events.Ended(number)],
    )
    assert (pair.tenant.sessions, pair.host.sessions) == (0, 0)


def test_a_refusal_ends_the_session():
    pair = Pair()
    number = pair.tenant.open(b"", 0)
    pair.swap()
    pair.host.refuse(number, NO)
    assert pair.swap() == ([mux_events.Refused(number, NO)], [])
    assert (pair.tenant.sessions, pair.host.sessions) == (0, 0)


@pytest.mark.parametrize("from_tenant", [True, False])
def test_a_reset_ends_the_session_and_what_crosses_it_is_ignored(from_tenant):
    pair = Pair()
    number = pair.session()
    one, other = (pair.tenant, pair.host) if from_tenant else (pair.host, pair.tenant)
    other.data(number, mux.MAIN, b"late")
    one.reset(number, NO)
    to_tenant, to_host = pair.swap()
    assert (to_host if from_tenant else to_tenant) == [mux_events.WasReset(number, NO)]
    assert (to_tenant if from_tenant else to_host) == []


def test_nothing_may_be_sent_without_credit():
    pair = Pair()
    number = pair.session(host_window=11)
    assert pair.tenant.room(number) == 10
    pair.tenant.data(number, mux.MAIN, b"0123456789")
    assert pair.tenant.room(number) == 0
    with pytest.raises(mux.LocalProtocolError):
        pair.tenant.data(number, mux.MAIN, b"x")


def test_credit_comes_back_when_half_the_window_was_used():
    pair = Pair()
    number = pair.session(host_window=10)
    pair.tenant.data(number, mux.MAIN, b"1234")
    pair.swap()
    pair.host.consumed(number, 4)
    assert pair.swap() == ([], [])
    pair.host.consumed(number, 1)
    assert pair.swap() == ([mux_events.Granted(number)], [])
    assert pair.tenant.room(number) == 9


def test_a_slow_session_holds_up_no_other():
    pair = Pair()
    slow, quick = pair.session(host_window=2), pair.session()
    pair.tenant.data(slow, mux.MAIN, b"x")
    pair.tenant.data(quick, mux.MAIN, b"y" * 100)
    assert pair.swap()[1][-1] == mux_events.Received(quick, mux.MAIN, b"y" * 100)


def test_only_the_dialler_opens():
    pair = Pair()
    with pytest.raises(mux.LocalProtocolError):
        pair.host.open(b"", 0)
    with pytest.raises(mux.RemoteProtocolError, match="host may not"):
        pair.tenant.receive(encode(FrameKind.OPEN, 1, b""))


def test_only_the_host_accepts():
    pair = Pair()
    number = pair.tenant.open(b"", 0)
    pair.swap()
    with pytest.raises(mux.LocalProtocolError):
        pair.tenant.accept(number, Answer(), 0)
    with pytest.raises(mux.RemoteProtocolError):
        pair.host.receive(encode(FrameKind.ACCEPT, number, Answer().encode()))


def test_sessions_at_once_are_bounded():
    pair = Pair()
    for _ in range(mux.MAX_SESSIONS):
        pair.tenant.open(b"", 0)
    with pytest.raises(mux.LocalProtocolError):
        pair.tenant.open(b"", 0)
    pair.swap()
    with pytest.raises(mux.RemoteProtocolError, match=str(mux.MAX_SESSIONS)):
        pair.host.receive(encode(FrameKind.OPEN, mux.MAX_SESSIONS + 1, b""))


def test_what_is_said_together_goes_out_together():
    pair = Pair()
    numbers = [pair.session() for _ in range(3)]
    for number in numbers:
        pair.tenant.data(number, mux.MAIN, b"x")
    sent = pair.tenant.take()
    assert pair.tenant.pending == 0
    assert len(pair.host.receive(sent)) == 3


HELLO = mux.Mux(dialler=True).take()


@pytest.mark.parametrize(
    "said",
    [
        b"\xff" * 9,
        encode(FrameKind.OPEN, 1, b""),
        encode(FrameKind.HELLO, 0, b"{}"),
        encode(FrameKind.HELLO, 0, b'{"protocol":"gantry/host","oldest":2}'),
        HELLO + HELLO,
        HELLO + encode(FrameKind.DATA, 1, b"\0x"),
        HELLO + encode(FrameKind.OPEN, 0, b""),
        HELLO + encode(FrameKind.OPEN, 2, b"") + encode(FrameKind.OPEN, 2, b""),
        HELLO + encode(FrameKind.OPEN, 2, b"") + encode(FrameKind.OPEN, 1, b""),
        HELLO + encode(FrameKind.OPEN, 1, b"") + encode(FrameKind.DATA, 1, b"\0x"),
        HELLO + encode(FrameKind.OPEN, 1, b"") + encode(FrameKind.END, 1),
        HELLO + encode(FrameKind.OPEN, 1, b"") + encode(FrameKind.CREDIT, 1, bytes(4)),
        HELLO + encode(FrameKind.OPEN, 1, b"") + encode(FrameKind.CREDIT, 1, b"\1"),
        HELLO + encode(FrameKind.OPEN, 1, b"") + encode(FrameKind.CREDIT, 1, (mux.MAX_WINDOW + 1).to_bytes(4, "big")),
        HELLO + encode(FrameKind.OPEN, 1, b"") + encode(FrameKind.RESET, 1, b"{}"),
        HELLO + encode(FrameKind.GOAWAY, 0, b"?"),
    ],
)
def test_who_breaks_the_protocol_is_told_apart(said):
    with pytest.raises(mux.RemoteProtocolError):
        mux.Mux(dialler=False).receive(said)


@pytest.mark.parametrize("payload", [b"", b"\4x", b"\0" + b"x" * 10])
def test_data_that_was_not_granted_or_has_no_channel_is_refused(payload):
    pair = Pair()
    number = pair.session(host_window=5)
    with pytest.raises(mux.RemoteProtocolError):
        pair.host.receive(encode(FrameKind.DATA, number, payload))


def test_the_documentation_draws_the_table():
    text = (Path(__file__).parents[2] / "docs" / "hosts-access.md").read_text(encoding="utf-8")
    assert session_states.diagram() in text


def test_small_pieces_that_wait_to_be_sent_travel_in_one_frame():
    pair = Pair()
    number, other = pair.session(), pair.session()
    for byte in b"abc":
        pair.tenant.data(number, mux.MAIN, bytes([byte]))
    pair.tenant.data(other, mux.MAIN, b"d")
    pair.tenant.data(number, mux.MAIN, b"e")
    assert pair.swap()[1] == [
        mux_events.Received(number, mux.MAIN, b"abc"),
        mux_events.Received(other, mux.MAIN, b"d"),
        mux_events.Received(number, mux.MAIN, b"e"),
    ]


def test_words_of_the_control_channel_stay_apart():
    pair = Pair()
    number = pair.session()
    pair.tenant.data(number, mux.CONTROL, b"{}")
    pair.tenant.data(number, mux.CONTROL, b"{}")
    assert pair.swap()[1] == [mux_events.Received(number, mux.CONTROL, b"{}")] * 2


def test_what_is_put_together_uses_no_more_credit_than_was_granted():
    pair = Pair()
    number = pair.session(host_window=100)
    sent = 0
    while room := pair.tenant.room(number):
        pair.tenant.data(number, mux.MAIN, b"x" * min(room, 7))
        sent += min(room, 7)
    (received,) = pair.swap()[1]
    assert received == mux_events.Received(number, mux.MAIN, b"x" * sent)
    assert sent == 98  # one byte of credit is for the channel, and one would be for that of another frame
