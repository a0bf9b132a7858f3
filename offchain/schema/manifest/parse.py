"""A task's manifest: a Docker Compose file with an `x-gantry` section, parsed into frozen values.

What is parsed is the exact text that goes on the chain: variables are put in before, by
:func:`offchain.schema.manifest.variables.resolve`. What Compose allows and Gantry does not support is refused.
"""

from __future__ import annotations

import yaml

from offchain.schema.manifest import keys
from offchain.schema.manifest.gantry import read_gantry
from offchain.schema.manifest.mounts import Declared, read_secret_names, read_volume_names
from offchain.schema.manifest.nodes import Field, Reader
from offchain.schema.manifest.service import Draft, read_service
from offchain.schema.manifest.types import (
    GpuNeed,
    ImageRef,
    Manifest,
    ManifestError,
    PlacementSpec,
    Problem,
    ResultSpec,
    ServiceSpec,
    TmpfsMount,
)
from offchain.schema.manifest.yaml_bounded import compose

__all__ = [
    "MAX_BYTES",
    "GpuNeed",
    "ImageRef",
    "Manifest",
    "ManifestError",
    "PlacementSpec",
    "Problem",
    "ResultSpec",
    "ServiceSpec",
    "TmpfsMount",
    "parse_manifest",
]

MAX_BYTES = 16_384
"""The longest manifest the chain keeps."""


def parse_manifest(data: bytes, *, source: str = "manifest") -> Manifest:
    """The manifest in these bytes. Raises ManifestError with every problem; `source` names the file in messages."""
    reader = Reader()
    root = _document(data, reader)
    manifest = _manifest(root, reader) if root is not None else None
    if reader.problems or manifest is None:
        raise ManifestError(source, reader.problems)
    return manifest


def _document(data: bytes, reader: Reader) -> Field | None:
    def refuse(line: int, message: str, remedy: str) -> None:
        reader.problems.append(Problem(line, "", message, remedy))

    if len(data) > MAX_BYTES:
        refuse(1, f"the manifest is {len(data)} bytes long", f"Keep it to {MAX_BYTES} bytes; put data into the image")
        return None
    try:
        node = compose(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        refuse(data[: error.start].count(b"\n") + 1, "the text is not UTF-8", "Save the file as UTF-8")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        about = ", ".join(part for part in (error.problem, error.context) if part)
        refuse(mark.line + 1 if mark else 1, f"this is not YAML: {about}", "Mend the line; keep to one document")
    except yaml.YAMLError as error:
        refuse(1, f"this is not YAML: {' '.join(str(error).split())}", "Mend the file")
    else:
        if node is not None:
            return Field(node, node.start_mark.line + 1, "")
        refuse(1, "the manifest is empty", "Start from examples/primes.yaml")
    return None


def _manifest(root: Field, reader: Reader) -> Manifest | None:
    top = reader.mapping(root, keys.TOP, keys.TOP_REFUSED, extensions=True)
    if reader.problems and not top:
        return None
    name = reader.text(top["name"], max_bytes=64) if "name" in top else None
    volumes = read_volume_names(top.get("volumes"), reader)
    declared = Declared(frozenset(volumes), read_secret_names(top.get("secrets"), reader))
    drafts = _services(root, top, declared, reader)
    gantry = top.get("x-gantry")
    if gantry is None:
        remedy = "Add at least: x-gantry: {price: {max_per_hour: 1 GTY}, duration: 10m}"
        reader.problem(Field(root.node, root.line, "x-gantry"), "the section is missing", remedy)
        return None
    return read_gantry(gantry, name, volumes, declared, drafts, reader)


def _services(root: Field, top: dict[str, Field], declared: Declared, reader: Reader) -> list[Draft]:
    if "services" not in top:
        reader.problem(
            Field(root.node, root.line, "services"), "the section is missing", "Add services: with one service"
        )
        return []
    entries = reader.any_mapping(top["services"])
    if not entries and isinstance(top["services"].node, yaml.MappingNode):
        reader.problem(top["services"], "there is no service", "Add one service with an image")
    return [read_service(name, field, declared, reader) for name, field in entries.items()]
