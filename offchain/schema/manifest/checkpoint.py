"""Reading which folder of a pod is saved, and how often."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from offchain.schema.manifest import keys
from offchain.schema.manifest.mounts import mount_path
from offchain.schema.manifest.nodes import Field, Reader
from offchain.schema.manifest.service import Draft
from offchain.schema.manifest.types import CheckpointSpec, Kind
from offchain.schema.manifest.values import parse_duration

MIN_EVERY_MS: Final = 60_000
MAX_EVERY_MS: Final = 24 * 3_600_000
_REMEDY = "Write checkpoint: {path: /ckpt, every: 10m}"


def read_checkpoint(
    field: Field | None, kind: Kind, drafts: Sequence[Draft], reader: Reader, *, compared: bool
) -> CheckpointSpec | None:
    """The folder of the main container whose content outlives its host; None: nothing is saved."""
    if field is None:
        return None
    if kind == "rental":
        reader.problem(field, "the data of a rental stays on its host", "Remove it; snapshots and volumes are kept")
    elif compared:
        reader.problem(field, "a job whose results are compared has no checkpoints", "Remove it, or verification")
    entries = reader.mapping(field, keys.CHECKPOINT, {})
    if field.kind == "map":
        for name in keys.CHECKPOINT:
            if name not in entries:
                reader.problem(field, f"{name} is missing", _REMEDY)
    path = _path(entries["path"], drafts, reader) if "path" in entries else None
    every_ms = _every_ms(entries["every"], reader) if "every" in entries else None
    return None if path is None or every_ms is None else CheckpointSpec(path, every_ms)


def _every_ms(field: Field, reader: Reader) -> int | None:
    every_ms = reader.parsed(field, parse_duration, "Write for example 10m or 1h30m")
    if every_ms is not None and not MIN_EVERY_MS <= every_ms <= MAX_EVERY_MS:
        reader.problem(field, f"{every_ms / 1000:g}s is out of range", "Write a time from 1m to 24h")
    return every_ms


def _path(field: Field, drafts: Sequence[Draft], reader: Reader) -> str | None:
    text = reader.text(field)
    path = None if text is None else mount_path(field, text, reader)
    if path is not None and drafts:
        _check_path(field, path, drafts[0], reader)
    return path


def _check_path(at: Field, path: str, main: Draft, reader: Reader) -> None:
    """It has to be writable, on disk, and without files that are the tenant's secret."""
    for mount in main.spec.tmpfs:
        if path == mount.path or _touches(path, mount.path):
            remedy = "Choose a path on a volume, or on the container's own disk"
            reader.problem(at, f"{mount.path} is a tmpfs, which cannot be saved", remedy)
    for file in main.spec.files:
        if path == file.path or _touches(path, file.path):
            remedy = "Choose a path apart from secrets and inputs: a checkpoint lies on other hosts, too"
            reader.problem(at, f"{file.path} is a delivered file, which is not saved", remedy)
    below = [mount for mount in main.spec.volumes if path == mount.path or path.startswith(f"{mount.path}/")]
    nearest = max(below, key=lambda mount: len(mount.path), default=None)
    if main.spec.read_only and nearest is not None and nearest.path == path:
        reader.problem(at, f"{path} is the whole volume of a read_only container", f"Save a folder of it: {path}/state")
    elif main.spec.read_only if nearest is None else nearest.read_only:
        remedy = "Mount a volume there that may be written, or remove read_only"
        reader.problem(at, f"nothing can be written to {path}", remedy)


def _touches(path: str, other: str) -> bool:
    return path.startswith(f"{other}/") or other.startswith(f"{path}/")
