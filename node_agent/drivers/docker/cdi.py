"""GPUs by the Container Device Interface: which devices the engine's CDI files name."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import yaml

from node_agent.drivers.docker.engine import SDK_ERRORS, Engine

_FILE_BYTES: Final = 4 << 20
_SUFFIXES: Final = (".json", ".yaml", ".yml")
_ANSWER_S: Final = 10


def name_of(uuid: str) -> str:
    """The full CDI name of an NVIDIA GPU or of a slice of one."""
    return f"nvidia.com/gpu={uuid}"


def named_devices(folders: Iterable[Path]) -> frozenset[str]:
    """Return the full names of all devices in these folders' CDI files. A file that cannot be read names none."""
    names: set[str] = set()
    for folder in folders:
        for file in sorted(folder.iterdir()) if folder.is_dir() else ():
            if file.suffix not in _SUFFIXES:
                continue
            try:
                if file.stat().st_size > _FILE_BYTES:
                    continue
                text = file.read_text(encoding="utf-8")
                document = json.loads(text) if file.suffix == ".json" else yaml.safe_load(text)
                names |= {f"{document['kind']}={device['name']}" for device in document["devices"]}
            except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError):
                continue
    return frozenset(names)


def offers_all(url: str | None, uuids: Iterable[str]) -> bool:
    """Return whether the engine at `url` offers each of these NVIDIA devices by CDI. Blocks.

    False for no devices, and where the engine has no CDI or does not answer.
    """
    wanted = {name_of(uuid) for uuid in uuids}
    if not wanted:
        return False
    with contextlib.suppress(*SDK_ERRORS):
        api = Engine(url).client(_ANSWER_S)
        try:
            folders = api.info().get("CDISpecDirs") or ()
        finally:
            api.close()
        return wanted <= named_devices(map(Path, folders))
    return False
