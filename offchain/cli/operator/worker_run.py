"""Start of a worker in this process, and the option --metrics, for the commands of operators."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from offchain.adapters.local_http import parse_address
from offchain.cli.kit import network, options
from offchain.cli.kit.session import run
from offchain.core.scheduler.config import SchedulerConfig

if TYPE_CHECKING:
    from offchain.services.runner import OpenExecutor

metrics_option = click.option(
    "--metrics",
    metavar="IP:PORT",
    help="Serve metrics for Prometheus there by HTTP (docs/monitoring.md). A port alone: on this machine only.  "
    "[default: off]",
)

challenge_budget_option = click.option(
    "--challenge-budget",
    "budget",
    type=options.AMOUNT,
    default="0",
    show_default=True,
    help="GTY held in 24 h at most, as fees of challenges that this verifier opens. 0: it opens none.",
)


async def check_network(common: options.CommonOptions) -> None:
    """Check the network before the worker starts; a running worker waits for its node."""
    async with common.connected():
        pass


def run_worker_roles(
    roles: tuple[str, ...],
    common: options.CommonOptions,
    state_dir: Path,
    tenant: str | None = None,
    definitions: SchedulerConfig | None = None,
    answers: str | None = None,
    metrics: str | None = None,
    budget: int = 0,
    open_executor: OpenExecutor | None = None,
) -> None:
    """Run these roles until the worker is stopped. Arguments as of :func:`offchain.services.runner.run_worker`."""
    from offchain.services.runner import run_worker  # noqa: PLC0415  (loads everything that a worker needs)

    address = None if answers is None else parse_address(answers, "answers")
    served = metrics_address(metrics)
    # A wrong network is reported before the password is asked for.
    run(check_network(common))
    signer = common.open_account()
    chosen = network.choose_node(common.url)
    run(
        run_worker(
            *(roles, chosen.url, state_dir, signer, chosen.genesis_hash, tenant, definitions, address, served, budget),
            open_executor,
        )
    )


def metrics_address(given: str | None) -> tuple[str, int] | None:
    """Return host and port of --metrics; None without it."""
    return None if given is None else parse_address(given, "metrics")
