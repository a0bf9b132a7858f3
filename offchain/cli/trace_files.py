"""Files of nodes and pods, as gantry simulate is given them."""

from __future__ import annotations

from pathlib import Path

from offchain.cli.failures import CliError


def both_or_none(nodes: str | None, pods: str | None) -> tuple[str, str] | None:
    """The two names; CliError where only one is given."""
    if nodes is None and pods is None:
        return None
    if nodes is None or pods is None:
        missing = "--nodes" if nodes is None else "--pods"
        raise CliError(f"{missing} is missing.", "Give both files, or none for a made-up cluster.", code="usage")
    return nodes, pods


def read(name: str) -> str:
    """The text of a file; CliError where there is none."""
    try:
        return Path(name).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise CliError(f"{name} is not text: byte {error.start} is no UTF-8.", "Give a CSV file in UTF-8.") from None
    except OSError as error:
        raise CliError(f"{name} cannot be read: {error.strerror}.", "Check the path.") from None


def made_up_from(seed: int) -> str:
    """What is said where there are no files."""
    return f"made up from seed {seed}, like no particular cluster"
