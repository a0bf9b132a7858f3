"""gantry task end, scale, extend, top-up, suspend, resume, keep, release: actions of a tenant on its task."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any

import click

from offchain.adapters.chain.typed import GantryChain
from offchain.cli.kit import options
from offchain.cli.kit.event_text import event_text, time_text
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import emit, say
from offchain.cli.kit.session import IncludedCall, run, send
from offchain.cli.kit.views import LeaseView, TaskView, read_task
from offchain.core.pricing import deposit, storage_rate_per_hour
from offchain.ports import Call, ChainPort
from offchain.schema.chain_types._generated_chain import calls
from offchain.schema.manifest.values import format_amount

MakeCalls = Callable[[ChainPort, TaskView], Awaitable[list[Call]]]
"""Returns the calls for a task. Raises CliError if the action is not possible."""
MAX_PODS = 16


def submit_calls(number: int, common: options.CommonOptions, make_calls: MakeCalls) -> tuple[TaskView, IncludedCall]:
    """Submit the calls as one, and return the task after them. Raises CliError for another tenant's task."""
    signer = common.open_account()

    async def work() -> tuple[TaskView, IncludedCall]:
        async with common.connected() as chain:
            view = await read_task(chain, number)
            if view.tenant != signer.address:
                raise CliError(
                    f"task {number} belongs to {view.tenant}, not to {signer.address}.",
                    "Give --account of the tenant that submitted it.",
                    code="not_yours",
                )
            batch = _as_batch(await make_calls(chain, view))
            included = await send(chain, batch, signer)
            return await read_task(chain, number, included.block.hash), included

    return run(work())


def _as_batch(several: list[Call]) -> Call:
    if len(several) == 1:
        return several[0]
    plain = [{call.pallet: {call.function: dict(call.args)}} for call in several]
    return Call("Utility", "batch_all", {"calls": plain})


def action(make_calls: Callable[..., Awaitable[list[Call]]]) -> Callable[..., None]:
    """Make a command of a function that returns the calls for a task, given the chain, the task and further options.

    The command submits all calls or none, and prints what they did.
    """

    @functools.wraps(make_calls)
    def command(number: int, common: options.CommonOptions, **values: Any) -> None:
        view, included = submit_calls(number, common, functools.partial(make_calls, **values))
        if common.as_json:
            emit(view.plain())
            return
        for event in included.events:
            if event.pallet in ("Tasks", "Leases"):
                say(event_text(event))
        say(f"Task {view.id} is {view.activity_text}.")
        for lease in view.leases:
            if lease.kept_until is not None:
                say(
                    f"The volumes of pod {lease.pod} are kept until {time_text(lease.kept_until)} UTC: gantry task "
                    f"keep {view.id} TIME keeps them longer, gantry task release {view.id} deletes them."
                )

    return options.with_options(command, (click.argument("number", type=options.TASK), options.common(account=True)))


_POD = click.option("--pod", type=click.IntRange(0, MAX_PODS - 1), help="Only this pod.  [default: all]")


def register(group: click.Group) -> None:
    for command in (end, scale, extend, top_up, suspend, resume, keep, release):
        group.add_command(command)


@click.command()
@action
async def end(_: ChainPort, view: TaskView) -> list[Call]:
    """End a running service or rental; jobs are cancelled instead (gantry task cancel).

    The volumes of a rental are kept for a time that is printed: 10 days on a production network, 2 minutes on a local
    one.

    \b
    Example:
      gantry task end 7 --account //Charlie
    """
    if view.kind == "job":
        raise CliError(
            f"task {view.id} is a job.",
            f"gantry task cancel {view.id} stops it before it has reported.",
            code="is_a_job",
        )
    return [calls.tasks_end(task=view.id)]


@click.command()
@action
@click.argument("pods", type=click.IntRange(1, MAX_PODS))
async def scale(chain: ChainPort, view: TaskView, pods: int) -> list[Call]:
    """Change the number of PODS of a service, within the min and max of its manifest.

    \b
    Example:
      gantry task scale 7 3 --account //Charlie
    """
    spec = (await GantryChain(chain).tasks([view.id]))[view.id].spec
    if not spec.pods_min <= pods <= spec.pods_max:
        raise CliError(
            f"the manifest of task {view.id} allows {spec.pods_min} to {spec.pods_max} pods, not {pods}.",
            "Choose a number in this range, or change pods in the manifest (gantry service update).",
            code="out_of_range",
        )
    return [calls.tasks_scale(task=view.id, pods=pods)]


@click.command()
@action
@click.argument("time", type=options.DURATION)
@_POD
async def extend(chain: ChainPort, view: TaskView, time: int, pod: int | None) -> list[Call]:
    """Extend a service or rental by TIME. The cost at its present rate is deposited.

    \b
    Example:
      gantry task extend 7 2h --account //Charlie
    """
    leases = _lasting_leases(view, pod)
    await _check_funds(chain, view, sum(deposit(lease.rate_per_hour, time) for lease in leases))
    return [calls.leases_extend(lease=lease.id, ms=time) for lease in leases]


