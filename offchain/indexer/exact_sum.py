"""Sums of amounts, exact beyond 64 bits on both databases."""

from __future__ import annotations

import sqlite3
from typing import Any, Final

from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from offchain.indexer.tables import CoinAmountType

_NAME: Final = "exact_sum"


class ExactSum(FunctionElement[int]):
    """The sum of a column of amounts; None without rows."""

    type = CoinAmountType()
    name = _NAME
    inherit_cache = True


@compiles(ExactSum)
def _other(element: ExactSum, compiler: Any, **options: Any) -> str:
    return f"sum({compiler.process(element.clauses, **options)})"


@compiles(ExactSum, "sqlite")
def _sqlite(element: ExactSum, compiler: Any, **options: Any) -> str:
    return f"{_NAME}({compiler.process(element.clauses, **options)})"


class _Total:
    """Adds the texts that SQLite stores, whose own sum is a number of 64 bits."""

    def __init__(self) -> None:
        self._total: int | None = None

    def step(self, value: str | None) -> None:
        if value is not None:
            self._total = (self._total or 0) + int(value)

    def finalize(self) -> str | None:
        return None if self._total is None else str(self._total)


def add_exact_sum(connection: sqlite3.Connection) -> None:
    """Add the function to a connection of SQLite."""
    connection.create_aggregate(_NAME, 1, _Total)  # type: ignore[arg-type]  # None is NULL
