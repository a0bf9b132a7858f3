"""Where the index is: --index, GANTRY_INDEX, the local network's, or the usual file of this user."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

from offchain.cli.kit import network
from offchain.cli.kit.failures import CliError


def choose(given: str | None) -> str:
    """The address to use. Raises CliError where it holds a password that others could see."""
    if given:
        if urlsplit(given).password is not None:
            raise CliError(
                "a password in --index is seen by every user of this machine.",
                "Put the whole address into GANTRY_INDEX, or the password into ~/.pgpass.",
                code="usage",
            )
        return given
    named = os.environ.get("GANTRY_INDEX")
    if named:
        return named
    local = network.state_dir()
    if (local / "network.json").is_file():
        return str(local / "index" / "index.db")
    base = os.environ.get("XDG_STATE_HOME")
    return str((Path(base) if base else Path.home() / ".local" / "state") / "gantry" / "index.db")
