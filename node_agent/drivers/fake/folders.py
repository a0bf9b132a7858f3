"""Folders of the fake's containers, which are files by their paths, as tar archives."""

from __future__ import annotations

import io
import posixpath
import tarfile
from collections.abc import Mapping

from node_agent.drivers.port import FolderMissing, Seed


def packed(files: Mapping[str, bytes], path: str) -> bytes:
    """The files below a path, as an engine gives them: the last part of the path comes first in each name."""
    below = {name: data for name, data in sorted(files.items()) if name.startswith(f"{path}/")}
    if not below:
        raise FolderMissing(f"there is no {path} in the container")
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        root = tarfile.TarInfo(posixpath.basename(path))
        root.type, root.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(root)
        for name, data in below.items():
            member = tarfile.TarInfo(posixpath.relpath(name, posixpath.dirname(path)))
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return made.getvalue()


def unpacked(seed: Seed) -> dict[str, bytes]:
    """The files of an archive by their paths in the container."""
    found = {}
    with tarfile.open(seed.archive) as tar:
        for member in tar:
            content = tar.extractfile(member)
            if content is not None:
                found[posixpath.join(posixpath.dirname(seed.path), member.name)] = content.read()
    return found
