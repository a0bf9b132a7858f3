"""Alembic revisions of the tables that are read from the chain. Derived tables are rebuilt instead.

Alembic is imported where it is needed only: that takes a second.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text

from offchain.indexer.tables import SCHEMA_VERSION

if TYPE_CHECKING:
    from alembic.config import Config


def configuration() -> Config:
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    return config


def upgrade(connection: Connection) -> None:
    """Apply the revisions that the database lacks, within the transaction of `connection`."""
    if _revision(connection) == str(SCHEMA_VERSION):
        return
    from alembic import command  # noqa: PLC0415

    config = configuration()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _revision(connection: Connection) -> str | None:
    """Return the newest revision of the database; None if Alembic has not written to it."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return found
