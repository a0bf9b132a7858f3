"""gantry dispute: open a dispute about a task, show it, vote on it, appeal its verdict."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import click

from offchain.cli.kit import disputes, options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import details, emit, progress, say, table
from offchain.cli.kit.session import run
from offchain.cli.tenant.task_lifecycle import MAX_PODS
from offchain.errors import CheckFailed
from offchain.ports import Signer
from offchain.schema.chain_types._generated_chain import Vote
from offchain.schema.manifest.values import format_amount
from offchain.schema.protocol.evidence import MAX_BUNDLE, OWN_FILES
from offchain.schema.value_text import counted
from offchain.services.dispute_calls import read_dispute
from offchain.services.dispute_view import DisputeView, read_dispute_view
from offchain.services.event_text import time_text
from offchain.services.evidence import named_by, read_bundle

_TASK = click.argument("number", type=options.TASK)
_STATE_DIR = click.option(
    "--state-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder with the juror's votes: that of its worker. Else ~/.local/state/gantry/juror.",
)
_EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group(
    epilog="docs/disputes.md explains the phases, what jurors get to see, and what is judged automatically. The loser "
    "of a dispute loses its stake."
)
def dispute() -> None:
    """Dispute results, and judge disputes as a juror.

    \b
    Examples:
      gantry dispute open 7 --account anna
      gantry dispute show 7
      gantry dispute vote 7 yes --account verifier-1
      gantry dispute appeal 7 --account anna
    """


@dispute.command("open")
@_TASK
@click.option("--pod", type=click.IntRange(0, MAX_PODS - 1), help="Accuse only this pod.  [default: all]")
@click.option("--file", "files", type=_EXISTING, multiple=True, help="Add this file to the evidence. May be repeated.")
@click.option(
    "--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write the evidence to this file."
)
@options.gateway
@options.common(account=True)
def open_(
    number: int, pod: int | None, files: tuple[Path, ...], output: Path | None, common: options.CommonOptions
) -> None:
    """Call the results of a task wrong, within its dispute window: by its tenant, or by a verifier.

    Evidence is collected from the chain and from the accused hosts, and stored here; its SHA-256 is named on the chain.
    A stake is held until the verdict. Accuse only wrong results: the dispute is rejected if one of them is right.

    \b
    Examples:
      gantry dispute open 7 --account anna
      gantry dispute open 7 --pod 1 --file report.txt --account anna
    """
    signer, own = common.open_account(), disputes.own_files(files)

    async def work() -> tuple[disputes.StoredBundle, DisputeView]:
        async with common.connected() as chain:
            stored, included = await disputes.open_dispute(
                chain, number, signer, pod=pod, own=own, output=output, notify=progress
            )
            return stored, await read_dispute_view(chain, number, included.block.hash)

    stored, view = run(work())
    if common.as_json:
        evidence = {"file": str(stored.path), "sha256": stored.bundle.digest.hex()}
        emit({**view.plain(), "stored": {**evidence, "problems": list(stored.bundle.problems)}})
        return
    say(f"Task {number} is in dispute. Evidence is named until {time_text(view.until)} UTC; then a jury is drawn.")
    say(f"The evidence is in {stored.path}. Keep it: jurors compare it with {stored.bundle.digest.hex()}.")


@dispute.command()
@_TASK
@click.argument("archive", type=_EXISTING)
@options.gateway
@options.common(account=True)
def deliver(number: int, archive: Path, common: options.CommonOptions) -> None:
    """Send the files in the ARCHIVE of evidence to the accused hosts again, which keep them for the jury.

    gantry dispute open does it once. Repeat it if a host was away then. Only for the opener of the dispute.

    \b
    Example:
      gantry dispute deliver 7 ~/.local/state/gantry/disputes/task-7-0a1b.tar --account anna
    """
    signer = common.open_account()
    own = {name.removeprefix(OWN_FILES): data for name, data in _members(archive).items() if name.startswith(OWN_FILES)}
    if not own:
        raise CliError(
            f"{archive} has no files of the opener.",
            "Give the archive that gantry dispute open has written.",
            code="usage",
        )

    async def work() -> int:
        async with common.connected() as chain:
            return await disputes.deliver_files(chain, number, signer, own, notify=progress)

    taken = run(work())
    if common.as_json:
        emit({"task": number, "files": sorted(own), "taken_by_leases": taken})
    else:
        say(f"{counted(len(own), 'file')} sent; the hosts of {counted(taken, 'accused lease')} keep them for the jury.")


@dispute.command()
@_TASK
@click.option("--fetch", type=click.Path(dir_okay=False, path_type=Path), help="Collect the evidence into this file.")
@click.option("--check", type=_EXISTING, help="Compare this file with the evidence that is named on the chain.")
@options.gateway
@options.common(account=True)
def show(number: int, fetch: Path | None, check: Path | None, common: options.CommonOptions) -> None:
    """Show a dispute: its phase and deadline, jury, stakes and evidence. Needs no password without --fetch.

    --fetch is for the tenant and for jurors of the present jury: the accused hosts send output, log and receipt sealed
    to this program. The archive has the digest that the opener named if the hosts show the same as then.

    \b
    Examples:
      gantry dispute show 7
      gantry dispute show 7 --fetch evidence.tar --account verifier-1
      gantry dispute show 7 --check anna.tar
    """
    signer = None if fetch is None else common.open_account()

    async def work() -> tuple[DisputeView, list[dict[str, Any]]]:
        async with common.connected() as chain:
            record = await read_dispute(chain, number)
            found = []
            if fetch is not None and signer is not None:
                bundle = await disputes.fetch_evidence(
                    chain, number, signer, record.accused, notify=progress, opener=record.opener
                )
                path = disputes.write_bundle(bundle, number, fetch)
                found.append(_compared(path, bundle.digest, named_by(record, bundle.digest), bundle.problems))
            if check is not None:
                digest = await asyncio.to_thread(_digest, check)
                found.append(_compared(check, digest, named_by(record, digest), ()))
            return await read_dispute_view(chain, number), found

    view, archives = run(work())
    if common.as_json:
        emit({**view.plain(), "archives": archives})
        return
    _print(view)
    for one in archives:
        by = ", ".join(one["named_by"])
        say(f"{one['file']}: {one['sha256']}, " + (f"named by {by}." if by else "which nobody has named on the chain."))


@dispute.command()
@_TASK
@click.argument("answer", type=click.Choice(["yes", "no"]))
@click.option("--reason", default="", help="Why; stored with the vote, and not sent.")
@click.option("--wait", is_flag=True, help="Wait until votes are revealed, and reveal this one.")
@_STATE_DIR
@options.common(account=True)
def vote(
    number: int, answer: str, reason: str, wait: bool, state_dir: Path | None, common: options.CommonOptions
) -> None:
    """Vote as a juror: is the complaint right? yes, if the result of every accused pod is wrong; otherwise no.

    The vote is stored with its salt before it is committed. It is revealed by gantry juror run with the same
    --state-dir, by --wait, or by gantry dispute reveal. A juror that does not reveal its vote loses a part of its bond.

    \b
    Examples:
      gantry dispute vote 7 yes --account verifier-1
      gantry dispute vote 7 no --wait --account verifier-1
    """
    signer = common.open_account()
    wanted = Vote.YES if answer == "yes" else Vote.NO

    async def work() -> tuple[int, int | None]:
        async with common.connected() as chain:
            files = await disputes.vote_files(chain, signer, state_dir)
            committed = await disputes.cast_vote(chain, number, signer, files, wanted, reason or "a person")
            if not wait:
                return committed.block.number, None
            progress("The vote is committed. Waiting until all jurors have committed, or their time is over.")
            await disputes.until_reveals(chain, number, signer)
            _, revealed = await disputes.reveal_vote(chain, number, signer, files)
            return committed.block.number, revealed.block.number

    committed, revealed = run(work())
    if common.as_json:
        emit({"task": number, "vote": answer, "committed_in": committed, "revealed_in": revealed})
    elif revealed is None:
        say(f"The vote {answer} about task {number} is committed. It still has to be revealed:")
        say(f"gantry juror run does it, or: gantry dispute reveal {number}")
    else:
        say(f"The vote {answer} about task {number} is revealed.")


@dispute.command()
@_TASK
@_STATE_DIR
@options.common(account=True)
def reveal(number: int, state_dir: Path | None, common: options.CommonOptions) -> None:
    """Reveal the vote that gantry dispute vote has committed.

    \b
    Example:
      gantry dispute reveal 7 --account verifier-1
    """
    signer = common.open_account()

    async def work() -> tuple[Vote, int]:
        async with common.connected() as chain:
            files = await disputes.vote_files(chain, signer, state_dir)
            shown, included = await disputes.reveal_vote(chain, number, signer, files)
            return shown, included.block.number

    shown, block = run(work())
    if common.as_json:
        emit({"task": number, "vote": shown.value.lower(), "revealed_in": block})
    else:
        say(f"The vote {shown.value.lower()} about task {number} is revealed.")


@dispute.command()
@_TASK
@options.common(account=True)
def appeal(number: int, common: options.CommonOptions) -> None:
    """Appeal a verdict: another, larger jury decides. Twice the previous stake is held.

    For the side that the verdict is against: of an upheld dispute a provider of an accused host, of a rejected one its
    opener or tenant.

    \b
    Example:
      gantry dispute appeal 7 --account anna
    """
    signer = common.open_account()
    view = run(_after(common, number, signer, None))
    if common.as_json:
        emit(view.plain())
    else:
        stake = view.stakes[-1]
        say(f"The verdict about task {number} is appealed with a stake of {format_amount(stake.amount)}.")
        say(f"Evidence is named until {time_text(view.until)} UTC; then another jury is drawn.")


@dispute.command("add-evidence")
@_TASK
@click.argument("file", type=_EXISTING)
@options.common(account=True)
def add_evidence(number: int, file: Path, common: options.CommonOptions) -> None:
    """Name a FILE as evidence in a hearing: its SHA-256 goes on the chain; show the file itself to the jury.

    For the opener, the tenant and the providers of accused hosts, two files each in a hearing. A tenant that names
    evidence lets the jury read output and log of the accused pods, also if a verifier opened the dispute.

    \b
    Example:
      gantry dispute add-evidence 7 answer.txt --account bob
    """
    signer, digest = common.open_account(), _digest(file)
    view = run(_after(common, number, signer, digest))
    if common.as_json:
        emit(view.plain())
    else:
        say(f"{digest.hex()} is named as evidence in the dispute about task {number}.")


async def _after(common: options.CommonOptions, number: int, signer: Signer, digest: bytes | None) -> DisputeView:
    """Appeal, or name evidence; return the dispute after that."""
    async with common.connected() as chain:
        if digest is None:
            included = await disputes.appeal(chain, number, signer)
        else:
            included = await disputes.add_evidence(chain, number, signer, digest)
        return await read_dispute_view(chain, number, included.block.hash)


def _digest(path: Path) -> bytes:
    """Return the SHA-256 of a file of evidence, which is at most as long as an archive."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BUNDLE + 1)
    except OSError as error:
        raise CliError(f"{path} cannot be read: {error.strerror}.", "Check the path.", code="usage") from None
    if len(data) > MAX_BUNDLE:
        raise CliError(f"{path} has more than {MAX_BUNDLE} bytes.", "Evidence is at most as long.", code="too_large")
    return hashlib.sha256(data).digest()


