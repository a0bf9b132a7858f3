"""Saves the folders of pods, has the chain know of it, and gets the files of pods that this host runs or stands by for.

When that is done is decided in :mod:`node_agent.core.checkpoints`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import posixpath
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol
from weakref import WeakValueDictionary

from node_agent.chain.records import standby_tasks, task_views
from node_agent.checkpoints.store import CheckpointStore, FolderTooLarge, NoDiskSpace
from node_agent.core import checkpoints as core
from node_agent.core.checkpoints import CheckpointFile, ReportedCheckpoint, SaveAttempt, TaskCheckpoints
from node_agent.core.states import Pod
from node_agent.core.steps import main_container
from node_agent.core.values import PodSpec
from node_agent.drivers.port import Driver, DriverError, FolderMissing, PodGone, Seed
from node_agent.runtime.background import BackgroundTasks
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys import ss58
from offchain.adapters.transport.copy import get_checkpoint
from offchain.adapters.transport.host_client import HostClient
from offchain.adapters.transport.port import HostRefused, HostUnreachable
from offchain.adapters.transport.tar_files import BadArchive
from offchain.errors import BadReply, ChainUnreachable, GantryError
from offchain.ports import ChainEvent
from offchain.schema.chain_types._generated_chain import HostRecord, ReportCheckpoint, calls
from offchain.schema.chain_types.ids import tasks_of_event
from offchain.schema.chain_types.values import Call
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.types import ManifestError
from offchain.schema.protocol.messages import Code

log = logging.getLogger(__name__)

LOOK_S = 5.0
TEND_S = 60.0
SCAN_S = 3600.0
"""What the chain's events did not tell of is found by reading so often."""
WAIT_MS = 600_000
"""The longest that a start waits for a file; half of the time in which it has to start, where that is less."""
AGAIN_S = 5.0
"""A host that is online and did not give the file of a pod that waits for it is asked again after this."""
REFUSED_MS = 60_000
"""A report that the chain did not take is made again after this."""
SAVES_AT_ONCE = 2
FETCHES_AT_ONCE = 2

_NEWS = frozenset({"StandbyNamed", "Checkpointed", "LeaseMoved"})

OpenHost = Callable[[bytes, bytes], AbstractAsyncContextManager[HostClient]]
"""Opens a way to the host with this key and endpoint, in this host's name."""


class CheckpointSender(Protocol):
    """The way to the chain."""

    async def send_again(self, key: str, call: Call) -> bool:
        """Have a call of the host included, once at a time for each key; whether it took effect."""
        ...


