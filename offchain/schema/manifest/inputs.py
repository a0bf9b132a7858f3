"""Reading the files a task is given by its tenant, known by their SHA-256."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from offchain.schema.manifest import keys
from offchain.schema.manifest.mounts import MAX_FILES, mount_path
from offchain.schema.manifest.nodes import Field, Reader
from offchain.schema.manifest.service import Draft
from offchain.schema.manifest.types import DeliveredFile

_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


def read_inputs(field: Field | None, drafts: Sequence[Draft], secrets: frozenset[str], reader: Reader) -> None:
    """Add each input to the mounts of its service; of the first where none is named.

    A secret and an input cannot have one name, because files are delivered by it. An input may be mounted into several
    services, with one entry each.
    """
    digests: dict[str, bytes] = {}
    items = reader.sequence(field) if field is not None else []
    for extra in items[MAX_FILES : MAX_FILES + 1]:
        reader.problem(
            extra, f"{len(items)} inputs are too many", f"Keep it to {MAX_FILES}; pack them into one archive"
        )
    for item in items[:MAX_FILES]:
        entries = reader.mapping(item, keys.INPUT, {})
        file = _file(item, entries, reader)
        draft = _service(entries.get("service"), drafts, reader)
        if file is None:
            continue
        if file.name in secrets:
            reader.problem(entries["name"], f'"{file.name}" is the name of a secret', "Choose another name")
        if file.digest is not None and digests.setdefault(file.name, file.digest) != file.digest:
            reader.problem(entries["sha256"], f'"{file.name}" has two digests', "Give the second file another name")
        if draft is not None:
            draft.mounts.add(item, file)


def _file(item: Field, entries: dict[str, Field], reader: Reader) -> DeliveredFile | None:
    for key in ("name", "path", "sha256"):
        if key not in entries and item.kind == "map":
            remedy = "Write - {name: data.bin, path: /in/data.bin, sha256: what sha256sum data.bin prints}"
            reader.problem(item, f"{key} is missing", remedy)
    name = reader.text(entries["name"], max_bytes=255) if "name" in entries else None
    if name is not None and _NAME.fullmatch(name) is None:
        remedy = "Use letters, digits, dots, dashes and underscores"
        plain = PurePosixPath(name).name
        if _NAME.fullmatch(plain):
            remedy = f"Write {plain}; gantry deliver takes the file from anywhere"
        reader.problem(entries["name"], f'"{name}" is not the name of an input', remedy)
        name = None
    where = reader.text(entries["path"]) if "path" in entries else None
    path = mount_path(entries["path"], where, reader) if where is not None else None
    digest = reader.parsed(entries["sha256"], _digest, "Write what sha256sum prints") if "sha256" in entries else None
    if name is None or path is None or digest is None:
        return None
    return DeliveredFile(name, path, digest)


def _digest(text: str) -> bytes:
    if _DIGEST.fullmatch(text) is None:
        raise ValueError(f'"{text}" is not 64 lower-case hex digits')
    return bytes.fromhex(text)


def _service(field: Field | None, drafts: Sequence[Draft], reader: Reader) -> Draft | None:
    if field is None:
        return drafts[0] if drafts else None
    name = reader.text(field)
    found = next((draft for draft in drafts if draft.spec.name == name), None)
    if name is not None and found is None:
        remedy = f"Write {' or '.join(draft.spec.name for draft in drafts)}"
        reader.problem(field, f'there is no service "{name}"', remedy)
    return found
