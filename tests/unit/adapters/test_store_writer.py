"""Changes of a store in its own thread: the event loop goes on, and nothing is half done."""

import asyncio
import contextlib
import sqlite3
import threading

import pytest

from offchain.adapters.keys.signer import from_uri
from offchain.adapters.outbox import account_intents
from offchain.adapters.outbox.account_intents import AccountIntents
from offchain.adapters.outbox.deletion import MOST_DELETED, EndedBefore, load_old_pages
from offchain.adapters.outbox.intent_values import CallIncluded, IntentState
from offchain.adapters.outbox.outbox import Outbox
from offchain.adapters.outbox.store import Store
from offchain.ports import Block, BlockRef, Call, Inclusion, SignedExtrinsic
from tests.support.fake_chain import FakeChain

ALICE = from_uri("//Alice")
CALL = Call("System", "remark", {"remark": b"1"})


@pytest.fixture(params=["file", "memory"])
def any_store(request, tmp_path):
    with contextlib.closing(Store(tmp_path / "s.db" if request.param == "file" else ":memory:")) as store:
        store.migrate("t", ["CREATE TABLE t (n INTEGER UNIQUE)"])
        yield store


@pytest.fixture
def store(tmp_path):
    with contextlib.closing(Store(tmp_path / "s.db", defers_sync=True)) as store:
        store.migrate("t", ["CREATE TABLE t (n INTEGER UNIQUE)"])
        yield store


def numbers(store):
    return [row["n"] for row in store.all("SELECT n FROM t ORDER BY rowid")]


def insert(store, number):
    return lambda: store.writer.run("INSERT INTO t VALUES (?)", number)


class HangingDisk:
    """Lets each commit of the writer wait until `go` is set. `begun`: set when one waits."""

    def __init__(self):
        self.begun, self.go = threading.Event(), threading.Event()

    def __call__(self, statement):
        if statement == "COMMIT":
            self.begun.set()
            self.go.wait(10)


async def hanging_disk(store):
    disk = HangingDisk()
    await store.write(lambda: None)
    store._thread.submit(store.writer._db.set_trace_callback, disk).result()
    return disk


async def commit_begun(disk):
    assert await asyncio.to_thread(disk.begun.wait, 10)


async def tick(times=100):
    for _ in range(times):
        await asyncio.sleep(0)


async def test_the_event_loop_goes_on_and_reads_while_a_commit_hangs(store):
    await store.write(insert(store, 1))
    disk = await hanging_disk(store)
    write = asyncio.create_task(store.write(insert(store, 2)))
    await commit_begun(disk)
    await tick()
    assert not write.done()
    assert numbers(store) == [1]
    disk.go.set()
    assert await write == 1
    assert numbers(store) == [1, 2]


async def test_a_submit_waits_for_a_locked_database_without_the_event_loop(store):
    outbox = Outbox(FakeChain(), store, ALICE, now_ms=lambda: 0)
    with contextlib.closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        submit = asyncio.create_task(outbox.submit("k", CALL))
        await tick()
        assert not submit.done()
        assert outbox.unfinished == 0
        other.execute("ROLLBACK")
    await submit
    assert outbox.unfinished == 1


async def test_changes_are_made_in_the_order_of_the_calls(any_store):
    made = [any_store.begin_write(insert(any_store, number)) for number in range(100)]
    await asyncio.gather(*made)
    assert numbers(any_store) == list(range(100))


async def test_a_change_that_raises_is_undone_and_raises_in_its_caller(any_store):
    thens = []

    def fail_half_way():
        insert(any_store, 1)()
        raise KeyError("why")

    failing = asyncio.create_task(any_store.write(fail_half_way, thens.append))
    following = asyncio.create_task(any_store.write(insert(any_store, 2), thens.append))
    with pytest.raises(KeyError, match="why"):
        await failing
    await following
    assert numbers(any_store) == [2]
    assert thens == [1]


async def test_a_cancelled_write_ends_when_its_change_is_made(store):
    disk = await hanging_disk(store)
    thens = []
    write = asyncio.create_task(store.write(insert(store, 1), thens.append))
    await commit_begun(disk)
    for _ in range(2):
        write.cancel()
        await tick()
    assert not write.done()
    disk.go.set()
    with pytest.raises(asyncio.CancelledError):
        await write
    assert numbers(store) == [1]
    assert thens == [1]


