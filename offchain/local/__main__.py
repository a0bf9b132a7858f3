"""`python -m offchain.local up|down`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import NoReturn

from offchain.local import engine
from offchain.local.network import clean
from offchain.local.places import LocalError, Places
from offchain.local.up import parse, up


def down(arguments: list[str]) -> int:
    """Stop what runs and remove what it left."""
    if arguments:
        sys.stderr.write("Usage: scripts/down\n\nStops the local network and removes all but its logs.\n")
        return 0 if arguments[0] in ("-h", "--help") else 2
    places = Places.here()
    running = clean(places)
    sys.stderr.write("The local network is stopped.\n" if running else "No local network is running.\n")
    if any(places.log.glob("*.log")):
        sys.stderr.write(f"Its logs are in {places.log}.\n")
    return 0


def engine_only(arguments: list[str]) -> int:
    """A Docker engine for tests: print its address, keep it until told to end. The one argument is a state folder."""
    places = Places(Path(arguments[-1]).absolute())

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        del number, frame
        raise SystemExit(0)

    child = None
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    try:
        url = engine.find()
        if url is None:
            child, url = engine.private_child(places, dict(os.environ))
            child.start()
            engine.wait_for(child, url)
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        while True:
            signal.pause()
    except LocalError as error:
        sys.stderr.write(f"error: {error.message}.\n  {error.remedy}.\n")
        return 1
    finally:
        if child is not None:
            child.stop()
            engine.sweep(places)


def main() -> int:
    """Do what the first argument says."""
    command, *arguments = sys.argv[1:] or ["up"]
    if command == "engine":
        return engine_only(arguments)
    return down(arguments) if command == "down" else up(parse(arguments))


if __name__ == "__main__":
    sys.exit(main())
