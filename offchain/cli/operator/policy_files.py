"""The files in which the operator of a scheduler defines queues, and reserves hosts for windows of time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from offchain.cli.kit.failures import CliError
from offchain.core.scheduler.config import SchedulerConfig

F = TypeVar("F", bound=Callable[..., Any])

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def files(command: F) -> F:
    """--queues and --reservations. What was given is read with :func:`read`."""
    command = click.option(
        "--reservations",
        type=FILE,
        envvar="GANTRY_RESERVATIONS",
        help="YAML file of windows of time in which hosts are for some accounts alone (examples/reservations.yaml). "
        "Else GANTRY_RESERVATIONS.",
    )(command)
    return click.option(
        "--queues",
        type=FILE,
        envvar="GANTRY_QUEUES",
        help="YAML file that defines queues: weights, limits, ageing, accounts (examples/queues.yaml). Else "
        "GANTRY_QUEUES, else every account has the same share.",
    )(command)


def read(queues: Path | None, reservations: Path | None) -> SchedulerConfig:
    """What these files define. Raises CliError or ManifestError, with every problem, where one cannot be used."""
    # Both load a parser of YAML.
    from offchain.core.queues.text import parse_queues  # noqa: PLC0415
    from offchain.core.timing.windows_text import parse_windows  # noqa: PLC0415

    return SchedulerConfig(
        None if queues is None else parse_queues(_text(queues), source=str(queues)),
        () if reservations is None else parse_windows(_text(reservations), source=str(reservations)),
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CliError(f"{path} cannot be read: {error.strerror}.", "Name a file that this user may read.") from None
    except UnicodeDecodeError as error:
        message = f"{path} is not text: the byte at {error.start} is not UTF-8."
        raise CliError(message, "Save the file as UTF-8.") from None
