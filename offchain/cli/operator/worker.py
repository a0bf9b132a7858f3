"""gantry worker."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from offchain.cli.kit import accounts, index_address, network, options
from offchain.cli.kit.output import say
from offchain.cli.kit.session import connected, run
from offchain.cli.operator import policy_files
from offchain.core.scheduler.config import SchedulerConfig
from offchain.schema.protocol.gateway import DEFAULT_PORT

F = TypeVar("F", bound=Callable[..., Any])


def _state_dir(name: str) -> Callable[[F], F]:
    """--state-dir of a worker that sends calls."""
    return click.option(
        "--state-dir",
        type=click.Path(file_okay=False, path_type=Path),
        help=f"Folder of the worker's database; one worker at a time. Else ~/.local/state/gantry/{name}.",
    )


Place = Callable[[tuple[str, ...]], None]
"""Runs a worker of these roles, of which one places tasks, as its options say."""


def _placing(name: str) -> Callable[[Callable[[Place], None]], Callable[..., None]]:
    """The options of a worker that places tasks. The command is given what runs it."""

    def add(command: Callable[[Place], None]) -> Callable[..., None]:
        @functools.wraps(command)
        def work(
            account: str | None,
            password_file: str | None,
            url: str | None,
            queues: Path | None,
            reservations: Path | None,
            answers: str | None,
            state_dir: Path | None,
        ) -> None:
            said = policy_files.read(queues, reservations)
            folder = state_dir or _default_state(name)
            command(lambda roles: _run(roles, url, folder, account, password_file, said=said, answers=answers))

        with_options: Callable[..., None] = work
        for option in (_state_dir(name), _answers, policy_files.files, options.url, options.account):
            with_options = option(with_options)
        return with_options

    return add


_answers = click.option(
    "--answers",
    metavar="IP:PORT",
    help="Tell there, by HTTP, why tasks were placed or wait, for gantry task why --scheduler. A port alone: on this "
    "machine only.  [default: do not]",
)


@click.group(
    epilog="Any number of schedulers and settlers may run, each with an account of its own: the chain decides between "
    "them. A worker writes lines of events to standard error, survives its node's restart, and ends on SIGTERM."
)
def worker() -> None:
    """Run the off-chain workers (operators).

    \b
    Examples:
      gantry worker all --account //Dave
      gantry worker scheduler --account scheduler-1 --password-file /run/secrets/scheduler-1
      gantry worker indexer
      gantry worker gateway
    """


@worker.command(name="all")
@_placing("all")
def everything(place: Place) -> None:
    """Run scheduler and settler in one process, with one account.

    \b
    Example:
      gantry worker all --account //Dave
    """
    place(("scheduler", "settler"))


@worker.command()
@_placing("scheduler")
def scheduler(place: Place) -> None:
    """Place queued tasks on hosts. Bonds its account as a scheduler when it starts.

    What it is told in files holds for what it places; give all schedulers of a network the same. Files are read at the
    start.

    \b
    Examples:
      gantry worker scheduler --account //Dave
      gantry worker scheduler --account scheduler-1 --queues queues.yaml --reservations reservations.yaml
    """
    place(("scheduler",))


@worker.command()
@options.account
@options.url
@_state_dir("settler")
def settler(account: str | None, password_file: str | None, url: str | None, state_dir: Path | None) -> None:
    """Settle, expire and requeue what is due.

    \b
    Example:
      gantry worker settler --account //Dave
    """
    _run(("settler",), url, state_dir or _default_state("settler"), account, password_file)


@worker.command()
@options.account
@options.url
@click.option("--tenant", metavar="NAME", help="Whose services: a name or an address.  [default: the account's own]")
@_state_dir("autoscaler")
def autoscaler(
    account: str | None, password_file: str | None, url: str | None, tenant: str | None, state_dir: Path | None
) -> None:
    """Give services the number of pods that their load asks for, as x-gantry.scaling in their manifests says.

    Runs for a tenant, with its account or with that of a proxy that may act for its tasks (--tenant). What pods use
    is taken from the receipts that their hosts sign.

    \b
    Examples:
      gantry worker autoscaler --account //Charlie
      gantry worker autoscaler --account scaler --tenant 5FLSigC9HGRKVhB9FiEo4Y3koPsNmBmLJbpXg2mp1hXcS59Y
    """
    whose = None if tenant is None else accounts.address_of(tenant)
    _run(("autoscaler",), url, state_dir or _default_state("autoscaler"), account, password_file, whose)


@worker.command()
@options.url
@options.index
def indexer(url: str | None, index: str | None) -> None:
    """Keep the chain's history in a database, for gantry history. Needs no account.

    Every event of every final block is stored once, in order, with what follows from it: tasks, leases, hosts, bills
    and movements of coins as they stand. It goes on where it was, whatever was killed and when. The node must keep old
    states (--state-pruning archive) for blocks that were made while no indexer ran.

    \b
    Examples:
      gantry worker indexer
      GANTRY_INDEX=postgresql://gantry@db/gantry gantry worker indexer --url ws://10.0.0.5:9944
    """
    from offchain.services.indexer import run_indexer  # noqa: PLC0415  (loads everything that a worker needs)

    chosen = network.choose(url)
    address = index_address.choose(index)
    run(run_indexer(chosen.url, address, chosen.genesis_hash))


@worker.command()
@options.url
@click.option(
    "--bind",
    default=f"0.0.0.0:{DEFAULT_PORT}",
    show_default=True,
    metavar="IP:PORT",
    help="Where to listen: UDP (QUIC) and TCP (secure websockets). Open both in the firewall.",
)
@click.option(
    "--public",
    metavar="HOST:PORT",
    help="Where hosts and tenants reach it, if that is not where it listens; only told, in the log and the status.",
)
@click.option(
    "--state-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the gateway's key and status. Else ~/.local/state/gantry/gateway.",
)
@click.option("--show-address", is_flag=True, help="Only print the address to give to hosts and tenants, and end.")
def gateway(url: str | None, bind: str, public: str | None, state_dir: Path | None, show_address: bool) -> None:
    """Carry tenants' connections to hosts that nobody can dial. Needs no account; makes a key of its own.

    A host keeps a stream to it (gantry agent run --gateway ADDRESS) and names it on the chain; tenants' commands find
    it there. What tenant and host say to each other is encrypted from end to end: a gateway can drop it, not read it.

    \b
    Examples:
      gantry worker gateway
      gantry worker gateway --bind 0.0.0.0:443 --public gateway.example.org:443 --url ws://10.0.0.5:9944
      gantry worker gateway --public gateway.example.org:4435 --show-address
    """
    from offchain.gateway.service import Settings, run_gateway, told_address  # noqa: PLC0415  (slow to load)

    folder = state_dir or _default_state("gateway")
    if show_address:
        say(told_address(folder, bind, public).text)
        return
    run(_look(url))
    chosen = network.choose(url)
    run(run_gateway(Settings(url=chosen.url, state_dir=folder, bind=bind, public=public, genesis=chosen.genesis_hash)))


async def _look(url: str | None) -> None:
    """A wrong network is told soon; later on, a worker is patient with its node."""
    async with connected(url):
        pass


def _default_state(name: str) -> Path:
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "gantry" / name


def _address(given: str) -> tuple[str, int]:
    from offchain.services.decision_server import parse_address  # noqa: PLC0415  (slow to load)

    return parse_address(given)


def _run(
    roles: tuple[str, ...],
    url: str | None,
    state_dir: Path,
    account: str | None,
    password_file: str | None,
    tenant: str | None = None,
    said: SchedulerConfig | None = None,
    answers: str | None = None,
) -> None:
    from offchain.services.runner import run_worker  # noqa: PLC0415  (loads everything that a worker needs)

    address = None if answers is None else _address(answers)
    # A wrong network is told before a password is asked for.
    run(_look(url))
    signer = accounts.open_account(account, password_file)
    chosen = network.choose(url)
    run(run_worker(roles, chosen.url, state_dir, signer, chosen.genesis_hash, tenant, said, address))
