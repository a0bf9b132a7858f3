"""`gantry agent run`."""

from __future__ import annotations

import click

from node_agent.runtime.startup import AgentSettings, run_agent
from offchain.cli.provider import agent_options
from offchain.cli.provider.agent_output import finish


@click.command()
@agent_options.machine
def run(settings: AgentSettings) -> None:
    """Run the agent until it is stopped, as `join` configured it or as given here.

    Containers run on when it stops; the next start takes them up again.
    """
    finish(run_agent(settings), away=" Containers run on; mend the cause and start the agent again.")
