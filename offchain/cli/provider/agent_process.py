"""`gantry agent run`, `logs` and `update`: the agent's process on this machine."""

from __future__ import annotations

import contextlib

import click

from node_agent.install import update as updating
from node_agent.install.release_trust import keys_text
from node_agent.install.releases import Releases
from node_agent.install.service import service_for
from node_agent.runtime.settings import AgentSettings, key_of
from node_agent.runtime.startup import run_agent
from offchain.cli.kit import options
from offchain.cli.kit.failures import run_command
from offchain.cli.kit.output import StepOutput
from offchain.cli.provider import agent_options
from offchain.errors import OurError
from offchain.schema import terminal_escaping


@click.command()
@click.argument("source", metavar="FILE|URL")
@click.option(
    "--digest",
    type=options.Parsed("SHA256", updating.digest_of),
    help="The required SHA-256 of the release. Needed without release keys.",
)
@click.option(
    "--statement",
    metavar="FILE|URL",
    help="The signed release statement, needed with release keys.  [default: the release's name with .statement]",
)
@click.option("--allow-downgrade", is_flag=True, help="Accept a signed release that is not newer than the one in use.")
@agent_options.output
@agent_options.folder
def update(
    settings: AgentSettings,
    source: str,
    digest: str | None,
    statement: str | None,
    *,
    allow_downgrade: bool,
    output: StepOutput,
) -> None:
    """Update the agent to another release. Containers keep running; a release that does not become ready is undone.

    The release must be signed with a release key of this agent (gantry agent join --release-key). An agent without keys
    needs --digest, and stores the keys that the release names.

    \b
    Examples:
      gantry agent update https://releases.example.org/agent-0.2.0.tar.gz
      gantry agent update --digest 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 agent.tar.gz
    """

    async def work() -> None:
        key_of(settings)
        service = service_for(settings.state, agent_options.DEFAULT_STATE)
        if not service.running():
            raise OurError("The agent does not run as a service here.", "Start it with gantry agent join first.")
        releases = Releases(settings.state)

        def say(text: str) -> None:
            output.text(text)
            output.step("update", said=text)

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
        output.text(f"Version {done.version} ({done.digest}) is in use. Release keys: {keys_text(done.keys)}.")
        output.result(
            {
                "release": done.digest,
                "in_use": True,
                "version": str(done.version),
                "signed_by": done.signed_by,
                "release_keys": list(done.keys),
            }
        )

    run_command(work(), as_json=output.as_json)


@click.command()
@agent_options.machine
def run(settings: AgentSettings) -> None:
    """Run the agent until it is stopped, with the stored configuration or these options.

    Containers keep running when it stops; the next start adopts them.
    """
    run_command(run_agent(settings), hint=" Containers keep running; fix the cause and start the agent again.")


@click.command()
@click.option("--lines", default=50, show_default=True, type=click.IntRange(0, 100_000), help="Number of lines.")
@click.option("--follow", "-f", is_flag=True, help="Print new lines as they come.")
@agent_options.folder
def logs(settings: AgentSettings, lines: int, *, follow: bool) -> None:
    """Show the agent's own log (a task's log: gantry task logs).

    \b
    Example:
      gantry agent logs --follow
    """

    async def work() -> None:
        service = service_for(settings.state, agent_options.DEFAULT_STATE)
        # Blocking is fine: nothing else runs.
        for line in service.log(lines, follow=follow):
            click.echo(terminal_escaping.line(line))

    with contextlib.suppress(BrokenPipeError):
        run_command(work())
