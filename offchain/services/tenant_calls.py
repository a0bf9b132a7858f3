"""Calls of a tenant for its task, for the command line, the SDK and the HTTP API.

Every function checks before it returns, and raises CheckFailed if the chain would refuse the call. Amounts are base
units, durations ms.
"""

from __future__ import annotations

import asyncio
from typing import Final

from offchain.adapters.chain.typed import GantryChain
from offchain.core.feasibility import Fit, fit
from offchain.core.pricing import deposit, storage_rate_per_hour
from offchain.core.scheduler.pod_request import PodRequest
from offchain.errors import CheckFailed
from offchain.ports import Call, ChainPort
from offchain.schema.chain_types._generated_chain import Layout, Survival, TaskSpec, calls
from offchain.schema.chain_types.replicas import is_compared
from offchain.schema.manifest.values import format_amount
from offchain.services.record_mapping import host_of
from offchain.services.record_views import LeaseView, TaskView, read_task
from offchain.services.submit_checks import task_of_spec

MOST_STARS: Final = 5
_RUNS: Final = ("Pending", "Active")
"""States of leases whose pods can be moved."""


async def own_task(chain: ChainPort, number: int, account: str) -> TaskView:
    """Return a task of this account. Raises CheckFailed for another tenant's task."""
    view = await read_task(chain, number)
    if view.tenant != account:
        raise CheckFailed(
            f"task {number} belongs to {view.tenant}, not to {account}.",
            "Use the account of the tenant that submitted it.",
            code="not_yours",
        )
    return view


def as_batch(several: list[Call]) -> Call:
    """Return one call that makes all of these or none."""
    if len(several) == 1:
        return several[0]
    plain = [{call.pallet: {call.function: dict(call.args)}} for call in several]
    return Call("Utility", "batch_all", {"calls": plain})


def submit(spec: TaskSpec, manifest: bytes, count: int = 1) -> Call:
    """Submit a task, or `count` jobs of one spec and manifest together."""
    if count == 1:
        return calls.tasks_submit(spec=spec, manifest=manifest)
    return calls.tasks_submit_array(spec=spec, manifest=manifest, count=count)


def cancel(view: TaskView) -> list[Call]:
    """Cancel a task that has not reported; pods that ran are paid for the time they ran."""
    if view.is_final:
        raise CheckFailed(f"task {view.id} is already {view.state_text}.", "There is nothing to cancel.", code="final")
    return [Call("Tasks", "cancel", {"task": view.id})]


def end(view: TaskView) -> list[Call]:
    """End a running service or rental."""
    if view.kind == "job":
        raise CheckFailed(
            f"task {view.id} is a job.",
            f"gantry task cancel {view.id} stops it before it has reported.",
            code="is_a_job",
        )
    return [calls.tasks_end(task=view.id)]


def stop(view: TaskView) -> list[Call]:
    """Stop a task in any state: end a running service or rental, cancel everything else."""
    return end(view) if view.kind != "job" and view.state == "Running" else cancel(view)


async def scale(chain: ChainPort, view: TaskView, pods: int) -> list[Call]:
    """Change the number of pods of a service, within the range of its manifest."""
    spec = (await GantryChain(chain).tasks([view.id]))[view.id].spec
    if not spec.pods_min <= pods <= spec.pods_max:
        raise CheckFailed(
            f"the manifest of task {view.id} allows {spec.pods_min} to {spec.pods_max} pods, not {pods}.",
            "Choose a number in this range, or change pods in the manifest (gantry service update).",
            code="out_of_range",
        )
    return [calls.tasks_scale(task=view.id, pods=pods)]


async def extend(chain: ChainPort, view: TaskView, time_ms: int, pod: int | None) -> list[Call]:
    """Extend a service or rental at its present rate."""
    leases = _lasting_leases(view, pod)
    await _check_funds(chain, view, sum(deposit(lease.rate_per_hour, time_ms) for lease in leases))
    return [calls.leases_extend(lease=lease.id, ms=time_ms) for lease in leases]


async def top_up(chain: ChainPort, view: TaskView, amount: int, pod: int) -> list[Call]:
    """Deposit more for a pod of a service or rental."""
    leases = _lasting_leases(view, pod)
    await _check_funds(chain, view, amount)
    return [calls.leases_top_up(lease=lease.id, amount=amount) for lease in leases]


def suspend(view: TaskView) -> list[Call]:
    """Stop the machine of a rental; its volumes are kept."""
    return [calls.leases_suspend(lease=_only_lease(view).id)]


def resume(view: TaskView) -> list[Call]:
    """Start the machine of a suspended rental again."""
    return [calls.leases_resume(lease=_only_lease(view).id)]


