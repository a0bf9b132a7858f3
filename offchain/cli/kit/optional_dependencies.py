"""Packages that only some commands need, and that are not installed with the rest because they are large."""

from __future__ import annotations

from importlib.util import find_spec

from offchain.cli.kit.failures import CliError


def need(*packages: str, command: str) -> None:
    """CliError, with what to run, where one of them is not installed."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise CliError(
            f"{command} needs {' and '.join(missing)}, which this Python does not have.",
            f"In a clone use scripts/gantry, which installs it (scripts/setup --scheduling does so ahead of time); "
            f"elsewhere run: python3 -m pip install {' '.join(missing)}",
            code="not_installed",
        )
