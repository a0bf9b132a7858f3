"""gantry task why."""

from __future__ import annotations

import click

from offchain.cli import options, outlook_text
from offchain.cli.outlooks import Asked, outlook_at
from offchain.cli.output import details, emit, say
from offchain.cli.session import connected, run
from offchain.schema.ids import lease_parts


@click.command()
@click.argument("number", type=click.IntRange(0))
@options.url
@options.as_json
def why(number: int, url: str | None, as_json: bool) -> None:
    """Tell why a task waits, or where it is and what else would take it.

    Counts every registered host by the first rule that excludes it, now and even if nothing else ran there, from the
    chain's last finalized block. A task that is final: gantry chain inspect task. At risk are pods on a host that
    is not online, has a poor reputation, or takes the lease back, or on a GPU that is out of order.

    \b
    Example:
      gantry task why 7
    """

    async def work() -> Asked:
        async with connected(url) as chain:
            return await outlook_at(chain, number)

    found = run(work())
    task = found.task
    if as_json:
        placed = [{"pod": lease_parts(lease.id)[1], "host": lease.host, "state": lease.state} for lease in task.leases]
        facts = {"task": number, "state": task.state, "waits": bool(task.open_pods), "leases": placed}
        facts["at_risk"] = outlook_text.risk_fields(found.at_risk)
        emit(facts | (outlook_text.fields(found.outlook, task) if task.open_pods else {}))
        return
    pairs: list[tuple[str, object]] = [("Task", number), ("State", task.state)]
    pairs += [("Runs on", ", ".join(lease.host for lease in task.leases) or None)]
    pairs += [("At risk", outlook_text.risk_text(found.at_risk))]
    if task.open_pods:
        pairs += [("Waits for", f"{len(task.open_pods)} pod{'s' if len(task.open_pods) > 1 else ''}")]
        pairs += outlook_text.pairs(found.outlook, task, found.now_ms)
    details(pairs)
    if not task.open_pods:
        say("\nIt waits for no host.")
