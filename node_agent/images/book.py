"""The store's memory: which images it pulled, and when each was last asked for. One small file, replaced as a whole."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from node_agent.images.decide import Held

MAX_BYTES = 64 << 20
log = logging.getLogger(__name__)


class ImageBook:
    """Images by reference, kept in a file that only its owner can read.

    Where the file is lost or spoilt, the images in it stay, and their registries are asked again before they are used.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held = _read(path)

    @property
    def held(self) -> tuple[Held, ...]:
        """All of them."""
        return tuple(self._held.values())

    def get(self, reference: str) -> Held | None:
        """The image that was pulled by this reference."""
        return self._held.get(reference)

    def add(self, image: Held) -> None:
        """It was pulled."""
        self._held[image.reference] = image
        self._write()

    def touch(self, image_id: str, now_ms: int) -> None:
        """It was asked for. One of the machine's own is not noted."""
        found = [image for image in self._held.values() if image.id == image_id]
        for image in found:
            self._held[image.reference] = replace(image, last_used_ms=max(now_ms, image.last_used_ms))
        if found:
            self._write()

    def drop(self, reference: str) -> None:
        """It is gone."""
        if self._held.pop(reference, None) is not None:
            self._write()

    def _write(self) -> None:
        text = json.dumps([asdict(image) for image in self._held.values()])
        beside = self._path.with_suffix(".new")
        try:
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            beside.replace(self._path)
        except OSError as error:
            # What is not noted now is noted with the next image, or stays for good: neither stops a pod.
            log.warning("%s cannot be written (%s); images may stay longer than the quota says", self._path, error)
            with contextlib.suppress(OSError):
                beside.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, Held]:
    try:
        with path.open("rb") as file:
            found = [_held(entry) for entry in json.loads(file.read(MAX_BYTES))]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError) as error:
        log.warning("%s cannot be read (%s); images pulled before are left as they are", path, error)
        return {}
    return {image.reference: image for image in found}


def _held(entry: dict[str, Any]) -> Held:
    return Held(
        str(entry["reference"]),
        str(entry["id"]),
        int(entry["size_bytes"]),
        int(entry["last_used_ms"]),
        str(entry.get("local_name", "")),
        tuple(map(str, entry.get("accounts", ()))),
        tuple(map(str, entry.get("blobs", ()))),
    )
