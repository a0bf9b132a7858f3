"""Indexes for tests: opened, rederived with changed rules, and killed before a write."""

from dataclasses import replace

from offchain.indexer import derive as rules
from offchain.indexer.engines import open_index
from offchain.indexer.rows import BillRow, HostRow, LeaseRow, TaskRow, TransferRow
from offchain.indexer.writer import IndexWriter
from tests.support.history_blocks import GENESIS

EXACT_ROWS = (TaskRow, LeaseRow, HostRow, BillRow, TransferRow)
"""Derived tables that retention must not change."""
NEXT_VERSION = 1000


class Killed(BaseException):
    """kill -9: only commits survive."""


class Fragile:
    """A database whose process dies before its write number `fuse`."""

    def __init__(self, db, fuse):
        self._db, self._fuse = db, fuse

    def __getattr__(self, name):
        found = getattr(self._db, name)
        if name not in ("execute", "insert", "upsert"):
            return found

        def write(*arguments):
            self._fuse -= 1
            if self._fuse < 0:
                raise Killed
            return found(*arguments)

        return write


def opened(address, **options):
    """Return the database at an address and its writer."""
    db = open_index(address, create=True)
    index = IndexWriter(db, **options)
    index.prepare(GENESIS)
    return db, index


def rederived(index):
    """Rederive to the end."""
    while index.is_rederiving:
        assert index.rederive()


def upgrade_rules(monkeypatch, version=NEXT_VERSION):
    """Make this process one of a release whose derived tables have another version, with other kinds of tasks."""
    for module in ("meta", "rederivation", "verification", "writer"):
        monkeypatch.setattr(f"offchain.indexer.{module}.DERIVED_VERSION", version)

    def derive(event, get):
        for row in rules.derive(event, get):
            yield replace(row, kind=marked(row.kind, version)) if isinstance(row, (TaskRow, TransferRow)) else row

    monkeypatch.setattr("offchain.indexer.projection.derive", derive)


def marked(kind, version=NEXT_VERSION):
    """Return the kind of a task or transfer as the rules of :func:`upgrade_rules` write it."""
    return f"{kind.partition('@')[0]}@{version}"


def versions_read(db):
    """Return the versions of the rules by which the rows of tasks and transfers were made; "" for the present ones."""
    return {row.kind.partition("@")[2] for table in (TaskRow, TransferRow) for row in db.rows(table)}
