"""What the commands of several workers share: options, and the check of the network before a start."""

from __future__ import annotations

import click

from offchain.adapters.local_http import parse_address
from offchain.cli.kit import options

metrics = click.option(
    "--metrics",
    metavar="IP:PORT",
    help="Serve metrics for Prometheus there by HTTP (docs/monitoring.md). A port alone: on this machine only.  "
    "[default: off]",
)


def metrics_address(given: str | None) -> tuple[str, int] | None:
    """Return host and port of --metrics; None without it."""
    return None if given is None else parse_address(given, "metrics")


async def check_network(common: options.CommonOptions) -> None:
    """Check the network before the worker starts; a running worker waits for its node."""
    async with common.connected():
        pass
