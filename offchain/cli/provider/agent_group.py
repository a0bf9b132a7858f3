"""Command group of `gantry agent`: the commands of a host."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from offchain.schema.terminal_escaping import LogFormatter

_COMMANDS = {
    "join": ("join", "join", "Make this machine a paid host: check, register, keep running."),
    "status": ("status", "status", "Show this host: chain, leases, GPUs, earnings, agent."),
    "drain": ("host_lifecycle", "drain", "Finish what there is and take nothing new."),
    "undrain": ("host_lifecycle", "undrain", "Take new leases again."),
    "set-ask": ("host_lifecycle", "set_ask", "Change prices."),
    "change-hardware": ("change_hardware", "change_hardware", "Register the machine as it is now, after a change."),
    "top-up": ("host_lifecycle", "top_up", "Add to the host's bond; ends a suspension for slashes."),
    "claim": ("claim", "claim", "Have what is owed paid out now."),
    "leave": ("host_lifecycle", "leave", "Leave the network: drain, wait, retire, stop."),
    "withdraw": ("host_lifecycle", "withdraw", "Get the bond back after leaving."),
    "logs": ("status", "logs", "Show the agent's log."),
    "update": ("update", "update", "Run another release, undone where it does not come up."),
    "run": ("run", "run", "Run the agent in the foreground; join keeps it running by itself."),
    "register": ("register", "register", "Only register; join does all of it."),
}


@contextlib.contextmanager
def as_one_error(arguments: Sequence[str], name: str) -> Iterator[None]:
    """Tells a wrong command line as every other error is told, and ends the process."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        code, remedy = "failed", ""
        if isinstance(error, click.UsageError):
            command = error.ctx.command_path if error.ctx else name
            code, remedy = "usage", f"{command} --help shows how it is used."
        from offchain.cli.provider.agent_output import tell_failure  # noqa: PLC0415  (help comes without it)

        message = error.format_message()
        shown = f"{message}\n  {remedy}" if remedy else message
        tell_failure(shown, code, message, remedy, as_json="--json" in arguments)
        sys.exit(error.exit_code)
    except click.Abort:
        click.echo("stopped", err=True)
        sys.exit(1)


class _Lazy(click.Group):
    """Imports a command when it is used, so that help comes at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        module, name, _ = _COMMANDS[cmd_name]
        command = getattr(importlib.import_module(f"offchain.cli.provider.{module}"), name)
        return command if isinstance(command, click.Command) else None

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **extra: Any
    ) -> Any:
        if not standalone_mode:
            return super().main(args, standalone_mode=False, **extra)
        with as_one_error(sys.argv[1:] if args is None else args, str(extra.get("prog_name") or "gantry agent")):
            status = super().main(args, standalone_mode=False, **extra)
            # The status that a command asked for by Context.exit.
            sys.exit(status if isinstance(status, int) else 0)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, _, about) in _COMMANDS.items()])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def main() -> None:
    """The agent of a Gantry host: turns this machine into a host that is paid for running tasks.

    \b
    A first look at whether this machine can be a host:
      gantry agent join --check
    """
    os.umask(0o077)
    handler = logging.StreamHandler(sys.stderr)
    # Names, paths and messages of tenants come into the log, and a person reads it on a terminal.
    handler.setFormatter(LogFormatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for noisy in ("apscheduler", "urllib3", "websockets"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
