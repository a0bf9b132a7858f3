"""Parameters and answer of the explanation of a task's placement."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from offchain.gateway.api.models import Account, Amount, AnsweredModel, TimeMs
from offchain.gateway.api.parameters import Number, Parameters

HostCounts = Annotated[dict[str, int], Field(description="Number of hosts by the filter that excluded them.")]


class PlacementOfTask(Parameters):
    task: Number


class PodOnHostResource(AnsweredModel):
    """A pod that has a host. `at_risk`: why it may fail, null if nothing speaks for it."""

    pod: int
    host: Account
    at_risk: str | None


class ExclusionResource(AnsweredModel):
    """A rule of the chain that excludes hosts: now, and even if nothing else ran on them."""

    reason: Annotated[str, Field(description="Stable code.", examples=["price"])]
    text: str
    hosts_now: int
    hosts_always: int


class FeasibilityResource(AnsweredModel):
    """Where a waiting task could run, by the chain's rules, and when it starts, by the scheduler's forecast."""

    hosts: int
    candidates: Annotated[int, Field(description="Hosts on which a pod of it is feasible now.")]
    candidates_later: Annotated[int, Field(description="Further ones, when the pods that run there have ended.")]
    pods_needed: Annotated[int, Field(description="Pods that start together.")]
    pods_now: Annotated[int, Field(description="How many of its pods are feasible now.")]
    lowest_rate_per_hour: Amount | None
    highest_rate_per_hour: Amount | None
    max_rate_per_hour: Amount
    excluded: list[ExclusionResource]
    start: Annotated[str, Field(description="The expected start in words.")]
    earliest_start_ms: int | None
    expected_start_ms: Annotated[int | None, Field(description="The latest start; null: unknown.")]


class CandidateResource(AnsweredModel):
    """A host that a scheduler compared. `cost`: the sum of `parts`; the lowest is the best."""

    host: Account
    devices: list[int]
    cost: float
    parts: dict[str, float]
    reserved: Annotated[bool, Field(description="Its free resources are reserved for other tasks.")]


class SchedulerWaitResource(AnsweredModel):
    """Why a scheduler found no place: `times` scheduling cycles between `since_ms` and `at_ms`."""

    since_ms: TimeMs
    at_ms: TimeMs
    times: int
    hosts: int
    pods_fitting: int
    pods_needed: int
    reserved: Annotated[int, Field(description="Feasible hosts that are reserved for other tasks.")]
    excluded: HostCounts


class ScheduledPodResource(AnsweredModel):
    pod: int
    host: Account
    devices: list[int]


class SchedulerDecisionResource(AnsweredModel):
    """A placement by a scheduler, and the chain's answer. The hosts are null where the decision was not explained."""

    at_ms: TimeMs
    attempt: Annotated[int, Field(description="1: the first.")]
    pods: list[ScheduledPodResource]
    outcome: Annotated[str | None, Field(description="assigned, refused or overtaken; null: not known.")]
    reason: str | None
    block: int | None
    hosts: int | None
    feasible: int | None
    excluded: HostCounts | None
    best: list[CandidateResource]


class SchedulerExplanationResource(AnsweredModel):
    """What a scheduler knows of a task: what it does now, why it last found no place, and its last placement.

    `limit`: the quota for which the task waits. `not_before_ms`: it is tried again after a refusal of the chain.
    """

    scheduler: Account
    state: Literal["waits", "placed", "unknown"]
    limit: str | None
    not_before_ms: TimeMs | None
    starts_by_ms: Annotated[TimeMs | None, Field(description="Latest start by a reservation.")]
    is_others_turn: Annotated[bool, Field(description="Another scheduler is responsible for it now.")]
    no_preemption: Annotated[str | None, Field(description="Why no spot task is preempted for it.")]
    wait: SchedulerWaitResource | None
    decision: SchedulerDecisionResource | None


class TaskPlacementResource(AnsweredModel):
    """Why a task waits, or why it runs where it does. `state`: null once the chain has it among no live tasks.

    `summary`: why it waits, in words, or that it does not. `feasibility`: null for a task that waits for no host.
    """

    task: int
    state: str | None
    waits: bool
    summary: str
    pods: list[PodOnHostResource]
    feasibility: FeasibilityResource | None
    schedulers: list[SchedulerExplanationResource]
    unanswered: Annotated[int, Field(description="Schedulers of this gateway that did not answer.")]
