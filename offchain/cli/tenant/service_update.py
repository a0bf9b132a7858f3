"""What gantry service update and rollback do: find the service, begin or go on, and look at every block."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.outbox.store import Store
from offchain.cli.kit import accounts, options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import progress
from offchain.cli.kit.session import connected, run
from offchain.cli.tenant.service_text import folder, keep_text, text_before
from offchain.cli.tenant.submit import check
from offchain.core.rollout import least_surge
from offchain.ports import ChainPort, Signer
from offchain.schema.manifest.task_spec import manifest_digest, to_task_spec, without_replaced_task
from offchain.schema.manifest.types import Manifest
from offchain.services.health_probe import Checks
from offchain.services.host_connections import Ways
from offchain.services.rolling_update import Limits, Result, Rollout, at_work, submit
from offchain.services.runner import alone
from offchain.services.service_versions import Service, named, services_of
from offchain.services.submitter import Performer


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of a command that updates. Times in ms."""

    url: str | None
    account: str | None
    password_file: str | None
    surge: int | None
    unavailable: int
    settle_ms: int
    patience_ms: int


def update_to(asked: Asked, word: str, wanted: tuple[bytes, Manifest] | None) -> Result:
    """Bring a service to this manifest (None: back to what it had before), and wait until it is there.

    Raises CliError and GantryError where it cannot be begun, or went neither forth nor back.
    """
    signer = accounts.open_account(asked.account, asked.password_file)

    async def work() -> Result:
        async with connected(asked.url) as chain:
            where = folder(await chain.genesis_hash(), signer.address)
            with alone(where), contextlib.closing(Store(where / "worker.db")) as store:
                task = _Update(chain, signer, where, asked)
                return await at_work(
                    chain,
                    store,
                    signer,
                    options.given_gateways(),
                    lambda acts, ways: task.run(acts, ways, word, wanted),
                )

    return run(work())


class _Update:
    def __init__(self, chain: ChainPort, signer: Signer, where: Path, asked: Asked) -> None:
        self._chain = chain
        self._typed = GantryChain(chain)
        self._signer = signer
        self._where = where
        self._asked = asked

    async def run(self, acts: Performer, ways: Ways, word: str, wanted: tuple[bytes, Manifest] | None) -> Result:
        service = named(await services_of(self._typed, self._signer.address), word)
        coming = service.coming
        undo = wanted is None and coming is not None
        if coming is None:
            text, manifest = wanted or await text_before(self._where, self._typed, service)
            if text == without_replaced_task(service.current.text):
                progress(f"Task {service.current.id} has this manifest already; nothing is to be done.")
                return Result(service.current.id, service.current.task.record.pods_wanted, None)
            limits = self._limits(service, service.current.task.record.pods_wanted, manifest)
            service = await self._begin(acts, service, text, manifest)
        elif wanted is not None and wanted[0] != without_replaced_task(coming.text):
            raise CliError(
                f"task {coming.id} is taking the place of task {service.current.id}, with another manifest than this.",
                f"Let it come to its end with its own file, or undo it: gantry service rollback {coming.id}.",
                code="update_under_way",
            )
        else:
            assert coming.place is not None  # noqa: S101  (else it would not be coming)
            limits = self._limits(service, coming.place.pods, coming.manifest)
            way = "back" if undo else "on"
            progress(f"Going {way}: task {coming.id} was to take the place of task {service.current.id}.")
        checks = Checks(self._typed, ways.to)
        rollout = Rollout(self._typed, acts, checks, service, limits, progress, undo=undo)
        async for _ in self._chain.best():
            result = await rollout.look()
            if result is not None:
                return result
        raise AssertionError("blocks do not end")

    def _limits(self, service: Service, pods: int, manifest: Manifest) -> Limits:
        old = service.current.task.spec
        least = least_surge(pods, old.pods_min, manifest.pods_min, manifest.pods)
        surge = least if self._asked.surge is None else self._asked.surge
        if surge < least:
            raise CliError(
                f"with a surge of {surge} it cannot be done: the versions have at least {old.pods_min} and "
                f"{manifest.pods_min} pods, so {least} more than now must be allowed meanwhile.",
                f"Give --surge {least}, or write a smaller min under x-gantry.pods.",
                code="surge_too_small",
            )
        return Limits(
            surge=surge,
            unavailable=self._asked.unavailable,
            settle_ms=self._asked.settle_ms,
            patience_ms=self._asked.patience_ms,
        )

    async def _begin(self, acts: Performer, service: Service, text: bytes, manifest: Manifest) -> Service:
        current = service.current
        await check(self._chain, to_task_spec(manifest, manifest_digest(text)), text, self._signer)
        keep_text(self._where, current.text)
        coming = await submit(self._typed, acts, self._signer.address, current, text)
        progress(f"Task {coming.id} is the new version of {service.text}, beside task {current.id}.")
        for name in manifest.deliveries:
            progress(f"Each of its pods waits for {name}: gantry deliver {coming.id} {name} FILE")
        return Service(service.name, current, coming)
