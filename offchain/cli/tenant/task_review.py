"""gantry task accept, dispute, rate, report-scheduler: a tenant's judgement of its hosts and its scheduler."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import click

from offchain.cli.kit.output import progress
from offchain.cli.tenant.task_lifecycle import MAX_PODS, action
from offchain.ports import Call, ChainPort
from offchain.schema.manifest.values import format_amount
from offchain.services import dispute_calls, tenant_calls
from offchain.services.record_views import TaskView
from offchain.services.self_assignments import cheaper_host

_POD = click.option("--pod", type=click.IntRange(0, MAX_PODS - 1), help="Only this pod.  [default: all]")


def register(group: click.Group) -> None:
    for command in (accept, dispute, rate, report_scheduler):
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
    return tenant_calls.accept(view)


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

    A stake is held until the verdict. gantry dispute open collects the evidence itself (docs/disputes.md).

    \b
    Examples:
      gantry task dispute 7 --evidence report.txt --account //Charlie
      gantry task dispute 7 --evidence report.txt --pod 1 --account anna
    """
    digest = hashlib.sha256(await asyncio.to_thread(evidence.read_bytes)).digest()
    return await dispute_calls.opening(chain, view, view.tenant, digest, pod)


@click.command()
@action
@click.argument("stars", type=click.IntRange(1, tenant_calls.MOST_STARS))
@_POD
async def rate(_: ChainPort, view: TaskView, stars: int, pod: int | None) -> list[Call]:
    """Rate the hosts of a settled task with 1 to 5 STARS, once. Ratings count by the fees that were paid.

    \b
    Examples:
      gantry task rate 7 5 --account //Charlie
      gantry task rate 7 2 --pod 1 --account //Charlie
    """
    return tenant_calls.rate(view, stars, pod)


@click.command("report-scheduler")
@action
async def report_scheduler(chain: ChainPort, view: TaskView) -> list[Call]:
    """Report the scheduler of a task that placed it on a host of its own, although another was clearly cheaper.

    A host is looked for that has room for the pod now, costs at least a tenth less, has no lower score, and had the
    same offer before. The chain checks it. The scheduler loses a part of its bond: half of it is yours.

    \b
    Example:
      gantry task report-scheduler 7 --account //Charlie
    """
    found = await cheaper_host(chain, view.id)
    progress(
        f"Scheduler {found.scheduler} placed lease {found.lease} on a host of its own at "
        f"{format_amount(found.paid_per_hour)} an hour; host {found.host} asks {format_amount(found.rate_per_hour)}."
    )
    return [found.call]
