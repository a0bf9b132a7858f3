"""scripts/release-agent: makes and signs a release of the agent.

The secret key is read from a file that only its owner may read, and is never an argument of a program.
"""

from __future__ import annotations

import secrets
import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from node_agent import VERSION
from node_agent.core.release_statement import ReleaseStatement, parse_key, parse_keys, parse_version, sign_statement
from node_agent.install.bundle import build, statement_beside
from offchain.adapters.keys import secret_file
from offchain.adapters.keys.signer import Ed25519Signer
from offchain.errors import BadKey, GantryError

_SEED_BYTES = 32


def new_key(path: Path) -> Ed25519Signer:
    """Make a release key and store it, readable by its owner only. Never overwrites a file. Raises BadKey."""
    seed = secrets.token_bytes(_SEED_BYTES)
    try:
        secret_file.write_new(path, seed.hex())
    except FileExistsError:
        raise BadKey(f"{path} exists already; no key is overwritten.", "Use it, or choose another name.") from None
    except OSError as error:
        raise BadKey(f"The release key {path} cannot be written: {error.strerror}.", "Choose another place.") from None
    return Ed25519Signer(seed)


def load_key(path: Path) -> Ed25519Signer:
    """Read a release key. Raises BadKey if others may read the file, or if it is not a key."""
    try:
        text = secret_file.read(path, 4 * _SEED_BYTES)
    except secret_file.OthersMayReadError:
        raise BadKey(
            f"The release key {path} may be read by others, or is not a file.", f"Run: chmod 600 {path}"
        ) from None
    except OSError as error:
        raise BadKey(f"The release key {path} cannot be read: {error.strerror}.", "Make one with --new-key.") from None
    try:
        return Ed25519Signer(bytes.fromhex(text))
    except (ValueError, BadKey):
        raise BadKey(f"{path} is not a release key.", "It holds 64 hexadecimal digits.") from None


def make(target: Path, version: str, keys: list[Ed25519Signer], next_keys: tuple[str, ...], created: datetime) -> str:
    """Write the bundle, and its statement with keys; return the bundle's SHA-256. Raises ValueError, OSError."""
    parse_version(version)
    # An agent without keys adopts those with which the next releases are signed.
    signers = tuple(key.public_key.hex() for key in keys)
    public = next_keys or signers
    for listed in (signers, next_keys):
        if listed:
            parse_keys(listed)
    digest = build(target, version=version, release_keys=public)
    place = Path(statement_beside(str(target)))
    place.unlink(missing_ok=True)  # the statement of another bundle
    if keys:
        moment = created.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        place.write_bytes(sign_statement(ReleaseStatement(parse_version(version), digest, moment, next_keys), keys))
    return digest


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--new-key", "new_key_file", type=click.Path(path_type=Path), help="Only make a key in this new file.")
@click.option(
    "--key", "key_files", type=click.Path(path_type=Path), multiple=True, help="Sign with the release key in this file."
)
@click.option(
    "--next-key",
    "next_keys",
    metavar="HEX",
    multiple=True,
    help="Public key that hosts keep, instead of those they keep now, once they run this release.",
)
@click.option("--version", default=VERSION, show_default=True, help="Version of the release.")
@click.argument("target", type=click.Path(path_type=Path), required=False)
def main(
    new_key_file: Path | None,
    key_files: tuple[Path, ...],
    next_keys: tuple[str, ...],
    version: str,
    target: Path | None,
) -> None:
    """Make a release of the agent for gantry agent update: TARGET, the same bytes for the same sources and options.

    Prints the SHA-256 of TARGET. With --key, TARGET.statement says which version it is, signed.

    \b
    Examples:
      scripts/release-agent --new-key release.key
      scripts/release-agent --key release.key --version 0.2.0 agent-0.2.0.tar.gz
    """
    if (new_key_file is None) == (target is None):
        raise click.UsageError("Give either the file to write, or --new-key.")
    if next_keys and not key_files:
        raise click.UsageError("--next-key is part of what --key signs: give --key, too.")
    try:
        if new_key_file is not None:
            click.echo(new_key(new_key_file).public_key.hex())
            return
        assert target is not None  # noqa: S101  (checked above)
        keys = [load_key(path) for path in key_files]
        click.echo(make(target, version, keys, tuple(map(parse_key, next_keys)), datetime.now(UTC)))
        for key in keys:
            click.echo(f"signed by release key {key.public_key.hex()}", err=True)
    except GantryError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)
    except (ValueError, OSError) as error:
        click.echo(f"error: {error}. No release was made.", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main(prog_name="scripts/release-agent")
