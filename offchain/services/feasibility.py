"""Feasibility of a task, submitted or not: hosts, price, start and preemption, by the chain's final records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final

from offchain.adapters.chain.typed import GantryChain
from offchain.core.feasibility import Misfit
from offchain.core.placement_forecast import UNKNOWN_START, PlacementForecast, StartForecast, forecast_placement
from offchain.core.pricing import deposit
from offchain.core.scheduler.host_risk import PodAtRisk, pods_at_risk
from offchain.core.scheduler.queue_definitions import EQUAL_SHARES, QueueTree
from offchain.core.snapshot import Snapshot
from offchain.core.values import RetainedData, Survival, Task, TaskState
from offchain.errors import CheckFailed
from offchain.ports import BlockRef, ChainPort
from offchain.schema.chain_types._generated_chain import TaskSpec
from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.chain_types.replicas import is_audited
from offchain.schema.manifest.values import format_amount
from offchain.schema.value_text import counted, duration_text
from offchain.services.event_text import time_text
from offchain.services.record_views import text_of
from offchain.services.snapshot_reader import SnapshotReader
from offchain.services.submit_checks import surcharge_text, task_of_spec

_NAMED = 3
_WORDS: Final[Mapping[Misfit, str]] = {Misfit.NOT_ONLINE: "offline, draining, suspended or unverified"}
"""Reasons that are more than their code says."""


_NOT_COMPARABLE: Final = (
    "No scheduler places it: its results are compared, and GPUs of different models may give different ones "
    "(x-gantry.placement.models)."
)


@dataclass(frozen=True, slots=True)
class FeasibilityReport:
    """The feasibility of a task at a chain time.

    `starts`: when the scheduler would place it, and which tasks it would preempt for it, `notice_ms` after a notice.
    `at_risk`: its pods on deteriorating hosts.
    """

    task: Task
    forecast: PlacementForecast
    starts: StartForecast
    now_ms: int
    notice_ms: int
    at_risk: tuple[PodAtRisk, ...] = ()
    models: tuple[str, ...] = ()
    """The GPU models of the hosts that can run it now, if it asks for GPUs."""

    @property
    def starts_now(self) -> bool:
        """Return whether the scheduler would place the task now; if it was not asked, whether enough pods fit."""
        if self.starts.ahead is None:
            return self.forecast.pods_now >= self.forecast.pods_needed
        return self.starts.latest_ms == self.now_ms


async def report_unsent(chain: ChainPort, spec: TaskSpec, tenant: str, queues: QueueTree) -> FeasibilityReport:
    """Return the feasibility of a task that was not submitted, with these queues."""
    snapshot = await SnapshotReader(chain).snapshot(await chain.finalized_head())
    return await report_at(GantryChain(chain), snapshot, spec, tenant, queues)


async def report_at(
    chain: GantryChain, snapshot: Snapshot, spec: TaskSpec, tenant: str, queues: QueueTree = EQUAL_SHARES
) -> FeasibilityReport:
    """Return the feasibility of a task that was not submitted, at a snapshot."""
    data = None
    if spec.data_from is not None:
        lease = await chain.lease(spec.data_from)
        data = None if lease is None else RetainedData(lease.record.host, lease.task.spec.resources.disk_gib)
    surcharge_ppm = (await chain.params("Tasks")).audit_surcharge_ppm if is_audited(spec) else 0
    task = task_of_spec(spec, tenant, now_ms=snapshot.now_ms, takes_over=data, audit_surcharge_ppm=surcharge_ppm)
    return _report(snapshot, task, queues)


async def report_task(chain: ChainPort, number: int) -> FeasibilityReport:
    """Return the feasibility of a task that is not final. Raises CheckFailed for other tasks."""
    head = await chain.finalized_head()
    found = report_of(await SnapshotReader(chain).snapshot(head), number)
    if found is None:
        raise await why_not_live(chain, number, head)
    return found


def report_of(snapshot: Snapshot, number: int) -> FeasibilityReport | None:
    """Return the feasibility of a task at a snapshot; None if it is not among the live ones."""
    task = snapshot.tasks.get(number)
    return None if task is None else _report(snapshot, task, EQUAL_SHARES)


def _report(snapshot: Snapshot, task: Task, queues: QueueTree) -> FeasibilityReport:
    forecast = forecast_placement(snapshot.hosts, task)
    return FeasibilityReport(
        task,
        forecast,
        _forecast_start(snapshot, task, queues) if task.open_pods else UNKNOWN_START,
        snapshot.now_ms,
        snapshot.periods.notice_ms,
        pods_at_risk(task, snapshot.hosts.values()),
        _models(forecast, snapshot) if task.resources.gpus.count else (),
    )


def _models(forecast: PlacementForecast, snapshot: Snapshot) -> tuple[str, ...]:
    devices = (device.spec.model for offer in forecast.offers for device in snapshot.hosts[offer.host].devices)
    return tuple(sorted({text_of(model) for model in devices}))


def _forecast_start(snapshot: Snapshot, task: Task, queues: QueueTree) -> StartForecast:
    """Return the scheduler's forecast; unknown where its packages are not installed."""
    if find_spec("numpy") is None or find_spec("numba") is None:
        return UNKNOWN_START
    from offchain.core.scheduler.start_forecast import forecast_start  # noqa: PLC0415  (imports numba)
    from offchain.services.kernel_cache import enable_kernel_cache  # noqa: PLC0415  (imports numba)

    enable_kernel_cache()
    return forecast_start(snapshot, task, queues)


