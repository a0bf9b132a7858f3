"""gantry agent: the same as `python -m node_agent`."""

from __future__ import annotations

import click


@click.command(add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.pass_context
def agent(ctx: click.Context) -> None:
    """Run the agent that makes this machine a host (providers)."""
    from node_agent.__main__ import main  # noqa: PLC0415  (loads everything that an agent needs)

    main(args=ctx.args, prog_name="gantry agent", standalone_mode=False)