async def keep(chain: ChainPort, view: TaskView, time_ms: int, max_rate: int | None) -> list[Call]:
    """Keep the volumes of an ended rental longer. `max_rate`: the highest price an hour; None: what the host asks."""
    lease = _only_lease(view)
    most = await _storage_rate(GantryChain(chain), view.id, lease.host) if max_rate is None else max_rate
    return [calls.leases_keep(lease=lease.id, ms=time_ms, max_rate_per_hour=most)]


def release(view: TaskView) -> list[Call]:
    """Release the volumes of an ended rental: its host deletes them."""
    return [calls.leases_release_data(lease=_only_lease(view).id)]


def accept(view: TaskView) -> list[Call]:
    """Accept the results of a task."""
    check_reported(view, "accept")
    return [calls.tasks_accept_result(task=view.id)]


def rate(view: TaskView, stars: int, pod: int | None) -> list[Call]:
    """Rate the hosts of a settled task with 1 to 5 stars."""
    if view.state != "Settled":
        raise CheckFailed(
            f"task {view.id} is {view.state_text}: only a settled task is rated.",
            f"gantry task wait {view.id} waits until it is settled.",
            code="not_settled",
        )
    return [calls.tasks_rate(lease=lease.id, stars=stars) for lease in leases_of(view, pod)]


async def transfer(chain: ChainPort, sender: str, recipient: str, amount: int) -> list[Call]:
    """Transfer coins; the sender keeps what an account must have."""
    hint = "Transfer less, or from another account."
    await check_free(GantryChain(chain), sender, amount, "the transfer is of", hint, code="no_coins")
    return [Call("Balances", "transfer_keep_alive", {"dest": recipient, "value": amount})]


async def faucet(chain: ChainPort, faucet_account: str, recipient: str, amount: int) -> list[Call]:
    """Transfer coins of a development account, whose key everybody has. Only development chains give it any."""
    free = (await GantryChain(chain).balance(faucet_account)).free
    if free < amount:
        raise CheckFailed(
            f"the faucet account {faucet_account} has {format_amount(free)} free on this chain, and "
            f"{format_amount(amount)} are asked for.",
            "Ask for less." if free else "Only development chains have a faucet: get coins by a transfer.",
            code="no_faucet",
        )
    return [Call("Balances", "transfer_keep_alive", {"dest": recipient, "value": amount})]


async def move(chain: ChainPort, view: TaskView, to: str, pod: int | None) -> list[Call]:
    """Move a pod of a running job or service to another host."""
    lease = _movable(view, pod, to)
    found = await _place_at(chain, view, lease, to)
    return [
        calls.tasks_move_pod(lease=lease.id, host=to, devices=bytes(found.devices), rate_per_hour=found.rate_per_hour)
    ]


async def _check_funds(chain: ChainPort, view: TaskView, amount: int) -> None:
    """Raise CheckFailed if the tenant has not `amount` free for a deposit."""
    hint = "Deposit less, or give it coins: gantry account transfer."
    await check_free(GantryChain(chain), view.tenant, amount, "this deposits", hint, code="no_funds")


async def check_free(chain: GantryChain, account: str, amount: int, what: str, hint: str, *, code: str) -> None:
    """Raise CheckFailed if the account has not `amount` free. `what`: the words before the amount."""
    free = (await chain.balance(account)).free
    if free < amount:
        text = f"{what} {format_amount(amount)}, and the account {account} has {format_amount(free)} free."
        raise CheckFailed(text, hint, code=code)


def _lasting_leases(view: TaskView, pod: int | None) -> list[LeaseView]:
    """Return the leases of a service or rental that have not ended."""
    if view.kind == "job":
        raise CheckFailed(
            f"task {view.id} is a job, and its duration is fixed by its manifest.",
            "Only services and rentals are extended. Submit it again with a longer x-gantry.duration.",
            code="is_a_job",
        )
    found = [lease for lease in view.leases if lease.is_live and pod in (None, lease.pod)]
    if not found:
        which = "pod" if pod is None else f"pod {pod}"
        raise CheckFailed(
            f"task {view.id} is {view.state_text}, and no {which} of it runs.",
            f"gantry task show {view.id} shows its pods.",
            code="not_running",
        )
    return found


async def _storage_rate(chain: GantryChain, task: int, host: str) -> int:
    """Return what the host asks now for the disk of a rental, in base units an hour."""
    found, record = await chain.task(task), await chain.host(host)
    if found is None or record is None:
        raise CheckFailed(f"the chain no longer has task {task} or its host.", "Its data is gone.", code="not_found")
    return storage_rate_per_hour(found.spec.resources, record.ask, found.spec.unit)


