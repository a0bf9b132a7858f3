"""Command group `gantry agent`, also started as `python -m node_agent`: the commands of a host."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from offchain.adapters.task_traces import TRACES
from offchain.cli.kit import network
from offchain.cli.kit.failures import report_failure
from offchain.cli.kit.lazy_group import LazyGroup
from offchain.schema.terminal_escaping import LogFormatter

if TYPE_CHECKING:
    from offchain.cli.provider.agent_options import DefaultNetwork

_HELP = ("-h", "--help")


@click.command(add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.pass_context
def agent(ctx: click.Context) -> None:
    """Make this machine a paid host, and manage it (providers)."""
    asks_for_help = not ctx.args or any(argument in _HELP for argument in ctx.args)
    chosen = None if asks_for_help else present_network()
    main.main(args=ctx.args, prog_name="gantry agent", standalone_mode=True, obj=chosen)


def present_network() -> DefaultNetwork:
    """Return the network for a host that has not joined one; a joined host keeps its network."""
    from offchain.cli.provider.agent_options import DefaultNetwork  # noqa: PLC0415

    found = network.choose_node(None)
    return DefaultNetwork(found.url, found.genesis_hash, _own_engine(found))


def _own_engine(found: network.NodeEndpoint) -> str | None:
    """Return the engine of the local network if its socket exists and DOCKER_HOST does not name another engine."""
    scheme, _, socket = (found.docker_host or "").partition("://")
    if scheme != "unix" or "DOCKER_HOST" in os.environ:
        return None
    with contextlib.suppress(OSError):  # another user's network
        if Path(socket).is_socket():
            return found.docker_host
    return None


_COMMANDS = {
    "join": ("join", "join", "Make this machine a paid host: check, register, keep running."),
    "status": ("status", "status", "Show this host: its state on the chain, leases, GPUs, earnings, agent."),
    "drain": ("host_lifecycle", "drain", "Finish the present leases and take no new ones."),
    "undrain": ("host_lifecycle", "undrain", "Take new leases again."),
    "set-ask": ("host_lifecycle", "set_ask", "Change prices."),
    "change-hardware": (
        "change_hardware",
        "change_hardware",
        "Update the registration after a change of the hardware.",
    ),
    "top-up": ("host_lifecycle", "top_up", "Add to the host's bond; ends a suspension for slashes."),
    "claim": ("claim", "claim", "Settle the payable earnings now."),
    "leave": ("host_lifecycle", "leave", "Leave the network: drain, wait, retire, stop."),
    "withdraw": ("host_lifecycle", "withdraw", "Withdraw the bond after leaving."),
    "logs": ("agent_process", "logs", "Show the agent's log."),
    "update": ("agent_process", "update", "Update the agent; undone if the release does not become ready."),
    "run": ("agent_process", "run", "Run the agent in the foreground; join keeps it running by itself."),
    "register": ("register", "register", "Only register the host; join includes this."),
}


@contextlib.contextmanager
def report_usage_errors(arguments: Sequence[str], name: str) -> Iterator[None]:
    """Report a wrong command line like any other error, and exit."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        if isinstance(error, click.UsageError) and error.ctx is None:
            error.ctx = click.Context(main, info_name=name)
        sys.exit(report_failure(error, as_json="--json" in arguments))
    except click.Abort:
        click.echo("stopped", err=True)
        sys.exit(1)


class _AgentGroup(LazyGroup):
    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **extra: Any
    ) -> Any:
        if not standalone_mode:
            return super().main(args, standalone_mode=False, **extra)
        with report_usage_errors(sys.argv[1:] if args is None else args, str(extra.get("prog_name") or "gantry agent")):
            status = super().main(args, standalone_mode=False, **extra)
            # The status that a command set by Context.exit.
            sys.exit(status if isinstance(status, int) else 0)


@click.group(
    cls=_AgentGroup,
    package="offchain.cli.provider",
    table=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
def main() -> None:
    """Run this machine as a host that is paid for running tasks.

    \b
    Check whether this machine can be a host:
      gantry agent join --check
    """
    os.umask(0o077)
    handler = logging.StreamHandler(sys.stderr)
    # The log contains names, paths and messages of tenants, and is read on terminals.
    formatter = LogFormatter("%(asctime)s.%(msecs)03dZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    handler.addFilter(TRACES)
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for noisy in ("apscheduler", "urllib3", "websockets"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
