"""Checks before a submission: that a host could run the task, at that price, and that the tenant can pay.

The chain decides; these checks report earlier, and with numbers, what it or the schedulers would refuse.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Final

from offchain.adapters.chain.typed import GantryChain
from offchain.core.feasibility import Fit, Misfit, count_pods, emptied, fit
from offchain.core.placement_forecast import pods_together
from offchain.core.pricing import deposit
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.values import Host, HostStatus, RetainedData, Task, TaskState
from offchain.errors import CheckFailed
from offchain.ports import ChainPort
from offchain.schema.chain_types._generated_chain import TaskKind, TasksParams, TaskSpec
from offchain.schema.chain_types.replicas import is_audited, is_compared, replicas_of
from offchain.schema.manifest.values import format_amount
from offchain.schema.value_text import counted, duration_text
from offchain.services.event_text import time_text
from offchain.services.record_mapping import host_of, is_comparable, layout_of

MOST_IN_ARRAY: Final = 4_096
"""Tasks of one spec that the chain takes in one call (`MAX_ARRAY`)."""
LEAST_REPLICAS: Final = 2
"""A network that compares fewer results (`max_replicas`) compares and audits none."""
_NO_LIMIT = 1 << 127
_ANY_SPEED = (1 << 32) - 1
_MAY_COME: Final = frozenset(HostStatus) - {HostStatus.RETIRING, HostStatus.RETIRED}
"""States from which a host may come online."""


_NOT_SENT: Final = 1 << 62
"""Greater than any task's number."""


def task_of_spec(
    spec: TaskSpec,
    tenant: str,
    *,
    now_ms: int = 0,
    number: int = _NOT_SENT,
    takes_over: RetainedData | None = None,
    audit_surcharge_ppm: int = 0,
) -> Task:
    """Return the task as it would wait if it were submitted now. `audit_surcharge_ppm`: the chain's parameter."""
    return Task(
        id=number,
        tenant=tenant,
        state=TaskState.QUEUED,
        kind=spec.kind,
        resources=spec.resources,
        placement=spec.placement,
        unit=spec.unit,
        pods_min=spec.pods_min,
        max_rate_per_hour=spec.max_rate_per_hour,
        max_duration_ms=spec.max_duration_ms,
        deadline=spec.deadline,
        priority=spec.priority,
        queue=spec.queue,
        generation=0,
        submitted_at=now_ms,
        changed_at=now_ms,
        open_pods=tuple(range(spec.pods_max)),
        takes_over=takes_over,
        manifest=spec.manifest_digest,
        layout=layout_of(spec),
        spot=spec.spot,
        survival=spec.survival,
        replicas=replicas_of(spec),
        audited=is_audited(spec),
        surcharge_ppm=audit_surcharge_ppm if is_audited(spec) else 0,
    )


@dataclass(frozen=True, slots=True)
class TaskConditions:
    """State of the chain that decides whether a task can be submitted. `free`: of the tenant, in base units.

    `spare`: what must stay on an account. `now_ms`: chain time.
    """

    hosts: tuple[Host, ...]
    free: int
    params: TasksParams
    spare: int
    now_ms: int


async def read_conditions(chain: ChainPort, tenant: str) -> TaskConditions:
    """Return the conditions at the newest block."""
    hosts, found = await asyncio.gather(GantryChain(chain).hosts(), read_terms(chain, tenant))
    # The workers' own reading of records, so that what is checked here is what they decide on.
    return replace(found, hosts=tuple(host_of(key, record, None) for key, record in hosts.items()))


async def read_terms(chain: ChainPort, tenant: str, at: bytes | None = None) -> TaskConditions:
    """Return the conditions without hosts. `at`: a block hash; None: the newest block."""
    typed = GantryChain(chain)
    balance, params, spare, now = await asyncio.gather(
        typed.balance(tenant, at),
        typed.params("Tasks", at),
        chain.constant("Balances", "ExistentialDeposit"),
        typed.now_ms(at),
    )
    return TaskConditions((), balance.free, params, int(spare), now)


def check_terms(spec: TaskSpec, manifest_bytes: int, found: TaskConditions, count: int = 1) -> None:
    """Raise CheckFailed for a term of the task that the chain does not accept, or coins that are missing.

    `count`: how many tasks of this spec are submitted together.
    """
    for check in term_checks(spec, manifest_bytes, found, count):
        check()


def term_checks(
    spec: TaskSpec, manifest_bytes: int, found: TaskConditions, count: int = 1
) -> tuple[Callable[[], object], ...]:
    """Return the checks of :func:`check_terms`, each of which raises CheckFailed."""
    return (
        partial(check_array, spec, count),
        partial(check_compared, spec, found.params),
        partial(check_duration, spec, found.params),
        partial(check_deadline, spec, found.now_ms),
        partial(check_funds, spec, manifest_bytes, found.free, found.params, found.spare, count),
    )


