"""Parsing of image manifests from registries. No IO, no clock."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

MAX_MANIFEST_BYTES = 4 << 20
MAX_PARTS = 1024
"""Most layers of an image, or images of an index."""
MAX_CONFIG_BYTES = 16 << 20
_DOCKER = "application/vnd.docker.distribution"
_IMAGES = frozenset({f"{_DOCKER}.manifest.v2+json", "application/vnd.oci.image.manifest.v1+json"})
_INDEXES = frozenset({f"{_DOCKER}.manifest.list.v2+json", "application/vnd.oci.image.index.v1+json"})
ACCEPTED = ", ".join(sorted(_IMAGES | _INDEXES))
"""The Accept header of a request for a manifest."""
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ImageManifest:
    """One manifest: of an image (`blobs`), or an index of images (`manifests`). Sizes in bytes, by digest."""

    media_type: str
    body: bytes
    config: str = ""
    blobs: tuple[tuple[str, int], ...] = ()
    """The configuration and the layers, each once."""
    manifests: tuple[str, ...] = ()

    @property
    def layers(self) -> int:
        return len(self.blobs) - 1 if self.blobs else 0

    @property
    def size_bytes(self) -> int:
        return sum(size for _, size in self.blobs)


def parse_manifest(body: bytes, header: str) -> ImageManifest:
    """Parse a manifest. `header`: the content type of the response.

    Raises ValueError with the reason for the tenant: not a manifest of an image, or layers at other addresses (`urls`),
    which an engine would fetch by itself from anywhere.
    """
    try:
        document = json.loads(body, object_pairs_hook=_without_urls)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise ValueError("its manifest is not JSON") from None
    if not isinstance(document, dict):
        raise ValueError("its manifest is not a JSON object")  # noqa: TRY004  (invalid data, not a programming error)
    kind = str(document.get("mediaType") or header.partition(";")[0].strip())
    if kind in _INDEXES:
        found = tuple(digest for digest, _ in _descriptors(document.get("manifests")))
        return ImageManifest(kind, body, manifests=found)
    if kind not in _IMAGES:
        raise ValueError(f"unsupported media type {kind[:100]!r} of its manifest")
    ((config, config_size),) = _descriptors([document.get("config")])
    if config_size > MAX_CONFIG_BYTES:
        raise ValueError(f"its configuration has {config_size} bytes, more than {MAX_CONFIG_BYTES}")
    blobs = {config: config_size}
    for digest, size in _descriptors(document.get("layers")):
        blobs.setdefault(digest, size)
    return ImageManifest(kind, body, config, tuple(blobs.items()))


def _without_urls(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Engines ignore the case of keys and accept duplicates, so each key is examined.
    if any(key.casefold() == "urls" and value for key, value in pairs):
        raise ValueError("its manifest names layers at addresses outside its registry (urls), which is not supported")
    return dict(pairs)


def _descriptors(entries: Any) -> list[tuple[str, int]]:
    if not isinstance(entries, list) or len(entries) > MAX_PARTS:
        raise ValueError(f"invalid manifest: it has no list of at most {MAX_PARTS} parts")
    found = []
    for entry in entries:
        digest, size = (entry.get("digest"), entry.get("size")) if isinstance(entry, dict) else (None, None)
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            raise ValueError("invalid manifest: a part has no digest of the form sha256:<64 hex digits>")
        if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size < 1 << 50:
            raise ValueError("invalid manifest: a part has no size")
        found.append((digest, size))
    return found
