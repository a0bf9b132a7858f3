"""gantry agent."""

import click


@click.group()
def agent() -> None:
    """Run the agent."""
