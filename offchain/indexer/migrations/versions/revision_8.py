"""Index of offers that holds all columns of the market by model."""

from __future__ import annotations

from alembic import op

revision = "8"
down_revision = "7"


def upgrade() -> None:
    names = ["status", "model", "simulated", "price", "gpus", "gpus_free"]
    op.create_index(f"offers_by_{'_'.join(names)}", "offers", names)
