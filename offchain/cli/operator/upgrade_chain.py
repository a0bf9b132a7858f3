"""scripts/upgrade-chain: submit a new runtime to a running chain, and wait until its state is migrated.

Works on a chain of any release: everything it needs is read from the chain's own metadata.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from offchain.cli.kit import failures, options
from offchain.cli.kit import network as networks
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import details, emit, progress
from offchain.cli.kit.session import IncludedCall, send
from offchain.ports import Call, ChainPort, Signer

RELEASED = Path(__file__).resolve().parents[3] / "chain" / "release" / "gantry-runtime.wasm"
_WASM = b"\0asm"
_COMPRESSED = bytes.fromhex("52bc537646db8e05")
"""The first bytes of a compressed runtime."""
PATIENCE_SECONDS = 60.0
"""How long a node may take for an answer; it does not answer while it compiles the new runtime."""
STALLED_SECONDS = 120.0
"""How long the command waits for the next final block."""

MakeChain = Callable[[networks.NodeEndpoint], ChainPort]


@dataclass(frozen=True, slots=True)
class RuntimeUpgrade:
    """A completed upgrade. Versions are spec versions; blocks are numbers of final blocks."""

    code_hash: bytes
    from_version: int
    to_version: int
    authorized_in: int | None
    """None if it was authorized before."""
    applied_in: int
    migrated_in: int
    """The last block of the migration: the next one accepts calls again."""


def make_chain(network: networks.NodeEndpoint) -> ChainPort:
    """Return an adapter that accepts a chain with other types. Tests replace it with the fake."""
    from offchain.adapters.chain.client import SubstrateChain  # noqa: PLC0415  (not needed for --help)

    return SubstrateChain(
        network.url, expected_genesis=network.genesis_hash, check_metadata=False, timeout=PATIENCE_SECONDS
    )


def read_runtime(path: Path) -> bytes:
    """Return the code of a runtime. Raises CliError if the file is not one."""
    try:
        code = path.read_bytes()
    except OSError as error:
        raise CliError(f"the runtime cannot be read from {path}: {error.strerror}.", "Check --runtime.") from None
    if not code.startswith((_WASM, _COMPRESSED)):
        raise CliError(
            f"{path} is not a runtime: it is not WebAssembly.", "Give the .wasm file of a release.", code="bad_runtime"
        )
    return code


async def upgrade(
    network: networks.NodeEndpoint, signer: Signer, code: bytes, make: MakeChain = make_chain
) -> RuntimeUpgrade:
    """Authorize the upgrade if needed and allowed, apply it, and wait for the last block of the migration."""
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
    return RuntimeUpgrade(code_hash, before, after, authorized_in, applied.block.number, migrated_in)


@asynccontextmanager
async def _connected(network: networks.NodeEndpoint, make: MakeChain) -> AsyncIterator[ChainPort]:
    chain = make(network)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(chain.close)
        await chain.connect()
        yield chain


async def _version(chain: ChainPort) -> int:
    last = await chain.query("System", "LastRuntimeUpgrade")
    return int(last["spec_version"]) if last else 0


async def _authorize(chain: ChainPort, signer: Signer, code_hash: bytes) -> int | None:
    """Return the block that authorized the upgrade; None if it was authorized before."""
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
        raise CliError("the chain did not authorize the upgrade.", "See its event Sudo.Sudid.", code="refused")
    progress(f"Block {included.block.number}: the upgrade to 0x{code_hash.hex()} is authorized.")
    return included.block.number


async def _is_authorized(chain: ChainPort, code_hash: bytes) -> bool:
    waiting = await chain.query("System", "AuthorizedUpgrade")
    return waiting is not None and waiting["code_hash"] == code_hash


def _ensure_taken(applied: IncludedCall) -> None:
    if any(event.name == "RejectedInvalidAuthorizedUpgrade" for event in applied.events):
        raise CliError(
            "the chain refused the runtime.",
            "A new runtime has the name of the one that runs, and a higher spec_version.",
            code="refused",
        )


async def _migrated(chain: ChainPort, applied_in: int) -> int:
    """Wait for the end of the migration, which begins in the block after the upgrade, and return its last block."""
    async with aclosing(chain.finalized()) as heads:
        while True:
            try:
                async with asyncio.timeout(STALLED_SECONDS):
                    head = await anext(heads)
            except TimeoutError:
                raise CliError(
                    f"no block became final for {STALLED_SECONDS:g} seconds.",
                    "The upgrade continues without this command. See the validators' logs.",
                    code="stalled",
                ) from None
            if head.number <= applied_in:
                continue
            cursor = await chain.query("MultiBlockMigrations", "Cursor", at=head.hash)
            if cursor is None:
                return head.number
            if cursor == "Stuck":
                raise CliError(
                    "the migration is stuck, and the chain accepts no calls.",
                    "docs/upgrades.md describes what validators must do.",
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
@options.common(account=True)
def command(runtime: Path, common: options.CommonOptions) -> None:
    """Upgrade a running chain to a new runtime, and wait until its state is migrated.

    If nobody has authorized the upgrade yet, the account must be the chain's sudo key. Otherwise any account will do.

    \b
    Example:
      scripts/upgrade-chain --url ws://127.0.0.1:9944 --account //Alice
    """
    code = read_runtime(runtime)
    network = networks.choose_node(common.url)
    done = asyncio.run(upgrade(network, common.open_account(), code))
    if common.as_json:
        emit(asdict(done))
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
    """Run the command and return its exit status."""
    try:
        command.main(prog_name="upgrade-chain", standalone_mode=False)
    except BaseException as error:  # noqa: BLE001  (the one place where everything ends)
        return failures.report_failure(error, as_json="--json" in sys.argv)
    return 0


if __name__ == "__main__":
    sys.exit(main())
