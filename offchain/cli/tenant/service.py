"""gantry service: rolling updates of services, and connections to them."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import click

from offchain.adapters.chain.typed import GantryChain
from offchain.cli.kit import accounts, options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import details, emit, progress, say, table
from offchain.cli.kit.session import run
from offchain.cli.tenant.forward import PORTS, listen_locally
from offchain.cli.tenant.manifest import load
from offchain.cli.tenant.service_update import UpdateOptions, update_service
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.manifest.task_spec import without_replaced_task
from offchain.schema.value_text import counted
from offchain.services.health_probe import HealthProbe
from offchain.services.host_connections import HostConnections
from offchain.services.rolling_update import PATIENCE_MS, SETTLE_MS, UpdateResult
from offchain.services.service_proxy import ServiceProxy
from offchain.services.service_versions import ServiceVersion, TenantService, find_service, services_of

_WHICH = click.argument("which", metavar="NAME|ID")


@click.group(epilog="docs/services.md describes the order of the steps, and what happens after an interruption.")
def service() -> None:
    """Update a service to a new version, or roll it back, and show its versions.

    A service is identified by the name in its manifest. A new version is a task of its own beside the old one; it grows
    as the old one shrinks, and the old one is ended when all new pods are healthy.

    \b
    Examples:
      gantry submit hello.yaml --account anna --wait
      gantry service update hello.yaml --account anna      (after you changed it)
      gantry service status hello --account anna
      gantry service rollback hello --account anna
      gantry service forward hello 8080 --account anna
    """


_ROLLING = options.grouped(
    "asked",
    UpdateOptions,
    click.option(
        "--surge",
        type=click.IntRange(1, 16),
        help="How many pods more than now may exist during the update.  [default: the smallest possible number]",
    ),
    click.option(
        "--unavailable",
        type=click.IntRange(0, 15),
        default=0,
        show_default=True,
        help="How many of the present pods may be missing during the update.",
    ),
    click.option(
        "--settle",
        type=options.DURATION,
        default=SETTLE_MS,
        help="How long a pod must have run before it counts as healthy.  [default: 10s]",
    ),
    click.option(
        "--patience",
        type=options.DURATION,
        default=PATIENCE_MS,
        help="Roll back when no further pod becomes healthy for this time.  [default: 10m]",
    ),
)
"""Adds the options of update and rollback."""


@service.command()
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--of", "which", metavar="NAME|ID", help="Which service.  [default: the one of the name in FILE]")
@_ROLLING
@options.gateway
@options.common(account=True)
def update(asked: UpdateOptions, common: options.CommonOptions, file: str, which: str | None) -> None:
    """Update a live service to the manifest FILE, without losing healthy pods on the way.

    A pod is healthy when it has run for --settle and passes every healthcheck of FILE. If the new version fails, the
    command rolls back to the old one and exits with status 1. You may interrupt it with Ctrl-C: the same command
    continues the update, and gantry service rollback undoes it.

    The number of pods does not change, within the pods min and max of FILE.

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
    _ended(update_service(common, asked, word, (without_replaced_task(text), manifest)), as_json=common.as_json)


@service.command()
@_WHICH
@_ROLLING
@options.gateway
@options.common(account=True)
def rollback(asked: UpdateOptions, common: options.CommonOptions, which: str) -> None:
    """Roll a service back to its previous version.

    An update in progress is undone: the old version's pods are started again, then the new version is ended. After an
    update, the old manifest becomes a new version, which replaces the present one as in gantry service update. Rolling
    back twice restores the present version.

    \b
    Examples:
      gantry service rollback hello --account anna
      gantry service rollback 8 --account anna --json
    """
    _ended(update_service(common, asked, which, None), as_json=common.as_json)


@service.command("list")
@options.common(account=True)
def list_(common: options.CommonOptions) -> None:
    """List the live services of an account.

    \b
    Example:
      gantry service list --account anna
    """
    found = run(_services(common))
    if common.as_json:
        for one in found:
            emit(plain_service(one))
        return
    rows = [
        (one.name or "-", one.current.id, one.current.task.record.pods_wanted, one.coming.id if one.coming else "-")
        for one in found
    ]
    table(("NAME", "TASK", "PODS", "NEW VERSION"), rows)


