"""Start of a worker in this process, and the option --metrics, for the commands of operators."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from offchain.adapters.local_http import parse_address
from offchain.adapters.metrics.serving import MetricsAddress
from offchain.cli.kit import accounts, network, options
from offchain.cli.kit.session import run
from offchain.core.scheduler.config import SchedulerConfig

if TYPE_CHECKING:
    from offchain.services.runner import OpenExecutor

_RESTART_BY: Final = "gantry.restart_by"
"""Key of the accounts of --restart-by in the context of a command."""
_metrics = click.option(
    "--metrics",
    metavar="IP:PORT",
    help="Serve metrics for Prometheus there by HTTP (docs/monitoring.md). A port alone: on this machine only.  "
    "[default: off]",
)
_restart_by = click.option(
    "--restart-by",
    multiple=True,
    envvar="GANTRY_RESTART_BY",
    metavar="NAME",
    expose_value=False,
    callback=lambda context, _, names: context.meta.update({_RESTART_BY: tuple(names)}),
    help="Let this account restart the process from the console of a gateway, by a signature that the process checks "
    "(docs/operations.md). Needs --metrics. May be repeated.",
)


def metrics_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options --metrics and --restart-by; :func:`metrics_address` reads both."""
    return _metrics(_restart_by(command))


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


def metrics_address(given: str | None) -> MetricsAddress | None:
    """Return where metrics are served, and who may restart the process there; None without --metrics."""
    context = click.get_current_context()
    names: tuple[str, ...] = context.meta.get(_RESTART_BY, ())
    if given is None:
        if names and context.get_parameter_source("restart_by") is ParameterSource.COMMANDLINE:
            raise click.UsageError("--restart-by needs --metrics: requests are taken at that address.")
        return None
    program = context.command_path.rpartition("gantry ")[2]
    return MetricsAddress(*parse_address(given, "metrics"), frozenset(map(accounts.address_of, names)), program)
