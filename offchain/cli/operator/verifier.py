"""gantry verifier: bond a verifier, run it, show its duties."""

from __future__ import annotations

from typing import Any

import click

from offchain.adapters.chain.typed import GantryChain
from offchain.cli.kit import accounts, options
from offchain.cli.kit.output import details, emit, progress, table
from offchain.cli.kit.session import run, send
from offchain.cli.operator import worker as workers
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import calls, storage
from offchain.schema.manifest.values import format_amount
from offchain.services.event_text import time_text


@click.group(
    epilog="A verifier that is drawn into a committee and does not vote loses part of its bond: bond an account "
    "only if its verifier runs. docs/verification.md has the rules, docs/trust.md the proof that verifiers check."
)
def verifier() -> None:
    """Judge hosts' proofs of their GPUs, for a share of the fees (operators).

    \b
    Examples:
      gantry verifier bond --account verifier-1
      gantry verifier run --account verifier-1 --challenge-budget 10
      gantry verifier status --account verifier-1
    """


verifier.add_command(workers.verifier, "run")


@verifier.command()
@options.common(account=True)
def bond(common: options.CommonOptions) -> None:
    """Hold the verifier's bond of this account, so that it can be drawn; or bring the bond up to what is required.

    \b
    Example:
      gantry verifier bond --account verifier-1
    """
    signer = common.open_account()

    async def work() -> tuple[int, int]:
        async with common.connected() as port:
            included = await send(port, calls.verification_bond_verifier(), signer)
            record = await GantryChain(port).read(
                storage.verification_verifiers, signer.address, at=included.block.hash
            )
            return included.block.number, 0 if record is None else record.bond

    block, held = run(work())
    if common.as_json:
        emit({"account": signer.address, "bond": held, "block": block})
    else:
        progress(f"{signer.address} is a verifier since block {block}; its bond is {format_amount(held)}.")


@verifier.command()
@options.common(account=True)
def status(common: options.CommonOptions) -> None:
    """Show bond and duties of this account as a verifier, at the newest final block. Needs no password.

    \b
    Examples:
      gantry verifier status --account verifier-1
      gantry verifier status --account verifier-1 --json
    """
    account = accounts.address_of(common.account)

    async def read() -> tuple[gen.VerifierRecord | None, int, gen.VerificationParams, dict[int, gen.ChallengeRecord]]:
        async with common.connected() as port:
            chain, head = GantryChain(port), await port.finalized_head()
            record = await chain.read(storage.verification_verifiers, account, at=head.hash)
            listed = await chain.read(storage.verification_verifier_list, at=head.hash) or ()
            params = gen.VerificationParams.decode(await port.query("Verification", "Params", (), head.hash))
            found = await chain.read_map(storage.verification_challenges, at=head.hash)
            own = {
                number: one for number, one in found.items() if any(seat.who == account for seat in one.ballot.seats)
            }
            return record, len(listed), params, own

    record, listed, params, own = run(read())
    if common.as_json:
        emit(
            {
                "account": account,
                "status": None if record is None else record.status.tag,
                "bond": None if record is None else record.bond,
                "bond_required": params.verifier_bond,
                "duties": None if record is None else record.duties,
                "verifiers": listed,
                "verifiers_required": params.min_verifiers,
                "challenges": [_plain(account, number, one) for number, one in sorted(own.items())],
            }
        )
        return
    details(
        [
            ("Account", account),
            ("Verifier", "no: gantry verifier bond" if record is None else record.status.tag.lower()),
            (
                "Bond",
                None if record is None else f"{format_amount(record.bond)} of {format_amount(params.verifier_bond)}",
            ),
            ("Duties", None if record is None else record.duties),
            ("Verifiers", f"{listed}; a committee is drawn from {params.min_verifiers} on"),
        ]
    )
    if own:
        rows = [tuple(_plain(account, number, one).values()) for number, one in sorted(own.items())]
        shown = [(*row[:4], time_text(row[4]), row[5], row[6]) for row in rows]
        table(("CHALLENGE", "HOST", "GPU", "PHASE", "UNTIL", "COMMITTED", "REVEALED"), shown)


def _plain(account: str, number: int, record: gen.ChallengeRecord) -> dict[str, Any]:
    seat = next(seat for seat in record.ballot.seats if seat.who == account)
    return {
        "challenge": number,
        "host": record.host,
        "device": record.device,
        "phase": record.phase.value,
        "until_ms": record.until,
        "committed": seat.commitment is not None,
        "revealed": seat.vote is not None,
    }
