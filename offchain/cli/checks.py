"""What is checked before a task is sent: that somebody could run it, at that price, and that the tenant can pay.

The chain decides; these checks only tell earlier, and with numbers, what it or the scheduler would refuse.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from offchain.cli.failures import CliError
from offchain.core.fit import Fit, Misfit, fit
from offchain.core.rate import deposit
from offchain.core.values import Capacity, Host
from offchain.schema._generated_chain import TasksParams, TaskSpec
from offchain.schema.manifest_values import format_amount

_NO_LIMIT = 1 << 127


def emptied(host: Host, total: Capacity) -> Host:
    """The host with nothing leased."""
    devices = tuple(replace(device, milli_free=1000) for device in host.devices)
    return replace(host, free=total, devices=devices)


def check_hosts(spec: TaskSpec, hosts: Sequence[tuple[Host, Capacity]]) -> int:
    """The lowest rate at which an online host could run a pod once it is free. Raises CliError where none ever could.

    `hosts`: each with its total capacity.
    """
    if not hosts:
        raise CliError(
            "no host is registered on this network.",
            "Start one with gantry agent, or use a network that has hosts.",
            code="no_host",
        )
    found = [fit(emptied(host, total), spec.resources, spec.placement, spec.unit, _NO_LIMIT) for host, total in hosts]
    rates = [
        (verdict.rate_per_hour, host.id)
        for verdict, (host, _) in zip(found, hosts, strict=True)
        if isinstance(verdict, Fit)
    ]
    if not rates:
        reasons = Counter(verdict for verdict in found if isinstance(verdict, Misfit))
        told = "; ".join(
            f"{count} {'is' if count == 1 else 'are'} {_said(reason)}" for reason, count in reasons.most_common()
        )
        plural = "s" if len(hosts) > 1 else ""
        raise CliError(
            f"none of the {len(hosts)} registered host{plural} could run this: {told}.",
            "Ask for less, or allow more places; gantry host list shows what there is.",
            code="no_fit",
        )
    lowest, cheapest = min(rates)
    if lowest > spec.max_rate_per_hour:
        raise CliError(
            f"the price limit of {format_amount(spec.max_rate_per_hour)} an hour is below every host's ask "
            f"for this task; the lowest is {format_amount(lowest)} an hour, on {cheapest}.",
            f"Raise x-gantry.price.max_per_hour to at least {format_amount(lowest)}, or ask for less.",
            code="price_too_low",
        )
    return lowest


def check_funds(spec: TaskSpec, manifest_bytes: int, free: int, params: TasksParams, spare: int) -> int:
    """What must be free on the account; raises CliError where it is not.

    `params`: of the tasks pallet, for its deposits. `spare`: what must stay on the account.
    """
    escrow = deposit(spec.max_rate_per_hour, spec.max_duration_ms) * spec.pods_max
    kept = params.deposit_base + params.deposit_per_byte * manifest_bytes + params.deposit_per_task
    needed = escrow + kept + spare
    if free < needed:
        raise CliError(
            f"the account has {format_amount(free)} free; this task needs {format_amount(needed)}: "
            f"{format_amount(escrow)} for its pods at the price limit for their whole duration, the rest as deposit.",
            "Give it coins, or lower x-gantry.price.max_per_hour, duration or pods. What is not used comes back.",
            code="no_funds",
        )
    return needed


def _said(reason: Misfit) -> str:
    if reason in (Misfit.NOT_ONLINE, Misfit.HOST_NOT_WANTED, Misfit.REGION_NOT_WANTED):
        return str(reason)
    return f"no match ({reason})"
