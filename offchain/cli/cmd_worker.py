"""gantry worker."""

import click


@click.group()
def worker() -> None:
    """Run the off-chain workers."""
