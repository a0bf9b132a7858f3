"""gantry submit: submission of a task, and what is printed until its end."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from offchain.cli.kit import options, policy_files
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import Screen, details, emit, progress, say
from offchain.cli.kit.session import run, send
from offchain.cli.tenant.follow import TaskOutcome, follow, until_running
from offchain.cli.tenant.manifest import deposit_text, load, next_steps
from offchain.cli.tenant.task_outcome import finish, report_outcome
from offchain.core.placement_forecast import PlacementForecast, forecast_placement
from offchain.core.pricing import deposit
from offchain.core.scheduler.queue_definitions import QueueTree
from offchain.errors import CheckFailed
from offchain.ports import BlockRef, ChainPort, Signer
from offchain.schema.chain_types._generated_chain import TaskSpec
from offchain.schema.chain_types.replicas import replicas_of
from offchain.schema.manifest.task_spec import manifest_digest, to_task_spec
from offchain.schema.manifest.types import Manifest
from offchain.schema.manifest.values import format_amount
from offchain.schema.trace_ids import trace_id
from offchain.services import feasibility, tenant_calls
from offchain.services.feasibility import FeasibilityReport, report_unsent
from offchain.services.submit_checks import MOST_IN_ARRAY, check_hosts, check_terms, read_conditions, task_of_spec

T = TypeVar("T")
_ANYWAY: Final = " With --anyway it is sent, and waits for a suitable host."
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
    common: options.CommonOptions,
) -> None:
    """Submit the task that FILE describes (- for standard input).

    With --wait, a job is followed to its result and bill, a service or rental until it runs and is billed: its first
    containers are up then, but may not have passed their health checks.

    Checked before anything is sent: the file, the account's coins, that some host could run it, and that the price
    limit is not below every host's ask. A task that no registered host could ever run is refused with the reason
    (--anyway sends it); a task that no host can run now is submitted and waits.

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
    spec = to_task_spec(manifest, manifest_digest(text))
    _warn_of_secrets(manifest)
    _note_confidential(manifest)
    signer = common.open_account()
    if count is not None:
        _submit_array(spec, text, count, signer, common, anyway=anyway, alone=not (wait or dry_run))
        return
    if dry_run:
        definitions = policy_files.read_definitions(queues, None).queues
        _dry_run(spec, text, signer, common, queues=definitions, anyway=anyway)
        return

    sent: list[int | None] = []

    genesis = b""

    async def work() -> tuple[int, TaskOutcome | None]:
        nonlocal genesis
        async with common.connected() as chain:
            genesis = await chain.genesis_hash()
            found = await check_task(chain, spec, text, signer, anyway=anyway)
            _note_availability(spec, found)
            sent.append(None)
            number, at = await send_task(chain, spec, text, signer)
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
        _print_submitted(number, spec, manifest, genesis, common)
    elif manifest.kind != "job":
        _print_running(outcome, manifest, common.account, as_json=common.as_json)
    else:
        report_outcome(outcome, time.monotonic() - began, as_json=common.as_json)


def _print_deliveries(manifest: Manifest, number: int) -> None:
    for name in manifest.deliveries:
        progress(f"Each pod waits for {name}: gantry deliver {number} {name} FILE")


def _print_submitted(
    number: int, spec: TaskSpec, manifest: Manifest, genesis: bytes, common: options.CommonOptions
) -> None:
    if common.as_json:
        emit(
            {
                "task": number,
                "state": "Queued",
                "manifest_digest": spec.manifest_digest.hex(),
                "trace": trace_id(genesis, number),
            }
        )
        return
    say(f"Task {number} is a {manifest.kind} and waits for a host. {deposit_text(manifest)}")
    _print_next_steps(manifest, number, common.account)


def _submit_array(
    spec: TaskSpec,
    text: bytes,
    count: int,
    signer: Signer,
    common: options.CommonOptions,
    *,
    anyway: bool,
    alone: bool,
) -> None:
    """Submit an array of jobs. `alone`: neither --wait nor --dry-run was given."""
    if not alone:
        raise click.UsageError("--array cannot be combined with --wait or --dry-run: gantry task wait follows a task.")
    sent: list[int | None] = []

    async def work() -> tuple[int, BlockRef]:
        async with common.connected() as chain:
            _note_availability(spec, await check_task(chain, spec, text, signer, anyway=anyway, count=count))
            sent.append(None)
            return await send_task(chain, spec, text, signer, count=count)

    first, at = _run(work(), sent, common.account)
    last = first + count - 1
    if common.as_json:
        emit(
            {
                "task": first,
                "count": count,
                "tasks": list(range(first, last + 1)),
                "state": "Queued",
                "manifest_digest": spec.manifest_digest.hex(),
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


def _note_confidential(manifest: Manifest) -> None:
    if manifest.confidential is not None and not manifest.placement.hosts:
        progress(
            "note: schedulers do not know which hosts are confidential, and nothing is delivered to others. "
            "Name some in placement.hosts; gantry host attest HOST shows what one proves."
        )


async def check_task(
    chain: ChainPort,
    spec: TaskSpec,
    text: bytes,
    signer: Signer,
    *,
    anyway: bool = False,
    notify: Callable[[str], None] = progress,
    count: int = 1,
) -> PlacementForecast:
    """Return how many pods could start now. Raises CliError if no host could ever run it, or coins are missing.

    `count`: how many such jobs are submitted together.
    """
    found = await read_conditions(chain, signer.address)
    check_terms(spec, len(text), found, count)
    if replicas_of(spec):
        each = format_amount(deposit(spec.max_rate_per_hour, spec.max_duration_ms))
        notify(
            f"note: {spec.pods_max} replicas are deposited for, at most {each} each. If their results differ, another "
            "one is placed: have as much free then, or the task fails unpaid."
        )
    try:
        check_hosts(spec, found.hosts, signer.address)
    except CheckFailed as error:
        if not anyway:
            raise CliError(error.message, error.hint + _ANYWAY, code=error.code, facts=error.facts) from None
        notify(f"note: {error.message}")
    return forecast_placement({host.id: host for host in found.hosts}, task_of_spec(spec, signer.address))


def _note_availability(spec: TaskSpec, found: PlacementForecast) -> None:
    """Report why the task will wait, if too few hosts can run it now."""
    if found.pods_now >= spec.pods_min or not found.hosts:
        return
    room = f"{found.pods_now} of the {spec.pods_min} pods fit now" if found.pods_now else "no host can run it now"
    reasons = feasibility.reasons_text(found.now)
    progress(f"note: {room} (of {found.hosts}: {reasons}); it waits. gantry task why explains it.")


def _dry_run(
    spec: TaskSpec,
    text: bytes,
    signer: Signer,
    common: options.CommonOptions,
    *,
    queues: QueueTree,
    anyway: bool,
) -> None:

    async def work() -> FeasibilityReport:
        async with common.connected() as chain:
            await check_task(chain, spec, text, signer, anyway=anyway)
            return await report_unsent(chain, spec, signer.address, queues)

    found = run(work())
    if common.as_json:
        emit(feasibility.feasibility_fields(found) | {"leaving": feasibility.preemption_fields(found)})
        return
    details(feasibility.feasibility_lines(found) + feasibility.preemption_lines(found))
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
