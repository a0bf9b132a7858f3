"""Parse a task's manifest, a Docker Compose file with an `x-gantry` section, into frozen values.

The text that is parsed is the one on the chain: variables are replaced before, by
:func:`offchain.schema.manifest.variables.resolve`. What Compose allows and Gantry does not support is refused.
"""

from __future__ import annotations

from typing import Final

from offchain.schema.manifest.types import MAX_NAME_BYTES, Manifest, ManifestError, Problem
from offchain.schema.manifest.yaml_reader import Problems, read_yaml

MAX_BYTES: Final = 16_384
"""The longest manifest that the chain stores."""


def parse_manifest(data: bytes, *, source: str = "manifest") -> Manifest:
    """Return the manifest in `data`. Raise ManifestError with every problem; `source` names the file in messages."""
    problems = Problems()
    manifest = _parse(data, problems)
    if problems.found or manifest is None:
        raise ManifestError(source, problems.found)
    return manifest


def manifest_name(data: bytes) -> str | None:
    """Return the `name` of a manifest that is not checked otherwise; None if it has none or cannot be read."""
    problems = Problems()
    try:
        root = read_yaml(data.decode("utf-8"), problems, "")
        entry = None if root is None else problems.entries(root).get("name")
        if entry is None or entry.kind in ("bool", "null") or "\0" in entry.raw:
            return None
        # Lists and mappings have no text.
        return entry.raw if 0 < len(entry.raw.encode()) <= MAX_NAME_BYTES else None
    except (ValueError, OverflowError):  # not UTF-8, no mapping, or an escape that is no character
        return None


def _parse(data: bytes, problems: Problems) -> Manifest | None:
    if len(data) > MAX_BYTES:
        message = f"the manifest is {len(data)} bytes long"
        problems.found.append(Problem(1, "", message, f"Keep it to {MAX_BYTES} bytes; put data into the image"))
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        problems.found.append(Problem(line, "", "the text is not UTF-8", "Save the file as UTF-8"))
        return None
    root = read_yaml(text, problems, "examples/primes.yaml")
    if root is None:
        return None
    from offchain.schema.manifest.assemble import assemble  # noqa: PLC0415  (pydantic's models take 0.2 s to import)

    return assemble(root, problems)
