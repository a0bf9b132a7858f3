"""Checkpoints of one host: saves folders of pods, reports them to the chain, and fetches files from other hosts.

:mod:`node_agent.core.checkpoints` decides when.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import posixpath
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from weakref import WeakValueDictionary

from node_agent.chain.call_sender import CallSender
from node_agent.chain.records import standby_tasks, task_views
from node_agent.checkpoints.store import CheckpointStore, FolderTooLarge, NoDiskSpace
from node_agent.core import checkpoints as core
from node_agent.core.checkpoints import CheckpointFile, ReportedCheckpoint, SaveAttempt, TaskCheckpoints
from node_agent.core.pod_steps import main_container
from node_agent.core.states import Pod
from node_agent.core.values import PodSpec
from node_agent.drivers.port import Driver, DriverError, FolderMissing, PodGone, Seed
from offchain.adapters.background_tasks import BackgroundTasks
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
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.types import ManifestError
from offchain.schema.protocol.messages import Code

log = logging.getLogger(__name__)

LOOK_S = 5.0
"""Interval of checks for due saves, if no block comes."""
SYNCHRONISE_S = 60.0
"""Interval of comparisons of the files with the chain, if no event asks for one."""
SCAN_S = 3600.0
"""Interval of a full read, for changes without an event."""
WAIT_MS = 600_000
"""Maximum time that a start waits for a file, and at most half of the start timeout."""
AGAIN_S = 5.0
"""Delay before an online host that did not send the file of a waiting pod is asked again."""
REFUSED_MS = 60_000
"""Delay before a refused report is repeated."""
SAVES_AT_ONCE = 2
FETCHES_AT_ONCE = 2

_NEWS = frozenset({"StandbyNamed", "Checkpointed", "LeaseMoved"})

OpenHost = Callable[[bytes, bytes], AbstractAsyncContextManager[HostClient]]
"""Opens a connection to the host with this key and endpoint, in this host's name."""


