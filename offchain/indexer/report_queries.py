"""Statements of reports: sums by name and period of time, each for a bounded number of names.

A scope is a subquery with the columns of what it selects and `name`, the subject of the report that a row belongs to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from sqlalchemy import (
    ColumnElement,
    Select,
    Subquery,
    and_,
    case,
    func,
    literal,
    select,
    union_all,
)

from offchain.indexer.database import IndexDatabase
from offchain.indexer.exact_amounts import ExactSum
from offchain.indexer.offers import NO_MODEL
from offchain.indexer.rows import BillRow, BlockRow, HostRow, LeaseRow, TaskRow
from offchain.indexer.state_rows import HostUsageRow, OfferRow
from offchain.indexer.status import last_block
from offchain.indexer.tables import INTEGER, columns

Subject = Literal["host", "model", "region", "tenant", "provider"]
PeriodKey: TypeAlias = tuple[str, int]
"""Name of a subject, and number of a period."""
_QUANTILES: Final = (50, 95)
_NAMED: Final[dict[Subject, tuple[ColumnElement[str], ColumnElement[str] | None]]] = {
    "host": (columns(HostRow).host, columns(HostRow).host),
    "provider": (columns(HostRow).provider, columns(HostRow).host),
    "model": (columns(OfferRow).model, columns(OfferRow).host),
    "region": (columns(OfferRow).region, columns(OfferRow).host),
    "tenant": (columns(TaskRow).tenant, None),
}
"""The column with the names of a subject, and that with its hosts; None: it has tasks instead."""


@dataclass(frozen=True, slots=True)
class Period:
    """A period from `begin_ms` up to, not including, `end_ms`."""

    begin_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True)
class WaitStatistics:
    """Durations in ms: how many, their sum, median, 95th percentile (nearest rank) and maximum."""

    count: int
    sum_ms: int
    median_ms: int
    p95_ms: int
    most_ms: int


def next_names(db: IndexDatabase, subject: Subject, after: str | None, limit: int) -> list[str]:
    """Return the names of a subject in order, after one. Each is found by a look-up in an index of its column.

    Models and regions have no such index: the table of offers, a few rows for each host, is read.
    """
    column, _ = _NAMED[subject]
    if subject in ("model", "region"):
        statement = select(column).where(column != NO_MODEL).distinct().order_by(column).limit(limit)
        found = db.execute(statement if after is None else statement.where(column > after))
        return [name for (name,) in found]
    names: list[str] = []
    while len(names) < limit:
        last = names[-1] if names else after
        ((name,),) = db.execute(select(func.min(column)).where(*([] if last is None else [column > last])))
        if name is None:
            break
        names.append(name)
    return names


def waits(
    db: IndexDatabase,
    subject: Subject,
    names: Sequence[str],
    periods: Sequence[Period],
    kind: Literal["assign", "start"],
) -> dict[PeriodKey, WaitStatistics]:
    """Return the durations from submission to the first assignment, or from an assignment to the start."""
    lease, task = columns(LeaseRow), columns(TaskRow)
    if kind == "assign":
        first = [lease.pod == 0, lease.generation == 0]
        value, joined = lease.assigned_ms - task.submitted_ms, True
    else:
        first = [lease.started_ms.is_not(None)]
        value, joined = lease.started_ms - lease.assigned_ms, False
    base = _leases(subject, names, lease.assigned_ms, _bucket(lease.assigned_ms, periods), value, with_task=joined)
    one = base.where(*first, *_within(lease.assigned_ms, periods)).subquery().c
    group = (one.name, one.bucket)
    ranked = select(
        one.name,
        one.bucket,
        one.value,
        func.row_number().over(partition_by=group, order_by=one.value).label("rank"),
        func.count().over(partition_by=group).label("count"),
    ).subquery()
    of = ranked.c
    at_rank = [
        func.max(case((and_(100 * of.rank >= q * of.count, 100 * (of.rank - 1) < q * of.count), of.value)))
        for q in _QUANTILES
    ]
    found = db.execute(
        select(of.name, of.bucket, func.max(of.count), func.sum(of.value), *at_rank, func.max(of.value)).group_by(
            of.name, of.bucket
        )
    )
    return {(name, int(bucket)): WaitStatistics(*map(int, values)) for name, bucket, *values in found}


def assigned(
    db: IndexDatabase, subject: Subject, names: Sequence[str], periods: Sequence[Period]
) -> dict[PeriodKey, int]:
    """Return how many leases were assigned."""
    when = columns(LeaseRow).assigned_ms
    one = _leases(subject, names, when, _bucket(when, periods)).where(*_within(when, periods)).subquery().c
    found = db.execute(select(one.name, one.bucket, func.count()).group_by(one.name, one.bucket))
    return {(name, int(bucket)): int(count) for name, bucket, count in found}


def ends(
    db: IndexDatabase, subject: Subject, names: Sequence[str], periods: Sequence[Period]
) -> dict[PeriodKey, dict[tuple[str, bool], int]]:
    """Return how many leases ended, by reason and whether the program failed."""
    lease = columns(LeaseRow)
    when = lease.ended_ms
    failed = case((func.coalesce(lease.exit_code, 0) != 0, 1), else_=0).label("failed")
    base = _leases(subject, names, when, _bucket(when, periods)).add_columns(
        func.coalesce(lease.reason, "").label("reason"), failed
    )
    one = base.where(*_within(when, periods)).subquery().c
    group = (one.name, one.bucket, one.reason, one.failed)
    made: dict[PeriodKey, dict[tuple[str, bool], int]] = {}
    for name, bucket, reason, is_failed, count in db.execute(select(*group, func.count()).group_by(*group)):
        made.setdefault((name, int(bucket)), {})[reason, bool(is_failed)] = int(count)
    return made


def pod_time(
    db: IndexDatabase, subject: Subject, names: Sequence[str], periods: Sequence[Period]
) -> dict[PeriodKey, int]:
    """Return the time in ms that pods ran, from start to end, within each period."""
    lease = columns(LeaseRow)
    first, last = periods[0].begin_ms, periods[-1].end_ms
    until = func.coalesce(lease.ended_ms, last).label("until")
    base = _leases(subject, names, lease.started_ms).add_columns(lease.started_ms.label("since"), until)
    spans = base.where(
        lease.started_ms < last, (lease.ended_ms > first) | lease.ended_ms.is_(None), lease.started_ms.is_not(None)
    ).subquery()
    of, when = spans.c, _periods(periods).c
    overlap = _overlap(of.since, of.until, when)
    statement = select(of.name, when.place, func.sum(overlap)).join_from(
        spans, when.place.table, and_(of.since < when.end_ms, of.until > when.begin_ms)
    )
    return {
        (name, int(place)): int(total) for name, place, total in db.execute(statement.group_by(of.name, when.place))
    }


def payments(
    db: IndexDatabase, subject: Subject, names: Sequence[str], periods: Sequence[Period]
) -> dict[PeriodKey, tuple[int, int, int]]:
    """Return what was paid, the fee in it, and what was refunded, in base units."""
    bill, block = columns(BillRow), columns(BlockRow)
    first, end = (_first_block(db, time_ms) for time_ms in (periods[0].begin_ms, periods[-1].end_ms))
    name, hosts = _NAMED[subject]
    amounts = (bill.paid, bill.fee, bill.refunded)
    bucket = _bucket(block.time_ms, periods).label("bucket")
    if hosts is None:
        task = columns(TaskRow)
        base = select(task.tenant.label("name"), bucket, *amounts).where(task.task == bill.task, task.tenant.in_(names))
    else:
        member = _members(name, hosts, names).c
        base = select(member.name, bucket, *amounts).where(member.host == bill.host)
    one = base.where(block.number == bill.block, bill.block >= first, bill.block < end).subquery().c
    sums = (ExactSum(one.paid), ExactSum(one.fee), ExactSum(one.refunded))
    found = db.execute(select(one.name, one.bucket, *sums).group_by(one.name, one.bucket))
    return {(who, int(place)): (int(paid), int(fee), int(back)) for who, place, paid, fee, back in found}


def usage(
    db: IndexDatabase, subject: Subject, names: Sequence[str], periods: Sequence[Period]
) -> dict[PeriodKey, tuple[int, int, int, int]]:
    """Return the times in ms that GPUs were offered and leased (times thousandths), and that hosts were up and down."""
    name, hosts = _NAMED[subject]
    if hosts is None:
        return {}
    use, when, member = columns(HostUsageRow), _periods(periods).c, _members(name, hosts, names).c
    overlap = _overlap(use.since_ms, use.until_ms, when)
    is_host = use.model == NO_MODEL
    sums = (
        func.sum(overlap * use.offered_milli),
        func.sum(overlap * use.leased_milli),
        func.sum(case((and_(is_host, use.online == 1), overlap), else_=0)),
        func.sum(case((and_(is_host, use.online == 0), overlap), else_=0)),
    )
    conditions = [
        use.host == member.host,
        # Bounds that the key serves; those of the periods follow from them.
        use.until_ms > periods[0].begin_ms,
        use.since_ms < when.end_ms,
        use.until_ms > when.begin_ms,
    ]
    if subject == "model":
        conditions.append(is_host | (use.model == member.name))
    statement = select(member.name, when.place, *sums).where(*conditions).group_by(member.name, when.place)
    return {
        (who, int(place)): (int(offered), int(leased), int(up), int(down))
        for who, place, offered, leased, up, down in db.execute(statement)
    }


def _leases(
    subject: Subject,
    names: Sequence[str],
    when: ColumnElement[Any],
    bucket: ColumnElement[int] | None = None,
    value: ColumnElement[Any] | None = None,
    *,
    with_task: bool = False,
) -> Select[Any]:
    """Return a selection of leases with `name`, and `bucket` and `value` if they are given."""
    lease, task = columns(LeaseRow), columns(TaskRow)
    name, hosts = _NAMED[subject]
    shown = [
        *([] if bucket is None else [bucket.label("bucket")]),
        *([] if value is None else [value.label("value")]),
    ]
    known = when.is_not(None)
    if hosts is None:
        return select(task.tenant.label("name"), *shown).where(task.tenant.in_(names), lease.task == task.task, known)
    member = _members(name, hosts, names).c
    made = select(member.name, *shown).where(member.host == lease.host, known)
    return made.where(task.task == lease.task) if with_task else made


def _members(name: ColumnElement[str], hosts: ColumnElement[str], names: Sequence[str]) -> Subquery:
    """Return the hosts of these names."""
    return select(name.label("name"), hosts.label("host")).where(name.in_(names)).distinct().subquery("members")


def _within(when: ColumnElement[Any], periods: Sequence[Period]) -> Iterable[ColumnElement[bool]]:
    return (when >= periods[0].begin_ms, when < periods[-1].end_ms)


def _bucket(when: ColumnElement[Any], periods: Sequence[Period]) -> ColumnElement[int]:
    """Return the number of the period of a time. All periods but the first and last are as long as the second."""
    if len(periods) == 1:
        return literal(0, INTEGER)
    second = periods[1]
    # The first period may be shorter: times are counted from where it would begin if it were whole.
    size = (
        periods[1].end_ms - second.begin_ms if len(periods) > 2 else max(one.end_ms - one.begin_ms for one in periods)
    )
    return (when - literal(second.begin_ms - size, INTEGER)) // literal(size, INTEGER)


def _periods(periods: Sequence[Period]) -> Subquery:
    """Return the periods as a table: place, begin_ms, end_ms."""
    rows = [
        select(
            literal(place, INTEGER).label("place"),
            literal(one.begin_ms, INTEGER).label("begin_ms"),
            literal(one.end_ms, INTEGER).label("end_ms"),
        )
        for place, one in enumerate(periods)
    ]
    return union_all(*rows).subquery("periods")


def _overlap(since: ColumnElement[Any], until: ColumnElement[Any], when: Any) -> ColumnElement[int]:
    begin = case((since > when.begin_ms, since), else_=when.begin_ms)
    end = case((until < when.end_ms, until), else_=when.end_ms)
    return end - begin


def _first_block(db: IndexDatabase, time_ms: int) -> int:
    """Return the number of the first block that is not before a time, by a binary search on the key."""
    last = last_block(db)
    low, high = 0, 0 if last is None else last.number + 1
    block = columns(BlockRow)
    while low < high:
        middle = (low + high) // 2
        found = db.execute(select(block.time_ms).where(block.number == middle))
        if found and found[0][0] >= time_ms:
            high = middle
        else:
            low = middle + 1
    return low
