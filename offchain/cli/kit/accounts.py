"""Accounts: keystore files, and their opening for signing. A secret is never an argument and never in a message."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from offchain.adapters.keys import ss58
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.network import user_config_dir
from offchain.ports import Signer

_WELL_KNOWN = ("Alice", "Bob", "Charlie", "Dave", "Eve", "Ferdie", "One", "Two")
FAUCET = "//Alice"
"""The development account that gives coins to others."""
_DEVELOPMENT = re.compile(rf"//({'|'.join(_WELL_KNOWN)})(//stash)?")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_LARGEST_KEYSTORE = 65_536


@dataclass(frozen=True, slots=True)
class StoredAccount:
    """An account in a keystore file."""

    name: str
    address: str
    path: Path


def folder() -> Path:
    """Return the folder of the keystore files."""
    return user_config_dir() / "accounts"


def seal_key_path(name: str) -> Path:
    """Return the path of the seal key with this name."""
    return folder().parent / "seal-keys" / f"{checked_name(name)}.key"


def open_seal_key(text: str) -> bytes:
    """Load the private seal key with this name, or from this file."""
    from offchain.adapters.keys.sealed_box import load_seal_key  # noqa: PLC0415  (only for sealed results)

    if "/" in text or not (path := seal_key_path(text)).is_file():
        path = Path(text).expanduser()
    return load_seal_key(path)


def list_accounts() -> list[StoredAccount]:
    """Return the accounts in the folder, by name. Files that are not keystores are skipped."""
    found = []
    for path in sorted(folder().glob("*.json")):
        address = _address_in(path)
        if address is not None:
            found.append(StoredAccount(path.stem, address, path))
    return found


def checked_name(name: str) -> str:
    """Return the name of a new account. Raises CliError if it is not valid."""
    if _NAME.fullmatch(name) is None:
        raise CliError(f'"{name}" is not a name for an account.', "Use letters, digits, dots and dashes.", code="usage")
    return name


def address_of(text: str | None) -> str:
    """Return the address of a name, a file or a development account, or the checked address itself.

    Without an argument: the address of the default account.
    """
    text = text or _default()
    if text.startswith("//"):
        return _development(text).address
    if (path := _path_of(text)) is not None:
        address = _address_in(path)
        if address is None:
            raise CliError(f"{path} is not a keystore.", "Give the JSON file that a wallet exports.", code="bad_key")
        return address
    return ss58.encode(ss58.decode(text)) if len(text) > 40 else _unknown(text)


def open_account(account: str | None, password_file: str | None) -> Signer:
    """Return an account that can sign. Asks for its password on a terminal."""
    text = account or _default()
    if text.startswith("//"):
        return _development(text)
    path = _path_of(text)
    if path is None:
        if len(text) > 40:
            raise CliError(f"{text} is an address; its key is not here.", "Give the account's name or keystore file.")
        _unknown(text)
        raise AssertionError
    from offchain.adapters.keys import keystore  # noqa: PLC0415 - loaded when it is used

    return keystore.load(path, read_password(password_file, f"Password of {path.stem}"))


def read_password(password_file: str | None, prompt: str, *, confirm: bool = False) -> str:
    """Return the password from the file, from GANTRY_PASSWORD, or from the terminal."""
    if password_file is not None:
        try:
            return Path(password_file).read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise CliError(f"the password cannot be read from {password_file}: {error}.", "Check the file.") from None
    from_env = os.environ.get("GANTRY_PASSWORD")
    if from_env is not None:
        return from_env
    if not sys.stdin.isatty():
        raise CliError(
            "the account has a password, and standard input is not a terminal.",
            "Give --password-file, or set GANTRY_PASSWORD.",
            code="no_password",
        )
    entered: str = click.prompt(prompt, hide_input=True, err=True, confirmation_prompt=confirm)
    return entered


def default_name() -> str | None:
    """Return GANTRY_ACCOUNT, else the name of the only account here; None if it is not clear."""
    known = list_accounts()
    return os.environ.get("GANTRY_ACCOUNT") or (known[0].name if len(known) == 1 else None)


def _default() -> str:
    named = default_name()
    if named is not None:
        return named
    known = list_accounts()
    if known:
        names = ", ".join(account.name for account in known)
        raise CliError("which account?", f"Give --account with one of: {names}.", code="no_account")
    raise CliError(
        "no account is given, and there is none here.",
        "On a local network use --account //Charlie; or create one: gantry account create NAME.",
        code="no_account",
    )


def _development(text: str) -> Signer:
    if _DEVELOPMENT.fullmatch(text) is None:
        names = ", ".join(f"//{name}" for name in _WELL_KNOWN)
        raise CliError(
            "only well-known development accounts can be named by a URI; a secret does not belong on a command line.",
            f"Use one of {names}, or a keystore: gantry account import NAME.",
            code="bad_key",
        )
    from offchain.adapters.keys import signer  # noqa: PLC0415 - loaded when it is used

    return signer.from_uri(text)


def _path_of(text: str) -> Path | None:
    if _NAME.fullmatch(text) and (path := folder() / f"{text}.json").is_file():
        return path
    if "/" in text or text.endswith(".json"):
        path = Path(text).expanduser()
        if not path.is_file():
            raise CliError(f"there is no keystore {text}.", "Check the path.", code="bad_key")
        return path
    return None


def _unknown(text: str) -> str:
    names = ", ".join(account.name for account in list_accounts()) or "none yet"
    meant = f"Did you mean //{text.capitalize()}? " if text.capitalize() in _WELL_KNOWN else ""
    raise CliError(
        f'there is no account "{text}".',
        f"{meant}Known here: {names}. gantry account create NAME creates one.",
        code="no_account",
    )


def _address_in(path: Path) -> str | None:
    try:
        if path.stat().st_size > _LARGEST_KEYSTORE:
            return None
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    address = document.get("address") if isinstance(document, dict) and "encoded" in document else None
    return address if isinstance(address, str) else None