@click.command("top-up")
@action
@click.argument("amount", type=options.AMOUNT)
@click.option("--pod", type=click.IntRange(0, MAX_PODS - 1), default=0, show_default=True, help="Which pod.")
async def top_up(chain: ChainPort, view: TaskView, amount: int, pod: int) -> list[Call]:
    """Deposit an AMOUNT of GTY more for a pod of a service or rental, which then lasts longer.

    \b
    Example:
      gantry task top-up 7 2.5 --account //Charlie
    """
    leases = _lasting_leases(view, pod)
    await _check_funds(chain, view, amount)
    return [calls.leases_top_up(lease=lease.id, amount=amount) for lease in leases]


@click.command()
@action
async def suspend(_: ChainPort, view: TaskView) -> list[Call]:
    """Stop the machine of a rental. Its volumes are kept, and only they are paid for.

    \b
    Example:
      gantry task suspend 7 --account //Charlie
    """
    return [calls.leases_suspend(lease=_only_lease(view).id)]


@click.command()
@action
async def resume(_: ChainPort, view: TaskView) -> list[Call]:
    """Start the machine of a suspended rental again, with its volumes as they were.

    If its host has let the resources to others meanwhile, the chain refuses, and you may try again later.

    \b
    Example:
      gantry task resume 7 --account //Charlie
    """
    return [calls.leases_resume(lease=_only_lease(view).id)]


@click.command()
@action
@click.argument("time", type=options.DURATION)
@click.option("--max-rate", type=options.AMOUNT, help="The highest price an hour.  [default: what the host asks now]")
async def keep(chain: ChainPort, view: TaskView, time: int, max_rate: int | None) -> list[Call]:
    """Keep the volumes of an ended rental for a TIME longer, at the host's storage price.

    The coins are held, and paid as the time passes. The rest is refunded when you release the volumes, when a new
    rental takes them over with x-gantry.data_from in its manifest, or when the host loses them.

    \b
    Example:
      gantry task keep 7 30d --account //Charlie
    """
    lease = _only_lease(view)
    most = await _storage_rate(GantryChain(chain), view.id, lease.host) if max_rate is None else max_rate
    return [calls.leases_keep(lease=lease.id, ms=time, max_rate_per_hour=most)]


@click.command()
@action
async def release(_: ChainPort, view: TaskView) -> list[Call]:
    """Release the volumes of an ended rental: its host deletes them, and confirms that on the chain.

    \b
    Example:
      gantry task release 7 --account //Charlie
    """
    return [calls.leases_release_data(lease=_only_lease(view).id)]


async def _check_funds(chain: ChainPort, view: TaskView, amount: int) -> None:
    """Raise CliError if the tenant has not `amount` free."""
    free = (await GantryChain(chain).balance(view.tenant)).free
    if free < amount:
        raise CliError(
            f"this deposits {format_amount(amount)}, and the account has {format_amount(free)} free.",
            "Deposit less, or give it coins: gantry account transfer.",
            code="no_funds",
        )


def _lasting_leases(view: TaskView, pod: int | None) -> list[LeaseView]:
    """Return the leases of a service or rental that have not ended."""
    if view.kind == "job":
        raise CliError(
            f"task {view.id} is a job, and its duration is fixed by its manifest.",
            "Only services and rentals are extended. Submit it again with a longer x-gantry.duration.",
            code="is_a_job",
        )
    found = [lease for lease in view.leases if lease.is_live and pod in (None, lease.pod)]
    if not found:
        which = "pod" if pod is None else f"pod {pod}"
        raise CliError(
            f"task {view.id} is {view.state_text}, and no {which} of it runs.",
            f"gantry task show {view.id} shows its pods.",
            code="not_running",
        )
    return found


async def _storage_rate(chain: GantryChain, task: int, host: str) -> int:
    """Return what the host asks now for the disk of a rental, in base units an hour."""
    found, record = await chain.task(task), await chain.host(host)
    if found is None or record is None:
        raise CliError(f"the chain no longer has task {task} or its host.", "Its data is gone.", code="not_found")
    return storage_rate_per_hour(found.spec.resources, record.ask, found.spec.unit)


def _only_lease(view: TaskView) -> LeaseView:
    """Return the only lease of a rental."""
    if len(view.leases) == 1:
        return view.leases[0]
    raise CliError(
        f"task {view.id} is {view.state_text} and has {len(view.leases) or 'no'} pods; a placed rental has one.",
        f"gantry task show {view.id} shows its pods.",
        code="not_a_rental",
    )
