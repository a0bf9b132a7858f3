"""Logs of ended pods: their last part is stored within limits; the threaded stream reader; notes between lines."""

import asyncio
import threading
import tracemalloc

import pytest

from node_agent.drivers.docker import logs
from node_agent.drivers.docker.logs import ThreadedStreamReader
from node_agent.logs import pod_notes
from node_agent.logs import store as log_store
from node_agent.logs.pod_notes import InterleavedNotes
from node_agent.logs.store import LogKey, LogStore

KEY = LogKey(7, 1_000)


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(log_store, "MAX_LOG_BYTES", 1_000)
    return LogStore(tmp_path, most_bytes=2_500)


async def pieces(*data):
    for one in data:
        yield one


def text(store, key=KEY, container=None):
    lines = store.lines(key, container)
    return None if lines is None else b"".join(lines)


async def test_a_short_log_is_stored_unchanged_and_once(store):
    await store.save(KEY, 0, 1, pieces(b"one\n", b"two\n"), "a note")
    await store.save(KEY, 0, 1, pieces(b"other\n"))
    assert text(store) == b"one\ntwo\n[a note]\n"
    assert text(store, LogKey(8, 1_000)) is None


@pytest.mark.parametrize("size", [1, 7, 333, 1_000, 5_000])
async def test_of_a_long_log_the_last_whole_lines_are_kept(store, tmp_path, size):
    whole = b"".join(b"line %d\n" % number for number in range(1_000))
    await store.save(KEY, 0, 1, pieces(*(whole[at : at + size] for at in range(0, len(whole), size))), "a note")
    first, *lines = text(store).splitlines(keepends=True)
    assert first == b"[the log was longer; its beginning was not kept]\n"
    assert lines.pop() == b"[a note]\n"
    kept = b"".join(lines)
    assert whole.endswith(kept)
    assert kept.startswith(b"line ")
    assert 980 < len(kept) <= 1_000
    assert [file.name for file in tmp_path.iterdir()] == ["7-1000.0.1.log"]


async def test_when_all_logs_together_are_too_many_the_oldest_go(store):
    keys = [LogKey(number, 1_000) for number in range(4)]
    for key in keys:
        await store.save(key, 0, 1, pieces(bytes([65 + key.lease]) * 900 + b"\n"))
    assert [text(store, key) is None for key in keys] == [True, True, False, False]


async def test_logs_of_several_containers_come_by_time_or_one_by_one(store):
    stamp = b"2026-01-01T00:00:0%d.000000000Z "
    await store.save(KEY, 0, 1, pieces(stamp % 1 + b"a\n", stamp % 3 + b"c\n"))
    await store.save(KEY, 1, 1, pieces(stamp % 2 + b"b\n"))
    assert [line[-2:] for line in store.lines(KEY)] == [b"a\n", b"b\n", b"c\n"]
    assert [line[-2:] for line in store.lines(KEY, 1)] == [b"b\n"]


async def test_a_log_that_breaks_off_leaves_nothing_half_done(store, tmp_path):
    async def broken():
        yield b"one\n"
        raise OSError("away")

    with pytest.raises(OSError, match="away"):
        await store.save(KEY, 0, 1, broken())
    assert list(tmp_path.iterdir()) == []


# --- ThreadedStreamReader ---------------------------------------------------------------------------------------


async def hosed(stream):
    reader = ThreadedStreamReader(stream)
    thread = threading.Thread(target=reader.run)
    thread.start()
    taken = []
    try:
        while piece := await reader.take():
            taken.append(piece)
    finally:
        reader.close()
        await asyncio.to_thread(thread.join)
    return taken


async def test_a_threaded_stream_arrives_once_in_order_in_few_pieces():
    lines = [b"%d\n" % number for number in range(100_000)]
    taken = await hosed(iter(lines))
    assert b"".join(taken) == b"".join(lines)
    assert len(taken) < len(lines) / 10


async def test_an_error_of_a_stream_follows_its_data():
    def stream():
        yield b"one"
        raise OSError("away")

    with pytest.raises(OSError, match="away"):
        await hosed(stream())


async def test_a_fast_stream_waits_for_its_reader_and_ends_when_it_is_closed(monkeypatch):
    monkeypatch.setattr(logs, "MOST_WAITING", 10_000)
    read = 0

    def flood():
        nonlocal read
        while True:
            read += 1
            yield bytes(1_000)

    tracemalloc.start()
    reader = ThreadedStreamReader(flood())
    thread = threading.Thread(target=reader.run)
    thread.start()
    assert len(await reader.take()) <= 10_000
    assert read <= 22
    assert tracemalloc.get_traced_memory()[0] < 1_000_000
    tracemalloc.stop()
    reader.close()
    await asyncio.to_thread(thread.join)


# --- what the agent says ----------------------------------------------------------------------------------------------

AT = b"2026-01-01T00:00:0%d.000Z "


async def test_notes_stand_between_the_lines_by_time_and_the_last_at_the_end():
    notes = InterleavedNotes([AT % 1 + b"[a]\n", AT % 3 + b"[b]\n", AT % 9 + b"[c]\n"])
    lines = [AT % 2 + b"one\n", b"more of it\n", AT % 4 + b"two\n"]
    assert [line.split()[-1] for line in notes.interleave(lines)] == [b"[a]", b"one", b"it", b"[b]", b"two"]
    assert list(notes.remaining()) == [AT % 9 + b"[c]\n"]
    assert not notes


async def test_a_note_comes_also_where_the_program_writes_nothing(monkeypatch):
    monkeypatch.setattr(pod_notes, "QUIET_S", 0)
    ends = asyncio.Event()

    async def quiet():
        yield [AT % 1 + b"one\n"]
        await ends.wait()

    notes, seen = InterleavedNotes([]), []
    async for some in notes.interleave_stream(quiet()):
        seen += some
        if len(seen) == 1:
            notes.add(AT % 2 + b"[a]\n")
        elif len(seen) == 2:
            ends.set()
    assert seen == [AT % 1 + b"one\n", AT % 2 + b"[a]\n"]


async def test_notes_are_bounded(store, monkeypatch):
    monkeypatch.setattr(log_store, "MOST_NOTES_BYTES", 10)
    for text in (b"one\n", b"two\n", b"three\n", b"4\n"):
        store.note(KEY, text)
    assert store.notes(KEY) == [b"one\n", b"two\n", b"4\n"]
    assert store.notes(LogKey(8, 1_000)) == []


async def test_a_kept_line_without_end_is_read_in_parts(store, monkeypatch):
    monkeypatch.setattr(log_store, "MAX_LINE_BYTES", 100)
    await store.save(KEY, 0, 1, pieces(b"x" * 900))
    lines = list(store.lines(KEY))
    assert (b"".join(lines), max(map(len, lines))) == (b"x" * 900, 100)


async def test_the_beginning_of_a_line_that_was_cut_is_left_out_however_long_it_is(store, monkeypatch):
    monkeypatch.setattr(log_store, "_PIECE", 64)
    await store.save(KEY, 0, 1, pieces(b"x" * 900 + b"\n" + b"y" * 600 + b"\n"))
    assert text(store) == b"[the log was longer; its beginning was not kept]\n" + b"y" * 600 + b"\n"


async def test_a_note_is_one_line(store):
    await store.save(KEY, 0, 1, pieces(), "no file\n2026-01-01T00:00:00Z forged\x1b[2J")
    assert text(store) == b"[no file\\n2026-01-01T00:00:00Z forged\\x1b[2J]\n"
