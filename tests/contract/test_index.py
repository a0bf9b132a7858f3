"""The index on SQLite and PostgreSQL: every block is stored once, and the derived tables follow from the events."""

import asyncio
from contextlib import contextmanager, suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from offchain.errors import ChainBehind, ChainUnreachable, Reorganised, StoreStuck, WrongChain
from offchain.indexer import queries, status
from offchain.indexer.block_rows import read_block
from offchain.indexer.database import IndexFault
from offchain.indexer.engines import open_index
from offchain.indexer.projection import Projection
from offchain.indexer.queries import EventFilter
from offchain.indexer.rows import BlockRow, EventRow, TaskRow, TransferRow
from offchain.indexer.service import follow
from offchain.indexer.status import cursor
from offchain.indexer.verification import replayed_digest, stored_digest
from offchain.indexer.writer import IndexWriter
from tests.support.examples import examples
from tests.support.fake_chain import FakeChain
from tests.support.history_blocks import GENESIS, HOSTS, TENANTS, History
from tests.support.index_rig import Fragile, Killed, opened, rederived
from tests.support.postgres_server import server


def assert_derived_from_events(db):
    assert stored_digest(db).hex() == replayed_digest(db).hex()


def test_blocks_are_stored_in_order_with_the_derived_rows(address):
    db, index = opened(address)
    blocks = list(History(3).blocks(30))
    index.add(blocks[:10])
    for block in blocks[10:]:
        index.add([block])
    assert index.cursor == cursor(db) == blocks[-1].ref
    assert [row.number for row in db.rows(BlockRow)] == list(range(30))
    stored = db.rows(EventRow)
    assert [(row.pallet, row.name) for row in stored] == [(e.pallet, e.name) for b in blocks for e in b.events]
    assert stored == [row for block in blocks for row in read_block(block).events]
    assert_derived_from_events(db)
    db.close()


def test_derived_rows_do_not_depend_on_batches_or_evicted_rows(address, monkeypatch):
    monkeypatch.setattr("offchain.indexer.derived_tables._KEPT_ROWS", 3)
    db, index = opened(address)
    blocks = list(History(4).blocks(40))
    for at in range(0, 40, 7):
        index.add(blocks[at : at + 7])
    alone = Projection()
    for block in blocks:
        alone.apply(read_block(block).indexed)
    assert db.rows(TaskRow) == [row for _, row in sorted(alone.state[TaskRow].items())]
    assert_derived_from_events(db)
    db.close()


def test_a_second_indexer_is_refused(address):
    db, _ = opened(address)
    other = open_index(address, create=True)
    with pytest.raises(IndexFault, match="Another indexer"):
        IndexWriter(other).prepare(GENESIS)
    other.close()
    db.close()
    db, _ = opened(address)
    db.close()


def test_another_chain_is_refused(address):
    db, _ = opened(address)
    db.close()
    db = open_index(address)
    with pytest.raises(WrongChain):
        IndexWriter(db).prepare(bytes(32))
    db.close()


def test_an_index_of_a_newer_release_is_refused_and_old_derived_tables_are_rebuilt(address):
    db, index = opened(address)
    index.add(list(History(5).blocks(20)))
    before = stored_digest(db).hex()
    db.execute(text("DELETE FROM tasks"))
    db.execute(text("UPDATE meta SET value = '0' WHERE name = 'derived'"))
    db.close()
    with pytest.raises(IndexFault, match="being brought"):
        queries.open_for_reading(address)
    db, index = opened(address)
    rederived(index)
    assert stored_digest(db).hex() == before
    assert index.cursor.number == 19
    db.execute(text("UPDATE meta SET value = '99' WHERE name = 'schema'"))
    db.close()
    with pytest.raises(IndexFault, match="newer release"):
        queries.open_for_reading(address)
    db = open_index(address)
    with pytest.raises(IndexFault, match="newer release"):
        IndexWriter(db).prepare(GENESIS)
    db.close()


def test_amounts_of_128_bits_are_stored_exactly(address):
    db, _ = opened(address)
    rows = [TransferRow(1, n, "Transfer", "a", "b", amount, None) for n, amount in enumerate([0, 2**63, 2**128 - 1])]
    with db.transaction():
        db.insert(TransferRow, rows)
    assert db.rows(TransferRow) == rows
    assert list(db.stream(TransferRow)) == rows
    db.close()


