"""Actions on disputes, for `gantry dispute` and the SDK.

Evidence is stored before a dispute is opened, and a vote before it is sent.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from offchain.adapters.chain.typed import GantryChain
from offchain.cli.kit import network, options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.session import IncludedCall, send
from offchain.core.disputes.rules import seat_of
from offchain.errors import CheckFailed
from offchain.files import replace_file
from offchain.ports import ChainPort, Signer
from offchain.schema.chain_types._generated_chain import DisputePhase, DisputeRecord, Vote, storage
from offchain.schema.protocol.evidence import MAX_OWN_BYTES, MAX_OWN_FILES
from offchain.schema.value_text import counted
from offchain.services import dispute_calls
from offchain.services.evidence import EvidenceBundle, collect
from offchain.services.evidence_files import send_files, signed_files
from offchain.services.record_views import read_task
from offchain.services.tenant_calls import as_batch
from offchain.services.vote_files import VoteFiles

JUROR: Final = "juror"
"""Folder of a juror's worker, and of votes, in the user's folder for state."""
_VOTES: Final = "votes"


@dataclass(frozen=True, slots=True)
class StoredBundle:
    """An archive of evidence on the disk."""

    path: Path
    bundle: EvidenceBundle


def own_files(paths: tuple[Path, ...]) -> dict[str, bytes]:
    """Return the files that the opener adds, by name. Raises CliError for too many, too large or equal names."""
    if len(paths) > MAX_OWN_FILES:
        raise CliError(f"{len(paths)} files are more than {MAX_OWN_FILES}.", "Put them into one.", code="too_large")
    found: dict[str, bytes] = {}
    for path in paths:
        if path.name in found:
            raise CliError(f"two files are named {path.name}.", "Rename one of them.", code="usage")
        try:
            with path.open("rb") as file:
                found[path.name] = file.read(MAX_OWN_BYTES + 1)
        except OSError as error:
            raise CliError(f"{path} cannot be read: {error.strerror}.", "Check the path.", code="usage") from None
        if sum(map(len, found.values())) > MAX_OWN_BYTES:
            raise CliError(
                f"the files have more than {MAX_OWN_BYTES} bytes with {path}.",
                "Leave out what jurors do not need, or cut it to the part that is wrong.",
                code="too_large",
            )
    return found


async def fetch_evidence(
    chain: ChainPort,
    task: int,
    signer: Signer,
    accused: tuple[int, ...],
    own: Mapping[str, bytes] | None = None,
    notify: Callable[[str], None] = lambda _: None,
    opener: str | None = None,
) -> EvidenceBundle:
    """Collect the evidence about accused leases from the chain and their hosts.

    `opener`: of the open dispute, whose files the hosts keep; None: there are only those in `own`.
    """
    from offchain.services.host_connections import HostConnections  # noqa: PLC0415  (the transport is slow to load)

    found = await GantryChain(chain).task(task)
    if found is None:
        raise CliError(f"there is no task {task}.", "gantry task list shows the existing ones.", code="no_such_task")
    notify(f"Collecting evidence about {counted(len(accused), 'lease')} from the chain and from hosts.")
    async with contextlib.AsyncExitStack() as stack:
        ways = HostConnections(stack, await chain.genesis_hash(), signer, options.given_gateways())
        bundle = await collect(GantryChain(chain), found, accused, ways.to, own, opener)
    for problem in bundle.problems:
        notify(f"note: {problem}")
    return bundle


async def open_dispute(
    chain: ChainPort,
    task: int,
    signer: Signer,
    *,
    pod: int | None = None,
    own: Mapping[str, bytes] | None = None,
    output: Path | None = None,
    notify: Callable[[str], None] = lambda _: None,
    quiet: bool = False,
) -> tuple[StoredBundle, IncludedCall]:
    """Dispute a task with the evidence that is collected for it. Checked before anything is fetched or sent.

    `output`: where the archive is written; None: in the user's folder for state. Raises CheckFailed, CallFailed.
    """
    view = await read_task(chain, task)
    # The checks do not depend on the evidence, which takes time to collect.
    await dispute_calls.opening(chain, view, signer.address, bytes(32), pod)
    accused = tuple(lease.id for lease in view.leases if pod in (None, lease.pod))
    bundle = await fetch_evidence(chain, task, signer, accused, own, notify)
    path = write_bundle(bundle, task, output)
    call = as_batch(await dispute_calls.opening(chain, view, signer.address, bundle.digest, pod))
    included = await send(chain, call, signer, quiet=quiet)
    if own:
        await deliver_files(chain, task, signer, own, notify)
    return StoredBundle(path, bundle), included


async def deliver_files(
    chain: ChainPort,
    task: int,
    signer: Signer,
    own: Mapping[str, bytes],
    notify: Callable[[str], None] = lambda _: None,
) -> int:
    """Send the opener's files to the hosts of accused leases, for the jury; return for how many leases they are kept.

    Raises CheckFailed if the task is not in dispute, or another account has opened the dispute.
    """
    from offchain.services.host_connections import HostConnections  # noqa: PLC0415  (the transport is slow to load)

    record, found = await dispute_calls.read_dispute(chain, task), await GantryChain(chain).task(task)
    if record.opener != signer.address:
        raise CheckFailed(
            f"{signer.address} has not opened the dispute about task {task}.",
            f"Sign with {record.opener}; other parties name evidence: gantry dispute add-evidence {task} FILE.",
            code="not_opener",
        )
    leases = [] if found is None else [lease for number in record.accused if (lease := found.lease(number)) is not None]
    genesis = await chain.genesis_hash()
    data = signed_files(own, genesis, task, signer)
    async with contextlib.AsyncExitStack() as stack:
        ways = HostConnections(stack, genesis, signer, options.given_gateways())
        problems = await send_files(GantryChain(chain), leases, ways.to, data)
    for problem in problems:
        notify(f"note: {problem}")
    return len(leases) - len(problems)


def write_bundle(bundle: EvidenceBundle, task: int, output: Path | None) -> Path:
    """Write an archive, readable by its owner only, and return its path."""
    path = output or network.user_state_dir() / "disputes" / f"task-{task}-{bundle.digest.hex()[:16]}.tar"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(path, bundle.data)
    except OSError as error:
        raise CliError(
            f"the evidence cannot be written to {path}: {error.strerror}.", "Choose another file with --output."
        ) from None
    return path


async def vote_files(chain: ChainPort, juror: Signer, state_dir: Path | None) -> VoteFiles:
    """Return the votes in the folder that the juror's worker uses."""
    folder = (state_dir or network.user_state_dir() / JUROR) / _VOTES
    return VoteFiles(folder, await chain.genesis_hash(), juror.address)


