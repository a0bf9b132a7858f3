"""A finished task for people and for --json, with its results, its bill and the exit status of a command."""

from __future__ import annotations

from typing import Any

import click

from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import details, emit, progress, say
from offchain.cli.tenant.follow import TaskOutcome
from offchain.schema.manifest.values import format_amount
from offchain.services.host_views import score_text
from offchain.services.replica_verdicts import VERDICT_TEXTS

EXIT_PROGRAM_FAILED = 3


def report_outcome(outcome: TaskOutcome, seconds: float, *, as_json: bool) -> None:
    """Print a finished task. Raises CliError or Exit unless it was settled and its program ended without an error."""
    _print_outcome(outcome, seconds, as_json=as_json)
    finish(outcome, as_json=as_json)


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
        "Failed(NoAgreement)": "No two of its results agree, so nothing was paid for it. Is it deterministic?",
        "Failed(DisputeLost)": "Its result was found to be wrong, so nothing was paid for it. Submit it again.",
    }.get(view.state, more)


def finish(outcome: TaskOutcome, *, as_json: bool = False) -> None:
    """End a command about a finished task. Raises CliError or Exit unless it was settled without an error.

    `as_json`: the task has been printed.
    """
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
