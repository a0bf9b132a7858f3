"""Reports by host, GPU model, region, tenant or provider over time: use, waits, failures, payments and SLA.

docs/reports.md has the formula of each number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from offchain.errors import OurError
from offchain.indexer import report_queries as queries
from offchain.indexer.database import IndexDatabase
from offchain.indexer.report_queries import Period, PeriodKey, Subject, WaitStatistics
from offchain.indexer.status import last_block
from offchain.schema.chain_types.reasons import TENANTS_FAULTS
from offchain.schema.durations import DAY_MS, HOUR_MS

MOST_DAYS: Final = 366
MOST_PERIODS: Final = 400
MOST_NAMES: Final = 100
PPM: Final = 1_000_000
SUBJECTS: Final[tuple[Subject, ...]] = ("host", "model", "region", "tenant", "provider")
Grouping = Literal["total", "day", "hour"]
_SIZES: Final[Mapping[Grouping, int]] = {"day": DAY_MS, "hour": HOUR_MS}
_FAILURES: Final = frozenset(
    {"HostRefused", "StartTimeout", "HostLost", "NoResult", "Reclaimed", "GangAborted", "DisputeLost", "NoAgreement"}
)
"""Reasons of ends that are failures: the pod did not do what the tenant asked for."""
_HOST_FAULTS: Final = _FAILURES - {"GangAborted", "Reclaimed", "NoAgreement"}
"""Failures that count against the host, unless the reason within is the tenant's fault."""


class BadReport(OurError):  # noqa: N818
    """A report that cannot be made: `field` is the parameter at fault."""

    code = "invalid_parameter"

    def __init__(self, field: str, message: str, hint: str) -> None:
        super().__init__(f"{field}: {message}", hint)
        self.field = field


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """Asks for the names of a subject after `after`, at most `limit` of them, or for one `name`.

    Times are Unix ms of the chain; the report covers `from_ms` up to, not including, `to_ms`.
    """

    subject: Subject
    from_ms: int
    to_ms: int
    group: Grouping = "total"
    name: str | None = None
    after: str | None = None
    limit: int = MOST_NAMES


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportLine:
    """The numbers of one name in one period. Times are ms, amounts base units, shares millionths; None: not known."""

    name: str
    begin_ms: int
    end_ms: int
    gpu_offered_ms: int | None = None
    gpu_leased_ms: int | None = None
    up_ms: int | None = None
    down_ms: int | None = None
    pod_ms: int = 0
    assigned: int = 0
    wait_to_assign: WaitStatistics | None = None
    wait_to_start: WaitStatistics | None = None
    ends: Mapping[str, int] = field(default_factory=dict)
    program_failures: int = 0
    paid: int = 0
    fee: int = 0
    refunded: int = 0

    @property
    def utilisation_ppm(self) -> int | None:
        """Leased GPU time as a share of offered GPU time."""
        return _share(self.gpu_leased_ms, self.gpu_offered_ms)

    @property
    def uptime_ppm(self) -> int | None:
        """Time that hosts were up as a share of the time that they were up, away or suspended."""
        return None if self.up_ms is None or self.down_ms is None else _share(self.up_ms, self.up_ms + self.down_ms)

    @property
    def ended(self) -> int:
        return sum(self.ends.values())

    @property
    def failed(self) -> int:
        return sum(count for reason, count in self.ends.items() if _outermost(reason) in _FAILURES)

    @property
    def host_faults(self) -> int:
        return sum(count for reason, count in self.ends.items() if _is_host_fault(reason))

    @property
    def fulfilled_ppm(self) -> int | None:
        """Ended leases without a fault of the host, as a share of all ended leases."""
        return _share(self.ended - self.host_faults, self.ended)

    @property
    def earned(self) -> int:
        """What providers got: payments without the protocol fee."""
        return self.paid - self.fee


@dataclass(frozen=True, slots=True)
class UsageReport:
    """Lines in the order of names and times, without names and periods of which nothing is known.

    `to_ms`: the end of the request, or the time of the last block if that is earlier. `last_name`: the name after which
    the report goes on; None: it is complete.
    """

    from_ms: int
    to_ms: int
    lines: Sequence[ReportLine]
    last_name: str | None


