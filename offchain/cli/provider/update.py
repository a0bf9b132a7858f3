"""`gantry agent update`."""

from __future__ import annotations

from typing import Any

import click

from node_agent.install import update as updating
from node_agent.install.release_trust import keys_text
from node_agent.install.releases import Releases
from node_agent.install.service import service_for
from node_agent.runtime.startup import AgentSettings, key_of
from offchain.cli.provider import agent_options
from offchain.cli.provider.agent_output import StepOutput, finish
from offchain.errors import OurError


class DigestParam(click.ParamType[str]):
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
@click.option(
    "--digest",
    type=DigestParam(),
    help="The SHA-256 of the release; others are refused. Required while no release keys are kept.",
)
@click.option(
    "--statement",
    metavar="FILE|URL",
    help="The signed release statement, where release keys are kept.  [default: the release's name with .statement]",
)
@click.option("--allow-downgrade", is_flag=True, help="Accept a signed release that is not newer than the one in use.")
@agent_options.JSON
@agent_options.folder
def update(
    settings: AgentSettings,
    source: str,
    digest: str | None,
    statement: str | None,
    *,
    allow_downgrade: bool,
    as_json: bool,
) -> None:
    """Run another release of the agent. Containers run on; one that does not become ready is undone.

    The release has to be signed by a release key that this agent keeps (gantry agent join --release-key). An agent that
    keeps none needs --digest, and keeps the keys that the release names.

    \b
    Examples:
      gantry agent update https://releases.example.org/agent-0.2.0.tar.gz
      gantry agent update --digest 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 agent.tar.gz
    """
    tell = StepOutput(as_json)

    async def work() -> None:
        key_of(settings)
        service = service_for(settings.state, agent_options.DEFAULT_STATE)
        if not service.running():
            raise OurError("The agent does not run as a service here.", "Start it with gantry agent join first.")
        releases = Releases(settings.state)

        def say(text: str) -> None:
            tell.text(text)
            tell.step("update", said=text)

        done = await updating.update(
            releases,
            settings.state,
            service,
            source,
            say,
            digest=digest,
            statement=statement,
            allow_downgrade=allow_downgrade,
        )
        tell.text(f"Version {done.version} ({done.digest}) is in use. Release keys kept: {keys_text(done.keys)}.")
        tell.result(
            {
                "release": done.digest,
                "in_use": True,
                "version": str(done.version),
                "signed_by": done.signed_by,
                "release_keys": list(done.keys),
            }
        )

    finish(work(), as_json=as_json)
