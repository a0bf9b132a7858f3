"""Frames and sessions, whatever the way does to the bytes and whatever a stranger sends."""

import contextlib

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from offchain.schema.protocol.frames import LONGEST, Frame, FrameKind, FrameReader, encode
from offchain.schema.protocol.messages import Answer, Code, Refusal, Request, WireError
from offchain.schema.protocol.mux import MAX_SESSIONS, LocalProtocolError, Mux, RemoteProtocolError
from offchain.schema.protocol.mux_events import Received
from tests.support.examples import examples

NO = Refusal(Code.GONE, "No.", "")
frames = st.lists(
    st.builds(Frame, st.sampled_from(FrameKind), st.integers(0, 2**32 - 1), st.binary(max_size=300)).map(
        lambda frame: Frame(frame.kind, frame.session, frame.payload[: LONGEST[frame.kind]])
    ),
    max_size=8,
)


def pieces_of(data, cuts):
    at, found = 0, []
    for cut in cuts:
        found.append(data[at : at + cut])
        at += cut
    return [*found, data[at:]]


@given(frames, st.lists(st.integers(0, 400), max_size=30))
def test_frames_arrive_whole_however_the_bytes_are_cut(sent, cuts):
    data = b"".join(encode(frame.kind, frame.session, frame.payload) for frame in sent)
    reader = FrameReader()
    assert [frame for piece in pieces_of(data, cuts) for frame in reader.feed(piece)] == sent
    assert reader.held == 0


@given(st.binary(max_size=2000), st.booleans())
def test_garbage_is_refused_and_never_anything_worse(data, dialler):
    end = Mux(dialler=dialler)
    with contextlib.suppress(RemoteProtocolError):
        end.receive(data)
    assert end.sessions <= MAX_SESSIONS


@given(frames, st.booleans())
def test_hostile_frames_are_refused_and_never_anything_worse(sent, dialler):
    end = Mux(dialler=dialler)
    end.receive(Mux(dialler=not dialler).take())
    with contextlib.suppress(RemoteProtocolError):
        for frame in sent:
            end.receive(encode(frame.kind, frame.session, frame.payload))
    assert end.sessions <= MAX_SESSIONS


@given(st.binary(max_size=400))
def test_any_bytes_are_a_request_or_refused(data):
    for decode in (Request.decode, Answer.decode, Refusal.decode):
        with contextlib.suppress(WireError):
            decode(data)


class Sessions(RuleBasedStateMachine):
    """Two honest ends over a way that delays and cuts: neither ever accuses the other, and bytes arrive in order."""

    def __init__(self):
        super().__init__()
        self.ends = {True: Mux(dialler=True), False: Mux(dialler=False)}
        self.on_the_way = {True: b"", False: b""}
        """By who sent it."""
        self.sent, self.got, self.asked, self.accepted = {}, {}, [], set()
        self.unused = {True: {}, False: {}}

    @rule(window=st.integers(0, 300))
    def open(self, window):
        if self.ends[True].sessions < MAX_SESSIONS:
            self.ends[True].open(b"request", window)

    @precondition(lambda self: self.asked)
    @rule(window=st.integers(0, 300), yes=st.booleans())
    def answer(self, window, yes):
        number = self.asked.pop(0)
        if not self.ends[False].is_open(number):
            return
        if yes:
            self.ends[False].accept(number, Answer(), window)
            self.accepted.add(number)
        else:
            self.ends[False].refuse(number, NO)

    def _mine(self, data, dialler):
        open_ = sorted(n for n in self.accepted if self.ends[dialler].is_open(n))
        return data.draw(st.sampled_from(open_)) if open_ else None

    @rule(data=st.data(), dialler=st.booleans(), content=st.binary(min_size=1, max_size=200), channel=st.integers(0, 3))
    def say(self, data, dialler, content, channel):
        number = self._mine(data, dialler)
        content = content[: self.ends[dialler].room(number) if number else 0]
        if content:
            try:
                self.ends[dialler].data(number, channel, content)
            except LocalProtocolError:  # it has ended; nothing was sent
                return
            self.sent.setdefault((dialler, number), bytearray()).extend(content)

    @rule(data=st.data(), dialler=st.booleans(), drop=st.booleans())
    def finish(self, data, dialler, drop):
        number = self._mine(data, dialler)
        if number is None:
            return
        if drop:
            self.ends[dialler].reset(number, NO)
        else:
            with contextlib.suppress(LocalProtocolError):  # it had ended
                self.ends[dialler].end(number)

    @rule(data=st.data(), dialler=st.booleans())
    def read(self, data, dialler):
        unused = self.unused[dialler]
        if unused:
            number = data.draw(st.sampled_from(sorted(unused)))
            self.ends[dialler].consumed(number, unused.pop(number))

    @rule(dialler=st.booleans(), limit=st.integers(1, 500), size=st.integers(1, 600))
    def travel(self, dialler, limit, size):
        self.on_the_way[dialler] += self.ends[dialler].take(limit)
        arriving, self.on_the_way[dialler] = self.on_the_way[dialler][:size], self.on_the_way[dialler][size:]
        for event in self.ends[not dialler].receive(arriving):
            if isinstance(event, Received):
                self.got.setdefault((dialler, event.session), bytearray()).extend(event.data)
                unused = self.unused[not dialler]
                unused[event.session] = unused.get(event.session, 0) + len(event.data) + 1
            elif type(event).__name__ == "Opened":
                self.asked.append(event.session)

    @invariant()
    def what_arrived_is_what_was_sent(self):
        for key, got in self.got.items():
            assert self.sent[key][: len(got)] == got


Sessions.TestCase.settings = settings(max_examples=examples(60), stateful_step_count=60, deadline=None)
TestSessions = Sessions.TestCase