async def why_not_live(chain: ChainPort, number: int, head: BlockRef) -> CheckFailed:
    """Return why a task is not among the live ones of a final block: `no_task`, `no_such_task` or too new."""
    typed = GantryChain(chain)
    if number < await typed.next_task(head.hash):
        return CheckFailed(
            f"task {number} is final, so it is no longer scheduled.",
            f"gantry chain inspect task {number} shows its history.",
            code="no_task",
        )
    if number < await typed.next_task():
        return CheckFailed(
            f"task {number} is not in a final block yet.", "Try again in a few seconds.", code="not_in_a_final_block"
        )
    return CheckFailed(f"there is no task {number}.", "gantry task list shows the existing ones.", code="no_such_task")


def feasibility_fields(report: FeasibilityReport, reserved_ms: int | None = None) -> dict[str, Any]:
    """Return the fields for --json. Rates are base units per hour and pod, times ms of chain time.

    `reserved_ms`: the start that a scheduler has reserved.
    """
    forecast, task = report.forecast, report.task
    earliest_ms, latest_ms = start_window(report, reserved_ms)
    rates = [offer.rate_per_hour for offer in forecast.offers]
    return {
        "hosts": forecast.hosts,
        "candidates": [
            {"host": offer.host, "provider": offer.provider, "pods": offer.pods, "rate_per_hour": offer.rate_per_hour}
            for offer in forecast.offers
        ],
        "candidates_later": forecast.later,
        "lowest_rate_per_hour": min(rates, default=None),
        "highest_rate_per_hour": max(rates, default=None),
        "max_rate_per_hour": task.max_rate_per_hour,
        "replicas": task.replicas or None,
        "audit": _audit(task),
        "pods_needed": forecast.pods_needed,
        "pods_now": forecast.pods_now,
        "pods_ever": forecast.pods_ever,
        "start": "now" if report.starts_now else "waits",
        "starts": {"earliest": earliest_ms, "latest": latest_ms},
        "standby": _standby(forecast) if task.survival is Survival.STANDBY else None,
        "ahead": report.starts.ahead,
        "excluded_now": {str(reason): count for reason, count in forecast.now.items()},
        "excluded_always": {str(reason): count for reason, count in forecast.never.items()},
    }


def feasibility_lines(report: FeasibilityReport, reserved_ms: int | None = None) -> list[tuple[str, object]]:
    """Return the lines for people."""
    forecast, task = report.forecast, report.task
    offers = forecast.offers
    named = ", ".join(offer.host for offer in offers[:_NAMED])
    more = f" and {len(offers) - _NAMED} more" if len(offers) > _NAMED else ""
    return [
        ("Hosts", f"{len(offers)} of {forecast.hosts} can run it now" + (f": {named}{more}" if offers else "")),
        ("GPUs", ", ".join(report.models) or None),
        ("Later", f"{forecast.later} more when running pods have ended" if forecast.later else None),
        ("Price", _price(forecast, task)),
        ("Replicas", _replicas_text(task)),
        ("Audit", _audit_text(task)),
        ("Start", start_text(report, reserved_ms)),
        ("Standby", _standby_text(forecast, task)),
        ("Excluded now", reasons_text(forecast.now) or None),
        ("Excluded always", reasons_text(forecast.never) or None),
    ]