def _only_lease(view: TaskView) -> LeaseView:
    """Return the only lease of a rental."""
    if len(view.leases) == 1:
        return view.leases[0]
    raise CheckFailed(
        f"task {view.id} is {view.state_text} and has {len(view.leases) or 'no'} pods; a placed rental has one.",
        f"gantry task show {view.id} shows its pods.",
        code="not_a_rental",
    )


def check_reported(view: TaskView, what: str) -> None:
    """Raise CheckFailed unless the task is reported. `what`: the verb of the action."""
    if view.state == "Reported":
        return
    hint = f"gantry task show {view.id} shows what happened."
    if not view.is_final and view.state != "Verified":
        hint = f"gantry task wait {view.id} waits for its result."
    raise CheckFailed(
        f"task {view.id} is {view.state_text}: you can {what} a result from its report until it is accepted or its "
        "dispute window has passed.",
        hint,
        code="not_reported",
    )


def leases_of(view: TaskView, pod: int | None) -> list[LeaseView]:
    """Return the leases of a task, or of one pod. Raises CheckFailed if there are none."""
    found = [lease for lease in view.leases if pod in (None, lease.pod)]
    if not found:
        raise CheckFailed(
            f"task {view.id} has no pod {pod}." if pod is not None else f"task {view.id} has no pod with a result.",
            f"gantry task show {view.id} shows its pods.",
            code="no_such_pod",
        )
    return found


def _movable(view: TaskView, pod: int | None, to: str) -> LeaseView:
    """Return the lease of the pod to move. Raises CheckFailed if it cannot be moved there."""
    if view.survival is Survival.RESTART:
        raise CheckFailed(
            f"the pods of task {view.id} stay on their hosts: its manifest does not say that they may be moved.",
            "Submit it again with survival: move or survival: standby under x-gantry.",
            code="not_movable",
        )
    live = [lease for lease in view.leases if lease.state in _RUNS]
    found = [lease for lease in live if pod in (None, lease.pod)]
    if not found:
        which = "no pod of it runs" if pod is None else f"pod {pod} of it does not run"
        raise CheckFailed(
            f"task {view.id} is {view.state_text}, and {which}.",
            f"gantry task show {view.id} shows its pods.",
            code="not_running",
        )
    if len(found) > 1:
        pods = ", ".join(str(lease.pod) for lease in found)
        raise CheckFailed(f"task {view.id} has several pods: {pods}.", "Choose one with --pod.", code="which_pod")
    if found[0].host == to:
        raise CheckFailed(
            f"pod {found[0].pod} of task {view.id} is on {to} already.", "Choose another host.", code="same_host"
        )
    return found[0]


async def _place_at(chain: ChainPort, view: TaskView, lease: LeaseView, host: str) -> Fit:
    """Return the devices and the rate of the pod on the host. Raises CheckFailed if it does not fit there."""
    typed, number = GantryChain(chain), view.id
    task, hosts = await asyncio.gather(typed.task(number), typed.hosts_named([host]))
    if host not in hosts or task is None:
        raise CheckFailed(f"no host {host} is registered.", "gantry host list shows all hosts.", code="no_such_host")
    spec: TaskSpec = task.spec
    _keeps_apart(spec, view, lease, host, hosts[host].provider)
    there = host_of(host, hosts[host], None)  # its score decides nothing here
    found = fit(there, PodRequest.of(task_of_spec(spec, task.record.tenant)))
    if isinstance(found, Fit):
        return found
    limit = f" of {format_amount(spec.max_rate_per_hour)} an hour" if found.name == "PRICE" else ""
    raise CheckFailed(
        f"host {host} cannot run the pod: {found}{limit}.",
        f"gantry host show {host} shows its resources; choose another one of gantry host list.",
        code="does_not_fit",
    )


def _keeps_apart(spec: TaskSpec, view: TaskView, lease: LeaseView, host: str, provider: str) -> None:
    """Raise CheckFailed if the task's anti-affinity excludes the host because of another pod.

    The chain's rule: live leases count, and all leases of a task whose results are compared.
    """
    compared = is_compared(spec)
    by_provider = compared or spec.placement.layout is Layout.PROVIDERS
    if not by_provider and spec.placement.layout is not Layout.HOSTS:
        return
    for other in view.leases:
        counts = other.id != lease.id and (compared or other.is_live)
        if counts and (other.host == host or (by_provider and other.provider == provider)):
            where = f"host {host}" if other.host == host else f"{other.host}, of the same provider {provider}"
            apart = "providers" if by_provider else "hosts"
            raise CheckFailed(
                f"pod {other.pod} of task {view.id} is on {where}, and the task keeps its pods on different {apart}.",
                f"Choose a host {'of another provider' if by_provider else 'without a pod of the task'}: "
                f"gantry task show {view.id} shows its pods, gantry host list all hosts.",
                code="not_apart",
            )
