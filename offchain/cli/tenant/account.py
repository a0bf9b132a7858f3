"""gantry account: keystore files, seal keys and balances."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from offchain.cli.kit import accounts, options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import details, emit, progress, table
from offchain.cli.kit.session import run, send
from offchain.schema.manifest.values import format_amount
from offchain.services import tenant_calls

SHORTEST_PASSWORD = 8


@click.group(
    epilog="Accounts are encrypted keystore files, the same that polkadot.js exports and imports, in "
    "~/.config/gantry/accounts. A local network also knows //Alice to //Ferdie, whose keys everybody has."
)
def account() -> None:
    """Create, import, list and show accounts and their balances; transfer coins.

    \b
    Examples:
      gantry account create anna
      gantry account import ben ~/Downloads/ben.json
      gantry account balance anna
    """


@account.command("list")
@options.as_json
def list_(as_json: bool) -> None:
    """List the accounts on this machine.

    \b
    Example:
      gantry account list
    """
    found = accounts.list_accounts()
    if as_json:
        for stored in found:
            emit({"name": stored.name, "address": stored.address, "file": str(stored.path)})
    elif found:
        table(("NAME", "ADDRESS"), [(stored.name, stored.address) for stored in found])
    else:
        progress("There is no account yet. gantry account create NAME creates one.")


@account.command()
@click.argument("name", required=False)
@options.as_json
def show(name: str | None, as_json: bool) -> None:
    """Show the address of an account and the path of its key.

    \b
    Examples:
      gantry account show anna
      gantry account show //Charlie
    """
    address = accounts.address_of(name)
    file = next((str(stored.path) for stored in accounts.list_accounts() if stored.address == address), None)
    if as_json:
        emit({"address": address, "file": file})
    else:
        details([("Address", address), ("Keystore", file)])


@account.command()
@click.argument("name")
@click.option("--crypto", type=click.Choice(["sr25519", "ed25519"]), default="sr25519", show_default=True)
@click.option("--password-file", type=click.Path(exists=True, dir_okay=False), help="File with the new password.")
@click.option(
    "--show-phrase", is_flag=True, help="Print the 12 secret words, to write them down. Once, on standard error."
)
@options.as_json
def create(name: str, crypto: str, password_file: str | None, show_phrase: bool, as_json: bool) -> None:
    """Create an account in an encrypted keystore file.

    \b
    Examples:
      gantry account create anna
      gantry account create anna --show-phrase
    """
    import bip39  # noqa: PLC0415  (only here)

    phrase: str = bip39.bip39_generate(12, "en")
    path = _save(name, phrase, crypto, password_file)
    if show_phrase:
        progress(f"The secret words: {phrase}")
    _print_account(path, as_json=as_json)


@account.command("import")
@click.argument("name")
@click.argument("keystore", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--crypto", type=click.Choice(["sr25519", "ed25519"]), default="sr25519", show_default=True)
@click.option("--password-file", type=click.Path(exists=True, dir_okay=False), help="File with the password.")
@options.as_json
def import_(
    name: str,
    keystore: Path | None,
    crypto: str,
    password_file: str | None,
    as_json: bool,
) -> None:
    """Import an account: a keystore file that a wallet exported, or secret words that you are asked for.

    \b
    Examples:
      gantry account import ben ~/Downloads/ben.json
      gantry account import ben                        (asks for the words, which are not shown)
      gantry account import ben < words.txt
    """
    from offchain.adapters.keys import keystore as keystores  # noqa: PLC0415 - loaded when it is used

    if keystore is None:
        phrase = click.prompt("Secret words", hide_input=True, err=True) if sys.stdin.isatty() else sys.stdin.readline()
        _print_account(_save(name, phrase.strip(), crypto, password_file), as_json=as_json)
        return
    password = accounts.read_password(password_file, f"Password of {keystore}")
    signer: Any = keystores.load(keystore, password)
    path = _new_path(name)
    keystores.save(path, signer, password, name)
    _print_account(path, as_json=as_json)


@account.command("seal-key")
@click.argument("name")
@options.as_json
def seal_key(name: str, as_json: bool) -> None:
    """Create a key to which results can be sealed, so that only you can read them.

    Its public half belongs into the manifest (x-gantry: result: seal_to); gantry task result --seal-key NAME opens
    what was sealed to it. Keep the file: without it, nobody can open the results.

    \b
    Example:
      gantry account seal-key mine
    """
    from offchain.adapters.keys.sealed_box import load_seal_key, new_seal_key, public_of  # noqa: PLC0415  (only needed here)

    path = accounts.seal_key_path(name)
    made = not path.exists()
    public = new_seal_key(path) if made else public_of(load_seal_key(path))
    if as_json:
        emit({"name": name, "seal_to": public.hex(), "file": str(path), "made": made})
    else:
        details([("Name", name), ("seal_to", public.hex()), ("File", path if made else f"{path} (already existed)")])


@account.command()
@click.argument("name", required=False)
@options.common()
def balance(name: str | None, common: options.CommonOptions) -> None:
    """Show an account's coins. NAME: an account here, an address, or //Charlie.

    Held coins are yours but reserved: escrows of running tasks, deposits, bonds.

    \b
    Examples:
      gantry account balance anna
      gantry account balance //Charlie --json
    """
    address = accounts.address_of(name)

    async def work() -> dict[str, int]:
        async with common.connected() as chain:
            record = await chain.query("System", "Account", [address])
            data = record["data"] if record else {}
            return {"free": int(data.get("free", 0)), "held": int(data.get("reserved", 0))}

    coins = run(work())
    if common.as_json:
        emit({"address": address, **coins, "free_gty": format_amount(coins["free"])})
        return
    details([("Address", address), ("Free", format_amount(coins["free"])), ("Held", format_amount(coins["held"]))])


@account.command()
@click.argument("to", metavar="TO")
@click.argument("amount", type=options.AMOUNT)
@options.common(account=True)
def transfer(to: str, amount: int, common: options.CommonOptions) -> None:
    """Transfer an AMOUNT of GTY to the account TO: a name here, an address, or //Charlie.

    On a local network, gantry account faucet gives coins to every account.

    \b
    Examples:
      gantry account transfer anna 100 --account //Alice
      gantry account transfer 5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty 2.5 --account anna --json
    """
    recipient = accounts.address_of(to)
    signer = common.open_account()

    async def work() -> int:
        async with common.connected() as chain:
            (call,) = await tenant_calls.transfer(chain, signer.address, recipient, amount)
            return (await send(chain, call, signer)).block.number

    block = run(work())
    if common.as_json:
        emit({"from": signer.address, "to": recipient, "amount": amount, "block": block})
    else:
        progress(f"{format_amount(amount)} transferred from {signer.address} to {recipient} in block {block}.")


@account.command()
@click.argument("to", metavar="[TO]", required=False)
@click.argument("amount", type=options.AMOUNT, default="100")
@options.common()
def faucet(to: str | None, amount: int, common: options.CommonOptions) -> None:
    """Get an AMOUNT of GTY (100 by default) on a development chain, as scripts/up starts one.

    Other chains have no faucet. TO is an account here, an address, or //Charlie; else your only account. The coins
    come from //Alice, whose key everybody has.

    \b
    Examples:
      gantry account faucet anna
      gantry account faucet anna 2.5 --json
    """
    recipient = accounts.address_of(to)
    source = accounts.open_account(accounts.FAUCET, None)

    async def work() -> int:
        async with common.connected() as chain:
            (call,) = await tenant_calls.faucet(chain, source.address, recipient, amount)
            return (await send(chain, call, source)).block.number

    block = run(work())
    if common.as_json:
        emit({"from": source.address, "to": recipient, "amount": amount, "block": block})
    else:
        progress(f"{recipient} received {format_amount(amount)} from {accounts.FAUCET} in block {block}.")


def _new_path(name: str) -> Path:
    path = accounts.folder() / f"{accounts.checked_name(name)}.json"
    if path.exists():
        raise CliError(
            f'an account named "{name}" already exists.', "Choose another name; gantry account list shows them."
        )
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path


def _save(name: str, phrase: str, crypto: str, password_file: str | None) -> Path:
    from offchain.adapters.keys import keystore  # noqa: PLC0415 - loaded when it is used
    from offchain.adapters.keys import signer as keys  # noqa: PLC0415 - loaded when it is used

    path = _new_path(name)
    signer: Any = keys.from_uri(phrase, "ed25519" if crypto == "ed25519" else "sr25519")
    password = accounts.read_password(password_file, f"New password for {name}", confirm=True)
    if len(password) < SHORTEST_PASSWORD:
        raise CliError(
            f"the password has {len(password)} characters, and needs at least {SHORTEST_PASSWORD}.",
            "The password protects the keystore file: choose a longer one.",
            code="no_password",
        )
    keystore.save(path, signer, password, name)
    return path


def _print_account(path: Path, *, as_json: bool) -> None:
    address = accounts.address_of(str(path))
    if as_json:
        emit({"name": path.stem, "address": address, "file": str(path)})
    else:
        details([("Name", path.stem), ("Address", address), ("Keystore", path)])
