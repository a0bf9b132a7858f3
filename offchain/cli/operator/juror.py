"""gantry juror: run the worker of a juror, show its duties."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from node_agent.images.registries import Endpoint, parse_allowed
from offchain.adapters.chain.typed import GantryChain
from offchain.cli.kit import accounts, network, options
from offchain.cli.kit.disputes import JUROR
from offchain.cli.kit.output import details, emit, table
from offchain.cli.kit.session import run
from offchain.cli.operator.worker_run import challenge_budget_option, metrics_option, run_worker_roles
from offchain.core.disputes.rules import seat_of
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import storage
from offchain.schema.manifest.values import format_amount
from offchain.services.event_text import time_text

if TYPE_CHECKING:
    from offchain.services.juror import JobExecutor


@click.group(
    epilog="Jurors are drawn from the bonded verifiers (gantry verifier bond). docs/disputes.md explains what is "
    "judged automatically, and what a person decides."
)
def juror() -> None:
    """Judge disputes about results, for a share of the fees (operators).

    \b
    Examples:
      gantry juror run --account verifier-1
      gantry juror status --account verifier-1
      gantry dispute vote 7 no --account verifier-1
    """


@juror.command("run")
@options.common(account=True, json=False)
@click.option(
    "--driver",
    type=click.Choice(["docker", "none"]),
    default="docker",
    show_default=True,
    help="What executes disputed jobs. none: nothing is executed, and you decide (gantry dispute vote).",
)
@click.option("--docker-host", metavar="URL", help="The Docker engine, for example unix:///var/run/docker.sock.")
@click.option(
    "--runtime", metavar="NAME", help="The engine's runtime for disputed jobs, as runsc (gVisor).  [default: runc]"
)
@click.option(
    "--allow-registry",
    "allow_registries",
    type=options.Parsed("HOST[:PORT]", parse_allowed),
    multiple=True,
    envvar="GANTRY_ALLOW_REGISTRY",
    help="Pull images from this registry although its address is not public. May be repeated. Else "
    "GANTRY_ALLOW_REGISTRY.",
)
@challenge_budget_option
@metrics_option
@click.option(
    "--state-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the worker's database and votes; one worker at a time. Else ~/.local/state/gantry/juror.",
)
def run_(
    common: options.CommonOptions,
    driver: str,
    docker_host: str | None,
    runtime: str | None,
    allow_registries: tuple[Endpoint, ...],
    budget: int,
    metrics: str | None,
    state_dir: Path | None,
) -> None:
    """Judge disputes by executing their jobs again, without network; and do the duties of gantry verifier run.

    The chain draws committees and juries from one list, so an account needs one worker: this one in place of gantry
    verifier run. Only jobs with verification: deterministic or audit are executed. For all others the worker warns in
    its log until when you have to vote (gantry dispute vote), and reveals your vote.

    \b
    Examples:
      gantry juror run --account verifier-1 --password-file verifier-1.password
      gantry juror run --account verifier-1 --driver none
    """
    folder = state_dir or network.user_state_dir() / JUROR
    opening = None
    if driver == "docker":
        account = accounts.address_of(common.account)
        opening = partial(_docker, folder, account, docker_host, runtime, allow_registries)
    run_worker_roles(("juror",), common, folder, metrics=metrics, budget=budget, open_executor=opening)


def _docker(
    folder: Path, account: str, docker_host: str | None, runtime: str | None, allowed: tuple[Endpoint, ...]
) -> AbstractAsyncContextManager[JobExecutor]:
    # Slow to load, and not needed for the other commands.
    from node_agent.runtime.job_execution import ExecutionSettings, docker_executor  # noqa: PLC0415

    settings = ExecutionSettings(
        folder=folder, account=account, docker_host=docker_host, runtime=runtime, allow_registries=allowed
    )
    return docker_executor(settings)


@juror.command()
@options.common(account=True)
def status(common: options.CommonOptions) -> None:
    """Show the bond of this account and its seats on juries, at the newest final block. Needs no password.

    \b
    Examples:
      gantry juror status --account verifier-1
      gantry juror status --account verifier-1 --json
    """
    account = accounts.address_of(common.account)

    async def read() -> tuple[gen.VerifierRecord | None, gen.VerificationParams, dict[int, gen.DisputeRecord]]:
        async with common.connected() as port:
            chain, head = GantryChain(port), await port.finalized_head()
            record = await chain.read(storage.verification_verifiers, account, at=head.hash)
            params = gen.VerificationParams.decode(await port.query("Verification", "Params", (), head.hash))
            found = await chain.read_map(storage.verification_disputes, at=head.hash)
            return record, params, {task: one for task, one in found.items() if seat_of(one, account) is not None}

    record, params, own = run(read())
    seats = [_plain(account, task, one) for task, one in sorted(own.items())]
    if common.as_json:
        emit(
            {
                "account": account,
                "status": None if record is None else record.status.tag,
                "bond": None if record is None else record.bond,
                "bond_required": params.verifier_bond,
                "duties": None if record is None else record.duties,
                "disputes": seats,
            }
        )
        return
    bond = None if record is None else f"{format_amount(record.bond)} of {format_amount(params.verifier_bond)}"
    details(
        [
            ("Account", account),
            ("Verifier", "no: gantry verifier bond" if record is None else record.status.tag.lower()),
            ("Bond", bond),
            ("Duties", None if record is None else record.duties),
            ("Juries", len(seats)),
        ]
    )
    if seats:
        rows = [(*one.values(),) for one in seats]
        shown = [(row[0], row[1], time_text(row[2]), *row[3:]) for row in rows]
        table(("TASK", "PHASE", "UNTIL", "APPEALS", "COMMITTED", "REVEALED"), shown)


def _plain(account: str, task: int, record: gen.DisputeRecord) -> dict[str, Any]:
    seat = seat_of(record, account)
    return {
        "task": task,
        "phase": record.phase.value,
        "until_ms": record.until,
        "appeals": record.level,
        "committed": seat is not None and seat.commitment is not None,
        "revealed": seat is not None and seat.vote is not None,
    }
