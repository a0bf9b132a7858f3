"""Services as facts for JSON and lines for people; and the manifests that a tenant keeps of versions that are over."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from offchain.adapters.chain.typed import GantryChain
from offchain.cli.kit.failures import CliError
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.task_spec import manifest_digest, without_replaced_task
from offchain.schema.manifest.types import Manifest
from offchain.services.service_versions import Service, Version


def plain_version(version: Version) -> dict[str, Any]:
    """A version, for --json."""
    record = version.task.record
    place = version.place
    return {
        "task": version.id,
        "state": record.state.tag,
        "pods_wanted": record.pods_wanted,
        "pods_running": _running(version),
        "manifest_digest": version.task.spec.manifest_digest.hex(),
        "takes_place_of": None if place is None else place.task,
    }


def plain_service(service: Service) -> dict[str, Any]:
    """A service, for --json. The fields of the present version stand at the top."""
    coming = service.coming
    return {
        "service": service.name,
        **plain_version(service.current),
        "coming": None if coming is None else plain_version(coming),
    }


def service_lines(service: Service) -> list[tuple[str, object]]:
    """A service for people."""
    lines: list[tuple[str, object]] = [("Service", service.text), *_version_lines("Task", service.current)]
    if service.coming is not None:
        lines += _version_lines("Coming", service.coming)
        lines.append(("Go on", "gantry service update FILE, with the file of the coming version"))
        lines.append(("Go back", f"gantry service rollback {service.name or service.current.id}"))
    return lines


def _version_lines(title: str, version: Version) -> list[tuple[str, object]]:
    record, place = version.task.record, version.place
    return [
        (title, f"{version.id} ({record.state.tag})"),
        ("  pods", f"{_running(version)} of {record.pods_wanted} run"),
        ("  in place of", None if place is None else f"task {place.task}, which had {place.pods} pods"),
    ]


def _running(version: Version) -> int:
    return sum(isinstance(lease.state, gen.LeaseStateActive) for lease in version.task.record.leases)


def folder(genesis: bytes, tenant: str) -> Path:
    """Where the updates of a tenant's services are remembered."""
    base = os.environ.get("XDG_STATE_HOME")
    state = (Path(base) if base else Path.home() / ".local" / "state") / "gantry"
    return state / "service" / f"{genesis.hex()[:16]}-{tenant}"


def keep_text(where: Path, text: bytes) -> None:
    """Keep a manifest: the chain forgets it once its task is final."""
    path = _kept(where, manifest_digest(text))
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_bytes(text)
    draft.replace(path)


async def text_before(where: Path, chain: GantryChain, service: Service) -> tuple[bytes, Manifest]:
    """The manifest that a service had before its present one. Raises CliError where it is not known any more."""
    place = service.current.place
    if place is None:
        raise CliError(
            f"{service.text} has had no other version: task {service.current.id} took no place of another.",
            "gantry service update FILE gives it one.",
            code="no_version_before",
        )
    text = await chain.manifest(place.task)
    if text is None:
        path = _kept(where, place.manifest)
        text = path.read_bytes() if path.is_file() else None
    if text is None or manifest_digest(text) != place.manifest:
        raise CliError(
            f"the manifest of task {place.task} is neither on the chain any more nor kept here.",
            "Go back with its file: gantry service update FILE.",
            code="manifest_gone",
        )
    text = without_replaced_task(text)
    return text, parse_manifest(text, source=f"the manifest of task {place.task}")


def _kept(where: Path, digest: bytes) -> Path:
    return where / "manifests" / f"{digest.hex()}.yaml"
