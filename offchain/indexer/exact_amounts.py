"""Sums and comparisons of amounts, exact beyond 64 bits on both databases."""

from __future__ import annotations

import sqlite3
from typing import Any, Final

from sqlalchemy import Boolean
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from offchain.indexer.tables import CoinAmountType

_NAME: Final = "exact_sum"
_REST: Final = "has_rest"


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


class HasRest(FunctionElement[bool]):
    """Whether the first amount is greater than the sum of the two others."""

    type = Boolean()
    name = _REST
    inherit_cache = True


@compiles(HasRest)
def _other_rest(element: HasRest, compiler: Any, **options: Any) -> str:
    whole, *parts = (compiler.process(clause, **options) for clause in element.clauses)
    return f"({whole} > {' + '.join(parts)})"


@compiles(HasRest, "sqlite")
def _sqlite_rest(element: HasRest, compiler: Any, **options: Any) -> str:
    return f"{_REST}({compiler.process(element.clauses, **options)})"


def _has_rest(whole: str, first: str, second: str) -> bool:
    return int(whole) > int(first) + int(second)


class _Total:
    """Adds the texts that SQLite stores, whose own sum is a number of 64 bits."""

    def __init__(self) -> None:
        self._total: int | None = None

    def step(self, value: str | None) -> None:
        if value is not None:
            self._total = (self._total or 0) + int(value)

    def finalize(self) -> str | None:
        return None if self._total is None else str(self._total)


def add_exact_amounts(connection: sqlite3.Connection) -> None:
    """Add the functions to a connection of SQLite."""
    connection.create_function(_REST, 3, _has_rest, deterministic=True)
    connection.create_aggregate(_NAME, 1, _Total)  # type: ignore[arg-type]  # None is NULL