@pytest.mark.parametrize("count", [3, 300])
def test_upsert_adds_and_replaces(address, count):
    db, _ = opened(address)
    rows = [BlockRow(n, "0x", "0x", n, 0, 0) for n in range(count)]
    newer = [BlockRow(n, "0x11", "0x", n, 1, 1) for n in range(count // 2, 2 * count)]
    for batch in (rows, newer):
        with db.transaction():
            db.upsert(BlockRow, batch)
    assert db.rows(BlockRow) == rows[: count // 2] + newer
    db.close()


def test_queries(address):
    db, index = opened(address)
    blocks = list(History(6).blocks(40))
    index.add(blocks)
    db.close()
    db = queries.open_for_reading(address)
    task = next(row for row in db.rows(TaskRow) if row.state == "Settled" and row.task)
    events = queries.mentions(db, str(task.task), 1000)
    assert events[0].event.name == "Submitted"
    assert events[-1].event.name == "Settled"
    assert [(one.event.block, one.event.place) for one in events] == sorted(
        (one.event.block, one.event.place) for one in events
    )
    assert sum(bill.paid for bill in queries.bills_of_task(db, task.task)) == task.paid
    assert sum(lease.paid for lease in queries.leases_of_task(db, task.task)) == task.paid
    host = queries.host(db, HOSTS[0])
    leases = queries.leases_of_host(db, HOSTS[0], 1000)
    assert host.leases == len(leases)
    assert host.earned == sum(lease.paid - lease.fee for lease in leases)
    about = {(one.event.pallet, one.event.name) for one in queries.mentions(db, HOSTS[0], 1000)}
    assert {("Hosts", "Registered"), ("Tasks", "PodStarted"), ("Tasks", "Settled")} <= about
    moved = queries.transfers(db, TENANTS[0], 1000)
    assert moved
    assert all(TENANTS[0] in (one.transfer.sender, one.transfer.receiver) for one in moved)
    assert queries.transfers(db, TENANTS[0], 2) == moved[-2:]
    assert {row.tenant for row in queries.tasks_of(db, TENANTS[0], 10)} == {TENANTS[0]}
    settled = queries.events(db, EventFilter("Tasks", "Settled"))
    assert len(settled) == sum(e.name == "Settled" for b in blocks for e in b.events)
    assert queries.events(db, EventFilter("Tasks", "Settled", limit=1)) == settled[-1:]
    few = queries.events(db, EventFilter(first_block=3, last_block=4))
    assert {one.event.block for one in few} == {3, 4}
    refused = queries.events(db, EventFilter(name="ItemRefused", limit=1))
    assert refused[0].event.failure == "Tasks.NotQueued"
    assert queries.task(db, 10**9) is None
    assert queries.host(db, "nobody") is None
    assert status.last_block(db).number == 39
    db.close()


def test_a_missing_index_and_an_unknown_kind_of_address_are_refused(tmp_path):
    with pytest.raises(IndexFault, match="no index at"):
        queries.open_for_reading(str(tmp_path / "none.db"))
    with pytest.raises(IndexFault, match="not a kind of index"):
        open_index("mysql://somewhere")


def test_a_password_is_in_no_message():
    with pytest.raises(StoreStuck) as away:
        open_index("postgresql://gantry:secret@/none?host=/nowhere")
    assert "secret" not in str(away.value)


# --- process killed before any write ----------------------------------------------------------------------------------


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(fuses=st.lists(st.integers(0, 60), max_size=6), sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_every_block_is_stored_once_if_the_process_is_killed_at_any_write(tmp_path_factory, fuses, sizes):
    address = str(tmp_path_factory.mktemp("index") / "index.db")
    blocks = list(History(7).blocks(25))
    for fuse in [*fuses, 10**9]:
        db = open_index(address, create=True)
        try:
            index = IndexWriter(Fragile(db, fuse))
            index.prepare(GENESIS)
            turn = 0
            while index.cursor is None or index.cursor.number < 24:
                start = 0 if index.cursor is None else index.cursor.number + 1
                index.add(blocks[start : start + sizes[turn % len(sizes)]])
                turn += 1
        except Killed:
            pass
        finally:
            db.close()
    db = open_index(address)
    whole = open_index(address + ".whole", create=True)
    index = IndexWriter(whole)
    index.prepare(GENESIS)
    index.add(blocks)
    assert stored_digest(db).hex() == stored_digest(whole).hex()
    assert db.rows(EventRow) == whole.rows(EventRow)
    db.close()
    whole.close()


def test_a_failed_write_leaves_no_state_in_memory(address):
    db, index = opened(address)
    blocks = list(History(8).blocks(12))
    index.add(blocks[:6])
    projection, db_insert = index._derived._projection, db.insert

    def full(table, *arguments):
        if table is EventRow:
            raise StoreStuck("the disk is full")
        db_insert(table, *arguments)

    db.insert = full
    with pytest.raises(StoreStuck):
        index.add(blocks[6:])
    assert index.cursor == blocks[5].ref
    assert index._derived._projection is not projection
    db.insert = db_insert
    index.add(blocks[6:])
    assert len(db.rows(BlockRow)) == 12
    assert_derived_from_events(db)
    db.close()


async def test_it_follows_a_chain_and_continues_after_a_lost_connection(address):
    chain = FakeChain()
    chain.effects = lambda _call, account: [("System", "Remarked", {"sender": account, "hash": b"12"})]
    db = open_index(address, create=True)
    index = IndexWriter(db)
    index.prepare(chain.genesis)
    written = asyncio.Event()

    def on_written(block):
        if block.ref.number >= wanted:
            written.set()

    for wanted in (5, 12, 30):
        chain.unreachable = False
        task = asyncio.ensure_future(follow(chain, index, on_written))
        while not written.is_set():
            if chain._best.block.ref.number < wanted:
                await chain.produce()
            await asyncio.sleep(0)
        written.clear()
        chain.unreachable = True
        await chain.drop_subscriptions()
        with suppress(ChainUnreachable, ExceptionGroup):
            await task
    assert [row.number for row in db.rows(BlockRow)] == list(range(31))
    db.close()


def test_a_commit_without_an_answer_is_detected(address):
    db, index = opened(address)
    blocks = list(History(11).blocks(12))
    index.add(blocks[:6])
    transaction = db.transaction

    @contextmanager
    def lost():
        with transaction():
            yield
        raise StoreStuck("the connection was lost")

    db.transaction = lost
    with pytest.raises(StoreStuck):
        index.add(blocks[6:9])
    db.transaction = transaction
    assert index.cursor == blocks[8].ref
    index.add(blocks[9:])
    assert len(db.rows(BlockRow)) == 12
    assert_derived_from_events(db)
    db.close()


def test_a_restarted_server_is_connected_to_again():
    with server() as own:
        if own is None:
            pytest.skip("PostgreSQL is not installed (scripts/test installs it)")
        address = own.address()
        db, index = opened(address)
        blocks = list(History(10).blocks(20))
        index.add(blocks[:10])
        own.kill()
        with pytest.raises(StoreStuck, match="index"):
            index.add(blocks[10:])
        own.start()
        assert index.cursor == blocks[9].ref
        index.add(blocks[10:])
        assert [row.number for row in db.rows(BlockRow)] == list(range(20))
        assert_derived_from_events(db)
        other = open_index(address)
        with pytest.raises(IndexFault, match="Another indexer"):
            IndexWriter(other).prepare(GENESIS)
        other.close()
        db.close()


async def test_readers_are_refused_while_the_node_serves_another_chain(address):
    chain = FakeChain()
    chain.genesis = GENESIS
    await chain.produce(5)
    db, index = opened(address)

    async def follow_until(number):
        written = asyncio.Event()
        following = asyncio.create_task(
            follow(chain, index, lambda block: block.ref.number >= number and written.set())
        )
        async with asyncio.timeout(60):
            await written.wait()
        return following

    following = await follow_until(5)
    queries.open_for_reading(address).close()
    kept = chain._final[:]
    await chain.start_anew()
    with pytest.raises(ExceptionGroup):
        await following
    with pytest.raises(IndexFault, match="block 5 was processed before") as refused:
        queries.open_for_reading(address)
    assert refused.value.code == "index_halted"
    with pytest.raises(ChainBehind):
        await follow(chain, index)
    await chain.produce(5)
    with pytest.raises(Reorganised):
        await follow(chain, index)
    with pytest.raises(IndexFault, match="serves another chain"):
        queries.open_for_reading(address)
    # The node of the index is back.
    chain._final, chain._best = kept, kept[-1]
    await chain.produce()
    following = await follow_until(6)
    queries.open_for_reading(address).close()
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    db.close()
