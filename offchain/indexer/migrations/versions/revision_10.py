"""Why the last attempt to deliver a notice failed."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Text

revision = "10"
down_revision = "9"


def upgrade() -> None:
    op.add_column("deliveries", Column("failure", Text))