class CheckpointManager:
    """The checkpoints of one host.

    `pods`: what the agent holds now; `now_ms`: the chain's time; `say`: tells the tenant of a lease.
    """

    def __init__(
        self,
        chain: GantryChain,
        host: str,
        driver: Driver,
        store: CheckpointStore,
        sends: CheckpointSender,
        *,
        pods: Callable[[], Mapping[int, Pod]],
        now_ms: Callable[[], int],
        say: Callable[[int, str], None],
        open_host: OpenHost | None = None,
    ) -> None:
        self._chain = chain
        self._host = host
        self._driver = driver
        self._store = store
        self._sends = sends
        self._pods = pods
        self._now_ms = now_ms
        self._say = say
        self._open_host = open_host
        self._tries: dict[int, SaveAttempt] = {}
        self._saving: set[int] = set()
        self._troubles: dict[int, type[Exception]] = {}
        """By lease: why its folder could not be saved, as its tenant was told last."""
        self._told: dict[int, bytes] = {}
        """By lease: the digest that the chain was told last."""
        self._tell_at_ms: dict[int, int] = {}
        """By lease: not before this, since the chain did not take the last report."""
        self._telling: set[int] = set()
        self._standby: set[int] = set()
        """Tasks of which a lease may name this host as its standby."""
        self._fetching: WeakValueDictionary[core.PodKey, asyncio.Lock] = WeakValueDictionary()
        self._turns = asyncio.Semaphore(FETCHES_AT_ONCE)
        self._turn = asyncio.Event()
        """A block has come."""
        self._news = False
        """What is kept is to be compared with the chain."""
        self._background = BackgroundTasks()

    # --- all the time ---------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Look after all that until cancelled: with each final block, and now and then where none comes."""
        clock = asyncio.get_running_loop()
        tend_s = scan_s = clock.time()
        try:
            while True:
                self._turn.clear()
                try:
                    await self.look()
                    if clock.time() >= scan_s:
                        self._standby |= await standby_tasks(self._chain, self._host)
                        scan_s, self._news = clock.time() + SCAN_S, True
                    if self._news or clock.time() >= tend_s:
                        self._news = False
                        await self.tend()
                        tend_s = clock.time() + TEND_S
                except (ChainUnreachable, BadReply) as error:
                    log.debug("checkpoints wait for the chain: %s", error)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_S):
                        await self._turn.wait()
        finally:
            await self._background.close()

    def heard(self, events: Iterable[ChainEvent]) -> None:
        """Take what a final block tells."""
        self._turn.set()
        for event in events:
            if event.pallet == "Tasks" and event.name in _NEWS:
                tasks = tasks_of_event(event.fields)
                if event.name == "StandbyNamed" and event.fields["host"] == self._host:
                    self._standby |= tasks
                self._news = self._news or not tasks.isdisjoint(self._standby)

    async def look(self) -> None:
        """Begin to save what is due, and tell the chain what it may be told."""
        pods = self._pods()
        for past in (self._tries, self._troubles, self._told, self._tell_at_ms):
            for number in past.keys() - pods.keys():
                del past[number]
        wanted = [pod for pod in pods.values() if core.can_be_saved(pod)]
        if not wanted:
            return
        kept = self._store.all()
        params = await self._chain.params("Tasks")
        for pod in wanted:
            number, key = pod.lease.number, (pod.lease.task, pod.lease.pod)
            last = core.newest_file(kept, key, lease=number)
            at_ms = core.next_save_ms(pod, self._tries.get(number), last, notice_ms=params.preemption_notice_ms)
            due = at_ms is not None and self._now_ms() >= at_ms
            if due and number not in self._saving and len(self._saving) < SAVES_AT_ONCE:
                self._saving.add(number)
                self._background.run(self._save(pod))
            elif last is not None and self._told.get(number) != last.digest and self._may_tell(number):
                self._telling.add(number)
                self._background.run(self._tell(pod, last, params.checkpoint_min_ms))

    def _may_tell(self, number: int) -> bool:
        return number not in self._telling and self._now_ms() >= self._tell_at_ms.get(number, 0)

    async def tend(self) -> None:
        """Compare what is kept with the chain: get what is missing, delete what nobody needs."""
        running = [pod for pod in self._pods().values() if pod.spec is not None and pod.spec.checkpoint is not None]
        tasks = {kept.task for kept in self._store.all()} | self._standby | {pod.lease.task for pod in running}
        views = await task_views(self._chain, tasks, self._host)
        # Others may have been added meanwhile.
        self._standby -= {task for task, view in views.items() if view is None or not view.standby}
        for task, view in views.items():
            if view is not None:
                self._have(task, view)
        for kept in core.unneeded_files(self._store.all(), self._pods().values(), views):
            log.info("task %d, pod %d: a checkpoint of %d bytes is deleted", kept.task, kept.pod, kept.size)
            self._store.remove(kept)

    def _have(self, task: int, view: TaskCheckpoints) -> None:
        """Begin to get what this host lacks of a task for which it stands by."""
        kept = self._store.all()
        for pod, lease in view.standby.items():
            turn = self._fetching.get((task, pod))
            lacks = core.checkpoint_to_fetch(view.known.get(pod), (task, pod), kept) is not None
            if lacks and (turn is None or not turn.locked()):
                self._background.run(self._stand_by((task, pod), lease, view))

    # --- saving ---------------------------------------------------------------------------------------------------

    async def _save(self, pod: Pod) -> None:
        number, began_ms = pod.lease.number, self._now_ms()
        try:
            failed = not await self._saved(pod, began_ms)
            self._tries[number] = SaveAttempt(began_ms, failed)
        finally:
            self._saving.discard(number)
            self._turn.set()

    async def _saved(self, pod: Pod, at_ms: int) -> bool:
        spec, handle = pod.spec, main_container(pod).handle
        assert spec is not None  # noqa: S101  (it can be saved)
        assert spec.checkpoint is not None  # noqa: S101
        if handle is None:
            return False
        number, path = pod.lease.number, spec.checkpoint.path
        try:
            kept = await self._store.save(
                self._driver.save_path(handle, path),
                (spec.task, spec.pod),
                number,
                posixpath.basename(path),
                most_bytes=spec.disk_gib << 30,
                at_ms=at_ms,
            )
        except PodGone as error:
            log.info("lease %d: nothing is saved: %s", number, error)
        except (DriverError, FolderTooLarge, NoDiskSpace, BadArchive, OSError) as error:
            log.info("lease %d: %s is not saved: %s", number, path, error)
            if self._troubles.get(number) is not type(error):  # the same is told once, not with each try
                self._troubles[number] = type(error)
                self._say(number, f"{path} is not saved: {_words(error)}; it is tried again")
        else:
            log.info("lease %d: %s is saved, %d bytes", number, path, kept.size)
            if self._troubles.pop(number, None) is not None:
                self._say(number, f"{path} is saved again, {kept.size} bytes")
            return True
        return False

    async def _tell(self, pod: Pod, last: CheckpointFile, least_ms: int) -> None:
        number = pod.lease.number
        try:
            view = (await task_views(self._chain, [last.task], self._host))[last.task]
            known = None if view is None else view.known.get(last.pod)
            if known is not None and known.digest == last.digest:
                self._told[number] = last.digest
            elif core.file_to_report(pod, last, known, least_ms=least_ms, now_ms=self._now_ms()) is not None:
                report = ReportCheckpoint(digest=last.digest, bytes_=last.size)
                call = calls.tasks_report(lease=number, report=report)
                if await self._sends.send_again(f"checkpoint/{number}", call):
                    self._told[number] = last.digest
                    self._news = True
                else:
                    self._tell_at_ms[number] = self._now_ms() + REFUSED_MS
        except (ChainUnreachable, BadReply) as error:
            log.debug("lease %d: its checkpoint is not reported yet: %s", number, error)
        finally:
            self._telling.discard(number)

    # --- getting --------------------------------------------------------------------------------------------------

    async def ready(self, spec: PodSpec) -> str:
        """Have the file that a pod is to start from, or wait for it in vain; gives what its log is to say then."""
        if spec.checkpoint is None:
            return ""
        key, known = (spec.task, spec.pod), None
        began_s = asyncio.get_running_loop().time()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(WAIT_MS / 1000) as bound:
                while True:
                    try:
                        params = await self._chain.params("Tasks")
                        bound.reschedule(began_s + min(WAIT_MS, params.start_timeout_ms // 2) / 1000)
                        view = (await task_views(self._chain, [spec.task], self._host))[spec.task]
                        known = None if view is None else view.known.get(spec.pod)
                        if view is None or known is None:
                            break
                        if not await self._fetch(key, spec.lease, view, known, spec.checkpoint.path):
                            break
                    except (ChainUnreachable, BadReply) as error:
                        log.warning("lease %d: its checkpoint waits for the chain: %s", spec.lease, error)
                    await asyncio.sleep(AGAIN_S)
        if known is None or core.newest_file(self._store.all(), key) is not None:
            return ""
        return f"nobody gave its checkpoint {known.digest.hex()} to this host in time: it starts from nothing"

    def seed(self, spec: PodSpec, start: int) -> Seed | None:
        """What the main container has when it is made for this start."""
        checkpoint = spec.checkpoint
        found = None if checkpoint is None else core.newest_file(self._store.all(), (spec.task, spec.pod))
        if checkpoint is None or found is None:
            return None
        mounts = [mount.path for mount in spec.main.service.volumes]
        if start > 1 and any(checkpoint.path == path or checkpoint.path.startswith(f"{path}/") for path in mounts):
            return None  # the volume is still there, and what is in it is newer
        return Seed(checkpoint.path, self._store.path(found))

    async def _stand_by(self, key: core.PodKey, lease: int, view: TaskCheckpoints) -> None:
        try:
            manifest = await self._chain.manifest(key[0])
            checkpoint = None if manifest is None else (await asyncio.to_thread(parse_manifest, manifest)).checkpoint
            if checkpoint is not None:
                # What did not come in this time is gone on with at the next one.
                async with asyncio.timeout(WAIT_MS / 1000):
                    await self._fetch(key, lease, view, view.known[key[1]], checkpoint.path)
        except (GantryError, ManifestError, TimeoutError) as error:
            log.info("task %d, pod %d: its checkpoint is not here yet: %s", *key, error)

    async def _fetch(
        self, key: core.PodKey, lease: int, view: TaskCheckpoints, known: ReportedCheckpoint, path: str
    ) -> bool:
        """Get a file from whoever has it, one at a time for each pod. Whether it may come when it is tried again."""
        again = False
        async with self._fetching.setdefault(key, asyncio.Lock()), self._turns:
            if core.checkpoint_to_fetch(known, key, self._store.all()) is None:
                return False
            if known.size > self._store.room():
                log.warning("task %d, pod %d: no room for a checkpoint of %d bytes", *key, known.size)
                return False
            sources = view.sources.get(key[1], ())
            hosts = await self._chain.hosts_named(sources)
            for source in sorted(hosts, key=lambda name: (hosts[name].status.tag != "Online", sources.index(name))):
                try:
                    kept = await self._fetched(source, hosts[source], key, lease, known, path)
                except (GantryError, OSError) as error:
                    log.info("task %d, pod %d: no checkpoint from %s: %s", *key, source, error)
                    gone = isinstance(error, HostRefused) and error.refusal.code in (Code.GONE, Code.LEASE_ENDED)
                    again = again or (hosts[source].status.tag == "Online" and not gone)
                else:
                    log.info("task %d, pod %d: got its checkpoint of %d bytes from %s", *key, kept.size, source)
                    return False
        return again

    async def _fetched(
        self, source: str, record: HostRecord, key: core.PodKey, lease: int, known: ReportedCheckpoint, path: str
    ) -> CheckpointFile:
        if self._open_host is None:
            raise HostUnreachable("This agent dials no other host.", "Start it with a network.")
        part = self._store.part(key)
        async with self._open_host(ss58.decode(source), record.endpoint) as client:
            await client.connect()  # one that is gone is not tried for long: another may have it
            await get_checkpoint(client, lease, known.digest, known.size, part)
        return await self._store.take(part, key, known, posixpath.basename(path))


def _words(error: Exception) -> str:
    """Why a folder is not saved, and what its tenant can do."""
    match error:
        case FolderMissing():
            return "there is no such folder; have the program make it, or name another one in x-gantry.checkpoint.path"
        case FolderTooLarge():
            return (
                f"it has more than the {error.most_bytes} bytes of the task's disk; "
                "keep less there, or ask for more in x-gantry.disk"
            )
        case BadArchive():
            return f"{error.message}; only files, folders and links that stay inside can be saved"
        case NoDiskSpace():
            return "this host's own disk is too full for it"
    return f"this host could not read it ({error.strerror if isinstance(error, OSError) else error})"
