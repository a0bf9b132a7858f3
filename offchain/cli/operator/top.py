"""gantry top: a live view of hosts, tasks and queues in the terminal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
import termios
import tty
from collections.abc import Callable, Iterator

import click

from offchain.cli.kit import options, terminal
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import emit, say, table
from offchain.cli.kit.session import run
from offchain.cli.operator.top_view import (
    HOST_COLUMNS,
    QUEUE_COLUMNS,
    SORTS,
    TASK_COLUMNS,
    header_lines,
    host_rows,
    queue_rows,
    screen,
    task_rows,
)
from offchain.errors import BadReply, ChainUnreachable
from offchain.ports import ChainPort
from offchain.services.network_overview import NetworkOverview, read_overview


@click.command()
@options.common()
@click.option("--once", is_flag=True, help="Print the state once, with all hosts, and exit.")
@click.option("--sort", type=click.Choice(list(SORTS)), default="load", show_default=True, help="Order of hosts.")
@click.option(
    "--interval",
    type=click.FloatRange(1, 3600),
    default=4,
    show_default=True,
    metavar="SECONDS",
    help="Time between two reads of the chain.",
)
def top(once: bool, sort: str, interval: float, common: options.CommonOptions) -> None:
    """Show hosts, tasks that have not ended, and queues of the network, as of the last final block.

    On a terminal the view is live: q quits, s takes the next order of hosts. With --json: one object for each read.

    \b
    Examples:
      gantry top
      gantry top --sort price --interval 10
      gantry top --once --json | jq .gpus_leased
    """
    if not once and not common.as_json and not terminal.is_terminal():
        raise CliError("the live view needs a terminal.", "Use --once, or --json for one object a read.", code="usage")

    async def work() -> None:
        async with common.connected() as chain:
            if common.as_json:
                await _as_json(chain, interval, once=once)
            elif once:
                _print(await read_overview(chain), sort)
            else:
                await _TopScreen(chain, sort, interval).show()

    run(work())


async def _as_json(chain: ChainPort, interval_s: float, *, once: bool) -> None:
    while True:
        emit((await read_overview(chain)).plain())
        if once:
            return
        await asyncio.sleep(interval_s)


def _print(seen: NetworkOverview, sort: str) -> None:
    for line in header_lines(seen):
        say(line)
    for header, rows in (
        (HOST_COLUMNS, host_rows(seen, sort)),
        (TASK_COLUMNS, task_rows(seen)),
        (QUEUE_COLUMNS, queue_rows(seen)),
    ):
        if rows:
            say()
            table(header, rows)


class _TopScreen:
    """The live view on a terminal."""

    def __init__(self, chain: ChainPort, sort: str, interval_s: float) -> None:
        self._chain = chain
        self._orders = list(SORTS)
        self._sort = sort
        self._interval_s = interval_s
        self._pressed = asyncio.Event()
        self._is_ending = False

    async def show(self) -> None:
        """Show the view until q is pressed. An unreachable node is reported in the view."""
        from rich.console import Console  # noqa: PLC0415  (slow to load)
        from rich.live import Live  # noqa: PLC0415

        seen, problem = await read_overview(self._chain), ""
        loop = asyncio.get_running_loop()
        console = Console(file=sys.stdout)
        with _keys(self._press), Live(console=console, screen=True, auto_refresh=False) as live:
            due_s = loop.time() + self._interval_s
            while not self._is_ending:
                lines = shutil.get_terminal_size().lines
                live.update(screen(seen, self._sort, lines, problem), refresh=True)
                self._pressed.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(max(0.0, due_s - loop.time())):
                        await self._pressed.wait()
                if self._is_ending or loop.time() < due_s:
                    continue
                try:
                    seen, problem = await read_overview(self._chain), ""
                except (ChainUnreachable, BadReply) as error:
                    problem = error.message
                due_s = loop.time() + self._interval_s

    def _press(self, keys: bytes) -> None:
        for key in keys.decode("latin-1").lower():
            if key == "q":
                self._is_ending = True
            elif key == "s":
                self._sort = self._orders[(self._orders.index(self._sort) + 1) % len(self._orders)]
        self._pressed.set()


@contextlib.contextmanager
def _keys(press: Callable[[bytes], None]) -> Iterator[None]:
    """Call `press` with the keys that are typed, without waiting for a line; restore the terminal at the end."""
    loop, handle = asyncio.get_running_loop(), sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    try:
        tty.setcbreak(handle, termios.TCSADRAIN)
        loop.add_reader(handle, lambda: press(os.read(handle, 64)))
        yield
    finally:
        loop.remove_reader(handle)
        termios.tcsetattr(handle, termios.TCSADRAIN, before)
