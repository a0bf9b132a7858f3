"""Answers made of rows of the index: single resources and pages, each with the block that it is of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel
from sqlalchemy import ColumnElement

from offchain.errors import OurError
from offchain.gateway.api import models
from offchain.gateway.api.parameters import encode_cursor
from offchain.indexer import queries
from offchain.indexer.database import IndexDatabase, IndexFault
from offchain.indexer.pages import Key, PageRequest, block_times
from offchain.indexer.rows import BillRow, ExtrinsicRow, R, Row, TransferRow
from offchain.indexer.status import last_block

M = TypeVar("M", bound=BaseModel)
Fields = Callable[[Any], dict[str, Any]]
"""Returns the values of a model from a row."""


class NotFound(OurError):  # noqa: N818
    """There is no such resource in the index."""

    code = "not_found"


def as_of(db: IndexDatabase) -> models.BlockReference:
    """Return the last block of the index. Raises IndexFault before the first one."""
    last = last_block(db)
    if last is None:
        raise IndexFault("The index has no block yet.", "Try again in a minute.", code="index_busy")
    return models.BlockReference(number=last.number, hash=last.hash, time_ms=last.time_ms)


def not_found(db: IndexDatabase, name: str) -> NotFound:
    last = last_block(db)
    upto = "and has no block" if last is None else f"up to block {last.number}"
    return NotFound(f"There is no {name} in the index {upto}.", "Check the number, or wait for a later final block.")


def equal(*chosen: tuple[ColumnElement[Any], object]) -> list[ColumnElement[bool]]:
    """Return conditions that columns have these values; None does not restrict."""
    return [
        column == (int(value) if isinstance(value, bool) else value) for column, value in chosen if value is not None
    ]


def plain(row: Row) -> dict[str, Any]:
    """Return the columns of a row under their names."""
    return queries.as_dict(row)


def placed(db: IndexDatabase, rows: Sequence[BillRow | TransferRow | ExtrinsicRow]) -> Fields:
    """Return the fields of rows that have a place in a block, with the time of the block."""
    times = block_times(db, [row.block for row in rows])

    def fields(row: BillRow | TransferRow | ExtrinsicRow) -> dict[str, Any]:
        found = queries.as_dict(row)
        return found | {"index": found.pop("place"), "time_ms": times[row.block]}

    return fields


def one_answer(db: IndexDatabase, model: type[M], rows: Sequence[Row], name: str) -> models.ResourceAnswer[M]:
    """Return the only row as an answer. Raises NotFound if there is none."""
    if not rows:
        raise not_found(db, name)
    data = model(**_of(model, plain(rows[0])))
    return models.ResourceAnswer[model](as_of=as_of(db), data=data)  # type: ignore[valid-type]


def page_answer(
    db: IndexDatabase,
    model: type[M],
    request: PageRequest,
    rows: Sequence[R],
    fields: Fields = plain,
    key: Callable[[R], Key] = lambda row: row.key,
) -> models.Page[M]:
    """Return rows as an answer. `key`: the part of a row that a cursor contains."""
    made = [model(**_of(model, fields(row))) for row in rows]
    after = next_cursor(request, rows, key)
    return models.Page[model](as_of=as_of(db), data=made, next=after)  # type: ignore[valid-type]


def next_cursor(request: PageRequest, rows: Sequence[R], key: Callable[[R], Key] = lambda row: row.key) -> str | None:
    """Return the cursor of the page after these rows; None if there is none."""
    return encode_cursor(key(rows[-1])) if len(rows) == request.limit else None


def _of(model: type[BaseModel], fields: dict[str, Any]) -> dict[str, Any]:
    return {name: fields[name] for name in model.model_fields}
