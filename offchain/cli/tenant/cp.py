"""gantry cp: copies of files into and out of pods."""

from __future__ import annotations

import asyncio
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import click

from offchain.cli.kit import options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.host_connection import PodConnection, pod_option, run_at_pod, service_option
from offchain.cli.kit.output import TransferProgress, emit, progress, size_text

_REMOTE = re.compile(r"(\d+):(/.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PodPath:
    """A path in a pod of a task."""

    task: int
    path: str


@click.command()
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@pod_option
@service_option
@options.gateway
@options.common(account=True)
def cp(source: str, target: str, pod: int, service: str | None, common: options.CommonOptions) -> None:
    """Copy a file or folder into a pod or out of it. Write the path in the pod as ID:/path.

    DST names the copy; if it ends with / (or is a local folder), the copy is put into it under its own name. An
    interrupted copy continues where it stopped when you run the command again. Folders in the pod must exist already;
    files in memory (tmpfs, /run/secrets) cannot be copied. Links that lead outside of what is copied are refused.

    \b
    Examples:
      gantry cp model.bin 7:/data/
      gantry cp 7:/data/out ./results --account anna
      gantry cp ./src 7:/app --service web
    """
    source_side, target_side = _parse_side(source), _parse_side(target)
    if isinstance(source_side, PodPath) == isinstance(target_side, PodPath):
        raise CliError(
            "one of SRC and DST must be in a pod, and the other on this machine.",
            "Write the path in the pod like 7:/data/file.",
            code="usage",
        )
    transfer = TransferProgress()
    remote = source_side if isinstance(source_side, PodPath) else target_side
    assert isinstance(remote, PodPath)  # noqa: S101

    async def work(found: PodConnection) -> str:
        with transfer:
            if isinstance(source_side, Path):
                return await _copy_in(found, source_side, remote.path, service, transfer)
            assert isinstance(target_side, Path)  # noqa: S101
            return await _copy_out(found, remote.path, target_side, service, transfer)

    copied_to = run_at_pod(common, remote.task, pod, work)
    seconds = transfer.seconds
    if common.as_json:
        emit({"source": source, "target": copied_to, "bytes": transfer.bytes, "seconds": round(seconds, 3)})
    else:
        here = Path(copied_to) if isinstance(source_side, PodPath) else source_side
        rate = size_text(int(transfer.bytes / max(seconds, 0.001)))
        progress(f"{size_text(_size(here))} copied to {copied_to} in {seconds:.1f} s ({rate}/s).")


def _size(path: Path) -> int:
    """Return the bytes of a file, or of the files in a folder."""
    files = [path] if path.is_file() else path.rglob("*")
    return sum(one.lstat().st_size for one in files if one.is_file() and not one.is_symlink())


def _parse_side(text: str) -> PodPath | Path:
    match = _REMOTE.fullmatch(text)
    if match is not None:
        return PodPath(int(match[1]), match[2])
    if re.match(r"\d+:", text):
        raise CliError(f'"{text}" has no absolute path in the pod.', "Write it like 7:/data/file.", code="usage")
    return Path(text)


async def _copy_in(pod: PodConnection, source: Path, path: str, service: str | None, transfer: TransferProgress) -> str:
    from offchain.adapters.transport import copy, tar_files  # noqa: PLC0415 - loaded when it is used

    target = _target(source, path)
    packing = await asyncio.to_thread(tar_files.plan, source, target.name)
    for skipped in packing.skipped:
        progress(f"{skipped} is neither a file nor a folder nor a link, so it was skipped.")
    await copy.put(pod.client, pod.lease.id, str(target.parent), service, packing, transfer)
    return str(target)


def _target(source: Path, path: str) -> PurePosixPath:
    target = PurePosixPath(path) / source.resolve().name if path.endswith("/") else PurePosixPath(path)
    if not target.name or ".." in target.parts:
        raise CliError(
            f'"{path}" cannot be the target of a copy.',
            "Name a file or a folder, without .. in the path.",
            code="usage",
        )
    return target


async def _copy_out(
    pod: PodConnection, path: str, wanted: Path, service: str | None, transfer: TransferProgress
) -> str:
    from offchain.adapters.transport import copy, tar_files  # noqa: PLC0415 - loaded when it is used

    target, part = _target_paths(pod.lease.id, service, path, wanted)
    await copy.get(pod.client, pod.lease.id, path, service, part, transfer)
    await asyncio.to_thread(_unpack, tar_files, part, target)
    return str(target)


def _target_paths(lease: int, service: str | None, path: str, target: Path) -> tuple[Path, Path]:
    """Return the path of the copy, and of the file that holds the archive until it is complete."""
    name = PurePosixPath(path).name
    if not name or ".." in PurePosixPath(path).parts:
        raise CliError(f'"{path}" names no file or folder in the pod.', "Name one, like 7:/data.", code="usage")
    if target.is_dir() or str(target).endswith("/"):
        target /= name
    if target.is_dir():
        raise CliError(f"{target} already exists.", "Remove it first, or choose another DST.", code="exists")
    if not target.parent.is_dir():
        raise CliError(f"the folder {target.parent} does not exist.", "Create it first.", code="no_folder")
    key = hashlib.sha256(repr((lease, service, path)).encode()).hexdigest()[:12]
    return target, target.parent / f".{target.name}.{key}.gantry-part"


def _unpack(tar_files: Any, part: Path, target: Path) -> None:
    try:
        with part.open("rb") as archive:
            tar_files.unpack(archive, target)
    finally:
        part.unlink(missing_ok=True)
