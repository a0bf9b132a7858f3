"""gantry agent: `python -m node_agent`, on the network that the other commands use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from offchain.cli.kit import network

if TYPE_CHECKING:
    from offchain.cli.provider.agent_options import DefaultNetwork

_HELP = ("-h", "--help")


@click.command(add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.pass_context
def agent(ctx: click.Context) -> None:
    """Make this machine a paid host, and look after it (providers)."""
    from offchain.cli.provider.agent_group import main  # noqa: PLC0415  (loads everything that an agent needs)

    asks_for_help = not ctx.args or any(argument in _HELP for argument in ctx.args)
    chosen = None if asks_for_help else present_network()
    main.main(args=ctx.args, prog_name="gantry agent", standalone_mode=True, obj=chosen)


def present_network() -> DefaultNetwork:
    """What a host uses that has not joined a network; one that has stays with that."""
    from offchain.cli.provider.agent_options import DefaultNetwork  # noqa: PLC0415

    found = network.choose(None)
    return DefaultNetwork(found.url, found.genesis_hash)
