"""The writer of the index: adds blocks in order, each once, and keeps the derived tables up to date."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from offchain.errors import WrongChain
from offchain.indexer import meta, migrations
from offchain.indexer.block_rows import BlockRows, read_block
from offchain.indexer.database import IndexDatabase, IndexFault, IndexInUse
from offchain.indexer.derived_tables import DerivedTables
from offchain.indexer.documentation import store_documentation
from offchain.indexer.host_states import MOST_HOSTS, HostsRead, HostStates
from offchain.indexer.market_prices import SAMPLE_MS, sample_prices
from offchain.indexer.partitions import PartitionedTable
from offchain.indexer.rederivation import Rederivation
from offchain.indexer.retention import Retention
from offchain.indexer.rows import PARTITION_BLOCKS, BlockRow, EventRow, ExtrinsicRow
from offchain.indexer.status import IndexStatus, cursor, events_pruned, index_status, newer_release
from offchain.indexer.tables import DERIVED_ROWS, DERIVED_VERSION, METADATA, SCHEMA_VERSION, TABLES
from offchain.ports import Block, BlockRef, ItemDocumentation


@dataclass(frozen=True, slots=True)
class TakenBlocks:
    """Blocks whose rows are in memory. `changed_hosts`: the hosts that their events name."""

    refs: tuple[BlockRef, ...]
    rows: list[BlockRows]
    changed_hosts: frozenset[str]


class IndexWriter:
    """The only writer of an index. Call :meth:`prepare` before anything else."""

    def __init__(
        self, db: IndexDatabase, *, keep_ms: int | None = None, partition_blocks: int = PARTITION_BLOCKS
    ) -> None:
        """`keep_ms`: events of blocks that are older than the last block by more are removed; None: never.

        `partition_blocks`: blocks in each new partition of a large table in PostgreSQL.
        """
        self._db = db
        self._partition_blocks = partition_blocks
        self._partitions = [PartitionedTable(db, TABLES[row], partition_blocks) for row in (ExtrinsicRow, EventRow)]
        self._derived = DerivedTables(db, TABLES, partition_blocks)
        self._hosts = HostStates(db)
        self._rederivation: Rederivation | None = None
        self._retention = None if keep_ms is None else Retention(db, keep_ms)
        self._cursor: BlockRef | None = None
        self._cursor_unknown = False
        self._sampled_ms: int | None = None
        """Time of the last block with which this object has written a sample of prices."""
        self._is_ahead = False
        """Whether memory contains blocks that were taken and not written."""
        self.rows_written = 0
        """Rows of blocks, extrinsics and events that this object has written."""

    @property
    def cursor(self) -> BlockRef | None:
        """The last block in the index."""
        if self._cursor_unknown:
            self._cursor, self._cursor_unknown = cursor(self._db), False
        return self._cursor

    @property
    def name(self) -> str:
        """Name of the database for messages."""
        return self._db.name

    @property
    def is_rederiving(self) -> bool:
        """Whether derived tables are being filled beside those that are read; :meth:`rederive` goes on with it."""
        return self._rederivation is not None

    def status(self) -> IndexStatus:
        return index_status(self._db)

    def halt(self, reason: str) -> None:
        """Refuse readers from now on: the node does not serve the chain that is in the index."""
        with self._db.transaction():
            meta.note(self._db, meta.HALTED, reason)

    def resume(self) -> None:
        """Admit readers again."""
        if meta.HALTED in meta.read_meta(self._db):
            with self._db.transaction():
                meta.forget(self._db, meta.HALTED)

    def prepare(self, genesis: bytes) -> None:
        """Migrate the tables to the format of this release.

        Derived tables of an older version stay as they are until :meth:`rederive` has replaced them.

        Raises IndexFault if another indexer writes, a newer release has written, or derived tables of an older version
        cannot be derived again because events were removed; and WrongChain for another chain.
        """
        if not self._db.lock():
            raise IndexFault(
                f"Another indexer writes to {self._db.name}.", "Stop it, or give this one an index of its own."
            )
        stored = meta.read_meta(self._db)
        if stored.get("genesis", genesis.hex()) != genesis.hex():
            error = WrongChain(f"0x{stored['genesis']}", f"0x{genesis.hex()}", "genesis")
            self.halt(str(error))
            raise error
        if meta.is_newer(stored):
            raise newer_release(self._db)
        is_derived = stored.get(meta.DERIVED) == str(DERIVED_VERSION) and meta.DERIVED_TO not in stored
        if not is_derived and meta.kept_from(stored):
            raise self._not_derivable(stored)
        with self._db.transaction() as connection:
            migrations.upgrade(connection)
            meta.note(self._db, "schema", SCHEMA_VERSION)
            meta.note(self._db, "genesis", genesis.hex())
        self._cursor = cursor(self._db)
        if self._cursor is None:
            self._create_derived()
        elif is_derived:
            # A new runtime may have changed hosts without an event, and an older index has none.
            with self._db.transaction():
                self._hosts.mark_all(self._cursor.number)
        else:
            self._rederivation = Rederivation(self._db, self._partition_blocks)

    def document(self, items: Iterable[ItemDocumentation]) -> None:
        """Store the documentation of the runtime that the node has."""
        store_documentation(self._db, items)

    def add(self, blocks: Sequence[Block]) -> None:
        """Store the blocks after the last one and what is derived from them, in one transaction."""
        self.write(self.take(blocks))

    def take(self, blocks: Sequence[Block]) -> TakenBlocks:
        """Return the rows of the blocks after the last one; :meth:`write` stores them."""
        if self._is_ahead:
            self._discard()
        self._is_ahead = True
        rows = [read_block(block) for block in blocks]
        changed: set[str] = set()
        if self._rederivation is None:
            self._derived.derive([event for block in rows for event in block.indexed])
            named, registered = self._derived.named_accounts()
            changed = registered | self._hosts.registered_of(named - registered)
        return TakenBlocks(tuple(block.ref for block in blocks), rows, frozenset(changed))

    def hosts_to_read(self, taken: TakenBlocks) -> list[str]:
        """Return the hosts to read from the storage of the last of these blocks, at most :data:`MOST_HOSTS`.

        None during a rederivation, which does not know yet which hosts new events change.
        """
        if self._rederivation is not None:
            return []
        due = self._hosts.due(MOST_HOSTS)
        return list(dict.fromkeys((*due, *sorted(taken.changed_hosts))))[:MOST_HOSTS]

    def write(self, taken: TakenBlocks, read: HostsRead | None = None) -> None:
        """Store the blocks that were taken last, what is derived from them, and hosts, in one transaction.

        `read`: hosts as they are at the last of the blocks. The other hosts that changed are noted as due.
        """
        first, last = taken.refs[0].number, taken.refs[-1].number
        time_ms, is_sampled = taken.rows[-1].block.time_ms, False
        try:
            with self._db.transaction():
                for table in self._partitions:
                    table.reserve(first, last)
                self._db.insert(BlockRow, [block.block for block in taken.rows])
                self._db.insert(ExtrinsicRow, [row for block in taken.rows for row in block.extrinsics])
                self._db.insert(EventRow, [row for block in taken.rows for row in block.events])
                if self._rederivation is None:
                    self._derived.write(first, last)
                if read is not None:
                    self._hosts.store(read, time_ms)
                self._hosts.mark(taken.changed_hosts.difference(() if read is None else read.hosts), last)
                is_sampled = read is not None and self._is_sample_due(time_ms)
                if is_sampled:
                    sample_prices(self._db, time_ms)
        except BaseException:
            # Memory is ahead of the database; and the commit may have been made although its answer was lost.
            self._discard()
            self._cursor_unknown = True
            raise
        self._is_ahead = False
        self._sampled_ms = time_ms if is_sampled else self._sampled_ms
        self._cursor = taken.refs[-1]
        self.rows_written += sum(1 + len(block.extrinsics) + len(block.events) for block in taken.rows)
        self._derived.evict()

    def rederive(self) -> bool:
        """Do one step of the rederivation, if there is one; return False if readers have to finish before."""
        if self._rederivation is not None:
            try:
                if self._rederivation.step():
                    self._rederivation = None
                    self._discard()
            except IndexInUse:
                return False
        return True

    def prune(self, most_events: int) -> bool:
        """Remove events that need not be kept any more; return whether there were any (see :class:`Retention`).

        During a rederivation, which needs them, all events stay.
        """
        if self._retention is None or self._rederivation is not None:
            return False
        return self._retention.step(most_events)

    def _is_sample_due(self, time_ms: int) -> bool:
        """Return whether prices are to be sampled: at intervals, and only while all offers are those of this block."""
        if self._sampled_ms is not None and time_ms - self._sampled_ms < SAMPLE_MS:
            return False
        return not self._hosts.due(1)

    def _create_derived(self) -> None:
        tables = [TABLES[row_type] for row_type in DERIVED_ROWS]
        with self._db.transaction() as connection:
            METADATA.drop_all(connection, tables)
            METADATA.create_all(connection, tables)
            meta.note(self._db, meta.DERIVED, DERIVED_VERSION)
            meta.forget(self._db, meta.DERIVED_TO)

    def _discard(self) -> None:
        self._is_ahead = False
        self._derived.discard()
        for table in self._partitions:
            table.forget()

    def _not_derivable(self, stored: Mapping[str, str]) -> IndexFault:
        pruned = events_pruned(self._db, meta.kept_from(stored))
        return IndexFault(
            f"The derived tables of {self._db.name} have version {stored.get(meta.DERIVED)} and this release writes "
            f"version {DERIVED_VERSION}. They cannot be derived again: {pruned.message}",
            "Fill a new index (--index) from a node with all old states (--state-pruning archive) and use it instead. "
            "Until then, run the previous release with this index, which is unchanged.",
            code=pruned.code,
        )
