"""`python -m offchain.devnet up|down|prepare|base`."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import NoReturn

from offchain.devnet import node, ports
from offchain.devnet.cleanup import clean
from offchain.devnet.network import LocalNetwork
from offchain.devnet.paths import DevnetError, DevnetPaths
from offchain.devnet.release import binaries
from offchain.devnet.up import parse, up


def down(arguments: list[str]) -> int:
    """Stop the network, and remove its files but the logs."""
    if arguments:
        sys.stderr.write("Usage: scripts/down\n\nStops the local network and removes all but its logs.\n")
        return 0 if arguments[0] in ("-h", "--help") else 2
    paths = DevnetPaths.here()
    running = clean(paths)
    sys.stderr.write("The local network is stopped.\n" if running else "No local network is running.\n")
    if any(paths.log.glob("*.log")):
        sys.stderr.write(f"Its logs are in {paths.log}.\n")
    return 0


def prepare() -> int:
    """Fill the cache with the node and the chain specification, which take seconds to make."""
    try:
        node.chain_spec(binaries(), patch=node.LOCAL_GENESIS)
    except DevnetError as error:
        sys.stderr.write(f"error: {error.message}.\n  {error.hint}.\n")
        return 1
    return 0


def base(arguments: list[str]) -> int:
    """Run a node and a Docker engine for tests until a signal ends the process.

    The arguments are a state folder and, optionally, the file of a genesis patch. One JSON object on standard output
    contains the URL of the node, its genesis hash and the address of the engine.
    """
    paths = DevnetPaths(Path(arguments[0]).absolute())

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        del number, frame
        raise SystemExit(0)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    network = None
    try:
        patch = node.read_patch(Path(arguments[1])) if len(arguments) > 1 else None
        network = LocalNetwork(paths, binaries(), ports.free(), lambda _what, _happened: None, patch)
        genesis = network.start_base()
        facts = {"url": network.url, "genesis_hash": genesis, "docker_host": network.engine_url}
        sys.stdout.write(json.dumps(facts) + "\n")
        sys.stdout.flush()
        while True:
            network.supervisor.wait(3600)
    except DevnetError as error:
        sys.stderr.write(f"error: {error.message}.\n  {error.hint}.\n")
        return 1
    finally:
        if network is not None:
            network.stop()
        clean(paths)


def main() -> int:
    """Run the command in the first argument."""
    command, *arguments = sys.argv[1:] or ["up"]
    match command:
        case "up":
            return up(parse(arguments))
        case "down":
            return down(arguments)
        case "prepare" if not arguments:
            return prepare()
        case "base" if len(arguments) in (1, 2):
            return base(arguments)
    sys.stderr.write(
        "Usage: python -m offchain.devnet up [OPTIONS] | down | prepare | base FOLDER [PATCH]\n\n"
        "scripts/up --help says more.\n"
    )
    return 0 if command in ("-h", "--help") else 2


if __name__ == "__main__":
    sys.exit(main())
