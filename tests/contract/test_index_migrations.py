"""Migrations of the index: from an empty database, and from one that a release before Alembic wrote."""

import hashlib
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, delete, inspect, text

from offchain.errors import WrongChain
from offchain.indexer import meta, migrations, queries, status
from offchain.indexer.block_rows import read_block
from offchain.indexer.database import IndexFault
from offchain.indexer.engines import open_index
from offchain.indexer.partitions import partitions
from offchain.indexer.rows import CHAIN_ROWS, PARTITIONED_ROWS, EventRow, ExtrinsicRow, TransferRow
from offchain.indexer.tables import DERIVED_ROWS, METADATA, SCHEMA_VERSION, TABLES
from offchain.indexer.verification import replayed_digest, stored_digest
from offchain.indexer.writer import IndexWriter
from tests.support.history_blocks import BLOCK_MS, GENESIS, History
from tests.support.index_rig import opened, rederived

OLD = Path(__file__).parents[1] / "vectors" / "index_schema_1"
"""The tables and rows that the release before Alembic made from `BLOCKS[:14]`, as SQL."""
BLOCKS = list(History(6).blocks(20, 12))


@pytest.fixture
def old_index(address):
    """The address of an index that the release before Alembic wrote."""
    is_postgres = address.startswith("postgresql")
    engine = create_engine(
        address.replace("postgresql:", "postgresql+psycopg:") if is_postgres else f"sqlite:///{address}"
    )
    with engine.begin() as connection:
        for part in ("postgresql" if is_postgres else "sqlite", "rows"):
            for statement in (OLD / f"{part}.sql").read_text(encoding="utf-8").splitlines():
                connection.exec_driver_sql(statement)
    engine.dispose()
    return address


def differences(db):
    """What Alembic would change.

    In an old SQLite file the key of `meta` may be NULL, so this table is left out, as are partitions. The names of the
    indexes of derived tables alternate with each derivation.
    """
    derived = {row_type.TABLE for row_type in DERIVED_ROWS}

    def is_compared(found, name, kind, *_more):
        if kind == "index":
            return found.table.name not in derived
        return kind != "table" or (name != "meta" and not re.search(r"_\d+_\d+$", name))

    options = {"compare_type": True, "include_object": is_compared}
    with db.transaction() as connection:
        found = compare_metadata(MigrationContext.configure(connection, opts=options), METADATA)
        inspector = inspect(connection)
        for row_type in DERIVED_ROWS:
            indexed = {tuple(index["column_names"]) for index in inspector.get_indexes(row_type.TABLE)}
            found += [(row_type.TABLE, names) for names in indexed ^ set(row_type.INDEXES)]
        return found


def test_the_newest_revision_is_the_schema_version():
    assert ScriptDirectory.from_config(migrations.configuration()).get_current_head() == str(SCHEMA_VERSION)


def test_migrations_of_an_empty_database_make_the_tables(address, monkeypatch):
    db, _ = opened(address)
    assert differences(db) == []
    assert db.execute(text("SELECT version_num FROM alembic_version")) == [(str(SCHEMA_VERSION),)]
    assert meta.read_meta(db)["schema"] == str(SCHEMA_VERSION)
    db.close()
    monkeypatch.setattr(command, "upgrade", lambda *_: pytest.fail("there is no revision to apply"))
    db, writer = opened(address)
    writer.add(BLOCKS)
    assert stored_digest(db).hex() == replayed_digest(db).hex()
    db.close()


def test_an_index_of_the_release_before_alembic_is_read_and_continued(old_index):
    with pytest.raises(IndexFault, match="brought to the form of this release") as refused:
        queries.open_for_reading(old_index)
    assert refused.value.code == "index_busy"
    db, writer = opened(old_index)
    assert status.last_block(db).number == 13
    assert writer.is_rederiving
    rederived(writer)
    assert stored_digest(db).hex() == replayed_digest(db).hex()
    assert differences(db) == []
    assert writer.cursor == BLOCKS[13].ref
    writer.add(BLOCKS[14:])
    continued = stored_digest(db).hex()
    assert continued == replayed_digest(db).hex()
    db.close()