def check_hosts(spec: TaskSpec, hosts: Sequence[Host], tenant: str, audit_surcharge_ppm: int = 0) -> None:
    """Raise CheckFailed if these hosts could never run the task for `tenant`, even when others end or are repaired.

    `audit_surcharge_ppm`: the chain's parameter, for audited jobs.
    """
    if not hosts:
        raise CheckFailed(
            "no host is registered on this network.",
            "Start one with gantry agent, or use a network that has hosts.",
            code="no_host",
        )
    best = [_at_its_best(host) for host in hosts]
    request = PodRequest.of(task_of_spec(spec, tenant, audit_surcharge_ppm=audit_surcharge_ppm))
    unlimited = replace(request, max_rate_per_hour=_NO_LIMIT)
    found = [(fit(host, unlimited), host) for host in best]
    rates = [(verdict.rate_per_hour, host.id) for verdict, host in found if isinstance(verdict, Fit)]
    registered = counted(len(hosts), "registered host")
    if not rates:
        reasons = Counter(verdict for verdict, _ in found if isinstance(verdict, Misfit))
        excluded = "; ".join(
            f"{count} {'is' if count == 1 else 'are'} {_reason_text(reason, spec, best)}"
            for reason, count in reasons.most_common()
        )
        raise CheckFailed(
            f"none of the {registered} could run this, even if nothing else ran there: {excluded}.",
            "Request less, or allow more hosts; gantry host list shows all hosts.",
            code="no_fit",
            facts={"hosts": len(hosts), "excluded_always": {str(reason): reasons[reason] for reason in reasons}},
        )
    lowest, cheapest = min(rates)
    surcharge = f" with {surcharge_text(audit_surcharge_ppm)}" if request.surcharge_ppm else ""
    if lowest > spec.max_rate_per_hour:
        raise CheckFailed(
            f"the price limit of {format_amount(spec.max_rate_per_hour)} an hour is below every host's ask "
            f"for this task; the lowest is {format_amount(lowest)} an hour{surcharge}, on {cheapest}.",
            f"Raise x-gantry.price.max_per_hour to at least {format_amount(lowest)}, or request less.",
            code="price_too_low",
            facts={"hosts": len(hosts), "lowest_rate_per_hour": lowest},
        )
    pods = pods_together(
        layout_of(spec), [(host.provider, count_pods(host, request, spec.pods_min)[0]) for host in best]
    )
    if pods < spec.pods_min:
        raise CheckFailed(
            f"{spec.pods_min} pods must start together, and the {registered} could run "
            f"{pods} of them within the price limit, even if nothing else ran there.",
            "Ask for fewer pods (x-gantry.pods), or for less in each.",
            code="no_fit",
            facts={"hosts": len(hosts), "pods_needed": spec.pods_min, "pods_ever": pods},
        )


def check_array(spec: TaskSpec, count: int) -> None:
    """Raise CheckFailed if the chain takes no `count` tasks of this kind together."""
    if not 1 <= count <= MOST_IN_ARRAY:
        raise CheckFailed(
            f"{count} tasks cannot be submitted together: the chain takes 1 to {MOST_IN_ARRAY}.",
            "Submit several arrays.",
            code="out_of_range",
        )
    if count > 1 and spec.kind is not TaskKind.JOB:
        raise CheckFailed(
            "only jobs are submitted as an array, and this is a service or rental.",
            "Submit it once; a service has several pods (x-gantry.pods).",
            code="not_a_job",
        )


def surcharge_text(surcharge_ppm: int) -> str:
    """Return what the host of an audited job gets besides its price."""
    return f"the surcharge of {surcharge_ppm / 10_000:g} % for audits"


def check_compared(spec: TaskSpec, params: TasksParams) -> None:
    """Raise CheckFailed if the chain does not compare the results of the task, or no scheduler places it."""
    replicas = replicas_of(spec)
    if is_audited(spec) and params.max_replicas < LEAST_REPLICAS:
        raise CheckFailed(
            "this network compares no results, so it audits no jobs (x-gantry.verification: audit).",
            "Write verification: acceptance, and accept the result yourself.",
            code="replicas_not_offered",
            facts={"max_replicas": params.max_replicas},
        )
    if replicas > params.max_replicas:
        limit = (
            f"results of at most {params.max_replicas} replicas" if params.max_replicas else "no results of replicas"
        )
        raise CheckFailed(
            f"this network compares {limit}, and the task asks for {replicas} (x-gantry.verification.replicas).",
            "Write verification: acceptance, and accept the result yourself.",
            code="replicas_not_offered",
            facts={"max_replicas": params.max_replicas},
        )
    if is_compared(spec) and not is_comparable(spec):
        raise CheckFailed(
            "its results are compared, and GPUs of different models may give different ones: no scheduler places it.",
            "Name one model: x-gantry.placement.models.",
            code="results_not_comparable",
        )


