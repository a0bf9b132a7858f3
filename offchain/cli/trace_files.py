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
        data = Path(name).read_bytes()
    except OSError as error:
        raise CliError(f"{name} cannot be read: {error.strerror}.", "Check the path.") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = error.object[: error.start]
        line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        raise CliError(
            f"{name}, line {line}, column {column}: byte {error.object[error.start]:#04x} is no UTF-8.",
            "Give a CSV file in UTF-8, not compressed.",
        ) from None


def made_up_from(seed: int) -> str:
    """What is said where there are no files."""
    return f"made up from seed {seed}, like no particular cluster"