def test_rows_of_revision_1_become_the_first_partitions(old_index):
    def stored(db):
        # Extrinsics have columns that the old table lacks.
        row_types = (row_type for row_type in (*CHAIN_ROWS, *DERIVED_ROWS) if row_type is not ExtrinsicRow)
        return {row_type.TABLE: db.rows(row_type) for row_type in row_types if db.has_table(row_type.TABLE)}

    db = open_index(old_index)
    before = stored(db)
    db.close()
    db, writer = opened(old_index, partition_blocks=4, keep_ms=2 * BLOCK_MS)
    assert stored(db) == before
    assert db.rows(ExtrinsicRow) == [
        replace(row, call=None, signer=None) for block in BLOCKS[:14] for row in read_block(block).extrinsics
    ]
    bounds = [(0, 14)] if db.partitioned else []
    for row_type in PARTITIONED_ROWS:
        assert [(one.first, one.end) for one in found_partitions(db, row_type)] == bounds
    rederived(writer)
    assert differences(db) == []
    # The first partition has a size of its own; the next ones end at multiples of four.
    writer.add(BLOCKS[14:15])
    if db.partitioned:
        assert [(one.first, one.end) for one in found_partitions(db, EventRow)] == [(0, 14), (14, 16), (16, 20)]
        assert not writer.prune(100)
    writer.add(BLOCKS[15:])
    assert stored_digest(db).hex() == replayed_digest(db).hex()
    while writer.prune(10**6):
        pass
    assert {row.block for row in db.rows(EventRow)} == set(range(16 if db.partitioned else 17, 20))
    assert db.rows(TransferRow)[: len(before["transfers"])] == before["transfers"]
    db.close()


def found_partitions(db, row_type):
    return partitions(db, TABLES[row_type]) if db.partitioned else []


def test_an_old_index_without_blocks_or_derived_tables_gets_empty_partitioned_tables(old_index):
    db = open_index(old_index)
    for row_type in CHAIN_ROWS:
        db.execute(delete(TABLES[row_type]))
    for row_type in DERIVED_ROWS:
        db.execute(text(f"DROP TABLE IF EXISTS {row_type.TABLE}"))
    db.execute(text("DELETE FROM meta WHERE name = 'derived'"))
    db.close()
    db, writer = opened(old_index, partition_blocks=4)
    assert differences(db) == []
    writer.add(BLOCKS)
    assert stored_digest(db).hex() == replayed_digest(db).hex()
    db.close()


def test_an_index_of_the_release_before_alembic_for_another_chain_is_refused(old_index):
    db = open_index(old_index)
    with pytest.raises(WrongChain):
        IndexWriter(db).prepare(hashlib.sha256(b"other").digest())
    db.close()


def test_a_continued_index_equals_one_that_is_written_at_once(old_index, tmp_path):
    db, writer = opened(old_index)
    rederived(writer)
    writer.add(BLOCKS[14:])
    whole, other = opened(str(tmp_path / "whole.db"))
    other.add(BLOCKS)
    assert stored_digest(db).hex() == stored_digest(whole).hex()
    db.close()
    whole.close()


def test_a_migration_that_is_interrupted_leaves_nothing(address, monkeypatch):
    db = open_index(address, create=True)
    upgrade = command.upgrade

    def interrupted(config, revision):
        upgrade(config, revision)
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "upgrade", interrupted)
    with pytest.raises(KeyboardInterrupt):
        IndexWriter(db).prepare(GENESIS)
    monkeypatch.undo()
    assert not db.has_table("blocks")
    db.close()
    db, _ = opened(address)
    assert differences(db) == []
    db.close()


def test_an_indexer_of_an_index_without_new_revisions_starts_without_alembic(tmp_path):
    db, _ = opened(str(tmp_path / "index.db"))
    db.close()
    code = f"""
import sys
from offchain.indexer.engines import open_index
from offchain.indexer.writer import IndexWriter
IndexWriter(open_index({str(tmp_path / "index.db")!r})).prepare(bytes.fromhex({GENESIS.hex()!r}))
sys.exit("alembic" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_command_line_starts_without_sqlalchemy():
    code = "import sys; from offchain.cli.main import main; main(['--help']); sys.exit('sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0
