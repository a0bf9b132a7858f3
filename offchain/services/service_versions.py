"""A tenant's services by name: the task with the current version, and the task that replaces it.

All of it is read from the chain: names and links are in the manifests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from offchain.adapters.chain.typed import GantryChain, TaskAndSpec
from offchain.errors import OurError
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.task_spec import ReplacedTask, replaced_task
from offchain.schema.manifest.types import Manifest, ManifestError

LIVE: Final = frozenset({"Queued", "Assigned", "Running"})
"""States of a service that has not ended."""


class ServiceError(OurError):
    """There is no such service, or it does not allow the request."""

    code = "service"


@dataclass(frozen=True, slots=True)
class ServiceVersion:
    """A live task of a service."""

    task: TaskAndSpec
    text: bytes
    """The manifest's bytes as they are on the chain."""
    manifest: Manifest
    place: ReplacedTask | None

    @property
    def id(self) -> int:
        return self.task.id


@dataclass(frozen=True, slots=True)
class TenantService:
    """A service. During an update, `coming` replaces `current`; otherwise it is None."""

    name: str | None
    current: ServiceVersion
    coming: ServiceVersion | None = None

    @property
    def text(self) -> str:
        """The name of the service in messages."""
        return self.name or f"task {self.current.id}"


async def services_of(chain: GantryChain, tenant: str) -> list[TenantService]:
    """Return the live services of a tenant, the oldest first."""
    found = await chain.tasks(await chain.tasks_of(tenant))
    versions = []
    for task in found.values():
        if task.spec.kind is gen.TaskKind.SERVICE and task.record.state.tag in LIVE:
            version = await _version(chain, task)
            if version is not None:
                versions.append(version)
    return pair_versions(versions)


def pair_versions(versions: Sequence[ServiceVersion]) -> list[TenantService]:
    """Pair each version with the oldest one that replaces it; further ones are services of their own."""
    live = {version.id for version in versions}
    coming: dict[int, ServiceVersion] = {}
    for version in sorted(versions, key=lambda one: one.id):
        place = version.place
        if place is not None and place.task in live and place.task < version.id:
            coming.setdefault(place.task, version)
    taken = {version.id for version in coming.values()}
    return [
        TenantService(version.manifest.name, version, coming.get(version.id))
        for version in sorted(versions, key=lambda one: one.id)
        if version.id not in taken
    ]


def find_service(services: Sequence[TenantService], word: str) -> TenantService:
    """Return the service with this name, or with a task of this number. Raises :class:`ServiceError`."""
    if word.isascii() and word.isdigit():
        number = int(word)
        found = [one for one in services if number in {version.id for version in (one.current, one.coming) if version}]
    else:
        found = [one for one in services if one.name == word]
    if not found:
        known = ", ".join(sorted({one.text for one in services})) or "none"
        raise ServiceError(
            f"No service {word!r} of this account is live. Live are: {known}.",
            "gantry service list shows them; gantry submit starts one.",
            code="no_service",
        )
    if len(found) > 1:
        numbers = " and ".join(str(one.current.id) for one in found)
        raise ServiceError(
            f"Tasks {numbers} are both called {word!r}, and neither replaces the other.",
            f"Name one by its number: {found[-1].current.id}.",
            code="ambiguous",
        )
    return found[0]


async def _version(chain: GantryChain, task: TaskAndSpec) -> ServiceVersion | None:
    text = await chain.manifest(task.id)
    if text is None:
        return None
    try:
        manifest = await asyncio.to_thread(parse_manifest, text, source=f"task {task.id}")
    except ManifestError:
        return None  # its hosts do not take it either
    return ServiceVersion(task, text, manifest, replaced_task(text))