async def cast_vote(
    chain: ChainPort, task: int, juror: Signer, files: VoteFiles, wanted: Vote, reason: str, *, quiet: bool = False
) -> IncludedCall:
    """Store a vote, and commit to it. Raises CheckFailed, CallFailed."""
    call = await dispute_calls.vote(chain, task, juror, files, wanted, reason)
    return await send(chain, call, juror, quiet=quiet)


async def reveal_vote(
    chain: ChainPort, task: int, juror: Signer, files: VoteFiles, *, quiet: bool = False
) -> tuple[Vote, IncludedCall]:
    """Reveal the stored vote; return it. Raises CheckFailed, CallFailed."""
    call, stored = await dispute_calls.reveal(chain, task, juror, files)
    return stored.vote, await send(chain, call, juror, quiet=quiet)


async def until_reveals(chain: ChainPort, task: int, juror: Signer) -> None:
    """Wait until the juror may reveal its vote. Raises CliError if the ballot ends before."""
    async for _ in chain.best():
        record = await GantryChain(chain).read(storage.verification_disputes, task)
        if not _awaits_reveal(record, juror.address):
            raise CliError(
                f"the ballot about task {task} is over, and nothing was revealed: too few jurors committed in time, or "
                "another program has revealed the vote.",
                f"gantry dispute show {task} shows what follows.",
                code="ballot_over",
            )
        if record is not None and record.phase is DisputePhase.REVEALING:
            return


def _awaits_reveal(record: DisputeRecord | None, juror: str) -> bool:
    seat = None if record is None else seat_of(record, juror)
    return seat is not None and seat.commitment is not None and seat.vote is None


async def appeal(chain: ChainPort, task: int, signer: Signer, *, quiet: bool = False) -> IncludedCall:
    """Appeal the verdict about a task. Raises CheckFailed, CallFailed."""
    return await send(chain, as_batch(await dispute_calls.appeal(chain, task, signer.address)), signer, quiet=quiet)


async def add_evidence(
    chain: ChainPort, task: int, signer: Signer, digest: bytes, *, quiet: bool = False
) -> IncludedCall:
    """Name evidence by its SHA-256. Raises CheckFailed, CallFailed."""
    found = await dispute_calls.add_evidence(chain, task, signer.address, digest)
    return await send(chain, as_batch(found), signer, quiet=quiet)
