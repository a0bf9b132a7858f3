"""scripts/upgrade-chain: have a running chain take a new runtime, and wait until its state is that of the new one.

Works on a chain of any release: what it needs is read from the chain's own metadata.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from offchain.cli.kit import accounts, failures, options
from offchain.cli.kit import network as networks
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import details, emit, progress
from offchain.cli.kit.session import Included, send
from offchain.ports import Call, ChainPort, Signer

RELEASED = Path(__file__).resolve().parents[3] / "chain" / "release" / "gantry-runtime.wasm"
_WASM = b"\0asm"
_COMPRESSED = bytes.fromhex("52bc537646db8e05")
"""How a runtime begins that chains carry compressed."""
PATIENCE_SECONDS = 60.0
"""For how long a node may leave a question open: while it compiles the new runtime it answers nobody."""
STALLED_SECONDS = 120.0
"""For how long no block may become final before the command gives up watching."""

MakeChain = Callable[[networks.Network], ChainPort]


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What was done. Versions are spec versions; blocks are numbers of final blocks."""

    code_hash: bytes
    from_version: int
    to_version: int
    authorized_in: int | None
    """None where it was authorized before."""
    applied_in: int
    migrated_in: int
    """The last block of the migration: the next one takes calls again."""

    def plain(self) -> dict[str, Any]:
        """As one JSON object."""
        return {
            "code_hash": self.code_hash,
            "from_version": self.from_version,
            "to_version": self.to_version,
            "authorized_in": self.authorized_in,
            "applied_in": self.applied_in,
            "migrated_in": self.migrated_in,
        }


def make_chain(network: networks.Network) -> ChainPort:
    """The chain adapter for a chain whose types this program was not made for. A seam: tests put the fake here."""
    from offchain.adapters.chain.client import SubstrateChain  # noqa: PLC0415  (not needed for --help)

    return SubstrateChain(
        network.url, expected_genesis=network.genesis_hash, check_metadata=False, timeout=PATIENCE_SECONDS
    )


def read_runtime(path: Path) -> bytes:
    """A runtime as chains carry it. Raises CliError."""
    try:
        code = path.read_bytes()
    except OSError as error:
        raise CliError(f"the runtime cannot be read from {path}: {error.strerror}.", "Check --runtime.") from None
    if not code.startswith((_WASM, _COMPRESSED)):
        raise CliError(
            f"{path} is no runtime: it is not WebAssembly.", "Give the .wasm file of a release.", code="bad_runtime"
        )
    return code


async def upgrade(network: networks.Network, signer: Signer, code: bytes, make: MakeChain = make_chain) -> Upgrade:
    """Authorize where that is to be done and `signer` may, apply, and wait for the last block of the migration."""
    code_hash = hashlib.blake2b(code, digest_size=32).digest()
    async with _connected(network, make) as chain:
        before = await _version(chain)
        authorized_in = await _authorize(chain, signer, code_hash)
        applied = await send(chain, Call("System", "apply_authorized_upgrade", {"code": code}), signer)
        _ensure_taken(applied)
        progress(f"Block {applied.block.number}: the chain has the new runtime.")
    # A new connection, because what the chain stores is now in other types.
    async with _connected(network, make) as chain:
        migrated_in = await _migrated(chain, applied.block.number)
        after = await _version(chain)
    return Upgrade(code_hash, before, after, authorized_in, applied.block.number, migrated_in)


@asynccontextmanager
async def _connected(network: networks.Network, make: MakeChain) -> AsyncIterator[ChainPort]:
    chain = make(network)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(chain.close)
        await chain.connect()
        yield chain


async def _version(chain: ChainPort) -> int:
    last = await chain.query("System", "LastRuntimeUpgrade")
    return int(last["spec_version"]) if last else 0


async def _authorize(chain: ChainPort, signer: Signer, code_hash: bytes) -> int | None:
    """The block that authorized the upgrade; None where that was done before."""
    if await _is_authorized(chain, code_hash):
        progress("The upgrade is authorized already.")
        return None
    root = await chain.query("Sudo", "Key")
    if root != signer.address:
        raise CliError(
            f"the upgrade is not authorized, and {signer.address} may not do it.",
            f"Have governance call System.authorize_upgrade(0x{code_hash.hex()}), then run this again "
            "(docs/upgrades.md).",
            code="not_authorized",
        )
    inner = {"System": {"authorize_upgrade": {"code_hash": code_hash}}}
    included = await send(chain, Call("Sudo", "sudo", {"call": inner}), signer)
    if not await _is_authorized(chain, code_hash):
        raise CliError("the chain did not authorize the upgrade.", "Its event Sudo.Sudid says why.", code="refused")
    progress(f"Block {included.block.number}: the upgrade to 0x{code_hash.hex()} is authorized.")
    return included.block.number


async def _is_authorized(chain: ChainPort, code_hash: bytes) -> bool:
    waiting = await chain.query("System", "AuthorizedUpgrade")
    return waiting is not None and waiting["code_hash"] == code_hash


def _ensure_taken(applied: Included) -> None:
    if any(event.name == "RejectedInvalidAuthorizedUpgrade" for event in applied.events):
        raise CliError(
            "the chain refused the runtime.",
            "A new runtime has the name of the one that runs, and a higher spec_version.",
            code="refused",
        )


async def _migrated(chain: ChainPort, applied_in: int) -> int:
    """Waits for the end of the migration, which begins in the block after the upgrade."""
    async with aclosing(chain.finalized()) as heads:
        while True:
            try:
                async with asyncio.timeout(STALLED_SECONDS):
                    head = await anext(heads)
            except TimeoutError:
                raise CliError(
                    f"no block became final for {STALLED_SECONDS:g} seconds.",
                    "The upgrade goes on without this command. Look at the validators' logs.",
                    code="stalled",
                ) from None
            if head.number <= applied_in:
                continue
            cursor = await chain.query("MultiBlockMigrations", "Cursor", at=head.hash)
            if cursor is None:
                return head.number
            if cursor == "Stuck":
                raise CliError(
                    "the migration is stuck, and the chain takes no calls.",
                    "docs/upgrades.md says what validators do then.",
                    code="stuck",
                )
            progress(f"Block {head.number}: the state is being migrated.")


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--runtime",
    type=click.Path(dir_okay=False, path_type=Path),
    default=RELEASED,
    help="The new runtime. Else the released one of this clone.",
)
@options.account
@options.url
@options.as_json
def command(runtime: Path, account: str | None, password_file: str | None, url: str | None, *, as_json: bool) -> None:
    """Have a running chain take a new runtime, and wait until its state is migrated.

    Where nobody has authorized the upgrade yet, the account must be the chain's sudo key. Else any account will do.

    \b
    Example:
      scripts/upgrade-chain --url ws://127.0.0.1:9944 --account //Alice
    """
    code = read_runtime(runtime)
    network = networks.choose(url)
    done = asyncio.run(upgrade(network, accounts.open_account(account, password_file), code))
    if as_json:
        emit(done.plain())
        return
    details(
        [
            ("Runtime", f"0x{done.code_hash.hex()}"),
            ("Version", f"{done.from_version} before, {done.to_version} now"),
            ("Applied in block", done.applied_in),
            ("Migrated in block", done.migrated_in),
        ]
    )


def main() -> int:
    """Run the command; gives the exit status."""
    try:
        command.main(prog_name="upgrade-chain", standalone_mode=False)
    except BaseException as error:  # noqa: BLE001  (the one place where everything ends)
        return failures.tell(error, as_json="--json" in sys.argv)
    return 0


if __name__ == "__main__":
    sys.exit(main())
