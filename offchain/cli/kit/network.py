"""Addresses of the node, the gateways and the index: from options, variables or the local network."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from offchain.adapters.chain.rpc import node_addresses
from offchain.cli.kit.failures import CliError
from offchain.errors import BadValue
from offchain.schema.protocol.fields import WireError
from offchain.schema.protocol.gateway import parse_gateway

DEFAULT_URL = "ws://127.0.0.1:9944"
_ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True, slots=True)
class NodeEndpoint:
    """The address of a node and the genesis hash that its chain must have; None: any chain of this release."""

    url: str
    genesis_hash: bytes | None
    source: str
    """Where the address comes from, for messages."""
    schedulers: tuple[str, ...] = ()
    """URLs of the network's schedulers that explain their decisions."""
    docker_host: str | None = None
    """The address of the Docker engine of the local network; None for other networks."""


def state_dir() -> Path:
    """Return the folder in which scripts/up keeps the local network."""
    named = os.environ.get("GANTRY_STATE")
    return Path(named) if named else _ROOT / ".gantry"


def choose_node(url: str | None) -> NodeEndpoint:
    """Return the node to use. Raises CliError if its address or genesis hash is malformed."""
    local = _local_network()
    genesis = os.environ.get("GANTRY_GENESIS")
    pinned = parse_genesis(genesis, "GANTRY_GENESIS") if genesis else None
    from_env = os.environ.get("GANTRY_URL")
    for value, source in ((url, "--url"), (from_env, "GANTRY_URL")):
        if value:
            # The local network's address stands for the local network, however it was given.
            same = local is not None and local.url == value and local.genesis_hash is not None
            if local and same:
                return replace(local, source=source)
            return NodeEndpoint(_checked(value, source), pinned, source)
    return local or NodeEndpoint(DEFAULT_URL, pinned, "the default")


def known_gateways() -> tuple[str, ...]:
    """Return the gateways of GANTRY_GATEWAY, else that of the local network and those in the user's file, one a line.

    Raises CliError if an address is malformed.
    """
    found = []
    for text in os.environ.get("GANTRY_GATEWAY", "").replace(",", " ").split():
        try:
            found.append(parse_gateway(text).text)
        except WireError as error:
            raise CliError(f"GANTRY_GATEWAY: {error}.", "Correct the variable.", code="bad_gateway") from None
    if found:
        return tuple(found)
    for path in (state_dir() / "gateway" / "address", user_config_dir() / "gateways"):
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError:
            continue
        for number, line in enumerate(lines, 1):
            text = line.partition("#")[0].strip()
            if not text:
                continue
            try:
                found.append(parse_gateway(text).text)
            except WireError as error:
                raise CliError(
                    f"{path}:{number}: {error}.", "Correct the line, or remove it.", code="bad_gateway"
                ) from None
    return tuple(dict.fromkeys(found))


def user_config_dir() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "gantry"


def user_state_dir() -> Path:
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "gantry"


def environment() -> dict[str, str]:
    """Return variables for manifests: those of the shell, and those that scripts/up stores for its demo."""
    found: dict[str, str] = {}
    try:
        lines = (state_dir() / "env").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found[name.strip()] = value.strip()
    return found | dict(os.environ)


def _local_network() -> NodeEndpoint | None:
    path = state_dir() / "network.json"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        url, genesis = _checked(record["url"], str(path)), parse_genesis(record["genesis_hash"], str(path))
        engine = record.get("docker_host")
        return NodeEndpoint(
            url,
            genesis,
            str(path),
            schedulers=tuple(map(str, record.get("schedulers", ()))),
            docker_host=None if engine is None else str(engine),
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CliError(
            f"{path} cannot be read: {error}.", "Restart the local network: scripts/down, then scripts/up."
        ) from None


def _checked(url: object, source: str) -> str:
    text = str(url)
    try:
        node_addresses(text)
    except BadValue as error:
        raise CliError(f"{source}: {error.message}", error.hint, code="bad_url") from None
    return text


def parse_genesis(text: object, source: str) -> bytes:
    """Return a genesis hash. Raises CliError, which names the source of the text, if it is malformed."""
    try:
        value = bytes.fromhex(str(text).removeprefix("0x"))
    except ValueError:
        value = b""
    if len(value) != 32:
        raise CliError(
            f'"{text}" (from {source}) is not a genesis hash.', "Write 0x and 64 hex digits.", code="bad_genesis"
        )
    return value


def choose_index(given: str | None) -> str:
    """Return the address of the index. Raises CliError if it contains a password, which other users could see."""
    if given:
        if urlsplit(given).password is not None:
            raise CliError(
                "every user of this machine can see a password in --index.",
                "Put the whole address into GANTRY_INDEX, or the password into ~/.pgpass.",
                code="usage",
            )
        return given
    named = os.environ.get("GANTRY_INDEX")
    if named:
        return named
    local = state_dir()
    if (local / "network.json").is_file():
        return str(local / "index" / "index.db")
    return str(user_state_dir() / "index.db")
