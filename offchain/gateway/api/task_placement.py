"""The placement of a task, explained: by the chain's final records, and by the schedulers that this gateway asks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from offchain.errors import CheckFailed
from offchain.gateway.api import placement_models as made
from offchain.gateway.api.answers import NotFound
from offchain.gateway.api.chain_access import ChainAccess, SigningChain, final_block
from offchain.gateway.api.models import BlockReference, ResourceAnswer
from offchain.gateway.api.planner import PlacementPlanner
from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.protocol.decisions import Decision, DecisionReport, SchedulingStatus, WaitRecord
from offchain.services.feasibility import FeasibilityReport, not_waiting_text, reason_text, start_text, start_window
from offchain.services.scheduler_replies import ask_schedulers, reserved_start

_UNKNOWN: Final = SchedulingStatus("unknown")
_STATES: Final[Mapping[str, Literal["waits", "placed"]]] = {"waits": "waits", "placed": "placed"}
_NO_SUCH_TASK: Final = "no_such_task"


class TaskPlacementApi:
    """Explains placements. `schedulers`: URLs of schedulers that answer for their decisions."""

    def __init__(self, access: ChainAccess[SigningChain], planner: PlacementPlanner, schedulers: Sequence[str]) -> None:
        self._access = access
        self._planner = planner
        self._schedulers = tuple(schedulers)

    async def explain(self, asked: made.PlacementOfTask) -> ResourceAnswer[made.TaskPlacementResource]:
        """Return why a task waits or runs where it does. Raises NotFound, and PlannerBusy."""
        replies, found = await asyncio.gather(
            ask_schedulers(self._schedulers, asked.task), self._feasibility(asked.task)
        )
        as_of, report = found
        reserved_ms = reserved_start(replies)
        if isinstance(report, CheckFailed):
            summary, pods, feasibility = f"{report.message[:1].upper()}{report.message[1:]}", [], None
        else:
            why_not = not_waiting_text(report.task)
            summary = why_not or start_text(report, reserved_ms)
            pods, feasibility = _pods(report), None if why_not else _feasibility(report, reserved_ms)
        data = made.TaskPlacementResource(
            task=asked.task,
            state=None if isinstance(report, CheckFailed) else report.task.state.value,
            waits=feasibility is not None,
            summary=summary,
            pods=pods,
            feasibility=feasibility,
            schedulers=[_scheduler(one.answer) for one in replies if one.answer is not None and not one.answer.empty],
            unanswered=sum(one.answer is None for one in replies),
        )
        return ResourceAnswer[made.TaskPlacementResource](as_of=as_of, data=data)

    async def _feasibility(self, task: int) -> tuple[BlockReference, FeasibilityReport | CheckFailed]:
        try:
            at, report = await self._planner.explain(task)
        except CheckFailed as error:
            if error.code == _NO_SUCH_TASK:
                raise NotFound(error.message, "Check the number.") from None
            async with self._access.use() as chain:
                return (await final_block(chain))[1], error
        as_of = BlockReference(number=at.number, hash=f"0x{at.hash.hex()}", time_ms=report.now_ms)
        return as_of, report


def _pods(report: FeasibilityReport) -> list[made.PodOnHostResource]:
    risks = {one.lease: str(one.risk) for one in report.at_risk}
    return [
        made.PodOnHostResource(pod=lease_parts(lease.id)[1], host=lease.host, at_risk=risks.get(lease.id))
        for lease in report.task.leases
    ]


def _feasibility(report: FeasibilityReport, reserved_ms: int | None) -> made.FeasibilityResource:
    forecast = report.forecast
    rates = [offer.rate_per_hour for offer in forecast.offers]
    earliest, latest = start_window(report, reserved_ms)
    reasons = dict.fromkeys((*forecast.now, *forecast.never))
    return made.FeasibilityResource(
        hosts=forecast.hosts,
        candidates=len(forecast.offers),
        candidates_later=forecast.later,
        pods_needed=forecast.pods_needed,
        pods_now=forecast.pods_now,
        lowest_rate_per_hour=min(rates, default=None),
        highest_rate_per_hour=max(rates, default=None),
        max_rate_per_hour=report.task.max_rate_per_hour,
        excluded=[
            made.ExclusionResource(
                reason=reason.name.lower(),
                text=reason_text(reason),
                hosts_now=forecast.now.get(reason, 0),
                hosts_always=forecast.never.get(reason, 0),
            )
            for reason in reasons
        ],
        start=start_text(report, reserved_ms),
        earliest_start_ms=earliest,
        expected_start_ms=latest,
    )


def _scheduler(report: DecisionReport) -> made.SchedulerExplanationResource:
    now = report.now or _UNKNOWN
    return made.SchedulerExplanationResource(
        scheduler=report.scheduler,
        state=_STATES.get(now.state, "unknown"),
        limit=now.limit,
        not_before_ms=now.not_before_ms,
        starts_by_ms=now.starts_by_ms,
        is_others_turn=now.others_turn,
        no_preemption=now.nobody_leaves,
        wait=_wait(report.waits[-1]) if report.waits else None,
        decision=_decision(report.decisions[-1]) if report.decisions else None,
    )


def _wait(wait: WaitRecord) -> made.SchedulerWaitResource:
    return made.SchedulerWaitResource(
        since_ms=wait.since_ms,
        at_ms=wait.at_ms,
        times=wait.times,
        hosts=wait.hosts,
        pods_fitting=wait.pods_fitting,
        pods_needed=wait.pods_needed,
        reserved=wait.closed,
        excluded=dict(wait.excluded),
    )


def _decision(decision: Decision) -> made.SchedulerDecisionResource:
    seen, answer = decision.seen, decision.answer
    return made.SchedulerDecisionResource(
        at_ms=decision.at_ms,
        attempt=decision.generation + 1,
        pods=[
            made.ScheduledPodResource(pod=one.pod, host=one.host, devices=list(one.devices)) for one in decision.spots
        ],
        outcome=None if answer is None else answer.kind,
        reason=None if answer is None else answer.reason,
        block=None if answer is None else answer.block,
        hosts=None if seen is None else seen.hosts,
        feasible=None if seen is None else seen.fitting,
        excluded=None if seen is None else dict(seen.excluded),
        best=[
            made.CandidateResource(
                host=one.host, devices=list(one.devices), cost=one.points, parts=dict(one.parts), reserved=one.closed
            )
            for one in (() if seen is None else seen.best)
        ],
    )
