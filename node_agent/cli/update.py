"""`gantry agent update`."""

from __future__ import annotations

from typing import Any

import click

from node_agent import update as updating
from node_agent.cli import options
from node_agent.cli.output import Teller, finish
from node_agent.install.releases import Releases
from node_agent.install.service import service_for
from node_agent.startup import Settings, key_of
from offchain.link.errors import OurError


class Digest(click.ParamType[str]):
    """A SHA-256."""

    name = "SHA256"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Its 64 hex digits."""
        try:
            return updating.digest_of(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command()
@click.argument("source", metavar="FILE|URL")
@click.option("--digest", type=Digest(), required=True, help="The SHA-256 of the release; others are refused.")
@options.JSON
@options.folder
def update(settings: Settings, source: str, digest: str, *, as_json: bool) -> None:
    """Run another release of the agent. Containers run on; one that does not become ready is undone.

    \b
    Example:
      gantry agent update --digest 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 agent.tar.gz
    """
    tell = Teller(as_json)

    async def work() -> None:
        key_of(settings)
        service = service_for(settings.state, options.DEFAULT_STATE)
        if not service.running():
            raise OurError("The agent does not run as a service here.", "Start it with gantry agent join first.")
        releases = Releases(settings.state)

        def say(text: str) -> None:
            tell.text(f"{digest[:16]}: {text}")
            tell.step("update", said=text)

        await updating.stage(releases, digest, source, say)
        await updating.switch(releases, digest, settings.state, service, say)
        tell.result({"release": digest, "in_use": True})

    finish(work(), as_json=as_json)