def preemption_fields(report: FeasibilityReport) -> dict[str, Any] | None:
    """Return the preempted spot tasks, their queues and the notice for --json; or why there is no preemption."""
    found = report.starts.preemption
    if found is None:
        return None
    return {
        "tasks": list(found.victims),
        "of": dict(found.by_queue),
        "notice_ms": report.notice_ms if found.victims else None,
        "nobody_leaves": found.why,
    }


def preemption_lines(report: FeasibilityReport) -> list[tuple[str, object]]:
    """Return the lines about preemption for people."""
    found = report.starts.preemption
    if found is None:
        return []
    parts = ", ".join(f"{many} of {name}" for name, many in found.by_queue.items())
    victims = f"{parts}, {duration_text(report.notice_ms)} after the notice"
    return [("Preempts", victims if found.victims else None), ("No preemption", found.why)]


def risk_fields(risks: Sequence[PodAtRisk]) -> list[dict[str, Any]]:
    """Return the pods on deteriorating hosts for --json."""
    return [{"pod": lease_parts(one.lease)[1], "host": one.host, "reason": one.risk} for one in risks]


def risk_text(risks: Sequence[PodAtRisk]) -> str | None:
    return "; ".join(f"pod {lease_parts(one.lease)[1]}: {one.risk}" for one in risks) or None


def reasons_text(counts: Mapping[Misfit, int]) -> str:
    """Return how many hosts each rule excludes."""
    return ", ".join(f"{count} {reason_text(reason)}" for reason, count in counts.items())


def reason_text(reason: Misfit) -> str:
    """Return a rule that excludes hosts in words."""
    return _WORDS.get(reason, str(reason))


def not_waiting_text(task: Task) -> str | None:
    """Return why no pod of a live task waits for a host; None if one does."""
    if task.open_pods:
        return None
    return _NOT_COMPARABLE if task.state is TaskState.QUEUED else "It waits for no host."


def start_window(report: FeasibilityReport, reserved_ms: int | None = None) -> tuple[int | None, int | None]:
    """Return the earliest and the latest start. `reserved_ms`: the start that a scheduler has reserved."""
    earliest, latest = report.starts.earliest_ms, report.starts.latest_ms
    if report.starts.preemption is not None and report.starts.preemption.victims:
        left_ms = report.now_ms + report.notice_ms
        earliest = left_ms if earliest is None else min(earliest, left_ms)
    if reserved_ms is None:
        return earliest, latest
    return reserved_ms if earliest is None else min(earliest, reserved_ms), reserved_ms


def start_text(report: FeasibilityReport, reserved_ms: int | None = None) -> str:
    """Return the expected start in words."""
    forecast, starts = report.forecast, report.starts
    first, last = start_window(report, reserved_ms)
    wait = starts.ahead or 0
    before = f"; {counted(wait, 'task')} wait{'s' if wait == 1 else ''} before it" if wait else ""
    if forecast.pods_ever < forecast.pods_needed:
        fit = f"{forecast.pods_ever} of the {forecast.pods_needed} pods that it needs"
        which_hosts = "the hosts that are online" if Misfit.NOT_ONLINE in forecast.never else "these hosts"
        return f"never with {which_hosts}: {fit} would fit if nothing else ran"
    if first is None and starts.ahead is None:
        fits = "enough hosts have free resources" if report.starts_now else "it waits for free resources"
        return f"{fits}; to know when, install numpy and numba, as scripts/setup --scheduling does, or ask a scheduler"
    if first is None:
        return f"unknown: it depends on leases without an end{before}"
    earliest = f"in {_wait_text(first - report.now_ms)} at the earliest"
    if first <= report.now_ms:
        earliest = "now" if forecast.pods_now >= forecast.pods_needed else "as soon as running jobs have ended"
    if last is None:
        why = "too many tasks are ahead" if starts.too_many else "it depends on leases that may have no end"
        return f"{earliest}; the latest start is unknown: {why}{before}"
    if report.starts_now or (earliest == "now" and last <= report.now_ms):
        return f"now{before}"
    by = "reserved by a scheduler" if reserved_ms is not None else "when leases end"
    wait_text, at = _wait_text(last - report.now_ms), time_text(last)
    when = f"in {wait_text} ({at})" if first == last else f"{earliest}, in {wait_text} at the latest ({at})"
    return f"{when}, {by}{before}"


