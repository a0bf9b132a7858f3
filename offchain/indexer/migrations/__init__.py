"""Alembic revisions of the tables that are read from the chain. Derived tables are rebuilt instead."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection


def configuration() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    return config


def upgrade(connection: Connection) -> None:
    """Apply the revisions that the database lacks, within the transaction of `connection`."""
    config = configuration()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
