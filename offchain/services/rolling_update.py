"""Rolling update: submits a new version of a service, and carries out the steps that core/rollout plans.

It may be interrupted at any moment and run again. The link between the versions and the original number of pods are on
the chain, and the name of the submission in the outbox identifies the manifest and the task that it replaces.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from offchain.adapters.chain.submit_once import first_of
from offchain.adapters.chain.typed import GantryChain, LeaseOfTask, TaskAndSpec
from offchain.adapters.chain.watcher import Watcher
from offchain.adapters.outbox.outbox import Outbox
from offchain.adapters.outbox.store import Store
from offchain.clock import unix_ms
from offchain.core.rollout import Done, End, PodLimits, Scale, VersionEnded, VersionName, VersionState, back, forward
from offchain.ports import ChainPort, Signer
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import calls
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.task_spec import ReplacedTask, manifest_digest, to_task_spec, with_replaced_task
from offchain.schema.manifest.types import Manifest
from offchain.services.confidential_hosts import with_hosts
from offchain.services.host_connections import HostConnections
from offchain.services.service_versions import LIVE, ServiceError, ServiceVersion, TenantService, services_of
from offchain.services.submitter import Submitter

PATIENCE_MS: Final = 600_000
SETTLE_MS: Final = 10_000

T = TypeVar("T")
IsHealthy = Callable[[LeaseOfTask, Manifest], Awaitable[bool | None]]
"""Returns whether a running pod is healthy; None if its host does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateLimits:
    """`settle_ms`: how long a pod must have run. `patience_ms`: how long an update may make no progress."""

    surge: int
    unavailable: int
    settle_ms: int = SETTLE_MS
    patience_ms: int = PATIENCE_MS


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """The end of an update. `failed`: why it was rolled back, unless that was requested."""

    task: int
    pods: int
    failed: str | None


async def submit_version(
    chain: GantryChain, submit: Submitter, tenant: str, current: ServiceVersion, text: bytes, hosts: tuple[str, ...]
) -> ServiceVersion:
    """Submit a version beside the current one, once. Raises :class:`ServiceError` if the chain refuses it.

    `hosts`: the only ones that may run it, of its manifest or those that proved to be confidential; empty: any.
    """
    place = ReplacedTask(current.id, current.task.record.pods_wanted, manifest_digest(current.text))
    whole = with_replaced_task(text, place)
    manifest = await asyncio.to_thread(parse_manifest, whole, source="the new version")
    spec = with_hosts(to_task_spec(manifest, manifest_digest(whole)), hosts)
    name = f"version:{current.id}:{spec.manifest_digest.hex()}"
    # What was submitted earlier and is live stands on the chain. What is not live has come to its end since.
    await submit.forget(name)
    outcome = await submit(name, calls.tasks_submit(spec=spec, manifest=whole))
    if not outcome.done:
        raise ServiceError(f"The new version was refused: {outcome.refusal}", "Nothing was changed.", code="refused")
    for service in await services_of(chain, tenant):
        if service.coming is not None and service.current.id == current.id:
            return service.coming
    raise ServiceError(
        f"The new version was submitted, and it or task {current.id} has already ended.",
        "gantry task list shows their states.",
        code="over",
    )


