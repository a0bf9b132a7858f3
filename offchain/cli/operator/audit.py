"""gantry audit: proofs of bills and stored values as files, and their verification without a network."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from offchain.adapters.keys import ss58
from offchain.cli.kit import network, options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import details, emit, progress, say, size_text
from offchain.cli.kit.session import CONNECT_SECONDS, opened, run
from offchain.cli.operator.audit_views import audit_plain, print_audit
from offchain.core.proofs.checkpoint import MOST_CHECKPOINT_BYTES, Checkpoint, decode_checkpoint
from offchain.core.proofs.proof_file import MOST_FILE_BYTES
from offchain.core.proofs.subject import ProofSubject, SubjectKind, leases_subject, task_subject
from offchain.errors import BadValue
from offchain.files import replace_file

if TYPE_CHECKING:
    from offchain.adapters.chain.runtime import ChainRuntime

_SLOW_BYTES = 4 << 20
_FILE = click.Path(dir_okay=False, path_type=Path)


def _genesis_hash(text: str) -> bytes:
    try:
        return network.parse_genesis(text, "--genesis")
    except CliError as error:
        raise ValueError(error.message.removesuffix(".")) from None


@click.group()
def audit() -> None:
    """Prove a bill, an account, a host or any stored value with a file, and verify such files offline.

    A proof leads from the genesis hash of the chain to the records: nobody who made, sent or stores it has to be
    trusted (docs/audit.md). The sum of all coins of the chain: gantry doctor --audit.

    \b
    Examples:
      gantry audit prove task 7 -o task-7.proof
      gantry audit verify task-7.proof --genesis 0x3f1c…
    """


@audit.group()
def prove() -> None:
    """Write a proof of a task, an account, a host, leases or any stored values in one final block.

    Needs a node that keeps all states (--state-pruning archive), or --checkpoint and a recent block.

    \b
    Examples:
      gantry audit prove task 7 -o task-7.proof
      gantry audit prove account 5FLSigC9HGRKVhB9FiEo4Y3koPsNmBmLJbpXg2mp1hXcS59Y --at 12000 -o charlie.proof
    """


def _proof_options(command: Callable[..., Any]) -> Callable[..., Any]:
    return options.with_options(
        command,
        [
            click.option("--output", "-o", required=True, type=_FILE, help="Write the proof to this file."),
            click.option(
                "--at",
                metavar="BLOCK",
                type=click.IntRange(1),
                help="Prove the state of this final block. Else the newest.",
            ),
            _CHECKPOINT,
        ],
    )


_CHECKPOINT = click.option(
    "--checkpoint",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Start from this checkpoint, which gantry audit verify --save-checkpoint wrote, instead of genesis.",
)


@prove.command("task")
@click.argument("number", type=options.TASK)
@_proof_options
@options.common()
def prove_task(
    number: int, output: Path, at: int | None, checkpoint: Path | None, common: options.CommonOptions
) -> None:
    """Prove a task: its state, its leases with their bills, and the tenant's coins. A missing task is proven, too.

    A task that ended long ago is removed from the state: give a block at which it was there.

    \b
    Examples:
      gantry audit prove task 7 -o task-7.proof
      gantry audit prove task 7 --at 12000 -o task-7.proof
    """
    _prove(task_subject(number), output, at, checkpoint, common)


@prove.command("account")
@options.address
@_proof_options
@options.common()
def prove_account(
    address: str, output: Path, at: int | None, checkpoint: Path | None, common: options.CommonOptions
) -> None:
    """Prove an account: its coins, and what parts of them are held for.

    \b
    Example:
      gantry audit prove account 5FLSigC9HGRKVhB9FiEo4Y3koPsNmBmLJbpXg2mp1hXcS59Y -o account.proof
    """
    _prove(ProofSubject(SubjectKind.ACCOUNT, key=ss58.decode(address)), output, at, checkpoint, common)


@prove.command("host")
@options.address
@_proof_options
@options.common()
def prove_host(
    address: str, output: Path, at: int | None, checkpoint: Path | None, common: options.CommonOptions
) -> None:
    """Prove a host: its status, bond, prices, score and leases, and the provider's coins.

    \b
    Example:
      gantry audit prove host 5F3sa2TJAWMqDhXG6jhV4N8ko9SxwGy8TpaNS1repo5EYjQX -o host.proof
    """
    _prove(ProofSubject(SubjectKind.HOST, key=ss58.decode(address)), output, at, checkpoint, common)


@prove.command("lease")
@click.argument("numbers", nargs=-1, required=True, type=click.IntRange(0))
@_proof_options
@options.common()
def prove_leases(
    numbers: tuple[int, ...], output: Path, at: int | None, checkpoint: Path | None, common: options.CommonOptions
) -> None:
    """Prove leases with their bills, also leases of several tasks.

    \b
    Example:
      gantry audit prove lease 117440512 134217728 -o leases.proof
    """
    _prove(leases_subject(set(numbers)), output, at, checkpoint, common)


@prove.command("storage")
@click.argument("pallet")
@click.argument("item")
@click.argument("keys", nargs=-1)
@_proof_options
@options.common()
def prove_storage(
    pallet: str,
    item: str,
    keys: tuple[str, ...],
    output: Path,
    at: int | None,
    checkpoint: Path | None,
    common: options.CommonOptions,
) -> None:
    """Prove up to 32 values of any storage item of the chain, also that nothing is stored under a key.

    Each KEY is JSON or text: an address, a number, bytes as 0x and hexadecimal digits; an array of all keys of the
    value where the item has several. An item that is not a map has none.

    \b
    Examples:
      gantry audit prove storage Balances TotalIssuance -o issuance.proof
      gantry audit prove storage System Account 5FLSigC9HGRKVhB9FiEo4Y3koPsNmBmLJbpXg2mp1hXcS59Y -o charlie.proof
      gantry audit prove storage Tasks Specs 0x0000000000000007 --at 12000 -o spec.proof
    """

    def subject_of(runtime: ChainRuntime) -> ProofSubject:
        from offchain.adapters.chain.json_calls import keys_from_json  # noqa: PLC0415  (slow to load)
        from offchain.services.audit_facts import subject_of_storage  # noqa: PLC0415

        plain = keys_from_json(runtime, runtime.entry(pallet, item), [_json_or_text(key) for key in keys])
        return subject_of_storage(runtime, pallet, item, plain)

    _prove(subject_of, output, at, checkpoint, common)


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _prove(
    subject: ProofSubject | Callable[[ChainRuntime], ProofSubject],
    output: Path,
    at: int | None,
    checkpoint: Path | None,
    common: options.CommonOptions,
) -> None:
    """Write a proof. `subject`: or a function that returns it for the runtime of the chain."""
    from offchain.adapters.chain.proof_chain import ProofChain  # noqa: PLC0415  (slow to load)
    from offchain.services.audit_prover import build_proof  # noqa: PLC0415
    from offchain.services.audit_verifier import AuditResult, verify_file  # noqa: PLC0415

    start = None if checkpoint is None else _read_checkpoint(checkpoint)
    node = network.choose_node(common.url)

    async def work() -> tuple[bytes, AuditResult]:
        chain = ProofChain(node.url, expected_genesis=node.genesis_hash, timeout=CONNECT_SECONDS)
        async with opened(node, chain):
            genesis = await chain.genesis_hash()
            wanted = subject if isinstance(subject, ProofSubject) else subject(await chain.runtime())
            data = (await build_proof(chain, wanted, at, start, progress)).encode()
        # Nothing is written that an auditor would refuse.
        return data, await verify_file(data, genesis, start)

    data, result = run(work())
    _write(output, data)
    header = result.verified.header
    if common.as_json:
        emit({"file": str(output), "bytes": len(data)} | audit_plain(result))
        return
    say(f"{output} ({size_text(len(data))}) proves the state of block {header.number}.")
    first_set = result.proof.first_set
    from_where = "genesis" if start is None else f"the checkpoint of authority set {first_set}"
    details([("Starts from", from_where), ("Genesis hash", f"0x{result.verified.checkpoint.genesis_hash.hex()}")])
    say(f"Check it anywhere: gantry audit verify {output} --genesis HASH")


@audit.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--genesis",
    metavar="HASH",
    required=True,
    envvar="GANTRY_GENESIS",
    type=options.Parsed("HASH", _genesis_hash),
    help="The hash of block 0 of the chain, from a source that you trust. Else GANTRY_GENESIS.",
)
@_CHECKPOINT
@click.option(
    "--save-checkpoint",
    type=_FILE,
    help="Write the authorities that the proof establishes to this file, so that later proofs can start from them.",
)
@options.as_json
def verify(file: Path, genesis: bytes, checkpoint: Path | None, save_checkpoint: Path | None, as_json: bool) -> None:
    """Verify a proof and print what it proves. Uses no network: nothing but the genesis hash is trusted.

    The exit status is 1 if any part of the proof is wrong, and the message names the part; it is also 1 if a bill does
    not follow from the records by the rules.

    \b
    Examples:
      gantry audit verify task-7.proof --genesis 0x3f1c…
      gantry audit verify task-7.proof --genesis 0x3f1c… --save-checkpoint chain.checkpoint
      gantry audit verify task-9.proof --genesis 0x3f1c… --checkpoint chain.checkpoint --json
    """
    from offchain.services.audit_verifier import verify_file  # noqa: PLC0415  (slow to load)

    start = None if checkpoint is None else _read_checkpoint(checkpoint)
    data = _read(file, MOST_FILE_BYTES)
    if len(data) > _SLOW_BYTES:
        progress(f"Verifying {size_text(len(data))}.")
    result = run(verify_file(data, genesis, start))
    if save_checkpoint is not None:
        _write(save_checkpoint, result.verified.checkpoint.encode())
    if as_json:
        emit(audit_plain(result))
    else:
        print_audit(result)
    if any(bill.agrees is False for bill in result.facts.bills):
        if as_json:
            raise click.exceptions.Exit(1)
        raise CliError(
            "a bill does not follow from its record by the rules.",
            "This is a bug in the chain or in this program: report it with the proof.",
            code="bill_differs",
        )


def _read(file: Path, limit: int) -> bytes:
    """Return the content of a file, at most one byte more than the limit."""
    try:
        with file.open("rb") as opened_file:
            return opened_file.read(limit + 1)
    except OSError as error:
        raise CliError(f"{file} cannot be read: {error.strerror}.", "Check its path and its permissions.") from None


def _read_checkpoint(file: Path) -> Checkpoint:
    data = _read(file, MOST_CHECKPOINT_BYTES)
    if len(data) > MOST_CHECKPOINT_BYTES:
        raise CliError(
            f"{file} has more than {MOST_CHECKPOINT_BYTES} bytes, the limit of a checkpoint.",
            "Give a file that gantry audit verify --save-checkpoint has written.",
        )
    try:
        return decode_checkpoint(data.decode(), str(file))
    except UnicodeDecodeError:
        raise BadValue(f"{file} is not a checkpoint: it is not text.", "Give another file.") from None


def _write(file: Path, data: bytes | str) -> None:
    try:
        replace_file(file, data)
    except OSError as error:
        raise CliError(f"{file} cannot be written: {error.strerror}.", "Choose another place.") from None
