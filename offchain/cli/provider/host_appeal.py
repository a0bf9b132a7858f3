"""gantry host appeal: appeals of the verdicts against a host."""

from __future__ import annotations

import click

from offchain.adapters.chain.typed import GantryChain
from offchain.cli.kit import options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import emit, say
from offchain.cli.kit.session import run, send
from offchain.core.disputes.rules import appeal_stake
from offchain.errors import CheckFailed
from offchain.schema.manifest.values import format_amount
from offchain.services import dispute_calls, provider_calls
from offchain.services.dispute_view import DisputeView, disputes_of_host, read_dispute_view
from offchain.services.event_text import time_text
from offchain.services.tenant_calls import as_batch


@click.command()
@options.address
@click.option("--dry-run", is_flag=True, help="Send nothing: show the verdicts, and what an appeal would cost.")
@options.common(account=True)
def appeal(address: str, dry_run: bool, common: options.CommonOptions) -> None:
    """Appeal every verdict against a host of yours: another, larger jury decides about each.

    Twice the previous stake is held for each, and lost if the next jury finds against the host, too. So look at the
    results first (gantry dispute show), and name evidence in the hearing that follows (gantry dispute add-evidence).

    \b
    Examples:
      gantry host appeal 5F3sa2TJAWMqDhXG6jhV4N8ko9SxwGy8TpaNS1repo5EYjQX --dry-run --account bob
      gantry host appeal 5F3sa2TJAWMqDhXG6jhV4N8ko9SxwGy8TpaNS1repo5EYjQX --account bob
    """
    signer = common.open_account()

    async def work() -> tuple[list[DisputeView], list[CheckFailed]]:
        async with common.connected() as chain:
            await provider_calls.own_host(chain, address, signer.address)
            now = await GantryChain(chain).now_ms()
            open_ = await disputes_of_host(chain, address)
            against = [one for one in open_ if one.is_against_hosts and one.until >= now]
            if dry_run:
                return against, []
            done: list[DisputeView] = []
            failed: list[CheckFailed] = []
            for one in against:
                try:
                    call = as_batch(await dispute_calls.appeal(chain, one.task, signer.address))
                except CheckFailed as error:
                    failed.append(error)
                    continue
                included = await send(chain, call, signer)
                done.append(await read_dispute_view(chain, one.task, included.block.hash))
            return done, failed

    done, failed = run(work())
    if common.as_json:
        emit({"host": address, "sent": not dry_run, "disputes": [one.plain() for one in done]})
    else:
        for line in _lines(address, done, dry_run=dry_run) if done or not failed else ():
            say(line)
    if failed:
        first = failed[0]
        raise CliError(first.message, first.hint, code=first.code)


def _lines(host: str, disputes: list[DisputeView], *, dry_run: bool) -> list[str]:
    if not disputes:
        return [f"No verdict is against host {host} that can be appealed now."]
    lines = []
    for one in disputes:
        last, until = one.stakes[-1], time_text(one.until)
        if dry_run:
            stake = format_amount(appeal_stake(last.amount, last.fee_paid))
            lines.append(f"Task {one.task}: can be appealed until {until} UTC with a stake of {stake}.")
        else:
            lines.append(
                f"Task {one.task}: appealed with a stake of {format_amount(last.amount)}. Evidence is named until "
                f"{until} UTC: gantry dispute add-evidence {one.task} FILE"
            )
    return [*lines, "Nothing was sent."] if dry_run else lines
