"""gantry cp."""

from __future__ import annotations

import asyncio
import hashlib
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import click

from offchain.cli.kit import accounts, options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.host_connection import Pod, pod_of, pod_option, service_option
from offchain.cli.kit.output import emit, progress
from offchain.cli.kit.session import run

_REMOTE = re.compile(r"(\d+):(/.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Remote:
    """A path in a pod of a task."""

    task: int
    path: str


class Meter:
    """Shows how far a copy is, where a person looks on; at most ten times a second."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._began_s = self._last_s = time.monotonic()
        self.bytes = 0

    def __call__(self, done: int, whole: int | None) -> None:
        """So many bytes of so many."""
        self.bytes = done
        now_s = time.monotonic()
        if self._shown and now_s - self._last_s >= 0.1:
            self._last_s = now_s
            of = f" of {size_text(whole)}, {100 * done // max(whole, 1)} %" if whole is not None else ""
            sys.stderr.write(f"\r{size_text(done)}{of}, {size_text(int(done / (now_s - self._began_s)))}/s\x1b[K")
            sys.stderr.flush()

    def end(self) -> float:
        """Clear the line; gives the seconds it took."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
        return time.monotonic() - self._began_s


def size_text(size: int) -> str:
    """Bytes, as people write them."""
    value, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"


@click.command()
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@pod_option
@service_option
@options.gateway
@options.account
@options.url
@options.as_json
def cp(
    source: str,
    target: str,
    pod: int,
    service: str | None,
    account: str | None,
    password_file: str | None,
    url: str | None,
    as_json: bool,
) -> None:
    """Copy a file or folder into a pod or out of it. The pod's side is written ID:/path.

    DST names the copy; where it ends with / (or is a folder here), the copy is put into it under its own name. A copy
    that was cut goes on where it was when you run it again. Folders in the pod have to be there already; files in
    memory (tmpfs, /run/secrets) are not reached. Links that lead outside of what is copied are refused.

    \b
    Examples:
      gantry cp model.bin 7:/data/
      gantry cp 7:/data/out ./results --account anna
      gantry cp ./src 7:/app --service web
    """
    near_from, near_to = _side(source), _side(target)
    if isinstance(near_from, Remote) == isinstance(near_to, Remote):
        raise CliError(
            "one of SRC and DST has to be in a pod, the other here.",
            "Write the pod's side like 7:/data/file.",
            code="usage",
        )
    signer = accounts.open_account(account, password_file)
    meter = Meter()

    async def work() -> str:
        remote = near_from if isinstance(near_from, Remote) else near_to
        assert isinstance(remote, Remote)  # noqa: S101
        async with pod_of(url, remote.task, pod, signer) as found:
            if isinstance(near_to, Remote):
                assert isinstance(near_from, Path)  # noqa: S101
                return await _in(found, near_from, near_to.path, service, meter)
            assert isinstance(near_to, Path)  # noqa: S101
            return await _out(found, remote.path, near_to, service, meter)

    try:
        made = run(work())
    finally:
        seconds = meter.end()
    if as_json:
        emit({"source": source, "target": made, "bytes": meter.bytes, "seconds": round(seconds, 3)})
    else:
        rate = size_text(int(meter.bytes / max(seconds, 0.001)))
        progress(f"{size_text(meter.bytes)} copied to {made} in {seconds:.1f} s ({rate}/s).")


def _side(text: str) -> Remote | Path:
    match = _REMOTE.fullmatch(text)
    if match is not None:
        return Remote(int(match[1]), match[2])
    if re.match(r"\d+:", text):
        raise CliError(f'"{text}" names no path in the pod.', "Write an absolute one, like 7:/data/file.", code="usage")
    return Path(text)


async def _in(pod: Pod, source: Path, path: str, service: str | None, meter: Meter) -> str:
    from offchain.adapters.transport import copy, tar_files  # noqa: PLC0415 - loaded when it is used

    target = _target(source, path)
    packing = await asyncio.to_thread(tar_files.plan, source, target.name)
    for skipped in packing.skipped:
        progress(f"{skipped} is neither a file nor a folder nor a link: left out.")
    await copy.put(pod.client, pod.lease.id, str(target.parent), service, packing, meter)
    return str(target)


def _target(source: Path, path: str) -> PurePosixPath:
    target = PurePosixPath(path) / source.resolve().name if path.endswith("/") else PurePosixPath(path)
    if not target.name or ".." in target.parts:
        raise CliError(f'"{path}" is no place for a copy.', "Name a file or a folder without .. in it.", code="usage")
    return target


async def _out(pod: Pod, path: str, wanted: Path, service: str | None, meter: Meter) -> str:
    from offchain.adapters.transport import copy, tar_files  # noqa: PLC0415 - loaded when it is used

    target, part = _places(pod.lease.id, service, path, wanted)
    await copy.get(pod.client, pod.lease.id, path, service, part, meter)
    await asyncio.to_thread(_unpack, tar_files, part, target)
    return str(target)


def _places(lease: int, service: str | None, path: str, target: Path) -> tuple[Path, Path]:
    """Where the copy goes, and where what has arrived of it is kept until it is whole."""
    name = PurePosixPath(path).name
    if not name or ".." in PurePosixPath(path).parts:
        raise CliError(
            f'"{path}" names no file or folder of a pod.', "Copy a folder of it, like 7:/data.", code="usage"
        )
    if target.is_dir() or str(target).endswith("/"):
        target /= name
    if target.is_dir():
        raise CliError(f"{target} is there already.", "Remove it first, or choose another DST.", code="exists")
    if not target.parent.is_dir():
        raise CliError(f"there is no folder {target.parent}.", "Make it first.", code="no_folder")
    key = hashlib.sha256(repr((lease, service, path)).encode()).hexdigest()[:12]
    return target, target.parent / f".{target.name}.{key}.gantry-part"


def _unpack(tar_files: Any, part: Path, target: Path) -> None:
    try:
        with part.open("rb") as archive:
            tar_files.unpack(archive, target)
    finally:
        part.unlink(missing_ok=True)
