"""gantry agent: `python -m node_agent`, on the network that the other commands use."""

from __future__ import annotations

import click

from offchain.cli import network

_HELP = ("-h", "--help")


@click.command(add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.pass_context
def agent(ctx: click.Context) -> None:
    """Make this machine a paid host, and look after it (providers)."""
    from node_agent.__main__ import main  # noqa: PLC0415  (loads everything that an agent needs)
    from node_agent.cli.options import Network  # noqa: PLC0415

    chosen = None
    if ctx.args and not any(argument in _HELP for argument in ctx.args):
        # A host that has joined a network stays with it; only one that has not uses the present choice.
        found = network.choose(None)
        chosen = Network(found.url, found.genesis_hash)
    main.main(args=ctx.args, prog_name="gantry agent", standalone_mode=True, obj=chosen)
