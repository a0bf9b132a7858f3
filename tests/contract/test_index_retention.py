"""Retention: old events, extrinsics and mentions are removed, nothing else changes, and queries name what is left."""

import asyncio
import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from offchain.cli import main as cli
from offchain.indexer import queries
from offchain.indexer.database import IndexFault
from offchain.indexer.engines import open_index
from offchain.indexer.queries import EventFilter
from offchain.indexer.rows import BlockRow, EventRow, ExtrinsicRow, MentionRow, TaskRow
from offchain.indexer.service import follow
from offchain.indexer.status import EventsPruned, index_status
from offchain.indexer.tables import DERIVED_VERSION
from offchain.indexer.verification import replayed_digest
from offchain.indexer.writer import IndexWriter
from tests.support.examples import examples
from tests.support.fake_chain import FakeChain
from tests.support.history_blocks import BLOCK_MS, GENESIS, HOSTS, TENANTS, History
from tests.support.index_rig import EXACT_ROWS, Fragile, Killed, opened, rederived, upgrade_rules

BLOCKS = list(History(21).blocks(45, 20))
PARTITION = 7
KEPT_BLOCKS = 20
OPTIONS = {"keep_ms": KEPT_BLOCKS * BLOCK_MS, "partition_blocks": PARTITION}
OLDEST = {"sqlite": 44 - KEPT_BLOCKS, "postgresql": (44 - KEPT_BLOCKS) // PARTITION * PARTITION}
"""First block that is kept: of whole partitions in PostgreSQL."""


@pytest.fixture
def oldest(address):
    return OLDEST["postgresql" if address.startswith("postgresql") else "sqlite"]


def pruned(index, most_events=1000):
    """Remove what is old; return the number of transactions that did."""
    steps = 0
    while index.prune(most_events):
        steps += 1
    return steps


def filled(address, **options):
    db, index = opened(address, **OPTIONS | options)
    for at in range(0, 45, 5):
        index.add(BLOCKS[at : at + 5])
    return db, index


def exact(db):
    return {table.TABLE: db.rows(table) for table in EXACT_ROWS}


def test_old_events_are_removed_and_nothing_else_changes(address, oldest):
    db, index = filled(address)
    before, blocks = exact(db), db.rows(BlockRow)
    younger = {table: [row for row in db.rows(table) if row.block >= oldest] for table in (EventRow, ExtrinsicRow)}
    mentions = [row for row in db.rows(MentionRow) if row.block >= oldest]
    assert pruned(index)
    assert index_status(db).kept_from == oldest
    assert exact(db) == before
    assert db.rows(BlockRow) == blocks
    assert {table: db.rows(table) for table in younger} == younger
    assert db.rows(MentionRow) == mentions
    assert not index.prune(1000)
    db.close()


def test_the_tables_of_a_pruned_index_go_on_exactly(address, tmp_path):
    db, index = opened(address, **OPTIONS)
    whole, other = opened(str(tmp_path / "whole.db"))
    other.add(BLOCKS)
    for block in BLOCKS:
        index.add([block])
        index.prune(50)
    assert index.status().kept_from
    assert exact(db) == exact(whole)
    db.close()
    db, index = opened(address, **OPTIONS)
    assert index.cursor == BLOCKS[-1].ref
    db.close()
    whole.close()


def test_everything_is_kept_by_default(address):
    db, index = filled(address, keep_ms=None)
    assert not index.prune(1000)
    assert index.status().kept_from == 0
    assert queries.events(db, EventFilter(first_block=0, limit=10_000))[0].event.block == 1
    db.close()


def test_a_step_of_sqlite_is_bounded(tmp_path):
    db, index = filled(str(tmp_path / "index.db"))
    most = max(len(block.events) for block in BLOCKS)
    kept = len(db.rows(EventRow))
    steps = 0
    while index.prune(60):
        left = len(db.rows(EventRow))
        assert kept - left <= 60 + most
        kept = left
        steps += 1
    assert steps > 5
    db.close()


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(fuses=st.lists(st.integers(0, 40), max_size=6))
def test_a_range_is_removed_completely_or_not_if_the_process_is_killed(tmp_path_factory, fuses):
    killed_and_continued(str(tmp_path_factory.mktemp("index") / "index.db"), fuses)


@pytest.mark.parametrize("fuses", [(4,), (5, 6, 7, 8), (9, 10, 12)])
def test_a_range_is_removed_completely_or_not_if_the_process_is_killed_at_some_writes(address, fuses):
    killed_and_continued(address, fuses)


def killed_and_continued(address, fuses):
    db, _ = filled(address)
    everything = {table: db.rows(table) for table in (EventRow, ExtrinsicRow, MentionRow)}
    before = exact(db)
    db.close()
    for fuse in [*fuses, 10**9]:
        db = open_index(address)
        with contextlib.suppress(Killed):
            index = IndexWriter(Fragile(db, fuse), **OPTIONS)
            index.prepare(GENESIS)
            pruned(index, 60)
        kept_from = index_status(db).kept_from
        for table, rows in everything.items():
            assert db.rows(table) == [row for row in rows if row.block >= kept_from]
        assert exact(db) == before
        db.close()
    assert kept_from == OLDEST["postgresql" if address.startswith("postgresql") else "sqlite"]


# --- queries ---------------------------------------------------------------------------------------------------------


def test_queries_of_removed_blocks_name_the_oldest_kept_one(address, oldest):
    db, index = filled(address)
    early = next(row for row in db.rows(TaskRow) if row.task and row.changed_block < oldest)
    pruned(index)
    db.close()
    db = queries.open_for_reading(address)
    for refused in (
        EventFilter(first_block=oldest - 1),
        EventFilter(first_block=0, last_block=44),
        EventFilter(last_block=oldest - 1),
        EventFilter("Tasks", "NoSuchEvent"),
    ):
        with pytest.raises(EventsPruned, match=f"before block {oldest}:") as error:
            queries.events(db, refused)
        assert f"from {oldest} on" in error.value.hint
        assert error.value.code == "events_pruned"
    with pytest.raises(EventsPruned, match=f"before block {oldest}:"):
        queries.mentions(db, str(early.task), 100)
    with pytest.raises(EventsPruned, match=f"before block {oldest}:"):
        replayed_digest(db)
    everything = [event for block in BLOCKS[oldest:] for event in block.events]
    assert len(queries.events(db, EventFilter(first_block=oldest, limit=10_000))) == len(everything)
    assert queries.events(db, EventFilter(limit=10_000))[0].event.block == oldest
    assert queries.events(db, EventFilter("Tasks", "NoSuchEvent", first_block=oldest)) == []
    assert {one.event.block >= oldest for one in queries.mentions(db, HOSTS[0], 1000)} == {True}
    # Derived rows still answer for all blocks.
    assert queries.task(db, early.task) == early
    assert queries.transfers(db, TENANTS[0], 1000)[0].transfer.block < oldest
    db.close()


def test_the_command_line_says_which_events_are_left(address, oldest, capsys, monkeypatch):
    db, index = filled(address)
    early = next(row for row in db.rows(TaskRow) if row.task and row.changed_block < oldest)
    late = next(row for row in db.rows(TaskRow) if row.submitted_block >= oldest)
    pruned(index)
    db.close()
    monkeypatch.setenv("GANTRY_INDEX", address)

    def ask(*arguments):
        code = cli.main(["history", *map(str, arguments)])
        said = capsys.readouterr()
        return code, said.out, said.err

    note = f"The events before block {oldest} were removed"
    for refused in (("events", "--to-block", 3), ("task", early.task, "--csv"), ("verify",)):
        code, out, err = ask(*refused)
        assert (code, out) == (1, "")
        assert f"no events before block {oldest}" in err
    code, out, err = ask("task", early.task)
    assert code == 0
    assert f"Task       {early.task}" in out
    assert note in err
    assert note in ask("task", 0, "--csv")[2]
    code, out, err = ask("task", late.task)
    assert (code, err) == (0, "")
    code, out, err = ask("task", early.task, "--json")
    assert f'"events_from_block":{oldest}' in out.replace(" ", "")
    code, out, err = ask("events", "--limit", 10_000)
    assert note in err
    code, out, err = ask("events", "--from-block", oldest)
    assert (code, err) == (0, "")
    assert note in ask("host", HOSTS[0])[2]
    code, out, err = ask("status")
    assert f"from block {oldest} on" in out


# --- with other work -------------------------------------------------------------------------------------------------


def test_a_snapshot_reads_all_events_although_they_are_removed_meanwhile(address, oldest, monkeypatch):
    monkeypatch.setattr("offchain.indexer.retention._AGAIN_S", 0.0)
    db, index = filled(address)
    reader = queries.open_for_reading(address)
    with reader.snapshot():
        assert queries.task(reader, 0)
        # PostgreSQL's snapshot does not cover which partitions there are: the removal waits for it.
        assert index.prune(10**6) is not db.partitioned
        found = queries.events(reader, EventFilter(first_block=0, limit=10_000))
        assert len(found) == sum(len(block.events) for block in BLOCKS)
    reader.close()
    pruned(index)
    assert index.status().kept_from == oldest
    db.close()


def test_nothing_is_removed_during_a_rederivation(address, oldest, monkeypatch):
    filled(address)[0].close()
    upgrade_rules(monkeypatch)
    db, index = opened(address, **OPTIONS)
    assert index.is_rederiving
    assert not index.prune(1000)
    rederived(index)
    before = exact(db)
    pruned(index)
    assert index.status().kept_from == oldest
    assert exact(db) == before
    db.close()


def test_a_pruned_index_is_not_derived_again_and_stays_as_it_is(address, oldest, monkeypatch):
    db, index = filled(address)
    pruned(index)
    before = exact(db)
    db.close()
    upgrade_rules(monkeypatch)
    db = open_index(address)
    with pytest.raises(IndexFault, match=f"version {DERIVED_VERSION} and this release writes version 1000") as refused:
        IndexWriter(db, **OPTIONS).prepare(GENESIS)
    assert refused.value.code == "events_pruned"
    assert f"before block {oldest}" in refused.value.message
    assert "archive" in refused.value.hint
    assert exact(db) == before
    assert index_status(db).rederived_to is None
    db.close()
    queries.open_for_reading(address).close()
    monkeypatch.undo()
    db, index = opened(address, **OPTIONS)
    assert not index.is_rederiving
    db.close()


async def test_the_service_removes_old_events_while_it_follows(address):
    chain = FakeChain()
    chain.effects = lambda _call, account: [("System", "Remarked", {"sender": account, "hash": b"12"})]
    chain.genesis = GENESIS
    await chain.produce(30)
    db, index = opened(address, keep_ms=1, partition_blocks=4)
    removed = asyncio.Event()

    async def watch():
        following = asyncio.create_task(follow(chain, index, lambda _: removed.set()))
        async with asyncio.timeout(60):
            while chain._best.block.ref.number < 40:
                await removed.wait()
                removed.clear()
                await chain.produce()
            while index.cursor.number < 40:
                await removed.wait()
                removed.clear()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)

    await watch()
    assert 20 <= index.status().kept_from <= 40
    assert [row.number for row in db.rows(BlockRow)] == list(range(41))
    db.close()
