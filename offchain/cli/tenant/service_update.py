"""Rolling update and rollback of a service: start or continue it, and step it with every block."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.outbox.store import Store
from offchain.cli.kit import network, options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import progress
from offchain.cli.kit.session import run
from offchain.cli.tenant.task_preparation import prepare_task
from offchain.core.rollout import least_surge
from offchain.ports import ChainPort, Signer
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.task_spec import manifest_digest, without_replaced_task
from offchain.schema.manifest.types import Manifest
from offchain.services.health_probe import HealthProbe
from offchain.services.host_connections import HostConnections
from offchain.services.rolling_update import RollingUpdate, UpdateLimits, UpdateResult, run_with_outbox, submit_version
from offchain.services.runner import lock_state_dir
from offchain.services.service_versions import TenantService, find_service, services_of
from offchain.services.submitter import Submitter


@dataclass(frozen=True, slots=True)
class UpdateOptions:
    """The options of update and rollback. Times in ms."""

    surge: int | None
    unavailable: int
    settle: int
    patience: int


def update_service(
    common: options.CommonOptions, asked: UpdateOptions, word: str, wanted: tuple[bytes, Manifest] | None
) -> UpdateResult:
    """Update a service to this manifest (None: to its previous one), and wait until it is done.

    Raises CliError and GantryError if the update cannot be started, or neither completed nor rolled back.
    """
    signer = common.open_account()

    async def work() -> UpdateResult:
        async with common.connected() as chain:
            where = folder(await chain.genesis_hash(), signer.address)
            with lock_state_dir(where), contextlib.closing(Store(where / "worker.db")) as store:
                task = _Update(chain, signer, where, asked)
                return await run_with_outbox(
                    chain,
                    store,
                    signer,
                    options.given_gateways(),
                    lambda submit, connections: task.run(submit, connections, word, wanted),
                )

    return run(work())


class _Update:
    def __init__(self, chain: ChainPort, signer: Signer, where: Path, asked: UpdateOptions) -> None:
        self._chain = chain
        self._typed = GantryChain(chain)
        self._signer = signer
        self._where = where
        self._asked = asked

    async def run(
        self, submit: Submitter, connections: HostConnections, word: str, wanted: tuple[bytes, Manifest] | None
    ) -> UpdateResult:
        service = find_service(await services_of(self._typed, self._signer.address), word)
        coming = service.coming
        undo = wanted is None and coming is not None
        if coming is None:
            text, manifest = wanted or await text_before(self._where, self._typed, service)
            if text == without_replaced_task(service.current.text):
                progress(f"Task {service.current.id} already has this manifest; there is nothing to do.")
                return UpdateResult(service.current.id, service.current.task.record.pods_wanted, None)
            limits = self._limits(service, service.current.task.record.pods_wanted, manifest)
            service = await self._begin(submit, service, text, manifest)
        elif wanted is not None and wanted[0] != without_replaced_task(coming.text):
            raise CliError(
                f"task {coming.id} is replacing task {service.current.id}, with another manifest than this.",
                f"Complete it with its own file, or undo it: gantry service rollback {coming.id}.",
                code="update_under_way",
            )
        else:
            assert coming.place is not None  # noqa: S101  (else it would not be coming)
            limits = self._limits(service, coming.place.pods, coming.manifest)
            action = "Undoing" if undo else "Continuing"
            progress(f"{action} the replacement of task {service.current.id} by task {coming.id}.")
        checks = HealthProbe(self._typed, connections.to)
        rollout = RollingUpdate(self._typed, submit, checks, service, limits, progress, undo=undo)
        async for _ in self._chain.best():
            result = await rollout.look()
            if result is not None:
                return result
        raise AssertionError("blocks do not end")

    def _limits(self, service: TenantService, pods: int, manifest: Manifest) -> UpdateLimits:
        old = service.current.task.spec
        least = least_surge(pods, old.pods_min, manifest.pods_min, manifest.pods)
        surge = least if self._asked.surge is None else self._asked.surge
        if surge < least:
            raise CliError(
                f"the update is not possible with a surge of {surge}: the versions need at least {old.pods_min} and "
                f"{manifest.pods_min} pods, so {least} more than now must be allowed.",
                f"Give --surge {least}, or write a smaller min under x-gantry.pods.",
                code="surge_too_small",
            )
        return UpdateLimits(
            surge=surge,
            unavailable=self._asked.unavailable,
            settle_ms=self._asked.settle,
            patience_ms=self._asked.patience,
        )

    async def _begin(self, submit: Submitter, service: TenantService, text: bytes, manifest: Manifest) -> TenantService:
        current = service.current
        task = await prepare_task(self._chain, manifest, text, self._signer)
        keep_text(self._where, current.text)
        hosts = task.spec.placement.hosts
        coming = await submit_version(self._typed, submit, self._signer.address, current, text, hosts)
        progress(f"Task {coming.id} is the new version of {service.text}, beside task {current.id}.")
        for name in manifest.deliveries:
            progress(f"Each of its pods waits for {name}: gantry deliver {coming.id} {name} FILE")
        return TenantService(service.name, current, coming)


def folder(genesis: bytes, tenant: str) -> Path:
    """Return the folder for the updates of a tenant's services."""
    return network.user_state_dir() / "service" / f"{genesis.hex()[:16]}-{tenant}"


def keep_text(where: Path, text: bytes) -> None:
    """Store a manifest: the chain removes it some time after its task is final."""
    path = _kept(where, manifest_digest(text))
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_bytes(text)
    draft.replace(path)


async def text_before(where: Path, chain: GantryChain, service: TenantService) -> tuple[bytes, Manifest]:
    """Return the manifest of the previous version. Raises CliError if it is no longer known."""
    place = service.current.place
    if place is None:
        raise CliError(
            f"{service.text} has no previous version: task {service.current.id} did not replace another.",
            "gantry service update FILE creates one.",
            code="no_version_before",
        )
    text = await chain.manifest(place.task)
    if text is None:
        path = _kept(where, place.manifest)
        text = path.read_bytes() if path.is_file() else None
    if text is None or manifest_digest(text) != place.manifest:
        raise CliError(
            f"the manifest of task {place.task} is no longer on the chain, and was not stored on this machine.",
            "Go back with its file: gantry service update FILE.",
            code="manifest_gone",
        )
    text = without_replaced_task(text)
    return text, parse_manifest(text, source=f"the manifest of task {place.task}")


def _kept(where: Path, digest: bytes) -> Path:
    return where / "manifests" / f"{digest.hex()}.yaml"