@service.command()
@_WHICH
@options.common(account=True)
def status(which: str, common: options.CommonOptions) -> None:
    """Show the task with a service's present version, the task that replaces it, and their pods.

    \b
    Examples:
      gantry service status hello --account anna
      gantry service status 7 --account anna --json
    """
    one = find_service(run(_services(common)), which)
    if common.as_json:
        emit(plain_service(one))
        return
    details(service_lines(one))


@service.command()
@_WHICH
@click.argument("ports", metavar="[LOCAL:]PORT...", nargs=-1, required=True, type=PORTS)
@options.gateway
@options.common(account=True)
def forward(which: str, ports: tuple[tuple[int, int], ...], common: options.CommonOptions) -> None:
    """Forward TCP ports of a service to this machine's 127.0.0.1, until Ctrl-C, across changes of pods and versions.

    Connections go to the pods in turn. During an update, pods of the new version take part as soon as they are healthy.
    A connection ends with its pod; the next one goes to another.

    \b
    Examples:
      gantry service forward hello 8080 --account anna
      gantry service forward 7 0:8080 --account anna --json
    """
    signer = common.open_account()

    async def work() -> None:
        async with common.connected() as chain, contextlib.AsyncExitStack() as stack:
            typed = GantryChain(chain)
            find_service(await services_of(typed, signer.address), which)
            connections = HostConnections(stack, await chain.genesis_hash(), signer, options.given_gateways())
            proxy = ServiceProxy(typed, HealthProbe(typed, connections.to), connections, signer.address, which)
            failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            for local, inside in ports:
                at = await stack.enter_async_context(listen_locally(proxy.dial, local, inside, failed, ("no_service",)))
                if common.as_json:
                    emit({"service": which, "local": f"127.0.0.1:{at}", "port": inside})
                else:
                    progress(f"127.0.0.1:{at} is port {inside} of the pods of {which}.")
            progress("Ctrl-C ends it.")
            await failed

    run(work())


async def _services(common: options.CommonOptions) -> list[TenantService]:
    tenant = accounts.address_of(common.account)
    async with common.connected() as chain:
        return await services_of(GantryChain(chain), tenant)


def _ended(result: UpdateResult, *, as_json: bool) -> None:
    if as_json:
        emit({"task": result.task, "pods": result.pods, "failed": result.failed})
    elif result.failed is None:
        say(f"The service is task {result.task} now, with {counted(result.pods, 'pod')}.")
    if result.failed is not None:
        progress(f"error: the update was rolled back to task {result.task}: {result.failed}.")
        progress("  gantry logs shows the output of pods, also of the version that was ended.")
        raise click.exceptions.Exit(1)


def plain_version(version: ServiceVersion) -> dict[str, Any]:
    """Return a version for --json."""
    record = version.task.record
    place = version.place
    return {
        "task": version.id,
        "state": record.state.tag,
        "pods_wanted": record.pods_wanted,
        "pods_running": _running(version),
        "manifest_digest": version.task.spec.manifest_digest.hex(),
        "takes_place_of": None if place is None else place.task,
    }


def plain_service(service: TenantService) -> dict[str, Any]:
    """Return a service for --json, with the fields of the present version at the top."""
    coming = service.coming
    return {
        "service": service.name,
        **plain_version(service.current),
        "coming": None if coming is None else plain_version(coming),
    }


def service_lines(service: TenantService) -> list[tuple[str, object]]:
    """Return the lines about a service."""
    lines: list[tuple[str, object]] = [("Service", service.text), *_version_lines("Task", service.current)]
    if service.coming is not None:
        lines += _version_lines("New version", service.coming)
        lines.append(("Continue", "gantry service update FILE, with the file of the new version"))
        lines.append(("Roll back", f"gantry service rollback {service.name or service.current.id}"))
    return lines


def _version_lines(title: str, version: ServiceVersion) -> list[tuple[str, object]]:
    record, place = version.task.record, version.place
    return [
        (title, f"{version.id} ({record.state.tag})"),
        ("  pods", f"{_running(version)} of {record.pods_wanted} run"),
        ("  replaces", None if place is None else f"task {place.task}, which had {counted(place.pods, 'pod')}"),
    ]


def _running(version: ServiceVersion) -> int:
    return sum(isinstance(lease.state, gen.LeaseStateActive) for lease in version.task.record.leases)
