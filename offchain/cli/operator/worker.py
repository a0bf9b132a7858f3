"""gantry worker: run the off-chain workers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from offchain.cli.kit import accounts, network, options, policy_files
from offchain.cli.kit.session import run
from offchain.cli.operator.gateway_worker import gateway
from offchain.cli.operator.notifier import notifier
from offchain.cli.operator.worker_run import challenge_budget_option, metrics_address, metrics_option, run_worker_roles
from offchain.core.scheduler.config import SchedulerConfig
from offchain.indexer.rows import PARTITION_BLOCKS

F = TypeVar("F", bound=Callable[..., Any])


def _state_dir(name: str) -> Callable[[F], F]:
    """Add --state-dir of a worker that submits calls."""
    return click.option(
        "--state-dir",
        type=click.Path(file_okay=False, path_type=Path),
        help=f"Folder of the worker's database; one worker at a time. Else ~/.local/state/gantry/{name}.",
    )


_SIGNS = options.common(account=True, json=False)
RunRoles = Callable[[tuple[str, ...]], None]
"""Runs a worker with these roles, one of which is the scheduler."""


def _scheduling_options(name: str) -> Callable[[Callable[[RunRoles], None]], Callable[..., None]]:
    """Add the options of a worker that schedules; the command receives the function that runs it."""

    def add(command: Callable[[RunRoles], None]) -> Callable[..., None]:
        @functools.wraps(command)
        def work(
            common: options.CommonOptions,
            definitions: SchedulerConfig,
            answers: str | None,
            metrics: str | None,
            state_dir: Path | None,
        ) -> None:
            folder = state_dir or network.user_state_dir() / name
            command(
                lambda roles: run_worker_roles(
                    roles, common, folder, metrics=metrics, definitions=definitions, answers=answers
                )
            )

        found = (_SIGNS, policy_files.policy_options, _answers, metrics_option, _state_dir(name))
        return options.with_options(work, found)

    return add


_answers = click.option(
    "--answers",
    metavar="IP:PORT",
    help="Explain decisions there by HTTP, for gantry task why --scheduler. A port alone: on this "
    "machine only.  [default: off]",
)


@click.group(
    epilog="Any number of schedulers and settlers may run, each with an account of its own: the chain decides between "
    "them. A worker logs to standard error, survives a restart of its node, and stops on SIGTERM."
)
def worker() -> None:
    """Run the off-chain workers (operators).

    \b
    Examples:
      gantry worker all --account //Dave
      gantry worker scheduler --account scheduler-1 --password-file /run/secrets/scheduler-1
      gantry worker verifier --account verifier-1
      gantry worker indexer
      gantry worker gateway
    """


worker.add_command(gateway)
worker.add_command(notifier)


@worker.command(name="all")
@_scheduling_options("all")
def everything(run_roles: RunRoles) -> None:
    """Run scheduler and settler in one process, with one account.

    \b
    Example:
      gantry worker all --account //Dave
    """
    run_roles(("scheduler", "settler"))


@worker.command()
@_scheduling_options("scheduler")
def scheduler(run_roles: RunRoles) -> None:
    """Place queued tasks on hosts. Bonds its account as a scheduler when it starts.

    Queues and reservations are read from files at the start; give all schedulers of a network the same files.

    \b
    Examples:
      gantry worker scheduler --account //Dave
      gantry worker scheduler --account scheduler-1 --queues queues.yaml --reservations reservations.yaml
    """
    run_roles(("scheduler",))


@worker.command()
@_SIGNS
@metrics_option
@_state_dir("settler")
def settler(common: options.CommonOptions, metrics: str | None, state_dir: Path | None) -> None:
    """Settle, expire and requeue what is due.

    \b
    Example:
      gantry worker settler --account //Dave
    """
    run_worker_roles(("settler",), common, state_dir or network.user_state_dir() / "settler", metrics=metrics)


@worker.command()
@_SIGNS
@click.option("--tenant", metavar="NAME", help="The owner of the services.  [default: the account itself]")
@metrics_option
@_state_dir("autoscaler")
def autoscaler(common: options.CommonOptions, tenant: str | None, metrics: str | None, state_dir: Path | None) -> None:
    """Scale services by their load, as x-gantry.scaling in their manifests says.

    Runs for a tenant, with its account or with that of a proxy that may act for its tasks (--tenant). The load is
    computed from the receipts that hosts sign.

    \b
    Examples:
      gantry worker autoscaler --account //Charlie
      gantry worker autoscaler --account scaler --tenant 5FLSigC9HGRKVhB9FiEo4Y3koPsNmBmLJbpXg2mp1hXcS59Y
    """
    owner = None if tenant is None else accounts.address_of(tenant)
    run_worker_roles(
        ("autoscaler",), common, state_dir or network.user_state_dir() / "autoscaler", owner, metrics=metrics
    )


@worker.command()
@_SIGNS
@challenge_budget_option
@metrics_option
@_state_dir("verifier")
def verifier(common: options.CommonOptions, budget: int, metrics: str | None, state_dir: Path | None) -> None:
    """Judge hosts' proofs of their GPUs in committees, and open the challenges that the chain's randomness draws.

    The account has to be bonded before: gantry verifier bond. A vote is stored before it is committed.

    \b
    Examples:
      gantry verifier run --account verifier-1 --password-file verifier-1.password
      gantry worker verifier --account //Dave --challenge-budget 10
    """
    run_worker_roles(
        ("verifier",), common, state_dir or network.user_state_dir() / "verifier", metrics=metrics, budget=budget
    )


@worker.command()
@options.common(json=False)
@options.index
@click.option(
    "--keep-days",
    type=click.IntRange(1),
    metavar="DAYS",
    help="Remove events and extrinsics that are older by the chain's time. Tasks, leases, hosts, bills and transfers "
    "stay. Else everything is kept.",
)
@click.option(
    "--partition-blocks",
    type=click.IntRange(1),
    default=PARTITION_BLOCKS,
    show_default=True,
    metavar="N",
    help="Blocks in each new partition of a large table in PostgreSQL. With --keep-days, partitions are removed whole.",
)
@click.option(
    "--report-daily",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="After each day (UTC, by the chain's time), write reports of it there: FOLDER/YYYY-MM-DD/host.csv, .html and "
    ".json, and those of models, regions, tenants and providers (docs/reports.md).  [default: none]",
)
@metrics_option
def indexer(
    common: options.CommonOptions,
    index: str | None,
    keep_days: int | None,
    partition_blocks: int,
    report_daily: Path | None,
    metrics: str | None,
) -> None:
    """Keep the chain's history in a database, for gantry history. Needs no account.

    Every event of every final block is stored once, in order, with the tasks, leases, hosts, bills and transfers that
    follow from it. After an interruption it continues where it stopped. For blocks that were made while no indexer ran,
    the node must keep old states (--state-pruning archive).

    \b
    Examples:
      gantry worker indexer
      GANTRY_INDEX=postgresql://gantry@db/gantry gantry worker indexer --url ws://10.0.0.5:9944
      gantry worker indexer --keep-days 90
    """
    from offchain.services.indexer import run_indexer  # noqa: PLC0415  (loads everything that a worker needs)

    served = metrics_address(metrics)
    chosen = network.choose_node(common.url)
    address = network.choose_index(index)
    run(run_indexer(chosen.url, address, chosen.genesis_hash, keep_days, partition_blocks, served, report_daily))
