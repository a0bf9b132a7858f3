"""gantry logs."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from datetime import UTC, datetime

import click

from offchain.adapters.transport.port import TransportError
from offchain.cli.kit import accounts, options
from offchain.cli.kit.host_connection import pod_of, pod_option, reached
from offchain.cli.kit.output import Screen, progress
from offchain.cli.kit.session import run
from offchain.cli.tenant.follow_pod import next_run, still_runs

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


class Moment(click.ParamType[int]):
    """A time: so long ago, or a date."""

    name = "WHEN"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Unix time in ms."""
        text = str(value)
        if text[:-1].isdecimal() and text[-1:] in _UNITS:
            ago_s = int(text[:-1]) * _UNITS[text[-1]]
            return max(0, int((datetime.now(UTC).timestamp() - ago_s) * 1000))
        try:
            when = datetime.fromisoformat(text)
        except ValueError:
            self.fail(f"{text!r} is no time; write it like 10m, 2h, or 2026-05-01T12:00", param, ctx)
        return max(0, int((when if when.tzinfo else when.astimezone()).timestamp() * 1000))


@click.command()
@click.argument("number", metavar="ID", type=click.IntRange(0))
@pod_option
@click.option("--service", metavar="NAME", help="Only this container, as the manifest names it.  [default: all]")
@click.option(
    "--follow",
    "-f",
    is_flag=True,
    help="Go on until the pod has ended; also with its next run, where it has to leave its host.",
)
@click.option("--tail", "-n", type=click.IntRange(0, 1_000_000), metavar="LINES", help="Only the last so many lines.")
@click.option("--since", type=Moment(), help="Only from then on: 10m, 2h, 3d, or 2026-05-01T12:00.")
@options.gateway
@options.account
@options.url
def logs(
    number: int,
    pod: int,
    service: str | None,
    follow: bool,
    tail: int | None,
    since: int | None,
    account: str | None,
    password_file: str | None,
    url: str | None,
) -> None:
    """Print what a pod wrote, fetched from its host with your signature.

    Of a pod with several containers each line names its own; --service shows one of them. The host keeps it for 30
    days after the pod has ended. On a terminal, control sequences other than colours are written out instead of obeyed;
    into a file or a pipe every byte goes as it is.

    \b
    Examples:
      gantry logs 7 --account //Charlie
      gantry logs 7 --follow --tail 20 --account anna
      gantry logs 7 --since 10m --service web
      gantry task logs 7                        (the same command)
    """
    signer = accounts.open_account(account, password_file)

    async def work() -> None:
        async with pod_of(url, number, pod, signer) as found:
            lease = found.lease
            log = found.client.logs(lease.id, follow=follow, tail=tail, since_ms=since, service=service)
            if not follow:
                await _show(log)
                return
            failed = await _followed(log)
            while (then := await next_run(found.chain, number, pod, lease, progress)) is not None:
                lease = then
                async with reached(found.chain, lease, signer) as client:
                    failed = await _followed(client.logs(lease.id, follow=True, service=service))
            # A host takes the way away also where the lease has ended: then there is no more to say.
            if failed is not None and await still_runs(found.chain, number, lease):
                raise failed

    run(work())


async def _show(log: AsyncGenerator[bytes, None]) -> None:
    screen = Screen()
    try:
        async with contextlib.aclosing(log):
            async for chunk in log:
                screen.show(chunk)
    finally:
        screen.end()


async def _followed(log: AsyncGenerator[bytes, None]) -> TransportError | None:
    """Show it to its end; gives why it broke off, for a host takes the way away when the lease has gone elsewhere."""
    try:
        await _show(log)
    except TransportError as error:
        return error
    return None