async def test_closing_waits_for_the_changes_that_were_begun(tmp_path):
    store = Store(tmp_path / "s.db")
    store.migrate("t", ["CREATE TABLE t (n INTEGER UNIQUE)"])
    disk = await hanging_disk(store)
    made = [store.begin_write(insert(store, number)) for number in range(3)]
    threading.Timer(0.05, disk.go.set).start()
    store.close()
    await asyncio.gather(*made)
    with contextlib.closing(Store(tmp_path / "s.db")) as again:
        assert numbers(again) == [0, 1, 2]


async def test_a_cancelled_submit_stores_its_call_whole_and_others_with_it_return(store):
    outbox = Outbox(FakeChain(), store, ALICE, now_ms=lambda: 0)
    disk = await hanging_disk(store)
    submits = [asyncio.create_task(outbox.submit(key, CALL)) for key in "ab"]
    await commit_begun(disk)
    submits[0].cancel()
    await tick()
    assert outbox.unfinished == 0
    disk.go.set()
    await submits[1]
    with pytest.raises(asyncio.CancelledError):
        await submits[0]
    assert outbox.unfinished == 2


async def test_whoever_waits_is_woken_although_the_observer_of_the_block_is_cancelled(store):
    outbox = Outbox(FakeChain(), store, ALICE, now_ms=lambda: 0)
    await outbox.submit("k", CALL)
    extrinsic = SignedExtrinsic(b"x", b"h" * 32, ALICE.address, 0, 0, 64)
    (intent,) = outbox._intents.due(0)
    assert await outbox._intents.write(lambda table: table.record_signed([intent], extrinsic, 0))
    waiting = asyncio.create_task(outbox.wait("k", 10))
    await tick()
    disk = await hanging_disk(store)
    block = Block(BlockRef(1, b"1" * 32), bytes(32), 0, (), (Inclusion(2, extrinsic.hash, None, {}),))
    observing = asyncio.create_task(outbox.observe(block))
    await commit_begun(disk)
    observing.cancel()
    disk.go.set()
    with pytest.raises(asyncio.CancelledError):
        await observing
    assert isinstance(await waiting, CallIncluded)


async def with_ended_calls(store, count):
    """The outbox of an account whose calls have ended at block 1."""
    intents = AccountIntents(store, ALICE.address)

    def end(table):
        table.add({str(number): CALL for number in range(count)}, 0)
        due = table.due(0, count)
        extrinsic = SignedExtrinsic(b"x" * 9_000, b"h" * 32, ALICE.address, 0, 0, 64)
        table.record_signed(due, extrinsic, 0)
        table.record_block([Inclusion(2, extrinsic.hash, None, {})], BlockRef(1, b"1" * 32))

    await intents.write(end)
    return intents


async def test_old_pages_are_found_before_the_deletion(store):
    intents = await with_ended_calls(store, 5)
    assert load_old_pages(store.path, ALICE.address, [EndedBefore(IntentState.DONE, 1)]) == 0
    old = EndedBefore(IntentState.DONE, 2)
    assert load_old_pages(store.path, ALICE.address, [old]) == 5 < MOST_DELETED
    await intents.delete_ended(old)
    assert intents.number_of(IntentState.DONE) == 0
    assert not intents.extrinsic_hashes()


async def test_calls_are_stored_while_the_disk_searches_for_what_is_deleted(store, monkeypatch):
    outbox = Outbox(FakeChain(), store, ALICE, now_ms=lambda: 0)
    await with_ended_calls(store, 3)
    begun, go = threading.Event(), threading.Event()

    def search_slowly(*values):
        begun.set()
        assert go.wait(10)
        return load_old_pages(*values)

    monkeypatch.setattr(account_intents, "load_old_pages", search_slowly)
    outbox.forget_old(100, 10)
    run = asyncio.create_task(outbox.run())
    assert await asyncio.to_thread(begun.wait, 10)
    await outbox.submit("k", CALL)
    assert outbox._intents.number_of(IntentState.DONE) == 3
    go.set()
    async with asyncio.timeout(10):
        while outbox._intents.number_of(IntentState.DONE):  # noqa: ASYNC110  (a thread deletes them)
            await asyncio.sleep(0.001)
    assert outbox.unfinished == 1
    run.cancel()
    await asyncio.wait([run])
