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
from offchain.core.placement_forecast import PlacementForecast, forecast_placement
from offchain.core.pricing import deposit
from offchain.core.scheduler.queue_definitions import QueueTree
from offchain.errors import CheckFailed
from offchain.ports import BlockRef, ChainPort, Signer
from offchain.schema.chain_types._generated_chain import TaskSpec, calls
from offchain.schema.chain_types.replicas import replicas_of
from offchain.schema.manifest.task_spec import manifest_digest, to_task_spec
from offchain.schema.manifest.types import Manifest
from offchain.schema.manifest.values import format_amount
from offchain.schema.trace_ids import trace_id
from offchain.services import feasibility
from offchain.services.feasibility import FeasibilityReport, report_unsent
from offchain.services.record_views import score_text
from offchain.services.replica_verdicts import VERDICT_TEXTS
from offchain.services.submit_checks import check_hosts, check_terms, read_conditions, task_of_spec

T = TypeVar("T")
EXIT_PROGRAM_FAILED = 3
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
@options.common(account=True)
def submit(
    file: str,
    wait: bool,
    accept: bool,
    logs: bool,
    dry_run: bool,
    anyway: bool,
    queues: Path | None,
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
      gantry submit examples/primes.yaml --account anna --dry-run
      gantry submit examples/primes.yaml --account anna --dry-run --queues examples/queues.yaml
    """
    began = time.monotonic()
    text, manifest = load(file)
    spec = to_task_spec(manifest, manifest_digest(text))
    _warn_of_secrets(manifest)
    _note_confidential(manifest)
    signer = common.open_account()
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
            for name in manifest.deliveries:
                progress(f"Each pod waits for {name}: gantry deliver {number} {name} FILE")
            if manifest.kind != "job":
                return number, await until_running(chain, number, at, signer, progress)
            show = Screen(error=True).show if logs else None
            return number, await follow(chain, number, at, signer, accept=accept, notify=progress, show_log=show)

    number, outcome = _run(work(), sent, common.account)
    if outcome is None:
        if common.as_json:
            emit(
                {
                    "task": number,
                    "state": "Queued",
                    "manifest_digest": spec.manifest_digest.hex(),
                    "trace": trace_id(genesis, number),
                }
            )
        else:
            say(f"Task {number} is a {manifest.kind} and waits for a host. {deposit_text(manifest)}")
            _print_next_steps(manifest, number, common.account)
        return
    if manifest.kind != "job":
        _print_running(outcome, manifest, common.account, as_json=common.as_json)
        return
    report_outcome(outcome, time.monotonic() - began, as_json=common.as_json)


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
) -> PlacementForecast:
    """Return how many pods could start now. Raises CliError if no host could ever run it, or coins are missing."""
    found = await read_conditions(chain, signer.address)
    check_terms(spec, len(text), found)
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
    chain: ChainPort, spec: TaskSpec, text: bytes, signer: Signer, *, quiet: bool = False
) -> tuple[int, BlockRef]:
    """Submit a task; return its number and the final block with its submission. `quiet`: as of :func:`send`."""
    included = await send(chain, calls.tasks_submit(spec=spec, manifest=text), signer, quiet=quiet)
    return int(included.event("Tasks", "Submitted").fields["first"]), included.block


def report_outcome(outcome: TaskOutcome, seconds: float, *, as_json: bool) -> None:
    """Print a finished task. Raises CliError or Exit unless it was settled and its program ended without an error."""
    _print_outcome(outcome, seconds, as_json=as_json)
    _finish(outcome, as_json=as_json)


def _print_outcome(outcome: TaskOutcome, seconds: float, *, as_json: bool) -> None:
    view = outcome.task
    if as_json:
        emit(outcome_fields(outcome) | {"seconds": round(seconds, 1)})
        return
    for lease in view.leases:
        result = outcome.results.get(lease.pod)
        if result is not None:
            for line in result.decode("utf-8", errors="replace").rstrip("\n").split("\n"):
                say(line)
    say()
    pairs: list[tuple[str, object]] = [("Task", view.id), ("State", view.state_text)]
    for lease in view.leases:
        score = outcome.scores.get(lease.host)
        pairs += [
            ("Result digest", lease.result_digest and lease.result_digest.hex()),
            ("Exit code", lease.exit_text),
            ("Host", lease.host),
            ("Host score", score_text(score)),
            ("Verdict", lease.verdict and VERDICT_TEXTS[lease.verdict]),
        ]
    fee = f"{format_amount(view.fee)} of it protocol fee"
    pairs += [("Bill", f"{format_amount(view.paid)} ({view.paid} base units), {fee}"), ("Seconds", f"{seconds:.1f}")]
    details(pairs)


def outcome_fields(outcome: TaskOutcome) -> dict[str, Any]:
    """Return a finished task for --json, with the fields of the first pod at the top."""
    from offchain.cli.tenant.task import result_fields  # noqa: PLC0415  (shared with task result)

    view = outcome.task
    fields = view.plain() | {"cause": outcome.cause}
    if view.leases:
        first = (view.result_leases or view.leases)[0]
        fields |= {
            "result_digest": first.result_digest.hex() if first.result_digest else None,
            "exit_code": first.exit_code,
            "host": first.host,
            "host_score": outcome.scores.get(first.host),
        }
        if first.pod in outcome.results:
            fields |= result_fields(outcome.results[first.pod])
    return fields


def _print_running(outcome: TaskOutcome, manifest: Manifest, account: str | None, *, as_json: bool) -> None:
    """Print what a running service or rental costs, and what can be done with it."""
    view = outcome.task
    if view.state != "Running":
        if as_json:
            emit(view.plain())
        _finish(outcome, as_json=as_json)
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


def _attempts_text(outcome: TaskOutcome) -> str:
    """Return why a task failed that used up all its attempts."""
    view = outcome.task
    last = view.given_up
    if last is None:
        return "Every attempt failed, for the reasons above."
    cause = f"{last.reason_text} (host {last.host})."
    if outcome.cause is not None:
        cause += f" The host reported: {outcome.cause}."
    if view.attempts == 1:
        return f"The attempt failed: {cause}"
    return f"All {view.attempts} attempts failed; the last one: {cause}"


def failure_hint(outcome: TaskOutcome) -> str:
    """Return what to do about a task that was not settled."""
    view = outcome.task
    more = f"gantry task show {view.id} shows details."
    return {
        "Expired": "No host ran it before its deadline: raise the price limit or the deadline.",
        "Failed(AttemptsExhausted)": f"{_attempts_text(outcome)} {more}",
        "Failed(DurationExceeded)": "Its host reported no result within its duration: nothing was paid for it.",
        "Failed(NoAgreement)": "No two results of its replicas agree, so nothing was paid for it. Is it deterministic?",
        "Failed(DisputeLost)": "Its result was found to be wrong, so nothing was paid for it. Submit it again.",
    }.get(view.state, more)


def _finish(outcome: TaskOutcome, *, as_json: bool) -> None:
    view = outcome.task
    if view.state != "Settled":
        hint = failure_hint(outcome)
        message = f"task {view.id} did not succeed. Its state: {view.state_text}."
        if not as_json:
            raise CliError(message, hint, code="not_settled")
        # The one object has been printed.
        progress(f"error: {message}")
        progress(f"  {hint}")
        raise click.exceptions.Exit(1)
    failed = next((lease for lease in view.result_leases if lease.exit_code), None)
    if failed is not None:
        if outcome.log:
            progress(f"The last lines of the log of pod {failed.pod}:")
            for line in outcome.log.decode("utf-8", errors="replace").rstrip("\n").split("\n"):
                progress(f"  {line}")
        progress(f"The program ended with exit code {failed.exit_text}; gantry logs {view.id} shows its log.")
        raise click.exceptions.Exit(EXIT_PROGRAM_FAILED)
