"""`python -m offchain.local up|down`."""

from __future__ import annotations

import sys

from offchain.local.network import clean
from offchain.local.places import Places
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


def main() -> int:
    """Do what the first argument says."""
    command, *arguments = sys.argv[1:] or ["up"]
    return down(arguments) if command == "down" else up(parse(arguments))


if __name__ == "__main__":
    sys.exit(main())