def check_duration(spec: TaskSpec, params: TasksParams) -> None:
    """Raise CheckFailed if the chain does not accept the task's duration."""
    least, most = params.min_charge_ms, params.max_duration_ms
    if not least <= spec.max_duration_ms <= most:
        raise CheckFailed(
            f"x-gantry.duration is {duration_text(spec.max_duration_ms)}; this network takes "
            f"{duration_text(least)} to {duration_text(most)}.",
            "Write a duration in this range. A job that ends earlier costs no more than the time it ran.",
            code="bad_duration",
            facts={"min_ms": least, "max_ms": most},
        )


def check_deadline(spec: TaskSpec, now_ms: int) -> None:
    """Raise CheckFailed if the task's deadline has passed. `now_ms`: chain time."""
    if spec.deadline is not None and spec.deadline < now_ms:
        raise CheckFailed(
            f"x-gantry.deadline is {time_text(spec.deadline)} UTC, and it is {time_text(now_ms)} UTC on the chain.",
            "Write a later deadline, or none: it is the latest time at which the task is assigned.",
            code="deadline_passed",
            facts={"deadline": spec.deadline, "now_ms": now_ms},
        )


def _at_its_best(host: Host) -> Host:
    """Return the host online, with nothing leased and all devices healthy, if it may ever be online.

    Measurements of its network that are missing may turn out to have any value.
    """
    devices = tuple(
        # A challenge may prove any GPU to be real, but for one that says that it is not.
        replace(device, healthy=True, attested=device.attested or not device.spec.simulated)
        for device in host.devices
    )
    status = HostStatus.ONLINE if host.status in _MAY_COME else host.status
    return emptied(
        replace(
            host,
            devices=devices,
            status=status,
            network_mbps_down=host.network_mbps_down or _ANY_SPEED,
            network_mbps_up=host.network_mbps_up or _ANY_SPEED,
            latency_ms=host.latency_ms or 1,
        )
    )


def check_funds(spec: TaskSpec, manifest_bytes: int, free: int, params: TasksParams, spare: int, count: int = 1) -> int:
    """Return what must be free on the account. Raises CheckFailed if it is not.

    `params`: of the tasks pallet, for its deposits. `spare`: what must stay on the account. `count`: tasks that are
    submitted together: the chain wants the deposits of all, and the coins for the pods of one, because each is checked
    when it is assigned.
    """
    escrow = deposit(spec.max_rate_per_hour, spec.max_duration_ms) * spec.pods_max
    of_task = params.deposit_per_task + params.deposit_per_pod * spec.pods_max
    kept = params.deposit_base + params.deposit_per_byte * manifest_bytes + of_task * count
    needed = escrow + kept + spare
    if free < needed:
        needs, pods = ("this task needs", "its pods") if count == 1 else (f"{count} tasks need", "the pods of one")
        raise CheckFailed(
            f"the account has {format_amount(free)} free; {needs} {format_amount(needed)}: {format_amount(escrow)} for "
            f"{pods} at the price limit for their whole duration, the rest as deposit.",
            "Give it coins (gantry account transfer; on a local network gantry account faucet), or lower "
            "x-gantry.price.max_per_hour, duration or pods. The unused part is refunded.",
            code="no_funds",
        )
    return needed


def _reason_text(reason: Misfit, spec: TaskSpec, hosts: Sequence[Host]) -> str:
    if reason is Misfit.CAPABILITY_MISSING:
        needed = asdict(spec.placement.capabilities)
        return f"no match ({reason}: {', '.join(name for name in needed if needed[name] and name != 'sandboxed')})"
    if reason in (Misfit.NOT_ONLINE, Misfit.HOST_NOT_WANTED, Misfit.REGION_NOT_WANTED):
        return str(reason)
    asked, most = spec.resources, [host.free for host in hosts]
    limits = {
        Misfit.NOT_ENOUGH_CPU: f"{asked.cpu_milli / 1000:g} cores asked for, at most "
        f"{max(free.cpu_milli for free in most) / 1000:g} on a host",
        Misfit.NOT_ENOUGH_MEMORY: f"{asked.memory_mib} MiB asked for, at most "
        f"{max(free.memory_mib for free in most)} on a host",
        Misfit.NOT_ENOUGH_DISK: f"{asked.disk_gib} GiB asked for, at most "
        f"{max(free.disk_gib for free in most)} on a host",
    }
    amounts = f": {limits[reason]}" if reason in limits else ""
    return f"no match ({reason}{amounts})"
