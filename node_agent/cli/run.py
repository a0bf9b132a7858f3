"""`gantry agent run`."""

from __future__ import annotations

import click

from node_agent.cli import options
from node_agent.cli.output import finish
from node_agent.startup import Settings, run_agent


@click.command()
@options.machine
def run(settings: Settings) -> None:
    """Run the agent until it is stopped, as `join` configured it or as given here.

    Containers run on when it stops; the next start takes them up again.
    """
    finish(run_agent(settings), away=" Containers run on; mend the cause and start the agent again.")
