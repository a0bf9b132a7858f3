"""gantry chain."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import click

from offchain.cli.kit import options
from offchain.cli.kit.event_text import time_text
from offchain.cli.kit.output import details, emit, progress, say, table
from offchain.cli.kit.session import connected, run
from offchain.cli.operator.inspect import Story, Tell, host_story, lease_story, task_story
from offchain.ports import ChainPort
from offchain.schema.manifest.values import format_amount


@click.group()
def chain() -> None:
    """Look into the chain's history.

    \b
    Example:
      gantry chain inspect task 7
    """


@chain.group(
    epilog="Everything is read from the events of finalized blocks. A node keeps those of old blocks only with "
    "--state-pruning archive. --from-block N spares the search for the first block."
)
def inspect() -> None:
    """Tell the whole story of a task, a lease or a host from the chain's events alone.

    \b
    Examples:
      gantry chain inspect task 7
      gantry chain inspect lease 117440512 --json
      gantry chain inspect host 5F3sa2TJAWMqDhXG6jhV4N8ko9SxwGy8TpaNS1repo5EYjQX --from-block 1000
    """


_FROM_BLOCK = click.option(
    "--from-block", metavar="N", type=click.IntRange(0), help="Begin with this block instead of the first that counts."
)


@inspect.command("task")
@click.argument("number", type=click.IntRange(0))
@_FROM_BLOCK
@options.url
@options.as_json
def task(number: int, from_block: int | None, url: str | None, as_json: bool) -> None:
    """Tell a task's story, also where it was removed from the chain's storage, with a bill added up from events.

    \b
    Examples:
      gantry chain inspect task 7
      gantry chain inspect task 7 --json | jq .bill.paid
    """
    _tell({"task": number}, url, lambda port, tell: task_story(port, number, from_block, tell), as_json=as_json)


@inspect.command("lease")
@click.argument("number", type=click.IntRange(0))
@_FROM_BLOCK
@options.url
@options.as_json
def lease(number: int, from_block: int | None, url: str | None, as_json: bool) -> None:
    """Tell a lease's story.

    \b
    Example:
      gantry chain inspect lease 117440512
    """
    _tell({"lease": number}, url, lambda port, tell: lease_story(port, number, from_block, tell), as_json=as_json)


@inspect.command("host")
@options.address
@_FROM_BLOCK
@options.url
@options.as_json
def host(address: str, from_block: int | None, url: str | None, as_json: bool) -> None:
    """Tell a host's story, with the leases on it and what they brought in.

    \b
    Example:
      gantry chain inspect host 5F3sa2TJAWMqDhXG6jhV4N8ko9SxwGy8TpaNS1repo5EYjQX
    """
    _tell({"host": address}, url, lambda port, tell: host_story(port, address, from_block, tell), as_json=as_json)


def _tell(
    subject: dict[str, Any],
    url: str | None,
    read: Callable[[ChainPort, Tell], Awaitable[Story]],
    *,
    as_json: bool,
) -> None:
    async def work() -> Story:
        async with connected(url) as port:
            return await read(port, progress)

    story = run(work())
    if not story.complete:
        progress("The beginning is missing: it lies before the first block read, or the node no longer keeps it.")
    if as_json:
        emit(
            subject
            | {
                "state": story.state,
                "pruned": story.pruned,
                "complete": story.complete,
                "events": [entry.plain() for entry in story.entries],
                "bill": story.bill.plain(),
            }
        )
        return
    table(
        ("BLOCK", "TIME", "EVENT", ""),
        [(entry.block, time_text(entry.time_ms), entry.event.name, entry.text) for entry in story.entries],
    )
    say()
    bill = story.bill.plain()
    fee, back = format_amount(bill["fee"]), format_amount(bill["refunded"])
    details(
        [
            ("State", story.state),
            ("Paid", f"{bill['paid_gty']} ({bill['paid']} base units), {fee} of it protocol fee; {back} came back"),
        ]
    )