class CheckpointManager:
    """Checkpoints of one host.

    `pods` returns the agent's pods, `now_ms` chain time; `say` writes to the log of a lease's pod.
    """

    def __init__(
        self,
        chain: GantryChain,
        host: str,
        driver: Driver,
        store: CheckpointStore,
        sender: CallSender,
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
        self._sender = sender
        self._pods = pods
        self._now_ms = now_ms
        self._say = say
        self._open_host = open_host
        self._attempts: dict[int, SaveAttempt] = {}
        self._saving: set[int] = set()
        self._save_errors: dict[int, type[Exception]] = {}
        """By lease: the last save error in the log of its pod."""
        self._reported: dict[int, bytes] = {}
        """By lease: the last digest reported to the chain."""
        self._report_not_before_ms: dict[int, int] = {}
        """By lease: the earliest time of the next report, after a refusal."""
        self._reporting: set[int] = set()
        self._standby: set[int] = set()
        """Tasks with a lease that may name this host as its standby."""
        self._namings = 0
        """How often this host was named as a standby, modulo 2^32, as far as its tasks are in `_standby`."""
        self._fetching: WeakValueDictionary[core.PodKey, asyncio.Lock] = WeakValueDictionary()
        self._fetch_slots = asyncio.Semaphore(FETCHES_AT_ONCE)
        self._block_seen = asyncio.Event()
        """Set with each block."""
        self._is_outdated = False
        """The files have to be compared with the chain."""
        self._background = BackgroundTasks()

    async def run(self) -> None:
        """Work until cancelled: with each final block, and periodically without one."""
        clock = asyncio.get_running_loop()
        synchronise_at_s = scan_at_s = clock.time()
        try:
            while True:
                self._block_seen.clear()
                try:
                    await self.save_due()
                    if clock.time() >= scan_at_s:
                        await self._find_standby_tasks()
                        scan_at_s, self._is_outdated = clock.time() + SCAN_S, True
                    if self._is_outdated or clock.time() >= synchronise_at_s:
                        self._is_outdated = False
                        await self.synchronise()
                        synchronise_at_s = clock.time() + SYNCHRONISE_S
                except (ChainUnreachable, BadReply) as error:
                    log.debug("checkpoints wait for the chain: %s", error)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_S):
                        await self._block_seen.wait()
        finally:
            await self._background.close()

    async def _find_standby_tasks(self) -> None:
        """Read all tasks with leases, if this host was named as a standby in blocks that were not read."""
        namings = await self._chain.standby_namings(self._host)
        if namings != self._namings:
            self._standby |= await standby_tasks(self._chain, self._host)
            self._namings = namings

    @property
    def standby_tasks(self) -> frozenset[int]:
        """Tasks with a lease that may name this host as its standby."""
        return frozenset(self._standby)

    def on_events(self, events: Iterable[ChainEvent]) -> None:
        """Take the events of a final block."""
        self._block_seen.set()
        for event in events:
            if event.pallet == "Tasks" and event.name in _NEWS:
                tasks = tasks_of_event(event.fields)
                if event.name == "StandbyNamed" and event.fields["host"] == self._host:
                    self._standby |= tasks
                    self._namings = (self._namings + 1) % (1 << 32)
                self._is_outdated = self._is_outdated or not tasks.isdisjoint(self._standby)

    async def save_due(self) -> None:
        """Start due saves and reports."""
        pods = self._pods()
        for past in (self._attempts, self._save_errors, self._reported, self._report_not_before_ms):
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
            at_ms = core.next_save_ms(pod, self._attempts.get(number), last, notice_ms=params.preemption_notice_ms)
            due = at_ms is not None and self._now_ms() >= at_ms
            if due and number not in self._saving and len(self._saving) < SAVES_AT_ONCE:
                self._saving.add(number)
                self._background.run(self._save(pod))
            elif last is not None and self._reported.get(number) != last.digest and self._may_report(number):
                self._reporting.add(number)
                self._background.run(self._report(pod, last, params.checkpoint_min_ms))

    def _may_report(self, number: int) -> bool:
        return number not in self._reporting and self._now_ms() >= self._report_not_before_ms.get(number, 0)

    async def synchronise(self) -> None:
        """Compare the files with the chain: fetch missing ones, delete unneeded ones."""
        running = [pod for pod in self._pods().values() if pod.spec is not None and pod.spec.checkpoint is not None]
        tasks = {kept.task for kept in self._store.all()} | self._standby | {pod.lease.task for pod in running}
        views = await task_views(self._chain, tasks, self._host)
        # Others may have been added meanwhile.
        self._standby -= {task for task, view in views.items() if view is None or not view.standby}
        for task, view in views.items():
            if view is not None:
                self._start_fetching(task, view)
        for kept in core.unneeded_files(self._store.all(), self._pods().values(), views):
            log.info("task %d, pod %d: a checkpoint of %d bytes is deleted", kept.task, kept.pod, kept.size)
            self._store.remove(kept)

    def _start_fetching(self, task: int, view: TaskCheckpoints) -> None:
        """Start to fetch what this host lacks of a task for which it stands by."""
        kept = self._store.all()
        for pod, lease in view.standby.items():
            turn = self._fetching.get((task, pod))
            lacks = core.checkpoint_to_fetch(view.known.get(pod), (task, pod), kept) is not None
            if lacks and (turn is None or not turn.locked()):
                self._background.run(self._stand_by((task, pod), lease, view))

    async def _save(self, pod: Pod) -> None:
        number, began_ms = pod.lease.number, self._now_ms()
        try:
            failed = not await self._saved(pod, began_ms)
            self._attempts[number] = SaveAttempt(began_ms, failed)
        finally:
            self._saving.discard(number)
            self._block_seen.set()

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
            if self._save_errors.get(number) is not type(error):  # an error is noted once, not with each attempt
                self._save_errors[number] = type(error)
                self._say(number, f"{path} is not saved: {_save_error_text(error)}; it is tried again")
        else:
            log.info("lease %d: %s is saved, %d bytes", number, path, kept.size)
            if self._save_errors.pop(number, None) is not None:
                self._say(number, f"{path} is saved again, {kept.size} bytes")
            return True
        return False

    async def _report(self, pod: Pod, last: CheckpointFile, least_ms: int) -> None:
        number = pod.lease.number
        try:
            view = (await task_views(self._chain, [last.task], self._host))[last.task]
            known = None if view is None else view.known.get(last.pod)
            if known is not None and known.digest == last.digest:
                self._reported[number] = last.digest
            elif core.file_to_report(pod, last, known, least_ms=least_ms, now_ms=self._now_ms()) is not None:
                report = ReportCheckpoint(digest=last.digest, bytes_=last.size)
                call = calls.tasks_report(lease=number, report=report)
                if await self._sender.send_again(f"checkpoint/{number}", call):
                    self._reported[number] = last.digest
                    self._is_outdated = True
                else:
                    self._report_not_before_ms[number] = self._now_ms() + REFUSED_MS
        except (ChainUnreachable, BadReply) as error:
            log.debug("lease %d: its checkpoint is not reported yet: %s", number, error)
        finally:
            self._reporting.discard(number)

    async def ready(self, spec: PodSpec) -> str:
        """Fetch the file from which a pod starts; return a sentence for its log if that fails."""
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
        return f"no host sent its checkpoint {known.digest.hex()} in time: it starts from nothing"

    def seed(self, spec: PodSpec, start: int) -> Seed | None:
        """Return the folder that the main container gets at this start."""
        checkpoint = spec.checkpoint
        found = None if checkpoint is None else core.newest_file(self._store.all(), (spec.task, spec.pod))
        if checkpoint is None or found is None:
            return None
        mounts = [mount.path for mount in spec.main.service.volumes]
        if start > 1 and any(checkpoint.path == path or checkpoint.path.startswith(f"{path}/") for path in mounts):
            return None  # the volume still exists, and its content is newer
        return Seed(checkpoint.path, self._store.path(found))

    async def _stand_by(self, key: core.PodKey, lease: int, view: TaskCheckpoints) -> None:
        try:
            manifest = await self._chain.manifest(key[0])
            checkpoint = None if manifest is None else (await asyncio.to_thread(parse_manifest, manifest)).checkpoint
            if checkpoint is not None:
                # An incomplete file is continued the next time.
                async with asyncio.timeout(WAIT_MS / 1000):
                    await self._fetch(key, lease, view, view.known[key[1]], checkpoint.path)
        except (GantryError, ManifestError, TimeoutError) as error:
            log.info("task %d, pod %d: its checkpoint is not here yet: %s", *key, error)

    async def _fetch(
        self, key: core.PodKey, lease: int, view: TaskCheckpoints, known: ReportedCheckpoint, path: str
    ) -> bool:
        """Fetch a file from a host that has it, one at a time for each pod. Return whether a retry may succeed."""
        again = False
        async with self._fetching.setdefault(key, asyncio.Lock()), self._fetch_slots:
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
            await client.connect()  # an absent host is not tried for long: another may have the file
            await get_checkpoint(client, lease, known.digest, known.size, part)
        return await self._store.take(part, key, known, posixpath.basename(path))


def _save_error_text(error: Exception) -> str:
    """Return why a folder is not saved, and what its tenant can do."""
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
