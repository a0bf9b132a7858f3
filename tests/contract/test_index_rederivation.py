"""Derived tables of an older version answer until those of this version are complete, and are replaced at once."""

import asyncio
import contextlib
import subprocess
import sys
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from offchain.devnet.paths import ROOT
from offchain.errors import StoreStuck
from offchain.indexer import queries
from offchain.indexer.database import IndexFault
from offchain.indexer.engines import open_index
from offchain.indexer.rows import BlockRow, MentionRow, TaskRow
from offchain.indexer.service import follow
from offchain.indexer.status import index_status
from offchain.indexer.tables import DERIVED_ROWS
from offchain.indexer.verification import replayed_digest, stored_digest
from offchain.indexer.writer import IndexWriter
from tests.support.examples import examples
from tests.support.fake_chain import FakeChain
from tests.support.history_blocks import GENESIS, History
from tests.support.index_rig import NEXT_VERSION, Fragile, Killed, opened, rederived, upgrade_rules, versions_read

BLOCKS = list(History(12).blocks(30, 20))


@pytest.fixture(autouse=True)
def small_steps(monkeypatch):
    monkeypatch.setattr("offchain.indexer.rederivation._STEP_EVENTS", 50)


@pytest.fixture
def old_index(address):
    """The address of an index with the derived tables of the present version."""
    db, index = opened(address, partition_blocks=8)
    index.add(BLOCKS[:20])
    db.close()
    return address


def read(address):
    """Return the versions of the rules that a reader sees in one snapshot."""
    with contextlib.closing(queries.open_for_reading(address)) as db, db.snapshot():
        return versions_read(db)


def test_old_tables_answer_until_the_new_ones_replace_them(old_index, monkeypatch):
    with contextlib.closing(queries.open_for_reading(old_index)) as db:
        before = stored_digest(db).hex()
    upgrade_rules(monkeypatch)
    db, index = opened(old_index, partition_blocks=8)
    assert index.is_rederiving
    seen = []
    while index.is_rederiving:
        state = index.status()
        seen.append(state.rederived_to)
        assert (state.last_block, state.derived_to) == (19, 19)
        with contextlib.closing(queries.open_for_reading(old_index)) as reader, reader.snapshot():
            assert versions_read(reader) == {""}
            assert stored_digest(reader).hex() == before
            with pytest.raises(IndexFault, match="derived again"):
                replayed_digest(reader)
        assert index.rederive()
    assert seen[0] == -1
    assert seen[-1] == 19
    assert len(seen) > 5
    assert seen == sorted(set(seen))
    assert index.status().rederived_to is None
    assert read(old_index) == {str(NEXT_VERSION)}
    assert stored_digest(db).hex() == replayed_digest(db).hex() != before
    index.add(BLOCKS[20:])
    assert stored_digest(db).hex() == replayed_digest(db).hex()
    assert {name for (name,) in db.execute(_tables(db)) if "_next" in name} == set()
    db.close()


def _tables(db):
    return text(
        "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p')"
        if db.partitioned
        else "SELECT name FROM sqlite_master WHERE type = 'table'"
    )


def test_blocks_are_stored_meanwhile_and_the_old_tables_stay_at_their_block(old_index, monkeypatch):
    upgrade_rules(monkeypatch)
    db, index = opened(old_index, partition_blocks=8)
    tasks = db.rows(TaskRow)
    for block in BLOCKS[20:]:
        index.add([block])
        assert index.rederive()
        if index.is_rederiving:
            assert db.rows(TaskRow) == tasks
            assert queries.events(db, queries.EventFilter(first_block=block.ref.number))
            assert index.status().derived_to == 19
    rederived(index)
    assert index.status().derived_to == 29
    assert stored_digest(db).hex() == replayed_digest(db).hex()
    db.close()


def test_a_second_rederivation_replaces_the_first(old_index, monkeypatch):
    for version in (NEXT_VERSION, NEXT_VERSION + 1, NEXT_VERSION + 2):
        upgrade_rules(monkeypatch, version)
        db, index = opened(old_index, partition_blocks=8)
        rederived(index)
        assert read(old_index) == {str(version)}
        assert stored_digest(db).hex() == replayed_digest(db).hex()
        db.close()


