"""What is checked before a task is sent: that somebody could run it, at that price, and that the tenant can pay.

The chain decides; these checks only tell earlier, and with numbers, what it or the scheduler would refuse.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

from offchain.cli.kit.failures import CliError
from offchain.cli.tenant.manifest import duration_text
from offchain.core.fit import Fit, Misfit, fit, take
from offchain.core.rate import deposit
from offchain.core.vacancy import emptied
from offchain.core.values import Host, HostStatus, Layout
from offchain.schema.chain_types._generated_chain import TasksParams, TaskSpec, VerificationPolicyRedundant
from offchain.schema.manifest.values import format_amount

_NO_LIMIT = 1 << 127
_ANY_SPEED = (1 << 32) - 1
_ANYWAY: Final = " With --anyway it is sent, and waits for a host that can."


_MAY_COME: Final = frozenset(HostStatus) - {HostStatus.RETIRING, HostStatus.RETIRED}
"""Hosts in these states may be online some day."""


@dataclass(frozen=True, slots=True)
class Chances:
    """How a task finds the hosts now: so many pods of it have room on the `hosts` registered ones.

    `excluded`: of those that take no pod, how many by each rule.
    """

    hosts: int
    pods: int
    excluded: Mapping[Misfit, int]


def chances(spec: TaskSpec, hosts: Sequence[Host], tenant: str) -> Chances:
    """As `tenant` finds hosts now, who may have shares of their GPUs."""
    found = [_room(spec, host, spec.pods_min, tenant) for host in hosts]
    counts = Counter(why for _, why in found if isinstance(why, Misfit))
    ordered = {misfit: counts[misfit] for misfit in Misfit if counts[misfit]}
    rooms = [(host, pods) for host, (pods, _) in zip(hosts, found, strict=True)]
    return Chances(len(hosts), _together(layout_of(spec), rooms), ordered)


def check_hosts(spec: TaskSpec, hosts: Sequence[Host], tenant: str) -> None:
    """Raise CliError where these hosts could never run it for `tenant`, whatever ends, comes back or is mended."""
    if not hosts:
        raise CliError(
            "no host is registered on this network.",
            f"Start one with gantry agent, or use a network that has hosts.{_ANYWAY}",
            code="no_host",
        )
    best = [_at_its_best(host) for host in hosts]
    found = [(_fit(spec, host, _NO_LIMIT, tenant), host) for host in best]
    rates = [(verdict.rate_per_hour, host.id) for verdict, host in found if isinstance(verdict, Fit)]
    plural = "s" if len(hosts) > 1 else ""
    if not rates:
        reasons = Counter(verdict for verdict, _ in found if isinstance(verdict, Misfit))
        told = "; ".join(
            f"{count} {'is' if count == 1 else 'are'} {_said(reason, spec)}" for reason, count in reasons.most_common()
        )
        raise CliError(
            f"none of the {len(hosts)} registered host{plural} could run this, even if nothing else ran there: {told}.",
            f"Ask for less, or allow more places; gantry host list shows what there is.{_ANYWAY}",
            code="no_fit",
            facts={"hosts": len(hosts), "excluded_always": {str(reason): reasons[reason] for reason in reasons}},
        )
    lowest, cheapest = min(rates)
    if lowest > spec.max_rate_per_hour:
        raise CliError(
            f"the price limit of {format_amount(spec.max_rate_per_hour)} an hour is below every host's ask "
            f"for this task; the lowest is {format_amount(lowest)} an hour, on {cheapest}.",
            f"Raise x-gantry.price.max_per_hour to at least {format_amount(lowest)}, or ask for less.{_ANYWAY}",
            code="price_too_low",
            facts={"hosts": len(hosts), "lowest_rate_per_hour": lowest},
        )
    pods = _together(layout_of(spec), [(host, _room(spec, host, spec.pods_min, tenant)[0]) for host in best])
    if pods < spec.pods_min:
        raise CliError(
            f"{spec.pods_min} pods must start together, and the {len(hosts)} registered host{plural} could run "
            f"{pods} of them within the price limit, even if nothing else ran there.",
            f"Ask for fewer pods (x-gantry.pods), or for less in each.{_ANYWAY}",
            code="no_fit",
            facts={"hosts": len(hosts), "pods_needed": spec.pods_min, "pods_ever": pods},
        )


def check_replicas(spec: TaskSpec, params: TasksParams) -> None:
    """Raise CliError where the chain does not let results of so many replicas be compared."""
    policy = spec.verification
    if isinstance(policy, VerificationPolicyRedundant) and policy.replicas > params.max_replicas:
        limit = (
            f"results of at most {params.max_replicas} replicas" if params.max_replicas else "no results of replicas"
        )
        raise CliError(
            f"this network compares {limit}, and the task asks for {policy.replicas} (x-gantry.verification.replicas).",
            "Write verification: acceptance, and accept the result yourself.",
            code="replicas_not_offered",
            facts={"max_replicas": params.max_replicas},
        )


def check_duration(spec: TaskSpec, params: TasksParams) -> None:
    """Raise CliError where the chain does not let a task ask for such a duration."""
    least, most = params.min_charge_ms, params.max_duration_ms
    if not least <= spec.max_duration_ms <= most:
        raise CliError(
            f"x-gantry.duration is {duration_text(spec.max_duration_ms)}; this network takes "
            f"{duration_text(least)} to {duration_text(most)}.",
            "Write a duration in this range. A job that ends earlier costs no more than the time it ran.",
            code="bad_duration",
            facts={"min_ms": least, "max_ms": most},
        )


def layout_of(spec: TaskSpec) -> Layout:
    """How its pods lie to each other: replicas whose results are compared are of different providers."""
    redundant = isinstance(spec.verification, VerificationPolicyRedundant)
    return Layout.PROVIDERS if redundant else spec.placement.layout


def _at_its_best(host: Host) -> Host:
    """The host with nothing leased, all its devices in order, and online, if it ever may be.

    What it has not measured of its network yet may turn out to be anything.
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


