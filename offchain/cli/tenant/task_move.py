"""gantry task move: move a pod to another host."""

from __future__ import annotations

import asyncio
from typing import Final

import click

from offchain.adapters.chain.typed import GantryChain
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.views import LeaseView, TaskView
from offchain.cli.tenant.task_lifecycle import action
from offchain.core.feasibility import Fit, fit
from offchain.ports import Call, ChainPort
from offchain.schema.chain_types._generated_chain import Layout, Survival, TaskSpec, VerificationPolicyRedundant, calls
from offchain.schema.manifest.values import format_amount
from offchain.services.record_mapping import host_of

_RUNS: Final = ("Pending", "Active")
"""States of leases whose pods can be moved."""


@click.command()
@action
@click.option("--host", "to", required=True, metavar="ADDRESS", help="The new host; see gantry host list.")
@click.option("--pod", type=click.IntRange(0), help="Which pod.  [default: the only one]")
async def move(chain: ChainPort, view: TaskView, to: str, pod: int | None) -> list[Call]:
    """Move a pod of a running job or service to another host, with what is left of its deposit.

    For tasks whose manifest says survival: move or standby. The pod stops and starts again on the other host, from its
    last checkpoint if it has one. The first host is paid for the time that the pod ran; the new one asks its own price,
    within the limit of the manifest. Schedulers move such pods by themselves when a host deteriorates.

    \b
    Examples:
      gantry task move 7 --host 5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY --account //Charlie
      gantry task move 7 --pod 1 --host 5DAAnrj7VHTznn2AWBemMuyBwZWs6FNFjdyVXUeYum3PTXFy --account anna --json
    """
    lease = _of(view, pod, to)
    found = await _place_at(chain, view, lease, to)
    return [
        calls.tasks_move_pod(lease=lease.id, host=to, devices=bytes(found.devices), rate_per_hour=found.rate_per_hour)
    ]


def _of(view: TaskView, pod: int | None, to: str) -> LeaseView:
    """Return the lease of the pod to move. Raises CliError if it cannot be moved there."""
    if view.survival is Survival.RESTART:
        raise CliError(
            f"the pods of task {view.id} stay on their hosts: its manifest does not say that they may be moved.",
            "Submit it again with survival: move or survival: standby under x-gantry.",
            code="not_movable",
        )
    live = [lease for lease in view.leases if lease.state in _RUNS]
    found = [lease for lease in live if pod in (None, lease.pod)]
    if not found:
        which = "no pod of it runs" if pod is None else f"pod {pod} of it does not run"
        raise CliError(
            f"task {view.id} is {view.state_text}, and {which}.",
            f"gantry task show {view.id} shows its pods.",
            code="not_running",
        )
    if len(found) > 1:
        pods = ", ".join(str(lease.pod) for lease in found)
        raise CliError(f"task {view.id} has several pods: {pods}.", "Choose one with --pod.", code="which_pod")
    if found[0].host == to:
        raise CliError(
            f"pod {found[0].pod} of task {view.id} is on {to} already.", "Choose another host.", code="same_host"
        )
    return found[0]


async def _place_at(chain: ChainPort, view: TaskView, lease: LeaseView, host: str) -> Fit:
    """Return the devices and the rate of the pod on the host. Raises CliError if it does not fit there."""
    typed, number = GantryChain(chain), view.id
    task, hosts = await asyncio.gather(typed.task(number), typed.hosts_named([host]))
    if host not in hosts or task is None:
        raise CliError(f"no host {host} is registered.", "gantry host list shows all hosts.", code="no_such_host")
    spec: TaskSpec = task.spec
    _keeps_apart(spec, view, lease, host, hosts[host].provider)
    there = host_of(host, hosts[host], None)  # its score decides nothing here
    found = fit(there, spec.resources, spec.placement, spec.unit, spec.max_rate_per_hour, task.record.tenant)
    if isinstance(found, Fit):
        return found
    limit = f" of {format_amount(spec.max_rate_per_hour)} an hour" if found.name == "PRICE" else ""
    raise CliError(
        f"host {host} cannot run the pod: {found}{limit}.",
        f"gantry host show {host} shows its resources; choose another one of gantry host list.",
        code="does_not_fit",
    )


def _keeps_apart(spec: TaskSpec, view: TaskView, lease: LeaseView, host: str, provider: str) -> None:
    """Raise CliError if the task's anti-affinity excludes the host because of another pod.

    The chain's rule: live leases count, and all leases of replicas whose results are compared.
    """
    redundant = isinstance(spec.verification, VerificationPolicyRedundant)
    by_provider = redundant or spec.placement.layout is Layout.PROVIDERS
    if not by_provider and spec.placement.layout is not Layout.HOSTS:
        return
    for other in view.leases:
        counts = other.id != lease.id and (redundant or other.is_live)
        if counts and (other.host == host or (by_provider and other.provider == provider)):
            where = f"host {host}" if other.host == host else f"{other.host}, of the same provider {provider}"
            apart = "providers" if by_provider else "hosts"
            raise CliError(
                f"pod {other.pod} of task {view.id} is on {where}, and the task keeps its pods on different {apart}.",
                f"Choose a host {'of another provider' if by_provider else 'without a pod of the task'}: "
                f"gantry task show {view.id} shows its pods, gantry host list all hosts.",
                code="not_apart",
            )
