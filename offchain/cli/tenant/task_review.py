"""gantry task accept, dispute, rate: a tenant's judgement of what its hosts delivered."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import click

from offchain.adapters.chain.typed import GantryChain
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.views import LeaseView, TaskView
from offchain.cli.tenant.task_lifecycle import MAX_PODS, action
from offchain.ports import Call, ChainPort
from offchain.schema.chain_types._generated_chain import calls
from offchain.schema.manifest.values import format_amount

_POD = click.option("--pod", type=click.IntRange(0, MAX_PODS - 1), help="Only this pod.  [default: all]")
MAX_STARS = 5


def register(group: click.Group) -> None:
    for command in (accept, dispute, rate):
        group.add_command(command)


@click.command()
@action
async def accept(_: ChainPort, view: TaskView) -> list[Call]:
    """Accept the results of a task: its hosts are paid at once, and it cannot be disputed any more.

    Without it, the task is settled when the dispute window has passed.

    \b
    Example:
      gantry task accept 7 --account //Charlie
    """
    _check_reported(view, "accept")
    return [calls.tasks_accept_result(task=view.id)]


@click.command()
@action
@click.option(
    "--evidence",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    required=True,
    help="A file that shows what is wrong. Its SHA-256 goes on the chain; show the file itself to the jury.",
)
@_POD
async def dispute(chain: ChainPort, view: TaskView, evidence: Path, pod: int | None) -> list[Call]:
    """Call the results of a task wrong, within its dispute window. A jury decides, and the loser pays.

    A stake is held until the verdict (docs/verification.md).

    \b
    Examples:
      gantry task dispute 7 --evidence report.txt --account //Charlie
      gantry task dispute 7 --evidence report.txt --pod 1 --account anna
    """
    _check_reported(view, "dispute")
    params = await chain.query("Verification", "Params") or {}
    await _check_coins(chain, view.tenant, int(params["dispute_stake"]))
    digest = hashlib.sha256(await asyncio.to_thread(evidence.read_bytes)).digest()
    accused = [lease.id for lease in _leases(view, pod)]
    return [calls.verification_open_dispute(task=view.id, accused=accused, evidence=digest)]


@click.command()
@action
@click.argument("stars", type=click.IntRange(1, MAX_STARS))
@_POD
async def rate(_: ChainPort, view: TaskView, stars: int, pod: int | None) -> list[Call]:
    """Rate the hosts of a settled task with 1 to 5 STARS, once. Ratings count by the fees that were paid.

    \b
    Examples:
      gantry task rate 7 5 --account //Charlie
      gantry task rate 7 2 --pod 1 --account //Charlie
    """
    if view.state != "Settled":
        raise CliError(
            f"task {view.id} is {view.state_text}: only a settled task is rated.",
            f"gantry task wait {view.id} waits until it is settled.",
            code="not_settled",
        )
    return [calls.tasks_rate(lease=lease.id, stars=stars) for lease in _leases(view, pod)]


def _check_reported(view: TaskView, what: str) -> None:
    if view.state == "Reported":
        return
    hint = f"gantry task show {view.id} shows what happened."
    if not view.is_final and view.state != "Verified":
        hint = f"gantry task wait {view.id} waits for its result."
    raise CliError(
        f"task {view.id} is {view.state_text}: you can {what} a result from its report until it is accepted or its "
        "dispute window has passed.",
        hint,
        code="not_reported",
    )


async def _check_coins(chain: ChainPort, account: str, needed: int) -> None:
    free = (await GantryChain(chain).balance(account)).free
    if free < needed:
        raise CliError(
            f"the stake of a dispute is {format_amount(needed)}, and {account} has {format_amount(free)}.",
            "Transfer coins to it: gantry account transfer.",
            code="no_coins",
        )


def _leases(view: TaskView, pod: int | None) -> list[LeaseView]:
    found = [lease for lease in view.leases if pod in (None, lease.pod)]
    if not found:
        raise CliError(
            f"task {view.id} has no pod {pod}." if pod is not None else f"task {view.id} has no pod with a result.",
            f"gantry task show {view.id} shows its pods.",
            code="no_such_pod",
        )
    return found
