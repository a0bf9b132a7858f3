"""gantry service."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Callable
from typing import Any

import click

from offchain.adapters.chain.typed import GantryChain
from offchain.cli.kit import accounts, options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import details, emit, progress, say, table
from offchain.cli.kit.session import connected, run
from offchain.cli.tenant.forward import Ports, listening
from offchain.cli.tenant.service_text import plain_service, service_lines
from offchain.cli.tenant.service_update import Asked, update_to
from offchain.cli.tenant.submit import load
from offchain.cli.tenant.task_lifecycle import DURATION
from offchain.schema.manifest.task_spec import without_replaced_task
from offchain.services.health_probe import Checks
from offchain.services.host_connections import Ways
from offchain.services.rolling_update import PATIENCE_MS, SETTLE_MS, Result
from offchain.services.service_proxy import Front
from offchain.services.service_versions import Service, named, services_of

_WHICH = click.argument("which", metavar="NAME|ID")


@click.group(
    epilog="docs/services.md tells the order of every step, and what happens when anything is killed in between."
)
def service() -> None:
    """Replace a service's pods by those of a new version, or go back; see where it stands.

    A service is known by the name in its manifest. A new version is a task of its own beside the old one; it is given
    pods as the old one gives them up, and the old one is ended when all new pods are well.

    \b
    Examples:
      gantry submit hello.yaml --account anna --wait
      gantry service update hello.yaml --account anna      (after you changed it)
      gantry service status hello --account anna
      gantry service rollback hello --account anna
      gantry service forward hello 8080 --account anna
    """


def _rolling(command: Callable[..., None]) -> Callable[..., None]:
    """The options that update and rollback have in common; the command is given them as `asked`."""

    @functools.wraps(command)
    def roll(
        surge: int | None,
        unavailable: int,
        settle: int,
        patience: int,
        account: str | None,
        password_file: str | None,
        url: str | None,
        **own: Any,
    ) -> None:
        command(asked=Asked(url, account, password_file, surge, unavailable, settle, patience), **own)

    with_options: Callable[..., None] = roll
    for option in (
        options.as_json,
        options.url,
        options.account,
        options.gateway,
        click.option(
            "--patience",
            type=DURATION,
            default=PATIENCE_MS,
            help="Go back when nothing more became well for so long.  [default: 10m]",
        ),
        click.option(
            "--settle",
            type=DURATION,
            default=SETTLE_MS,
            help="A pod must have run for so long before it counts as well.  [default: 10s]",
        ),
        click.option(
            "--unavailable",
            type=click.IntRange(0, 15),
            default=0,
            show_default=True,
            help="So many pods fewer than now may be well meanwhile.",
        ),
        click.option(
            "--surge",
            type=click.IntRange(1, 16),
            help="So many pods more than now may there be meanwhile.  [default: the least that is possible]",
        ),
    ):
        with_options = option(with_options)
    return with_options


@service.command()
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--of", "which", metavar="NAME|ID", help="Which service.  [default: the one of the name in FILE]")
@_rolling
def update(asked: Asked, file: str, which: str | None, as_json: bool) -> None:
    """Replace a live service's pods by those of FILE, without a moment in which fewer are well.

    A pod is well when it has run for --settle and every healthcheck of FILE passes in it. When the new version comes to
    nothing, it goes back to the old one by itself and ends with status 1. Stop it with Ctrl-C whenever you like: the
    same command again goes on from there, and gantry service rollback goes back from there.

    The number of pods stays, within the pods min and max of FILE.

    \b
    Examples:
      gantry service update hello.yaml --account anna
      gantry service update hello.yaml --account anna --surge 2 --patience 3m
      gantry service update hello.yaml --of 7 --account anna --json
    """
    text, manifest = load(file)
    word = which or manifest.name
    if manifest.kind != "service":
        raise CliError(
            f"{file} describes a {manifest.kind}, not a service.", "Only services are updated.", code="not_a_service"
        )
    if word is None:
        raise CliError(
            f"{file} has no name, so it does not say which service it is.",
            "Add name: NAME at its top, or give --of with the number of the service's task.",
            code="no_name",
        )
    _ended(update_to(asked, word, (without_replaced_task(text), manifest)), as_json=as_json)


@service.command()
@_WHICH
@_rolling
def rollback(asked: Asked, which: str, as_json: bool) -> None:
    """Go back to the version that a service had before.

    While an update is under way, it is undone: the old version's pods come back, then the new version is ended. After
    it, the old manifest becomes a new version, and takes the place of the present one as in gantry service update.
    Rolling back twice leads forth again.

    \b
    Examples:
      gantry service rollback hello --account anna
      gantry service rollback 8 --account anna --json
    """
    _ended(update_to(asked, which, None), as_json=as_json)


@service.command("list")
@options.account
@options.url
@options.as_json
def list_(account: str | None, password_file: str | None, url: str | None, as_json: bool) -> None:
    """List the live services of an account.

    \b
    Example:
      gantry service list --account anna
    """
    del password_file  # nothing is signed
    found = run(_services(url, account))
    if as_json:
        for one in found:
            emit(plain_service(one))
        return
    rows = [
        (one.name or "-", one.current.id, one.current.task.record.pods_wanted, one.coming.id if one.coming else "-")
        for one in found
    ]
    table(("NAME", "TASK", "PODS", "COMING"), rows)


@service.command()
@_WHICH
@options.account
@options.url
@options.as_json
def status(which: str, account: str | None, password_file: str | None, url: str | None, as_json: bool) -> None:
    """Show which task has a service's present version, which is to take its place, and their pods.

    \b
    Examples:
      gantry service status hello --account anna
      gantry service status 7 --account anna --json
    """
    del password_file  # nothing is signed
    one = named(run(_services(url, account)), which)
    if as_json:
        emit(plain_service(one))
        return
    details(service_lines(one))


@service.command()
@_WHICH
@click.argument("ports", metavar="[LOCAL:]PORT...", nargs=-1, required=True, type=Ports())
@options.gateway
@options.account
@options.url
@options.as_json
def forward(
    which: str,
    ports: tuple[tuple[int, int], ...],
    account: str | None,
    password_file: str | None,
    url: str | None,
    as_json: bool,
) -> None:
    """Reach TCP ports of a service on this machine's 127.0.0.1, until Ctrl-C, whatever its pods and versions are.

    Every connection goes to the next pod in turn. While a new version takes the old one's place, its pods are among
    them as soon as they are well. A connection ends with its pod; the next one goes to another.

    \b
    Examples:
      gantry service forward hello 8080 --account anna
      gantry service forward 7 0:8080 --account anna --json
    """
    signer = accounts.open_account(account, password_file)

    async def work() -> None:
        async with connected(url) as chain, contextlib.AsyncExitStack() as stack:
            typed = GantryChain(chain)
            named(await services_of(typed, signer.address), which)
            ways = Ways(stack, await chain.genesis_hash(), signer, options.given_gateways())
            front = Front(typed, Checks(typed, ways.to), ways, signer.address, which)
            failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            for local, inside in ports:
                at = await stack.enter_async_context(listening(front.dial, local, inside, failed, ("no_service",)))
                if as_json:
                    emit({"service": which, "local": f"127.0.0.1:{at}", "port": inside})
                else:
                    progress(f"127.0.0.1:{at} is port {inside} of the pods of {which}.")
            progress("Ctrl-C ends it.")
            await failed

    run(work())


async def _services(url: str | None, account: str | None) -> list[Service]:
    tenant = accounts.address_of(account)
    async with connected(url) as chain:
        return await services_of(GantryChain(chain), tenant)


def _ended(result: Result, *, as_json: bool) -> None:
    if as_json:
        emit({"task": result.task, "pods": result.pods, "failed": result.failed})
    elif result.failed is None:
        say(f"The service is task {result.task} now, with {result.pods} pods.")
    if result.failed is not None:
        progress(f"error: it went back to task {result.task}: {result.failed}.")
        progress("  gantry logs shows what pods wrote, also of the version that was ended.")
        raise click.exceptions.Exit(1)
