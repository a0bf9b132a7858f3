"""gantry submit: submission of a task, and what is printed until its end."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import click

from offchain.cli.kit import options, policy_files
from offchain.cli.kit.attestation import TEST_ROOT, read_test_root
from offchain.cli.kit.output import Screen, details, emit, progress, say
from offchain.cli.kit.session import run, send
from offchain.cli.tenant.follow import TaskOutcome, follow, until_running
from offchain.cli.tenant.manifest import deposit_text, load, next_steps
from offchain.cli.tenant.task_outcome import finish, report_outcome
from offchain.cli.tenant.task_preparation import PreparedTask, prepare_task
from offchain.core.scheduler.queue_definitions import QueueTree
from offchain.ports import BlockRef, ChainPort, Signer
from offchain.schema.chain_types._generated_chain import TaskSpec
from offchain.schema.manifest.task_spec import manifest_digest
from offchain.schema.manifest.types import Manifest
from offchain.schema.manifest.values import format_amount
from offchain.schema.trace_ids import trace_id
from offchain.services import feasibility, tenant_calls
from offchain.services.feasibility import FeasibilityReport, report_unsent
from offchain.services.submit_checks import MOST_IN_ARRAY

T = TypeVar("T")
_Prepare: TypeAlias = Callable[[ChainPort], Awaitable[PreparedTask]]
_SECRET = re.compile(r"PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|PRIVATE_?KEY|CREDENTIAL", re.IGNORECASE)


@click.command(
    epilog="A manifest is a Docker Compose file with an x-gantry section; it is public. "
    "Exit status: 0 settled (with --wait) or submitted, 1 not, 3 settled but the program itself ended with an error."
)
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--wait", "-w", is_flag=True, help="Follow the task to its result and bill.")
@click.option(
    "--accept/--no-accept",
    default=True,
    help="With --wait: accept the result when it has arrived complete and the program has ended with 0 (the default), "
    "or let the dispute window pass.",
)
@click.option(
    "--logs", is_flag=True, help="With --wait: print the log of a job's first pod on standard error as it comes."
)
@click.option(
    "--dry-run", is_flag=True, help="Send nothing: show which hosts could run it now, at what price, and when."
)
@click.option("--anyway", is_flag=True, help="Submit a task even if no registered host could ever run it.")
@click.option(
    "--queues",
    type=policy_files.FILE,
    envvar="GANTRY_QUEUES",
    help="With --dry-run: the queues of the schedulers, which decide whose spot tasks are preempted. Else "
    "GANTRY_QUEUES, else every account has the same share.",
)
@click.option(
    "--array",
    "count",
    metavar="N",
    type=click.IntRange(1, MOST_IN_ARRAY),
    help="Submit N jobs of this manifest together. Each is a task of its own and finds its index, from 0, in "
    "GANTRY_ARRAY_INDEX.",
)
@TEST_ROOT
@options.gateway
@options.common(account=True)
def submit(
    file: str,
    wait: bool,
    accept: bool,
    logs: bool,
    dry_run: bool,
    anyway: bool,
    queues: Path | None,
    count: int | None,
    test_root: Path | None,
    common: options.CommonOptions,
) -> None:
    """Submit the task that FILE describes (- for standard input).

    With --wait, a job is followed to its result and bill, a service or rental until it runs and is billed: its first
    containers are up then, but may not have passed their health checks.

    Checked before anything is sent: the file, the account's coins, that some host could run it, and that the price
    limit is not below every host's ask. A task that no registered host could ever run is refused with the reason
    (--anyway sends it); a task that no host can run now is submitted and waits. With confidential in the manifest, the
    hosts that could run the task are asked, and only those that prove what it asks for may run it.

    \b
    Examples:
      gantry submit examples/primes.yaml --account //Charlie --wait
      LIMIT=1000 gantry submit examples/primes.yaml --account anna --json
      gantry submit task.yaml --url ws://node.example:9944 --account anna
      gantry submit examples/counting.yaml --account anna --wait --logs
      gantry submit examples/service.yaml --account anna --wait
      gantry submit examples/primes.yaml --account anna --array 100
      gantry submit examples/primes.yaml --account anna --dry-run
      gantry submit examples/primes.yaml --account anna --dry-run --queues examples/queues.yaml
    """
    began = time.monotonic()
    text, manifest = load(file)
    _warn_of_secrets(manifest)
    signer, root = common.open_account(), read_test_root(test_root)

    def prepared(chain: ChainPort) -> Awaitable[PreparedTask]:
        return prepare_task(chain, manifest, text, signer, anyway=anyway, count=count or 1, test_root=root)

    if count is not None:
        _submit_array(prepared, count, signer, common, alone=not (wait or dry_run))
        return
    if dry_run:
        _dry_run(prepared, signer, common, queues=policy_files.read_definitions(queues, None).queues)
        return

    sent: list[int | None] = []

    genesis = b""

    async def work() -> tuple[int, TaskOutcome | None]:
        nonlocal genesis
        async with common.connected() as chain:
            genesis = await chain.genesis_hash()
            task = await prepared(chain)
            _note_availability(task)
            sent.append(None)
            number, at = await send_task(chain, task.spec, text, signer)
            sent.append(number)
            if not common.as_json or wait:
                progress(f"Task {number} submitted in block {at.number}.")
            if not wait:
                return number, None
            _print_deliveries(manifest, number)
            if manifest.kind != "job":
                return number, await until_running(chain, number, at, signer, progress)
            show = Screen(error=True).show if logs else None
            return number, await follow(chain, number, at, signer, accept=accept, notify=progress, show_log=show)

    number, outcome = _run(work(), sent, common.account)
    if outcome is None:
        _print_submitted(number, manifest_digest(text), manifest, genesis, common)
    elif manifest.kind != "job":
        _print_running(outcome, manifest, common.account, as_json=common.as_json)
    else:
        report_outcome(outcome, time.monotonic() - began, as_json=common.as_json)


def _print_deliveries(manifest: Manifest, number: int) -> None:
    for name in manifest.deliveries:
        progress(f"Each pod waits for {name}: gantry deliver {number} {name} FILE")


def _print_submitted(
    number: int, digest: bytes, manifest: Manifest, genesis: bytes, common: options.CommonOptions
) -> None:
    if common.as_json:
        emit(
            {
                "task": number,
                "state": "Queued",
                "manifest_digest": digest.hex(),
                "trace": trace_id(genesis, number),
            }
        )
        return
    say(f"Task {number} is a {manifest.kind} and waits for a host. {deposit_text(manifest)}")
    _print_next_steps(manifest, number, common.account)


def _submit_array(
    prepared: _Prepare,
    count: int,
    signer: Signer,
    common: options.CommonOptions,
    *,
    alone: bool,
) -> None:
    """Submit an array of jobs. `alone`: neither --wait nor --dry-run was given."""
    if not alone:
        raise click.UsageError("--array cannot be combined with --wait or --dry-run: gantry task wait follows a task.")
    sent: list[int | None] = []

    async def work() -> tuple[PreparedTask, int, BlockRef]:
        async with common.connected() as chain:
            task = await prepared(chain)
            _note_availability(task)
            sent.append(None)
            return task, *await send_task(chain, task.spec, task.text, signer, count=count)

    task, first, at = _run(work(), sent, common.account)
    last = first + count - 1
    if common.as_json:
        emit(
            {
                "task": first,
                "count": count,
                "tasks": list(range(first, last + 1)),
                "state": "Queued",
                "manifest_digest": task.spec.manifest_digest.hex(),
                "block": at.number,
            }
        )
        return
    which = f"Task {first} was" if count == 1 else f"Tasks {first} to {last} were"
    say(f"{which} submitted in block {at.number}.")
    of = f" --account {common.account}" if common.account else ""
    say(f"gantry task list{of} shows them; gantry task wait {first}{of} follows the first.")


def _run(work: Coroutine[Any, Any, T], sent: list[int | None], account: str | None) -> T:
    try:
        return run(work)
    except KeyboardInterrupt:
        _report_interrupted(sent, account)
        raise


def _report_interrupted(sent: list[int | None], account: str | None) -> None:
    """Report what continues although the command ends. `sent`: None once the task may be sent, then its number."""
    of = f" --account {account}" if account else ""
    if not sent:
        progress("\nNothing was sent.")
    elif (number := sent[-1]) is None:
        progress(f"\nThe task may have been submitted: gantry task list{of} shows it.")
    else:
        progress(
            f"\nTask {number} continues and is billed. gantry task wait {number}{of} follows it, "
            f"gantry task cancel {number}{of} ends it."
        )


def _warn_of_secrets(manifest: Manifest) -> None:
    for service in manifest.services:
        for name, value in service.environment:
            if value and _SECRET.search(name):
                progress(
                    f"note: {name} looks like a secret. A manifest is public, and stays in the chain's history. "
                    "Write it under secrets, and send it with gantry deliver."
                )


def _note_availability(task: PreparedTask) -> None:
    """Report why the task will wait, if too few hosts can run it now."""
    spec, found = task.spec, task.forecast
    if found.pods_now >= spec.pods_min or not found.hosts:
        return
    room = f"{found.pods_now} of the {spec.pods_min} pods fit now" if found.pods_now else "no host can run it now"
    reasons = feasibility.reasons_text(found.now)
    progress(f"note: {room} (of {found.hosts}: {reasons}); it waits. gantry task why explains it.")


def _dry_run(
    prepared: _Prepare,
    signer: Signer,
    common: options.CommonOptions,
    *,
    queues: QueueTree,
) -> None:

    async def work() -> tuple[PreparedTask, FeasibilityReport]:
        async with common.connected() as chain:
            task = await prepared(chain)
            return task, await report_unsent(chain, task.spec, signer.address, queues)

    task, found = run(work())
    asked = task.confidential
    if common.as_json:
        fields = {"confidential": None if asked is None else asked.plain()}
        emit(feasibility.feasibility_fields(found) | fields | {"leaving": feasibility.preemption_fields(found)})
        return
    lines: list[tuple[str, object]] = [("Confidential", None if asked is None else asked.text)]
    details(lines + feasibility.feasibility_lines(found) + feasibility.preemption_lines(found))
    say()
    say("Nothing was sent.")


async def send_task(
    chain: ChainPort, spec: TaskSpec, text: bytes, signer: Signer, *, quiet: bool = False, count: int = 1
) -> tuple[int, BlockRef]:
    """Submit a task; return its number and the final block with its submission. `quiet`: as of :func:`send`.

    `count`: how many such jobs; the others have the numbers that follow.
    """
    included = await send(chain, tenant_calls.submit(spec, text, count), signer, quiet=quiet)
    return int(included.event("Tasks", "Submitted").fields["first"]), included.block


def _print_running(outcome: TaskOutcome, manifest: Manifest, account: str | None, *, as_json: bool) -> None:
    """Print what a running service or rental costs, and what can be done with it."""
    view = outcome.task
    if view.state != "Running":
        if as_json:
            emit(view.plain())
        finish(outcome, as_json=as_json)
        return
    if as_json:
        emit(view.plain())
        return
    for lease in view.leases:
        rate, held = format_amount(lease.rate_per_hour), format_amount(lease.deposit)
        state = "runs" if lease.started_at is not None else "starts"
        say(f"Pod {lease.pod} {state} on {lease.host} at {rate} an hour; {held} are deposited (lease {lease.id}).")
    _print_next_steps(manifest, view.id, account)


def _print_next_steps(manifest: Manifest, number: int, account: str | None) -> None:
    say()
    details(list(next_steps(manifest, number, account)))
