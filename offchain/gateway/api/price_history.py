"""Prices of a GPU model over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from statistics import median_low
from typing import Annotated, Final

from pydantic import Field

from offchain.gateway.api.answers import as_of
from offchain.gateway.api.models import Amount, AnsweredModel, ResourceAnswer, TimeMs
from offchain.gateway.api.parameters import Label, Parameters
from offchain.indexer.database import IndexDatabase
from offchain.indexer.market_prices import hours_of
from offchain.indexer.state_rows import ModelPriceRow
from offchain.schema.durations import DAY_MS, HOUR_MS

MOST_DAYS: Final = 400
HOURLY_DAYS: Final = 14
"""Up to so many days have a point for each hour; more have one for each day (UTC)."""
_WHOLE_MILLI: Final = 1000


class PricesOfModel(Parameters):
    """Which model, and how far back."""

    model: Annotated[Label, Field(min_length=1)]
    simulated: bool = False
    days: Annotated[int, Field(ge=1, le=MOST_DAYS)] = 30


class PricePointResource(AnsweredModel):
    """Prices in a period, for an hour of one whole GPU; null in place of a mean: no lease held one."""

    begin_ms: TimeMs
    lowest_price: Annotated[Amount, Field(description="The lowest price that a host asked for.")]
    median_price: Annotated[
        Amount, Field(description="Median of the hosts' prices; of a day: the median of its hours.")
    ]
    paid_price: Annotated[
        Amount | None,
        Field(description="Mean hourly rate of running leases by leased GPU, with their processors, memory and disk."),
    ]
    gpus: Annotated[int, Field(description="GPUs that hosts offered at the end of the period.")]
    gpus_free: int


class PriceHistoryResource(AnsweredModel):
    """Prices of a model, the oldest period first. Periods in which the indexer was behind the chain are left out."""

    model: str
    simulated: bool
    period_ms: int
    points: list[PricePointResource]


def prices_of_model(db: IndexDatabase, asked: PricesOfModel) -> ResourceAnswer[PriceHistoryResource]:
    """Return the prices of a model in the last days of the index; without points if there was none."""
    block = as_of(db)
    period_ms = HOUR_MS if asked.days <= HOURLY_DAYS else DAY_MS
    begin_ms = block.time_ms // period_ms * period_ms - asked.days * DAY_MS
    rows = hours_of(db, asked.model, int(asked.simulated), begin_ms)
    data = PriceHistoryResource(
        model=asked.model, simulated=asked.simulated, period_ms=period_ms, points=points_of(rows, period_ms)
    )
    return ResourceAnswer[PriceHistoryResource](as_of=block, data=data)


def points_of(hours: Iterable[ModelPriceRow], period_ms: int) -> list[PricePointResource]:
    """Return hours of one model, the oldest first, as points of periods."""
    return [
        _point(period * period_ms, list(rows)) for period, rows in groupby(hours, lambda row: row.hour_ms // period_ms)
    ]


def _point(begin_ms: int, rows: Sequence[ModelPriceRow]) -> PricePointResource:
    leased_milli = sum(row.leased_milli for row in rows)
    return PricePointResource(
        begin_ms=begin_ms,
        lowest_price=min(row.lowest_price for row in rows),
        median_price=median_low(row.median_price for row in rows),
        paid_price=sum(row.paid_rate for row in rows) * _WHOLE_MILLI // leased_milli if leased_milli else None,
        gpus=rows[-1].gpus,
        gpus_free=rows[-1].gpus_free,
    )
