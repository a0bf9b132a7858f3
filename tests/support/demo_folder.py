"""The folder of a demo's logs: an option of its command, or a temporary folder."""

import argparse
import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path


def add_folder_option(parser: argparse.ArgumentParser) -> None:
    """Add `--folder` to the command of a demo."""
    parser.add_argument(
        "--folder", type=Path, metavar="FOLDER", help="keep the logs here; it must not exist (default: none are kept)"
    )


@contextlib.contextmanager
def demo_folder(chosen: Path | None, name: str) -> Iterator[Path]:
    """Yield the chosen folder, newly made, else a temporary one that is named after the demo."""
    if chosen is not None:
        chosen.mkdir(parents=True)
        yield chosen
        return
    with tempfile.TemporaryDirectory(prefix=f"gantry-{name}-") as folder:
        yield Path(folder)
