"""Reading with which secret hosts log in at the registry of a task's images."""

from __future__ import annotations

from collections.abc import Sequence

from offchain.schema.manifest import keys
from offchain.schema.manifest.nodes import Field, Reader
from offchain.schema.manifest.service import Draft
from offchain.schema.manifest.types import RegistryLogin

_REMEDY = "Write registry_login: {registry: ghcr.io, secret: NAME}"


def read_registry_login(
    field: Field | None, drafts: Sequence[Draft], secrets: frozenset[str], reader: Reader
) -> RegistryLogin | None:
    """Return the login for the images at one registry; None where the manifest has none, or a wrong one."""
    if field is None:
        return None
    entries = reader.mapping(field, keys.REGISTRY_LOGIN, {})
    if field.kind == "map":
        for name in keys.REGISTRY_LOGIN:
            if name not in entries:
                reader.problem(field, f"{name} is missing", _REMEDY)
    registry = _registry(entries["registry"], drafts, reader) if "registry" in entries else None
    secret = _secret(entries["secret"], drafts, secrets, reader) if "secret" in entries else None
    return None if registry is None or secret is None else RegistryLogin(registry, secret)


def _registry(field: Field, drafts: Sequence[Draft], reader: Reader) -> str | None:
    """The registry as the names of images have it. It is compared exactly, so one without an image is a mistake."""
    registry = reader.text(field, max_bytes=255)
    known = dict.fromkeys(draft.spec.image.registry for draft in drafts if draft.spec.image.name)
    if registry is not None and known and registry not in known:
        reader.problem(field, f'no image is at the registry "{registry}"', f"Write {' or '.join(known)}")
        return None
    return registry


def _secret(field: Field, drafts: Sequence[Draft], secrets: frozenset[str], reader: Reader) -> str | None:
    secret = reader.text(field)
    if secret is None:
        return None
    if secret not in secrets:
        remedy = f"Add secrets: {{{secret}: {{external: true}}}} at the top"
        reader.problem(field, f'there is no secret "{secret}"', remedy)
        return None
    for draft in drafts:
        if any(file.name == secret for file in draft.spec.files):
            remedy = f"Remove it from the secrets of {draft.spec.name}; the host alone needs it"
            reader.problem(draft.at("secrets"), f'"{secret}" is the login at a registry', remedy)
    return secret
