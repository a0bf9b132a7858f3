"""Files in which the operator of a scheduler defines queues and reservations of hosts."""

from __future__ import annotations

from pathlib import Path

import click

from offchain.cli.kit import options
from offchain.cli.kit.failures import CliError
from offchain.core.scheduler.config import SchedulerConfig

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def read_definitions(queues: Path | None, reservations: Path | None) -> SchedulerConfig:
    """Return the definitions in these files. Raises CliError or ManifestError with every problem found."""
    # Both load a parser of YAML.
    from offchain.core.scheduler.config import parse_windows  # noqa: PLC0415
    from offchain.core.scheduler.queue_definitions import EQUAL_SHARES, parse_queues  # noqa: PLC0415

    return SchedulerConfig(
        EQUAL_SHARES if queues is None else parse_queues(_text(queues), source=str(queues)),
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


policy_options = options.grouped(
    "definitions",
    read_definitions,
    click.option(
        "--queues",
        type=FILE,
        envvar="GANTRY_QUEUES",
        help="YAML file that defines queues: weights, limits, ageing, accounts (examples/queues.yaml). Else "
        "GANTRY_QUEUES, else every account has the same share.",
    ),
    click.option(
        "--reservations",
        type=FILE,
        envvar="GANTRY_RESERVATIONS",
        help="YAML file of windows of time in which hosts are for some accounts alone (examples/reservations.yaml). "
        "Else GANTRY_RESERVATIONS.",
    ),
)
"""Adds --queues and --reservations; the command receives what their files define."""