class RollingUpdate:
    """One update. `notify` receives progress messages. Once `_failed` is set, it rolls back."""

    def __init__(
        self,
        chain: GantryChain,
        submit: Submitter,
        healthy: IsHealthy,
        service: TenantService,
        limits: UpdateLimits,
        notify: Callable[[str], None],
        *,
        undo: bool = False,
    ) -> None:
        assert service.coming is not None  # noqa: S101  (callers have an update under way)
        assert service.coming.place is not None  # noqa: S101
        self._chain = chain
        self._submit = submit
        self._is_healthy = healthy
        self._versions: dict[VersionName, ServiceVersion] = {"old": service.current, "new": service.coming}
        self._rules = PodLimits(pods=service.coming.place.pods, surge=limits.surge, unavailable=limits.unavailable)
        self._limits = limits
        self._notify = notify
        self._undo = undo
        self._failed: str | None = None
        self._seen: object = None
        self._since_ms = 0

    async def look(self) -> UpdateResult | None:
        """Read the versions and take the next step. Returns the result at the end. Raises ServiceError."""
        now_ms = await self._chain.now_ms()
        tasks = await self._chain.tasks(version.id for version in self._versions.values())
        undo = self._undo
        old = await self._side("old", tasks, now_ms, check=undo)
        new = await self._side("new", tasks, now_ms, check=True)
        step = (back if undo else forward)(self._rules, old, new)
        self._note(old, new, now_ms)
        if isinstance(step, Done):
            kept: VersionName = "old" if undo else "new"
            return UpdateResult(
                self._versions[kept].id, tasks[self._versions[kept].id].record.pods_wanted, self._failed
            )
        if isinstance(step, VersionEnded):
            self._over(step, tasks)
            return None
        if isinstance(step, (Scale, End)):
            running = isinstance(tasks[self._versions[step.which].id].record.state, gen.TaskStateRunning)
            await self._do(step, now_ms, running=running)
        elif now_ms - self._since_ms >= self._limits.patience_ms:
            self._stalled(old if undo else new)
        return None

    def _over(self, step: VersionEnded, tasks: dict[int, TaskAndSpec]) -> None:
        number = self._versions[step.which].id
        state = tasks[number].record.state.tag if number in tasks else "gone"
        if step.which == "old":
            raise ServiceError(
                f"Task {number}, the target of the rollback, is {state}.",
                "Continue to the new version: gantry service update with its file.",
                code="over",
            )
        self._turn(f"the new version, task {number}, is {state}")

    def _stalled(self, side: VersionState) -> None:
        seconds = self._limits.patience_ms // 1000
        if self._undo:
            raise ServiceError(
                f"Only {len(side.ready)} of {side.wanted} pods of the old version are healthy, without progress "
                f"for {seconds} s.",
                "See gantry task show and gantry logs. Both versions were left as they are.",
                code="stuck",
            )
        healthy = f"{len(side.ready)} of {side.wanted} pods of the new version are healthy"
        self._turn(f"only {healthy}, without progress for {seconds} s")

    def _turn(self, why: str) -> None:
        self._undo, self._failed, self._seen = True, why, None
        self._notify(f"Rolling back to task {self._versions['old'].id}: {why}.")

    def _note(self, old: VersionState, new: VersionState, now_ms: int) -> None:
        """Restart the patience when the wanted or healthy pods have changed."""
        seen = (old.wanted, len(old.ready), new.wanted, len(new.ready), self._undo)
        if seen == self._seen:
            return
        self._seen, self._since_ms = seen, now_ms
        shown_sides: tuple[tuple[VersionName, VersionState], ...] = (("old", old), ("new", new))
        shown = [
            f"task {self._versions[which].id} ({which}): {len(side.ready)} of {side.wanted} pods"
            for which, side in shown_sides
            if side.live
        ]
        self._notify("; ".join(shown))

    async def _do(self, step: Scale | End, now_ms: int, *, running: bool) -> None:
        number = self._versions[step.which].id
        if isinstance(step, Scale):
            what, call = f"scale:{number}:{step.pods}:{now_ms}", calls.tasks_scale(task=number, pods=step.pods)
        else:
            end = calls.tasks_end if running else calls.tasks_cancel
            what, call = f"end:{number}:{now_ms}", end(task=number)
        outcome = await self._submit(what, call)
        if not outcome.done:
            self._notify(f"The chain refused to {call.function} task {number}: {outcome.refusal}. Trying again.")

    async def _side(
        self, which: VersionName, tasks: dict[int, TaskAndSpec], now_ms: int, *, check: bool
    ) -> VersionState:
        version = self._versions[which]
        task = tasks.get(version.id)
        spec = version.task.spec
        if task is None or task.record.state.tag not in LIVE:
            return VersionState(pods_min=spec.pods_min, pods_max=spec.pods_max, wanted=0, ready=frozenset(), live=False)
        ready = [lease for lease in task.leases if isinstance(lease.record.state, gen.LeaseStateActive)]
        if check:
            counts = await asyncio.gather(*(self._counts(which, lease, now_ms) for lease in ready))
            ready = list(itertools.compress(ready, counts))
        return VersionState(
            pods_min=spec.pods_min,
            pods_max=spec.pods_max,
            wanted=task.record.pods_wanted,
            ready=frozenset(lease.record.pod for lease in ready),
        )

    async def _counts(self, which: VersionName, lease: LeaseOfTask, now_ms: int) -> bool:
        """Return whether a pod counts: in the remaining version if healthy, in the other unless unhealthy."""
        stays = which == ("old" if self._undo else "new")
        if stays and now_ms - (lease.record.started_at or now_ms) < self._limits.settle_ms:
            return False
        healthy = await self._is_healthy(lease, self._versions[which].manifest)
        return healthy is True or (healthy is None and not stays)


async def run_with_outbox(
    chain: ChainPort,
    store: Store,
    account: Signer,
    gateways: Sequence[str],
    work: Callable[[Submitter, HostConnections], Coroutine[Any, Any, T]],
) -> T:
    """Run `work` with an outbox and connections to hosts, and return its result.

    Unfinished calls continue next time.
    """
    outbox = Outbox(chain, store, account, now_ms=unix_ms)
    watcher = Watcher(chain, store, "service", start="finalized")
    async with AsyncExitStack() as stack:
        connections = HostConnections(stack, await chain.genesis_hash(), account, gateways)
        found: T = await first_of(work(Submitter(outbox), connections), outbox.run(), watcher.run(outbox.observe))
        return found
