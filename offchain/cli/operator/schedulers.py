"""gantry chain schedulers: the bonded schedulers and the queue definitions that they have published."""

from __future__ import annotations

from pathlib import Path

import click

from offchain.adapters.chain.typed import GantryChain
from offchain.cli.kit import options
from offchain.cli.kit.output import emit, table
from offchain.cli.kit.policy_files import FILE, read_definitions
from offchain.cli.kit.session import run
from offchain.schema.manifest.values import format_amount


@click.command("schedulers")
@click.option(
    "--queues",
    type=FILE,
    envvar="GANTRY_QUEUES",
    help="Compare with the queues that this file defines. Else GANTRY_QUEUES, else one queue for all accounts.",
)
@options.common()
def schedulers(queues: Path | None, common: options.CommonOptions) -> None:
    """List the bonded schedulers, and compare their queue definitions with a file.

    Each scheduler publishes the SHA-256 of its queue definitions on the chain when it starts. Schedulers with different
    definitions order the same tasks differently.

    \b
    Examples:
      gantry chain schedulers
      gantry chain schedulers --queues examples/queues.yaml --json
    """
    own = read_definitions(queues, None).queues.digest()

    async def read() -> tuple[dict[str, int], dict[str, bytes]]:
        async with common.connected() as port:
            chain, head = GantryChain(port), await port.finalized_head()
            return await chain.schedulers(head.hash), await chain.queue_digests(head.hash)

    bonds, digests = run(read())
    if common.as_json:
        emit(
            {
                "queues": own.hex(),
                "schedulers": [
                    {
                        "account": account,
                        "bond": bond,
                        "queues": digests[account].hex() if account in digests else None,
                        "same_queues": digests.get(account) == own,
                    }
                    for account, bond in sorted(bonds.items())
                ],
            }
        )
        return
    rows = [
        (account, format_amount(bond), *_compared(digests.get(account), own)) for account, bond in sorted(bonds.items())
    ]
    table(("ACCOUNT", "BOND", "QUEUES", "COMPARED"), rows)


def _compared(digest: bytes | None, own: bytes) -> tuple[str, str]:
    """Return the digest and the comparison as texts for people."""
    if digest is None:
        return "not published", "unknown"
    return digest.hex()[:16], "same definitions" if digest == own else "other definitions"
