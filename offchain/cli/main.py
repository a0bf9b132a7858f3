"""The gantry command: its subcommands, and the report of failures.

The module of a subcommand is imported when the subcommand runs, so that --help is fast.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from offchain.cli.kit import failures
from offchain.cli.kit.lazy_group import LazyGroup

_COMMANDS = {
    "submit": ("tenant.submit", "submit", "Submit a task; with --wait: follow it to its result and bill."),
    "task": (
        "tenant.task",
        "task",
        "List and show tasks, read their logs and results; extend, scale, stop and end them.",
    ),
    "service": (
        "tenant.service",
        "service",
        "Update a service to a new version, pod by pod, or roll it back.",
    ),
    "logs": ("tenant.logs", "logs", "Print the output of a pod, also after it has ended; with --follow: as it comes."),
    "exec": ("tenant.exec", "exec_", "Run a program in a pod."),
    "shell": ("tenant.exec", "shell", "Open a terminal in a pod."),
    "forward": ("tenant.forward", "forward", "Forward TCP ports of a pod to this machine."),
    "cp": ("tenant.cp", "cp", "Copy files into a pod or out of it."),
    "deliver": ("tenant.deliver", "deliver", "Deliver a secret or an input to pods, sealed to their host."),
    "host": ("provider.host", "host", "List and show hosts, with their prices and scores."),
    "chain": (
        "operator.chain",
        "chain",
        "Show the history of a task, a lease or a host from the chain's events alone.",
    ),
    "audit": (
        "operator.audit",
        "audit",
        "Prove a bill, an account or a host with a file, and verify such files offline.",
    ),
    "account": ("tenant.account", "account", "Create, import, list and show accounts and their balances."),
    "manifest": ("tenant.manifest", "manifest", "Check a manifest, or print it as it is stored on the chain."),
    "doctor": ("operator.doctor", "doctor", "Check this machine; with --audit: add up every coin on the chain."),
    "worker": ("operator.worker", "worker", "Run the off-chain workers (operators)."),
    "verifier": (
        "operator.verifier",
        "verifier",
        "Judge hosts' proofs of their GPUs: bond a verifier, run it, show its duties.",
    ),
    "dispute": (
        "tenant.dispute",
        "dispute",
        "Dispute wrong results; show, judge and appeal disputes.",
    ),
    "juror": (
        "operator.juror",
        "juror",
        "Judge disputes: run the worker of a juror, show its duties.",
    ),
    "outbox": (
        "operator.outbox",
        "outbox",
        "Show calls that a worker or an agent has not submitted yet, and those it gave up.",
    ),
    "simulate": (
        "operator.simulate",
        "simulate",
        "Compare placement policies on a trace. Needs no network.",
    ),
    "history": (
        "operator.history",
        "history",
        "Query the index of the chain's history: a task, a host, an account, events.",
    ),
    "top": ("operator.top", "top", "Show hosts, tasks and queues of the network, live in the terminal."),
    "report": (
        "operator.report",
        "report",
        "Report use, waits, failures, payments and SLA by host, model, region, tenant or provider.",
    ),
    "trace": (
        "operator.trace",
        "trace",
        "Show the timeline of a task: the chain, schedulers' decisions and log files.",
    ),
    "agent": ("provider.agent", "agent", "Make this machine a paid host, and manage it (providers)."),
}


class _GantryGroup(LazyGroup):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.table and not args[0].startswith("-"):
            raise failures.unknown_command(args[0], list(self.table))
        return super().resolve_command(ctx, args)


@click.group(
    cls=_GantryGroup,
    package="offchain.cli",
    table=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with a local network: scripts/up. Each command has examples in its own --help.",
)
@click.version_option("0.1.0", prog_name="gantry")
def cli() -> None:
    """Run work on GPU hosts of the Gantry network, and see exactly what it cost.

    \b
    A first task, on the local network that scripts/up starts:
      gantry submit examples/primes.yaml --account //Charlie --wait
    """


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status. A failure is reported as a message, never as a traceback."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in arguments
    try:
        status = cli.main(args=arguments, prog_name="gantry", standalone_mode=False)
    except BaseException as error:  # noqa: BLE001  (the one place where everything ends)
        return failures.report_failure(error, as_json=as_json)
    return status if isinstance(status, int) else 0