def make_report(db: IndexDatabase, asked: ReportRequest) -> UsageReport:
    """Return a report. Run it within :meth:`IndexDatabase.snapshot`. Raises BadReport."""
    _check(asked)
    last = last_block(db)
    to_ms = min(asked.to_ms, 0 if last is None else last.time_ms + 1)
    one = [] if asked.name is None else [asked.name]
    names = one or queries.next_names(db, asked.subject, asked.after, asked.limit)
    more = names[-1] if not one and len(names) == asked.limit else None
    if to_ms <= asked.from_ms or not names:
        return UsageReport(asked.from_ms, max(asked.from_ms, to_ms), [], more)
    periods = _periods(asked.from_ms, to_ms, asked.group)
    lines = _lines(db, asked.subject, names, periods)
    return UsageReport(asked.from_ms, to_ms, lines, more)


def _lines(db: IndexDatabase, subject: Subject, names: Sequence[str], periods: Sequence[Period]) -> list[ReportLine]:
    asked = (db, subject, names, periods)
    used, ran, paid = queries.usage(*asked), queries.pod_time(*asked), queries.payments(*asked)
    assigned, ended = queries.assigned(*asked), queries.ends(*asked)
    to_assign, to_start = queries.waits(*asked, "assign"), queries.waits(*asked, "start")
    found: set[PeriodKey] = {*used, *ran, *paid, *assigned, *ended}
    made = []
    for key in sorted(found):
        name, place = key
        offered, leased, up, down = used.get(key, (None, None, None, None))
        ends: dict[str, int] = {}
        for (reason, _), count in ended.get(key, {}).items():
            ends[reason] = ends.get(reason, 0) + count
        amounts = paid.get(key, (0, 0, 0))
        made.append(
            ReportLine(
                name=name,
                begin_ms=periods[place].begin_ms,
                end_ms=periods[place].end_ms,
                gpu_offered_ms=None if offered is None else offered // 1000,
                gpu_leased_ms=None if leased is None else leased // 1000,
                up_ms=up,
                down_ms=down,
                pod_ms=ran.get(key, 0),
                assigned=assigned.get(key, 0),
                wait_to_assign=to_assign.get(key),
                wait_to_start=to_start.get(key),
                ends=dict(sorted(ends.items())),
                program_failures=sum(count for (_, is_failed), count in ended.get(key, {}).items() if is_failed),
                paid=amounts[0],
                fee=amounts[1],
                refunded=amounts[2],
            )
        )
    return made


def _check(asked: ReportRequest) -> None:
    if asked.to_ms <= asked.from_ms:
        raise BadReport("to", f"{asked.to_ms} is not after from, {asked.from_ms}.", "Name a later time.")
    days = (asked.to_ms - asked.from_ms) / DAY_MS
    if days > MOST_DAYS:
        raise BadReport(
            "to", f"the report covers {days:.0f} days, and at most {MOST_DAYS} are allowed.", "Ask for less."
        )
    size = _SIZES.get(asked.group)
    if size is not None and (asked.to_ms - asked.from_ms) / size > MOST_PERIODS - 2:
        raise BadReport(
            "group",
            f"{days:.0f} days by {asked.group} are more than {MOST_PERIODS - 2} periods.",
            "Ask for a shorter time, or group by day.",
        )


def _periods(from_ms: int, to_ms: int, group: Grouping) -> list[Period]:
    """Return the periods between two times; days and hours are those of UTC, so the first and last may be shorter."""
    size = _SIZES.get(group, to_ms - from_ms)
    first = from_ms if group == "total" else from_ms - from_ms % size
    starts = range(first, to_ms, size)
    return [Period(max(from_ms, start), min(to_ms, start + size)) for start in starts]


def _share(part: int | None, whole: int | None) -> int | None:
    return None if part is None or not whole else part * PPM // whole


def _outermost(reason: str) -> str:
    return reason.partition("(")[0]


def _is_host_fault(reason: str) -> bool:
    return _outermost(reason) in _HOST_FAULTS and reason.rpartition("(")[2].rstrip(")") not in TENANTS_FAULTS
