"""Partitions of the large tables in PostgreSQL."""

import contextlib

import pytest

from offchain.errors import StoreStuck
from offchain.indexer import queries
from offchain.indexer.partitions import partitions
from offchain.indexer.rows import PARTITIONED_ROWS, EventRow, MentionRow
from offchain.indexer.tables import TABLES
from offchain.indexer.verification import replayed_digest, stored_digest
from tests.support.history_blocks import History
from tests.support.index_rig import opened

BLOCKS = list(History(31).blocks(45, 12))


@pytest.fixture
def database(postgres):
    if postgres is None:
        pytest.skip("PostgreSQL is not installed (scripts/test installs it)")
    return postgres.address()


def bounds(db, row_type=EventRow):
    return [(one.first, one.end) for one in partitions(db, TABLES[row_type])]


def test_partitions_are_made_ahead_of_the_blocks(database):
    db, index = opened(database, partition_blocks=10)
    assert bounds(db) == []
    index.add(BLOCKS[:1])
    for row_type in PARTITIONED_ROWS:
        assert bounds(db, row_type) == [(0, 10), (10, 20)]
    index.add(BLOCKS[1:10])
    assert bounds(db) == [(0, 10), (10, 20)]
    index.add(BLOCKS[10:11])
    assert bounds(db) == [(0, 10), (10, 20), (20, 30)]
    # More than one partition in one write.
    index.add(BLOCKS[11:])
    for row_type in PARTITIONED_ROWS:
        assert bounds(db, row_type) == [(start, start + 10) for start in range(0, 60, 10)]
    assert {one.name for one in partitions(db, TABLES[MentionRow])} >= {"mentions_0_9", "mentions_50_59"}
    assert stored_digest(db).hex() == replayed_digest(db).hex()
    db.close()


def test_another_size_applies_to_new_partitions(database):
    for blocks, size in ((BLOCKS[:11], 10), (BLOCKS[11:31], 7), (BLOCKS[31:], 100)):
        db, index = opened(database, partition_blocks=size)
        index.add(blocks)
        db.close()
    db, _ = opened(database)
    assert bounds(db) == [(0, 10), (10, 20), (20, 30), (30, 35), (35, 42), (42, 100), (100, 200)]
    assert stored_digest(db).hex() == replayed_digest(db).hex()
    db.close()


def test_partitions_of_a_transaction_that_failed_are_made_again(database):
    db, index = opened(database, partition_blocks=10)
    transaction = db.transaction

    @contextlib.contextmanager
    def failing():
        with transaction():
            yield
            raise StoreStuck("the disk is full")

    db.transaction = failing
    with pytest.raises(StoreStuck):
        index.add(BLOCKS[:5])
    assert bounds(db) == []
    db.transaction = transaction
    index.add(BLOCKS[:5])
    assert bounds(db) == bounds(db, MentionRow) == [(0, 10), (10, 20)]
    db.close()


def test_new_partitions_do_not_wait_for_readers(database):
    db, index = opened(database, partition_blocks=10)
    index.add(BLOCKS[:5])
    reader = queries.open_for_reading(database)
    with reader.snapshot():
        before = reader.rows(EventRow)
        index.add(BLOCKS[5:])
        assert reader.rows(EventRow) == before
    assert len(reader.rows(EventRow)) > len(before)
    reader.close()
    db.close()