def _wait_text(ms: int) -> str:
    minutes = -(-max(0, ms) // 60_000)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


def _standby(forecast: PlacementForecast) -> dict[str, Any]:
    """Return the prospects of a standby, which must be on a host of another provider than the pod's."""
    providers = len({offer.provider for offer in forecast.offers})
    rates = [offer.rate_per_hour for offer in forecast.offers] if providers > 1 else []
    return {
        "now": providers > 1,
        "providers": providers,
        "rate_per_hour_before": 0,
        "lowest_rate_per_hour_after": min(rates, default=None),
        "highest_rate_per_hour_after": max(rates, default=None),
    }


def _standby_text(forecast: PlacementForecast, task: Task) -> str | None:
    if task.survival is not Survival.STANDBY:
        return None
    found = _standby(forecast)
    if not found["now"]:
        have = "only one provider has" if found["providers"] else "no host has"
        return f"none possible now: it must be a host of another provider than the pod's, and {have} free resources"
    lowest, highest = found["lowest_rate_per_hour_after"], found["highest_rate_per_hour_after"]
    return (
        f"possible now: hosts of {found['providers']} providers have free resources. It costs nothing; a pod that "
        f"continues there pays that host's price, {_span(lowest, highest)} an hour, out of the same deposit"
    )


def _replicas_text(task: Task) -> str | None:
    """Return what the replicas of a task cost at most, and what one more does."""
    if not task.replicas:
        return None
    each = deposit(task.max_rate_per_hour, task.max_duration_ms)
    if task.state is not TaskState.QUEUED:
        return f"{len(task.open_pods)} more, on a host of another provider, for at most {format_amount(each)}"
    return (
        f"{task.replicas}, each on a host of another provider, for at most {format_amount(each * task.replicas)} in "
        f"all; one more for at most {format_amount(each)} if their results differ. Wrong results are not paid"
    )


def _audit(task: Task) -> dict[str, Any] | None:
    """Return what an audit changes in the price of a task; None if it is not audited.

    The rates include the surcharge. `second_deposit`: what is held at most, in base units, while another host repeats
    the work.
    """
    if not task.audited:
        return None
    most = deposit(task.max_rate_per_hour, task.max_duration_ms)
    return {"surcharge_ppm": task.surcharge_ppm, "second_deposit": most}


def _audit_text(task: Task) -> str | None:
    found = _audit(task)
    if found is None:
        return None
    most = format_amount(found["second_deposit"])
    if task.state is not TaskState.QUEUED and task.open_pods:
        return f"drawn: a host of another provider repeats the work, for at most {most}, which the first host pays"
    if task.state is not TaskState.QUEUED:
        return "the chain draws if another host repeats the work when the first has committed its result"
    return (
        f"the price includes {surcharge_text(task.surcharge_ppm)}. If the chain draws an audit, a host of another "
        f"provider repeats the work; at most {most} more are deposited meanwhile, and paid only if the first host was "
        "wrong, which is then not paid"
    )


def _span(lowest: int, highest: int) -> str:
    return format_amount(lowest) if lowest == highest else f"{format_amount(lowest)} to {format_amount(highest)}"


def _price(forecast: PlacementForecast, task: Task) -> str | None:
    rates = [offer.rate_per_hour for offer in forecast.offers]
    if not rates:
        return None
    return f"{_span(min(rates), max(rates))} an hour and pod; the limit is {format_amount(task.max_rate_per_hour)}"