def test_a_rederivation_to_another_version_begins_anew(old_index, monkeypatch):
    upgrade_rules(monkeypatch)
    db, index = opened(old_index, partition_blocks=8)
    index.rederive()
    index.rederive()
    index.add(BLOCKS[20:])
    db.close()
    upgrade_rules(monkeypatch, NEXT_VERSION + 1)
    db, index = opened(old_index, partition_blocks=8)
    assert (index.status().rederived_to, index.status().derived_to) == (-1, 19)
    rederived(index)
    assert read(old_index) == {str(NEXT_VERSION + 1)}
    assert stored_digest(db).hex() == replayed_digest(db).hex()
    db.close()


def test_the_old_release_that_returns_meanwhile_derives_what_it_lacks(old_index, monkeypatch):
    with monkeypatch.context() as newer:
        upgrade_rules(newer)
        db, index = opened(old_index, partition_blocks=8)
        index.rederive()
        index.add(BLOCKS[20:])
        db.close()
    db, index = opened(old_index, partition_blocks=8)
    assert index.is_rederiving
    rederived(index)
    assert read(old_index) == {""}
    assert stored_digest(db).hex() == replayed_digest(db).hex()
    db.close()


def test_tables_that_lack_columns_are_refused_with_the_progress(old_index, monkeypatch):
    upgrade_rules(monkeypatch)
    monkeypatch.setattr("offchain.indexer.status.READABLE_DERIVED", NEXT_VERSION)
    db, index = opened(old_index, partition_blocks=8)
    index.rederive()
    done = index.status().rederived_to
    with pytest.raises(IndexFault, match=f"block {done} of 19") as refused:
        queries.open_for_reading(old_index)
    assert refused.value.code == "index_busy"
    rederived(index)
    queries.open_for_reading(old_index).close()
    db.close()


def test_incomplete_tables_of_an_older_release_are_not_read(old_index):
    db = open_index(old_index)
    for table in DERIVED_ROWS:
        db.execute(text(f"DROP TABLE {table.TABLE}"))
    db.execute(text("DELETE FROM meta WHERE name = 'derived'"))
    db.close()
    with pytest.raises(IndexFault, match="being brought"):
        queries.open_for_reading(old_index)
    db, index = opened(old_index, partition_blocks=8)
    rederived(index)
    assert read(old_index) == {""}
    assert stored_digest(db).hex() == replayed_digest(db).hex()
    db.close()


# --- kill -9 ---------------------------------------------------------------------------------------------------------


def killed_and_continued(address, fuses):
    """Rederive with a process that dies after each of these numbers of writes, and then with one that does not."""
    for fuse in [*fuses, 10**9]:
        db = open_index(address)
        try:
            index = IndexWriter(Fragile(db, fuse), partition_blocks=8)
            index.prepare(GENESIS)
            while index.is_rederiving:
                if index.cursor.number < 29 and index.status().rederived_to > 10:
                    index.add(BLOCKS[index.cursor.number + 1 :][:3])
                assert index.rederive()
        except Killed:
            # A reader sees one version or the other.
            assert read(address) in ({""}, {str(NEXT_VERSION)})
        finally:
            db.close()
    assert read(address) == {str(NEXT_VERSION)}
    with contextlib.closing(open_index(address)) as db:
        assert stored_digest(db).hex() == replayed_digest(db).hex()


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(fuses=st.lists(st.integers(0, 120), max_size=5))
def test_it_continues_if_the_process_is_killed_at_any_write(tmp_path_factory, fuses):
    address = str(tmp_path_factory.mktemp("index") / "index.db")
    db, index = opened(address)
    index.add(BLOCKS[:20])
    db.close()
    with pytest.MonkeyPatch.context() as patched:
        upgrade_rules(patched)
        killed_and_continued(address, fuses)


def test_it_continues_if_each_process_is_killed_one_write_later(old_index, monkeypatch):
    upgrade_rules(monkeypatch)
    killed_and_continued(old_index, range(30))


REDERIVE_ONE_STEP = """
import sys
from tests.support.index_rig import opened, upgrade_rules
import pytest
from offchain.indexer import rederivation
rederivation._STEP_EVENTS = 50
upgrade_rules(pytest.MonkeyPatch())
_, index = opened(sys.argv[1], partition_blocks=8)
index.rederive()
print(index.status().rederived_to, flush=True)
sys.stdin.read()
"""


