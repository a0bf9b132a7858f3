import asyncio
import os
import threading

import pytest
from sqlalchemy import text

from offchain.adapters.keys.signer import from_uri
from offchain.adapters.outbox import checkpoints, intents, tables
from offchain.adapters.outbox.outbox import Outbox
from offchain.adapters.outbox.store import Store
from offchain.errors import StoreCorrupt, StoreStuck
from offchain.indexer.engines import SqliteDatabase
from offchain.ports import BlockRef, Call, Inclusion
from tests.support.fake_chain import FakeChain

STEPS = ["CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1)", "ALTER TABLE t ADD COLUMN m INTEGER DEFAULT 5"]


def test_migrations_run_once_each(tmp_path):
    path = tmp_path / "new" / "store.db"
    for steps in (STEPS[:1], STEPS, STEPS):
        store = Store(path)
        store.migrate("t", steps)
        store.close()
    store = Store(path)
    assert [tuple(row) for row in store.all("SELECT n, m FROM t")] == [(1, 5)]
    assert store.one("PRAGMA journal_mode")[0] == "wal"
    assert store.one("PRAGMA synchronous")[0] == 2
    store.close()


@pytest.mark.parametrize(
    ("database", "execute"),
    [
        (Store, lambda store, statement: store._db.execute(statement)),
        (SqliteDatabase, lambda db, statement: db.execute(text(statement))),
    ],
)
def test_only_the_owner_reads_the_files_of_a_database(tmp_path, database, execute):
    path = tmp_path / "s.db"
    opened = database(path)
    opened.close()
    path.chmod(0o644)
    opened = database(path)
    execute(opened, "CREATE TABLE t (n INTEGER)")
    files = sorted(tmp_path.iterdir())
    assert {file.name for file in files} == {"s.db", "s.db-shm", "s.db-wal"}
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    opened.close()


def test_the_log_is_copied_into_the_file_in_a_thread_and_begins_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "CHANGED_ROWS", 100)
    path = tmp_path / "s.db"
    store = Store(path)
    store.migrate("t", ["CREATE TABLE t (n INTEGER, text TEXT)"])
    version, sizes = store.version, []
    for number in range(40):
        store.run_many("INSERT INTO t VALUES (?, ?)", [(number, "x" * 1_000)] * 100)
        store._checkpoints.wait()
        sizes.append(path.with_name("s.db-wal").stat().st_size)
    assert path.stat().st_size > 2_000_000
    assert max(sizes) < 1_000_000, "the log would have 4 MB without checkpoints"
    assert store.version == version, "nobody else has changed the file"
    for number in range(100):
        store.run("INSERT INTO t VALUES (?, '')", number)
    store._checkpoints.wait()
    store.close()
    assert not path.with_name("s.db-wal").exists()


def test_commits_during_a_checkpoint_are_copied_too(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "CHANGED_ROWS", 1_000)
    store = Store(tmp_path / "s.db")
    store.migrate("t", ["CREATE TABLE t (n INTEGER, text TEXT)"])
    during = 0
    for number in range(400):
        store.run_many("INSERT INTO t VALUES (?, ?)", [(number, "x" * 1_000)] * 10)
        during += store._checkpoints._thread is not None and store._checkpoints._thread.is_alive()
    store._checkpoints.wait()
    store.run("INSERT INTO t VALUES (400, '')")
    _, pages_in_log, _ = store.one("PRAGMA wal_checkpoint(PASSIVE)")
    assert during, "no commit was made during a checkpoint"
    assert pages_in_log < 100, "the log of 4 MB has not begun anew"
    store.close()


async def until(reached):
    async with asyncio.timeout(10):
        while not reached():  # noqa: ASYNC110  (a thread reaches it)
            await asyncio.sleep(0.001)


class SlowDisk:
    """`os.fsync` that lets each call wait until `go` is set. `begun`: set when a call waits."""

    def __init__(self, monkeypatch):
        self.calls, self.begun, self.go, self._sync = 0, threading.Event(), threading.Event(), os.fsync
        monkeypatch.setattr(checkpoints.os, "fsync", self)

    def __call__(self, descriptor):
        self.calls += 1
        self.begun.set()
        assert self.go.wait(10)
        self._sync(descriptor)


async def test_a_flush_waits_for_the_disk_in_a_thread_and_those_who_wait_share_it(tmp_path, monkeypatch):
    store = Store(tmp_path / "s.db", defers_sync=True)
    assert store.one("PRAGMA synchronous")[0] == 1
    store.migrate("t", STEPS)
    await store.flush()
    disk = SlowDisk(monkeypatch)
    await store.flush()
    assert disk.calls == 0, "nothing was committed since the last flush"
    store.run("INSERT INTO t VALUES (2, 2)")
    first = asyncio.create_task(store.flush())
    await asyncio.to_thread(disk.begun.wait, 10)
    store.run("INSERT INTO t VALUES (3, 3)")
    others = [asyncio.create_task(store.flush()) for _ in range(5)]
    await asyncio.sleep(0)
    assert not first.done()
    disk.go.set()
    await asyncio.gather(first, *others)
    assert disk.calls == 2
    store.close()


async def test_a_flush_reports_a_disk_that_fails(tmp_path, monkeypatch):
    store = Store(tmp_path / "s.db", defers_sync=True)
    store.migrate("t", STEPS)

    def fail(_descriptor):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(checkpoints.os, "fsync", fail)
    with pytest.raises(StoreStuck, match="Input/output error"):
        await store.flush()
    monkeypatch.undo()
    await store.flush()
    store.close()


