"""Inputs of gantry simulate: files of nodes and pods, and optional packages."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from offchain.cli.kit.failures import CliError

_NODES: Final = frozenset({"cpu_milli", "memory_mib", "gpu"})
_PODS: Final = frozenset({"cpu_milli", "memory_mib", "num_gpu", "gpu_milli"})


def find_trace_files(trace: str, nodes: str | None, pods: str | None) -> tuple[str, str]:
    """Return the two files of `trace`: a folder with one of each, or a list of pods beside a list of nodes.

    If the folder has several, `nodes` or `pods` chooses one. Raises CliError if there is none, or several.
    """
    path = Path(trace)
    if not path.exists():
        raise CliError(f"{trace} cannot be read: no such file or folder.", "Check the path.")
    folder = path if path.is_dir() else path.parent
    if not path.is_dir():
        if pods is not None:
            raise CliError(f"{trace} and --pods {pods} are two lists of pods.", "Leave one of them out.", code="usage")
        if _kind(path) == "nodes":
            raise CliError(
                f"{trace} is a list of nodes.", "Give the list of pods, or the folder that has both.", code="usage"
            )
        pods = trace
    there = sorted(folder.glob("*.csv"))
    return (
        nodes or _only(folder, there, "nodes", _NODES),
        pods or _only(folder, there, "pods", _PODS),
    )


def _only(folder: Path, there: Sequence[Path], what: str, columns: frozenset[str]) -> str:
    """Return the only file of this kind."""
    found = [path for path in there if _kind(path) == what]
    if len(found) == 1:
        return str(found[0])
    if found:
        names = ", ".join(path.name for path in found)
        hint = f"gantry simulate {found[0]}" if what == "pods" else f"--nodes {found[0]}"
        raise CliError(f"{folder} has several lists of {what}: {names}.", f"Say which one: {hint}", code="usage")
    has = ", ".join(path.name for path in there) or "no .csv file at all"
    raise CliError(
        f"{folder} has no list of {what}; it has {has}.",
        f"The first line of one names {', '.join(sorted(columns))}. Or name the file with --{what}.",
        code="usage",
    )


def _kind(path: Path) -> str | None:
    """Return what a file lists, by its first line."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            header = {cell.strip() for cell in next(csv.reader(file), [])}
    except (OSError, csv.Error):
        return None
    if header >= _PODS:
        return "pods"
    return "nodes" if header >= _NODES else None


def require_both(nodes: str | None, pods: str | None) -> tuple[str, str] | None:
    """Return both names. Raises CliError if only one is given."""
    if nodes is None and pods is None:
        return None
    if nodes is None or pods is None:
        missing = "--nodes" if nodes is None else "--pods"
        raise CliError(f"{missing} is missing.", "Give both files, or none for a generated cluster.", code="usage")
    return nodes, pods


def read_text(name: str) -> str:
    """Return the text of a file. Raises CliError if it cannot be read."""
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
            f"{name}, line {line}, column {column}: byte {error.object[error.start]:#04x} is not UTF-8.",
            "Give a CSV file in UTF-8, not compressed.",
        ) from None


def generated_note(seed: int) -> str:
    """Return the description of a generated cluster."""
    return f"generated from seed {seed}, like no particular cluster"


def require_packages(*packages: str, command: str) -> None:
    """Raise CliError, with the command to run, if a package is not installed."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise CliError(
            f"{command} needs {' and '.join(missing)}, which this Python does not have.",
            f"In a clone use scripts/gantry, which installs it (scripts/setup --scheduling does so ahead of time); "
            "elsewhere install the extra gantry[scheduling], or run: "
            f"{sys.executable} -m pip install {' '.join(missing)}",
            code="not_installed",
        )