def test_it_continues_after_a_process_that_was_really_killed(old_index, monkeypatch):
    line = [sys.executable, "-c", REDERIVE_ONE_STEP, old_index]
    reached = []
    for _ in range(3):
        with subprocess.Popen(line, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            reached.append(int(process.stdout.readline()))
            process.kill()
        assert read(old_index) == {""}
    assert reached[0] < reached[1] < reached[2] < 19
    upgrade_rules(monkeypatch)
    db, index = opened(old_index, partition_blocks=8)
    assert index.status().rederived_to == reached[2]
    rederived(index)
    assert read(old_index) == {str(NEXT_VERSION)}
    assert stored_digest(db).hex() == replayed_digest(db).hex()
    db.close()


def test_a_commit_of_a_step_or_of_the_replacement_without_an_answer_is_detected(old_index, monkeypatch):
    upgrade_rules(monkeypatch)
    db, index = opened(old_index, partition_blocks=8)

    def losing(made):
        @contextlib.contextmanager
        def lost():
            with made():
                yield
            raise StoreStuck("the connection was lost")

        return lost

    for name in ("transaction", "exclusive"):
        monkeypatch.setattr(db, name, losing(getattr(db, name)))
    answers = 0
    while index.is_rederiving:
        try:
            index.rederive()
        except StoreStuck:
            answers += 1
    monkeypatch.undo()
    assert answers > 5
    assert stored_digest(db).rows
    assert versions_read(db) == {str(NEXT_VERSION)}
    db.close()


# --- replacement -----------------------------------------------------------------------------------------------------


def ready(index):
    """Rederive until the next step replaces the tables."""
    while index.status().rederived_to < index.cursor.number:
        assert index.rederive()


def test_a_snapshot_from_before_the_replacement_reads_the_old_tables(old_index, monkeypatch):
    upgrade_rules(monkeypatch)
    db, index = opened(old_index, partition_blocks=8)
    ready(index)
    reader = queries.open_for_reading(old_index)
    with reader.snapshot():
        # No derived table was read before the replacement.
        assert reader.rows(BlockRow)
        # PostgreSQL's snapshot does not cover the names of tables: the replacement waits for it.
        assert index.rederive() is not db.partitioned
        assert versions_read(reader) == {""}
        assert reader.rows(MentionRow)
    reader.close()
    rederived(index)
    assert read(old_index) == {str(NEXT_VERSION)}
    db.close()


def test_concurrent_readers_see_the_old_or_the_new_tables(old_index, monkeypatch):
    upgrade_rules(monkeypatch)
    db, index = opened(old_index, partition_blocks=8)
    ready(index)
    seen, failures = [], []
    old, new, done = threading.Event(), threading.Event(), threading.Event()

    def keep_reading():
        try:
            while not done.is_set():
                found = read(old_index)
                seen.append(found)
                (old if found == {""} else new).set()
        except BaseException as error:  # noqa: BLE001 - shown by the assertion below
            failures.append(error)
            old.set()
            new.set()

    threads = [threading.Thread(target=keep_reading) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert old.wait(60)
    while index.is_rederiving:
        index.rederive()
    assert new.wait(60)
    done.set()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert {frozenset(found) for found in seen} == {frozenset({""}), frozenset({str(NEXT_VERSION)})}
    db.close()


async def test_the_service_follows_the_chain_while_it_rederives(address, monkeypatch):
    chain = FakeChain()
    chain.effects = lambda _call, account: [("System", "Remarked", {"sender": account, "hash": b"12"})]
    chain.genesis = GENESIS
    await chain.produce(8)
    db, index = opened(address)

    async def follow_until(number, states):
        written = asyncio.Event()
        replaced = asyncio.Event()

        def on_written(block):
            if block.ref.number >= number:
                written.set()

        def on_rederived(state):
            states.append(state.rederived_to)
            if state.rederived_to is None:
                replaced.set()

        was_rederiving = index.is_rederiving
        following = asyncio.create_task(follow(chain, index, on_written, on_rederived))
        async with asyncio.timeout(60):
            await written.wait()
            if was_rederiving:
                await replaced.wait()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)

    await follow_until(8, [])
    db.close()
    upgrade_rules(monkeypatch)
    monkeypatch.setattr("offchain.indexer.rederivation._STEP_EVENTS", 1)
    db, index = opened(address)
    await chain.produce()
    states = []
    await follow_until(9, states)
    assert states[-1] is None
    assert index_status(db).derived_to == 9
    assert stored_digest(db).hex() == replayed_digest(db).hex()
    db.close()