async def test_nothing_is_sent_before_it_is_on_the_disk(tmp_path, monkeypatch):
    store = Store(tmp_path / "s.db", defers_sync=True)
    chain = FakeChain()
    outbox = Outbox(chain, store, from_uri("//Alice"), now_ms=lambda: 0)
    disk = SlowDisk(monkeypatch)
    run = asyncio.create_task(outbox.run())
    submit = asyncio.create_task(outbox.submit("k", Call("System", "remark", {"remark": b"1"})))
    await asyncio.to_thread(disk.begun.wait, 10)
    await until(lambda: outbox._intents.state("k") is intents.IntentState.SENT)
    assert not submit.done()
    assert not chain._pool
    disk.go.set()
    await submit
    # Flushes end in their order: the outbox's own began before this one.
    await store.flush()
    await until(lambda: chain._pool)
    run.cancel()
    await asyncio.wait([run])
    store.close()


def test_a_checkpoint_that_fails_costs_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "CHANGED_ROWS", 1)
    store = Store(tmp_path / "s.db")
    store._checkpoints = checkpoints.BackgroundCheckpoints(str(tmp_path / "none" / "s.db"))
    store.migrate("t", STEPS)
    store._checkpoints.wait()
    assert store.one("SELECT n FROM t")["n"] == 1
    store.close()


def test_a_failing_step_leaves_nothing_behind(tmp_path):
    store = Store(tmp_path / "s.db")
    with pytest.raises(Exception, match="syntax"):
        store.migrate("t", ["CREATE TABLE t (n INTEGER); NONSENSE"])
    assert store.one("SELECT 1 FROM sqlite_master WHERE name = 't'") is None
    store.migrate("t", STEPS)
    store.close()


def test_a_database_of_a_newer_release_is_refused(tmp_path):
    store = Store(tmp_path / "s.db")
    store.migrate("t", STEPS)
    with pytest.raises(StoreCorrupt, match="newer release"):
        store.migrate("t", STEPS[:1])
    store.close()


def test_files_that_are_no_databases_are_refused(tmp_path):
    path = tmp_path / "s.db"
    path.write_bytes(b"no database at all, but long enough to be looked at" * 50)
    with pytest.raises(StoreCorrupt, match="cannot be used"):
        Store(path)
    with pytest.raises(StoreCorrupt):
        Store(tmp_path)


def test_transactions_nest_and_roll_back():
    store = Store(":memory:")
    store.migrate("t", STEPS)

    def fail_half_way():
        with store.transaction():
            store.run("INSERT INTO t VALUES (2, 2)")
            with store.transaction():
                store.run("INSERT INTO t VALUES (3, 3)")
            raise KeyError

    with pytest.raises(KeyError):
        fail_half_way()
    assert len(store.all("SELECT * FROM t")) == 1
    with store.transaction():
        assert store.run("UPDATE t SET n = 9") == 1
    assert store.one("SELECT n FROM t")["n"] == 9


def test_an_outbox_of_the_last_release_continues_with_its_pending_extrinsics(tmp_path):
    store = Store(tmp_path / "s.db")
    store.migrate("outbox", tables.TABLES[:1])
    store.run(
        "INSERT INTO intents (account, key, call, state, attempts, created_ms) VALUES ('a', 'k', ?, 'sent', 1, 0)",
        intents.pack_call(Call("Tasks", "settle", {"task": 1})),
    )
    store.run("INSERT INTO extrinsics VALUES (x'01', 1, x'02', 3, 4, 5, 6, 1, 0, 1)")
    store.migrate("outbox", tables.TABLES)
    table = intents.IntentTable(store, "a")
    (submission,) = table.submissions()
    assert table.intents_of(submission) == [intents.SubmittedIntent(1, "k", 1)]
    extrinsic = submission.extrinsic
    assert (extrinsic.nonce, extrinsic.born, extrinsic.valid_until, submission.is_confirmed) == (3, 4, 5, True)
    store.close()


def test_extrinsics_of_the_last_release_keep_their_calls(tmp_path):
    store = Store(tmp_path / "s.db")
    store.migrate("outbox", tables.TABLES[:-1])
    add = "INSERT INTO intents (account, key, call, state, created_ms) VALUES ('a', ?, ?, ?, 0)"
    for key, state in (("done", "done"), ("sent", "sent"), ("sent too", "sent")):
        store.run(add, key, intents.pack_call(Call("Tasks", "settle", {"task": 1})), state)
    flight = "INSERT INTO flights (hash, account, data, nonce, born, valid_until, sent_at, alive) VALUES "
    store.run(flight + "(x'09', 'a', x'00', 3, 4, 5, 6, 0), (x'01', 'a', x'02', 7, 4, 5, 6, 1)")
    store.run("INSERT INTO carried VALUES (x'01', 3, 0), (x'01', 2, 1), (x'09', 1, 0)")
    store.migrate("outbox", tables.TABLES)
    table = intents.IntentTable(store, "a")
    (pending,) = table.submissions()
    assert (pending.extrinsic.hash, pending.extrinsic.nonce) == (b"\1", 7)
    assert [one.key for one in table.intents_of(pending)] == ["sent too", "sent"]
    assert table.extrinsic_hashes() == {b"\1", b"\t"}
    table.forget("done")
    assert table.extrinsic_hashes() == {b"\1"}
    assert table.record_included([Inclusion(2, b"\1", None, {})], BlockRef(5, b"5")) == ["sent too", "sent"]
    assert not table.submissions()
    store.close()