def _fit(spec: TaskSpec, host: Host, most_per_hour: int, tenant: str) -> Fit | Misfit:
    return fit(host, spec.resources, spec.placement, spec.unit, most_per_hour, tenant)


def _room(spec: TaskSpec, host: Host, most: int, tenant: str) -> tuple[int, Fit | Misfit]:
    """How many pods have room beside each other, up to `most`; and what is said of the first."""
    first = found = _fit(spec, host, spec.max_rate_per_hour, tenant)
    pods = 0
    while isinstance(found, Fit) and pods < most:
        pods += 1
        host = take(host, spec.resources, found.devices, spec.placement, tenant)
        found = _fit(spec, host, spec.max_rate_per_hour, tenant)
    return pods, first


def _together(layout: Layout, rooms: Iterable[tuple[Host, int]]) -> int:
    """How many pods of one task have room in all, where each host alone has room for so many."""
    if layout is Layout.HOSTS:
        return sum(pods > 0 for _, pods in rooms)
    if layout is Layout.PROVIDERS:
        return len({host.provider for host, pods in rooms if pods})
    return sum(pods for _, pods in rooms)


def check_funds(spec: TaskSpec, manifest_bytes: int, free: int, params: TasksParams, spare: int) -> int:
    """What must be free on the account; raises CliError where it is not.

    `params`: of the tasks pallet, for its deposits. `spare`: what must stay on the account.
    """
    escrow = deposit(spec.max_rate_per_hour, spec.max_duration_ms) * spec.pods_max
    of_task = params.deposit_per_task + params.deposit_per_pod * spec.pods_max
    kept = params.deposit_base + params.deposit_per_byte * manifest_bytes + of_task
    needed = escrow + kept + spare
    if free < needed:
        raise CliError(
            f"the account has {format_amount(free)} free; this task needs {format_amount(needed)}: "
            f"{format_amount(escrow)} for its pods at the price limit for their whole duration, the rest as deposit.",
            "Give it coins, or lower x-gantry.price.max_per_hour, duration or pods. What is not used comes back.",
            code="no_funds",
        )
    return needed


def _said(reason: Misfit, spec: TaskSpec) -> str:
    if reason is Misfit.CAPABILITY_MISSING:
        needed = asdict(spec.placement.capabilities)
        return f"no match ({reason}: {', '.join(name for name in needed if needed[name] and name != 'sandboxed')})"
    if reason in (Misfit.NOT_ONLINE, Misfit.HOST_NOT_WANTED, Misfit.REGION_NOT_WANTED):
        return str(reason)
    return f"no match ({reason})"