def _compared(path: Path, digest: bytes, by: tuple[str, ...], problems: tuple[str, ...]) -> dict[str, Any]:
    return {
        "file": str(path),
        "sha256": digest.hex(),
        "named_by": list(by),
        "members": {name: len(data) for name, data in sorted(_members(path).items())},
        "problems": list(problems),
    }


def _members(path: Path) -> dict[str, bytes]:
    """Return the members of an archive of evidence; none of another file, which may be evidence as well."""
    try:
        return read_bundle(path.read_bytes())
    except CheckFailed:
        return {}


def _print(view: DisputeView) -> None:
    waits = view.phase == "Waiting"
    details(
        [
            ("Task", view.task),
            ("Phase", view.phase_text),
            ("Until", None if waits else f"{time_text(view.until)} UTC"),
            ("Opened", f"{time_text(view.opened_at)} UTC by {view.opener}"),
            ("Tenant", view.tenant),
            ("Providers", ", ".join(view.providers)),
            ("Appeals", view.level),
            ("Verdict", None if view.verdict is None else {"yes": "upheld", "no": "rejected"}[view.verdict]),
        ]
    )
    accused = [
        (one.lease, one.pod, one.host, one.result_digest.hex() if one.result_digest else "-", one.exit_code)
        for one in view.accused
    ]
    table(("LEASE", "POD", "HOST", "RESULT", "EXIT"), accused)
    if view.jury:
        jury = [(one.account, "yes" if one.committed else "no", one.vote or "-") for one in view.jury]
        table(("JUROR", "COMMITTED", "VOTE"), jury)
    stakes = [(one.account, one.side, format_amount(one.amount), format_amount(one.fee_paid)) for one in view.stakes]
    table(("STAKE OF", "FOR", "HELD", "PAID TO JURIES"), stakes)
    table(("EVIDENCE OF", "HEARING", "SHA-256"), [(one.account, one.level, one.sha256.hex()) for one in view.evidence])
