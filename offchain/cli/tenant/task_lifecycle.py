"""gantry task end, scale, extend, top-up, suspend, resume, keep, release: actions of a tenant on its task."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any

import click

from offchain.cli.kit import options
from offchain.cli.kit.output import emit, say
from offchain.cli.kit.session import IncludedCall, run, send
from offchain.ports import Call, ChainPort
from offchain.services import tenant_calls
from offchain.services.event_text import event_text, time_text
from offchain.services.record_views import TaskView, read_task

MakeCalls = Callable[[ChainPort, TaskView], Awaitable[list[Call]]]
"""Returns the calls for a task. Raises CliError if the action is not possible."""
MAX_PODS = 16


def submit_calls(number: int, common: options.CommonOptions, make_calls: MakeCalls) -> tuple[TaskView, IncludedCall]:
    """Submit the calls as one, and return the task after them. Raises CliError for another tenant's task."""
    signer = common.open_account()

    async def work() -> tuple[TaskView, IncludedCall]:
        async with common.connected() as chain:
            view = await tenant_calls.own_task(chain, number, signer.address)
            batch = tenant_calls.as_batch(await make_calls(chain, view))
            included = await send(chain, batch, signer)
            return await read_task(chain, number, included.block.hash), included

    return run(work())


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
    return tenant_calls.end(view)


@click.command()
@action
@click.argument("pods", type=click.IntRange(1, MAX_PODS))
async def scale(chain: ChainPort, view: TaskView, pods: int) -> list[Call]:
    """Change the number of PODS of a service, within the min and max of its manifest.

    \b
    Example:
      gantry task scale 7 3 --account //Charlie
    """
    return await tenant_calls.scale(chain, view, pods)


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
    return await tenant_calls.extend(chain, view, time, pod)


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
    return await tenant_calls.top_up(chain, view, amount, pod)


@click.command()
@action
async def suspend(_: ChainPort, view: TaskView) -> list[Call]:
    """Stop the machine of a rental. Its volumes are kept, and only they are paid for.

    \b
    Example:
      gantry task suspend 7 --account //Charlie
    """
    return tenant_calls.suspend(view)


@click.command()
@action
async def resume(_: ChainPort, view: TaskView) -> list[Call]:
    """Start the machine of a suspended rental again, with its volumes as they were.

    If its host has let the resources to others meanwhile, the chain refuses, and you may try again later.

    \b
    Example:
      gantry task resume 7 --account //Charlie
    """
    return tenant_calls.resume(view)


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
    return await tenant_calls.keep(chain, view, time, max_rate)


@click.command()
@action
async def release(_: ChainPort, view: TaskView) -> list[Call]:
    """Release the volumes of an ended rental: its host deletes them, and confirms that on the chain.

    \b
    Example:
      gantry task release 7 --account //Charlie
    """
    return tenant_calls.release(view)
