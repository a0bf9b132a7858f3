"""gantry task wait, attach: following a task that was submitted before."""

from __future__ import annotations

import time

import click

from offchain.cli.kit import options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import Screen, emit, progress, say
from offchain.cli.kit.session import run
from offchain.cli.tenant.follow import TaskOutcome, follow, until_running
from offchain.cli.tenant.task_outcome import failure_hint, finish, report_outcome
from offchain.services.tenant_calls import own_task


@click.command()
@click.argument("number", type=options.TASK)
@click.option("--running", is_flag=True, help="Only until its first pods run.")
@click.option("--logs", is_flag=True, help="Print the log of a job's first pod on standard error as it comes.")
@click.option(
    "--accept/--no-accept",
    default=False,
    help="Accept the result when it has arrived complete and the program has ended with 0.  [default: no-accept]",
)
@options.gateway
@options.common(account=True)
def wait(number: int, running: bool, logs: bool, accept: bool, common: options.CommonOptions) -> None:
    """Follow a task to its result and bill, as submit --wait does. Ctrl-C ends the command alone, not the task.

    \b
    Examples:
      gantry task wait 7 --account //Charlie
      gantry task wait 7 --running --account anna
      gantry task wait 7 --accept --json --account anna

    Exit status: 0 settled, or running with --running; 1 not; 3 settled but the program itself ended with an error.
    """
    began = time.monotonic()
    signer = common.open_account()

    async def work() -> TaskOutcome:
        async with common.connected() as chain:
            head = await chain.finalized_head()
            await own_task(chain, number, signer.address)
            if running:
                return await until_running(chain, number, head, signer, progress)
            show = Screen(error=True).show if logs else None
            return await follow(chain, number, head, signer, accept=accept, notify=progress, show_log=show)

    outcome = run(work())
    if not running:
        report_outcome(outcome, time.monotonic() - began, as_json=common.as_json)
        return
    found = outcome.task
    if common.as_json:
        emit(found.plain())
    else:
        say(f"Task {number} is {found.state_text}.")
    if found.is_final and found.state != "Settled":
        raise CliError(
            f"task {number} did not run. Its state: {found.state_text}.",
            failure_hint(outcome),
            code="not_running",
        )


@click.command()
@click.argument("number", type=options.TASK)
@options.gateway
@options.common(account=True, json=False)
def attach(number: int, common: options.CommonOptions) -> None:
    """Print the output of a task's first pod as it comes, from its beginning, until the task has ended.

    Notes about the task are on standard error. The result is not accepted (gantry task accept). Ctrl-C ends the command
    alone: attach again at any time. gantry logs prints the output of other pods, gantry shell opens a terminal.

    \b
    Example:
      gantry task attach 7 --account //Charlie

    Exit status: 0 settled; 1 not; 3 settled but the program itself ended with an error.
    """
    signer = common.open_account()

    async def work() -> TaskOutcome:
        async with common.connected() as chain:
            head = await chain.finalized_head()
            await own_task(chain, number, signer.address)
            return await follow(chain, number, head, signer, accept=False, notify=progress, show_log=Screen().show)

    outcome = run(work())
    finish(outcome)
