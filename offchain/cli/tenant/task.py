"""gantry task: tasks as the chain's storage has them, and their results."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from offchain.adapters.chain.typed import GantryChain
from offchain.cli.kit import accounts, options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.host_connection import fetch_result, result_lease_of
from offchain.cli.kit.output import Screen, details, emit, progress, say, table
from offchain.cli.kit.session import run
from offchain.cli.tenant import snapshot, task_lifecycle, task_review
from offchain.cli.tenant.logs import logs
from offchain.cli.tenant.manifest import SURVIVALS
from offchain.cli.tenant.task_lifecycle import submit_calls
from offchain.cli.tenant.task_move import move
from offchain.cli.tenant.task_wait import attach, wait
from offchain.cli.tenant.task_why import why
from offchain.cli.tenant.usage import usage
from offchain.ports import Call, ChainPort
from offchain.schema.chain_types._generated_chain import IndexTag, Survival, TaskState
from offchain.schema.manifest.parse import manifest_name, parse_manifest
from offchain.schema.manifest.types import ManifestError
from offchain.schema.manifest.types import Survival as Word
from offchain.schema.manifest.values import format_amount
from offchain.schema.value_text import counted
from offchain.services import tenant_calls
from offchain.services.event_text import time_text
from offchain.services.record_views import LeaseView, TaskView, read_task, read_tasks
from offchain.services.replica_verdicts import VERDICT_TEXTS

_WORDS: Final[Mapping[Survival, Word]] = {
    Survival.RESTART: "restart",
    Survival.MOVE: "move",
    Survival.STANDBY: "standby",
}
_AT_ONCE = 200
"""How many tasks are read at once."""
_STATES: Final = tuple(state.tag for state in TaskState.__subclasses__())
_COLUMNS: Final = ("TASK", "NAME", "KIND", "STATE", "EXIT", "SUBMITTED", "PAID")
_WIDE_COLUMNS: Final = ("TENANT", "ATTEMPT")


@dataclass(frozen=True, slots=True)
class StartConditions:
    """What pods wait for. `files`: secrets and inputs, by name. `start_by`: chain time in ms of the start timeout."""

    files: tuple[str, ...] = ()
    start_by: int | None = None
    now: int = 0


async def start_conditions(chain: ChainPort, view: TaskView) -> StartConditions:
    """Return what the pods wait for that have not started; empty if all have."""
    pending = [lease for lease in view.leases if lease.state == "Pending"]
    if not pending:
        return StartConditions()
    typed = GantryChain(chain)
    data, params, now = await asyncio.gather(typed.manifest(view.id), typed.params("Tasks"), typed.now_ms())
    try:
        files = () if data is None else tuple(sorted(parse_manifest(data).deliveries))
    except ManifestError:
        files = ()
    return StartConditions(files, min(lease.created_at for lease in pending) + params.start_timeout_ms, now)


def waiting_text(waited: StartConditions, view: TaskView, lease: LeaseView) -> str | None:
    """Return a line about a pod that has not started; None for other pods."""
    if lease.state != "Pending" or waited.start_by is None:
        return None
    left_s = max(0, waited.start_by - waited.now) // 1000
    files = "".join(
        f"{name}, unless it was delivered (gantry deliver {view.id} {name} FILE); " for name in waited.files
    )
    return f"{files}its image (see gantry logs {view.id}); it is given up in {left_s} s"


@click.group(epilog="A task is known by its number, which gantry submit prints.")
def task() -> None:
    """List and show tasks, read their logs and results; extend, scale, stop and end them.

    \b
    Examples:
      gantry task list --account //Charlie
      gantry task show 7
      gantry task logs 7 --follow --account //Charlie
      gantry task end 7 --account //Charlie
    """


task_lifecycle.register(task)
task_review.register(task)
task.add_command(wait)
task.add_command(attach)
task.add_command(move)
snapshot.register(task)
task.add_command(usage)


@task.command("list")
@options.common()
@click.option(
    "--account",
    metavar="NAME",
    help="Only tasks of this account: a name, an address, or //Charlie. Else GANTRY_ACCOUNT, else your only account.",
)
@click.option("--all", "everybody", is_flag=True, help="Tasks of all accounts, also if you have one.")
@click.option("--state", type=click.Choice(_STATES, case_sensitive=False), help="Only tasks in this state.")
@click.option("--limit", default=50, show_default=True, metavar="N", type=click.IntRange(1), help="Show the newest N.")
@click.option("--wide", is_flag=True, help="Also show tenant and attempt.")
def list_(
    account: str | None, everybody: bool, state: str | None, limit: int, wide: bool, common: options.CommonOptions
) -> None:
    """List tasks, the newest first: those of your account, or those of all accounts if you have none.

    NAME is the name in the manifest. It is empty once the task has ended: the chain then removes the manifest.

    \b
    Examples:
      gantry task list
      gantry task list --account //Charlie --state Settled --json
      gantry task list --all --wide
    """
    name = None if everybody and not account else account or accounts.default_name()
    tenant = None if name is None else accounts.address_of(name)

    async def work() -> tuple[list[TaskView], dict[int, str | None]]:
        async with common.connected() as chain:
            found: list[TaskView] = []
            async for numbers in _numbers(chain, tenant, state):
                views = await read_tasks(chain, numbers)
                found += [view for _, view in sorted(views.items(), reverse=True) if _is_in(view, state)]
                if len(found) >= limit:
                    break
            return found[:limit], await _names(chain, [view.id for view in found[:limit]])

    found, names = run(work())
    if common.as_json:
        for view in found:
            emit(view.plain() | {"name": names.get(view.id)})
    elif found:
        rows = [_row(view, names.get(view.id), wide=wide) for view in found]
        table((*_COLUMNS, *_WIDE_COLUMNS) if wide else _COLUMNS, rows)
    else:
        progress("No task matches.")
    if name is not None and not account and not common.as_json:
        progress(f"These are the tasks of {name}; --all shows those of all accounts.")


@task.command()
@click.argument("number", type=options.TASK)
@options.common()
def show(number: int, common: options.CommonOptions) -> None:
    """Show a task with its pods, result digests and bill, as the chain's storage has them now.

    For earlier events, and tasks that were removed from storage: gantry chain inspect.

    \b
    Example:
      gantry task show 7
    """

    async def work() -> tuple[TaskView, str | None, StartConditions]:
        async with common.connected() as chain:
            view = await read_task(chain, number)
            return view, (await _names(chain, [number])).get(number), await start_conditions(chain, view)

    view, name, waited = run(work())
    if common.as_json:
        emit(view.plain() | {"name": name, "deliveries": list(waited.files), "start_by": waited.start_by})
        return
    details(
        [
            ("Task", view.id),
            ("Name", name),
            ("Kind", view.kind),
            ("State", view.activity_text),
            ("Tenant", view.tenant),
            ("Submitted", time_text(view.submitted_at)),
            ("Attempt", view.attempts + 1),
            ("Spot", _spot_text(view)),
            ("Survival", _survival_text(view)),
            ("Latency", f"at most {view.max_latency_ms} ms" if view.max_latency_ms else None),
            ("Manifest digest", view.manifest_digest.hex()),
            ("Compared", view.comparison_text),
            ("Price limit", f"{format_amount(view.max_rate_per_hour)} an hour and pod"),
            ("Paid", f"{format_amount(view.paid)} ({view.paid} base units, {view.fee} of them protocol fee)"),
        ]
    )
    for lease in view.leases:
        say()
        say(f"Pod {lease.pod}")
        details(
            [
                ("  Lease", lease.id),
                ("  Host", lease.host),
                ("  Standby", _standby_text(view, lease)),
                ("  Checkpoint", _checkpoint_text(view, lease)),
                ("  State", lease.state_text),
                ("  Reason", _reason_text(view, lease)),
                ("  Waits for", waiting_text(waited, view, lease)),
                ("  Rate", f"{format_amount(lease.rate_per_hour)} an hour"),
                ("  Paid until", lease.paid_until and time_text(lease.paid_until)),
                ("  Kept until", lease.kept_until and time_text(lease.kept_until)),
                ("  Started", lease.started_at and time_text(lease.started_at)),
                ("  Ended", lease.ended_at and time_text(lease.ended_at)),
                ("  Exit code", lease.exit_text),
                ("  Result digest", lease.result_digest and lease.result_digest.hex()),
                ("  Result", lease.verdict and VERDICT_TEXTS[lease.verdict]),
                ("  Owed so far", format_amount(lease.owed) if lease.owed != lease.paid else None),
                ("  Paid", format_amount(lease.paid)),
            ]
        )


task.add_command(logs)
task.add_command(why)


@task.command()
@click.argument("number", type=options.TASK)
@click.option("--pod", type=click.IntRange(0), help="Which pod; else the first whose result is the task's.")
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write it to this file.")
@click.option("--seal-key", metavar="NAME", help="Open it with this key (gantry account seal-key), or with a key file.")
@options.gateway
@options.common(account=True)
def result(
    number: int, pod: int | None, output: Path | None, seal_key: str | None, common: options.CommonOptions
) -> None:
    """Fetch a pod's result from its host, and compare it with the digest on the chain.

    Hosts serve results as long as the task is in the chain's storage: 7 days after its end.

    \b
    Examples:
      gantry task result 7 --account //Charlie
      gantry task result 7 -o model.bin --account anna
      gantry task result 7 --seal-key mine      (where the manifest says result: seal_to)
    """
    private = None if seal_key is None else accounts.open_seal_key(seal_key)
    signer = common.open_account()

    async def work() -> tuple[LeaseView, bytes]:
        async with common.connected() as chain:
            lease = result_lease_of(await read_task(chain, number), pod)
            if lease.result_digest is None:
                raise CliError(
                    f"pod {lease.pod} of task {number} has no result yet (its lease is {lease.state_text}).",
                    f"gantry task show {number} shows how far it is.",
                    code="no_result",
                )
            return lease, await fetch_result(chain, lease, signer)

    lease, data = run(work())
    digest = lease.result_digest.hex() if lease.result_digest else ""
    if private is not None:
        from offchain.adapters.keys.sealed_box import open_sealed  # noqa: PLC0415  (only for sealed results)

        data = open_sealed(private, data)
    if output is not None:
        try:
            output.write_bytes(data)
        except OSError as error:
            raise CliError(f"{output} cannot be written: {error.strerror}.", "Choose another file.") from None
    if common.as_json:
        shown = {"file": str(output)} if output is not None else result_fields(data)
        emit({"task": number, "pod": lease.pod, "result_digest": digest, "exit_code": lease.exit_code, **shown})
    elif output is not None:
        opened = "" if private is None else "opened, "
        progress(f"{counted(len(data), 'byte')} ({opened}sha256 on the chain {digest}) written to {output}.")
    else:
        screen = Screen()
        screen.show(data)
        screen.end()


@task.command()
@click.argument("number", type=options.TASK)
@options.common(account=True)
def cancel(number: int, common: options.CommonOptions) -> None:
    """Cancel a task that has not reported. Pods that ran are paid for the time they ran.

    \b
    Example:
      gantry task cancel 7 --account //Charlie
    """

    async def wanted(_: ChainPort, view: TaskView) -> list[Call]:
        return tenant_calls.cancel(view)

    view, _ = submit_calls(number, common, wanted)
    if common.as_json:
        emit(view.plain())
    else:
        say(f"Task {number} is {view.state_text}; paid: {format_amount(view.paid)}.")


def result_fields(data: bytes) -> dict[str, Any]:
    """Return a result for --json: as text if it is UTF-8, else in base64."""
    try:
        return {"result": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"result": None, "result_base64": base64.b64encode(data).decode()}


async def _numbers(chain: ChainPort, tenant: str | None, state: str | None) -> AsyncGenerator[list[int], None]:
    """Yield task numbers in portions, the newest first; numbers of removed tasks may be among them."""
    typed = GantryChain(chain)
    if tenant is not None:
        wanted: Sequence[int] = await typed.tasks_of(tenant)
    elif state is not None and state.capitalize() in set(IndexTag):
        wanted = await typed.tasks_by_state(IndexTag(state.capitalize()))
    else:
        wanted = range(await typed.next_task())
    for end in range(len(wanted), 0, -_AT_ONCE):
        yield list(wanted[max(0, end - _AT_ONCE) : end])


async def _names(chain: ChainPort, numbers: Sequence[int]) -> dict[int, str | None]:
    """Return the names in the manifests of these tasks, without tasks whose manifest was removed."""
    typed = GantryChain(chain)
    found: dict[int, bytes] = {}
    for start in range(0, len(numbers), _AT_ONCE):
        found |= await typed.manifests(numbers[start : start + _AT_ONCE])
    by_text = {text: manifest_name(text) for text in set(found.values())}
    return {number: by_text[text] for number, text in found.items()}


def _row(view: TaskView, name: str | None, *, wide: bool) -> tuple[object, ...]:
    exits, submitted = _exit_text(view), time_text(view.submitted_at)
    shown = (view.id, name or "", view.kind, view.activity_text, exits, submitted, format_amount(view.paid))
    return (*shown, view.tenant, view.attempts + 1) if wide else shown


def _exit_text(view: TaskView) -> str:
    """Return the exit codes of the pods that have ended: one if they are equal."""
    codes = {lease.exit_code for lease in view.leases if lease.exit_code is not None}
    return ", ".join(map(str, sorted(codes)))


def _reason_text(view: TaskView, lease: LeaseView) -> str | None:
    """Return why a pod was given up, and where the message of its host is."""
    if lease.reason_text is None or not lease.state.startswith("Ended(HostRefused"):
        return lease.reason_text
    return f"{lease.reason_text}; gantry logs {view.id} --pod {lease.pod} shows what its host reported"


def _spot_text(view: TaskView) -> str | None:
    notice = view.preemption
    if notice is None:
        return "may be preempted" if view.spot else None
    if view.state == "Running":
        return f"will be preempted by task {notice.wanting}, not before {time_text(notice.ends_at)}"
    return f"was preempted by task {notice.wanting}"


def _survival_text(view: TaskView) -> str | None:
    return None if view.survival is Survival.RESTART else SURVIVALS[_WORDS[view.survival]]


def _standby_text(view: TaskView, lease: LeaseView) -> str | None:
    if view.survival is not Survival.STANDBY or lease.ended_at is not None:
        return None
    return lease.standby or "none yet; a scheduler names one when a host of another provider has free resources"


def _checkpoint_text(view: TaskView, lease: LeaseView) -> str | None:
    last = next((one for one in view.checkpoints if one.pod == lease.pod), None)
    if last is None:
        return None
    where = "" if last.host == lease.host else f", at {last.host}"
    return f"{time_text(last.at)}, {last.bytes_} bytes, sha256 {last.digest.hex()}{where}"


def _is_in(view: TaskView, state: str | None) -> bool:
    return state is None or view.state.partition("(")[0].lower() == state.lower()
