"""gantry agent: `python -m node_agent`, on the network that the other commands use."""

from __future__ import annotations

import click

from offchain.cli import network

_HELP = ("-h", "--help")


@click.command(add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.pass_context
def agent(ctx: click.Context) -> None:
    """Run the agent that makes this machine a host (providers)."""
    from node_agent.__main__ import main  # noqa: PLC0415  (loads everything that an agent needs)

    main.main(args=with_url(ctx.args), prog_name="gantry agent", standalone_mode=True)


def with_url(arguments: list[str]) -> list[str]:
    """The arguments, with the chosen network's address and genesis hash where they name none."""
    asks_for_help = not arguments or any(argument in _HELP for argument in arguments)
    if asks_for_help or any(argument.split("=")[0] == "--url" for argument in arguments):
        return arguments
    command, *rest = arguments
    chosen = network.choose(None)
    named = any(argument.split("=")[0] == "--genesis" for argument in arguments)
    genesis = [] if named or chosen.genesis_hash is None else [f"--genesis=0x{chosen.genesis_hash.hex()}"]
    return [command, f"--url={chosen.url}", *genesis, *rest]
