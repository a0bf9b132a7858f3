"""Parameters and answers of reports."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field

from offchain.gateway.api.models import Amount, AnsweredModel, TimeMs
from offchain.gateway.api.parameters import BadCursor, Label, ListParameters
from offchain.indexer.report_queries import Subject
from offchain.indexer.reports import Grouping

_MOST_TIME: Final = 253_402_300_799_999
"""The last millisecond of the year 9999."""
_Time = Annotated[int, Field(ge=0, le=_MOST_TIME)]


class ReportOf(ListParameters):
    """The order is that of names and times."""

    model_config = ConfigDict(populate_by_name=True)

    subject: Annotated[Subject, Field(description="What a line is about.")]
    from_ms: Annotated[_Time, Field(alias="from", description="Begin, in Unix milliseconds of the chain.")]
    to_ms: Annotated[_Time, Field(alias="to", description="End (not included); at most 366 days after the begin.")]
    group: Annotated[
        Grouping, Field(description="One line for each name, or for each of its days or hours in UTC.")
    ] = "total"
    name: Annotated[Label | None, Field(description="Only this host, model, region, tenant or provider.")] = None
    format: Annotated[Literal["json", "csv", "html"], Field(description="How the page is written.")] = "json"
    limit: Annotated[int, Field(ge=1, le=100, description="Number of names of a page.")] = 20

    def last_name(self) -> str | None:
        """Return the name after which the page begins. Raises BadCursor."""
        after = self._page((str,), newest_first=False).after
        if after is None:
            return None
        if not isinstance(after[0], str):
            raise BadCursor
        return after[0]


class WaitResource(AnsweredModel):
    """Durations in milliseconds: their number, sum, median, 95th percentile and maximum."""

    count: int
    sum_ms: int
    median_ms: int
    p95_ms: int
    most_ms: int


class ReportLineResource(AnsweredModel):
    """The numbers of one name in one period. Shares are in millionths; null: not known, or of nothing."""

    name: str
    begin_ms: TimeMs
    end_ms: TimeMs
    gpu_offered_ms: Annotated[int | None, Field(description="Time for which GPUs were offered, added up over GPUs.")]
    gpu_leased_ms: Annotated[int | None, Field(description="Time for which leases held them.")]
    utilisation_ppm: Annotated[int | None, Field(description="Leased as a share of offered GPU time.")]
    up_ms: Annotated[int | None, Field(description="Time for which hosts were online, draining or retiring.")]
    down_ms: Annotated[int | None, Field(description="Time for which hosts were offline or suspended.")]
    uptime_ppm: int | None
    pod_ms: Annotated[int, Field(description="Time for which pods ran, added up.")]
    assigned: Annotated[int, Field(description="Leases that were assigned in the period.")]
    wait_to_assign: Annotated[WaitResource | None, Field(description="From submission to the first assignment.")]
    wait_to_start: Annotated[WaitResource | None, Field(description="From assignment to the start of a pod.")]
    ended: Annotated[int, Field(description="Leases that ended in the period.")]
    failed: int
    host_faults: int
    program_failures: Annotated[int, Field(description="Pods whose program ended with another code than 0.")]
    fulfilled_ppm: Annotated[int | None, Field(description="Ended leases without a fault of their host (SLA).")]
    ends: Annotated[dict[str, int], Field(description="Ended leases by reason.")]
    paid: Amount
    fee: Amount
    earned: Amount
    refunded: Amount
