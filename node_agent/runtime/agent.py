"""The agent: reconciles containers with leases, serves tenants, and runs the other parts of a host."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from node_agent.attestation.sealing_key import SealingKey
from node_agent.chain.call_sender import CallSender
from node_agent.chain.clock import ChainClock, ChainSilence, ticks_ms
from node_agent.chain.duplicates import DuplicateWatch
from node_agent.chain.follower import ChainFollower
from node_agent.chain.heartbeat import LOOK_S, Heartbeat
from node_agent.chain.registration import check_answers, check_devices, local_devices
from node_agent.chain.replica_results import ReplicaResults
from node_agent.chain.reports import ReportSender
from node_agent.checkpoints.manager import CheckpointManager, OpenHost
from node_agent.core import events as ev
from node_agent.core.checkpoints import CheckpointFile, PodKey
from node_agent.core.machine import handle
from node_agent.core.states import AgentState, IllegalMove, Phase, Pod
from node_agent.core.values import LeaseStatus, LocalHost
from node_agent.drivers.access_port import PodAccess
from node_agent.drivers.port import Driver, DriverError
from node_agent.handlers.checkpoint_requests import CheckpointRequests
from node_agent.handlers.host_requests import HostRequests
from node_agent.handlers.pod_requests import PodRequests
from node_agent.handlers.snapshot_requests import SnapshotRequests
from node_agent.logs.pod_notes import PROGRESS_S, PodNotes, StartProgress, waiting_text
from node_agent.runtime.background import (
    RECONNECT_S,
    keep_reconnecting,
    restart_on_failure,
)
from node_agent.runtime.event_queue import EventQueue, TickTimers
from node_agent.runtime.loop_thread import LoopThread, SameLoop, bound_to
from node_agent.runtime.runner import CommandRunner
from node_agent.runtime.state_dir import StateDir
from node_agent.runtime.upkeep import DriverUpkeep
from node_agent.telemetry.hardware import Hardware
from offchain.adapters.background_tasks import BackgroundTasks
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import Ed25519Signer
from offchain.adapters.outbox.intent_values import OutboxCounts
from offchain.adapters.outbox.outbox import Outbox
from offchain.adapters.periodic_jobs import PeriodicJobs
from offchain.adapters.transport.host_server import Handler, HostServer, signature_is_genuine
from offchain.adapters.transport.port import Transport
from offchain.errors import ChainBehind
from offchain.ports import ChainPort
from offchain.schema.chain_types.values import Call
from offchain.schema.protocol.messages import Op

log = logging.getLogger(__name__)

TICK_S = 5
UPKEEP_S = 10
TIDY_S = 3600


class NodeAgent:
    """Agent of one host.

    `now_ms`: the machine's clock in Unix milliseconds; `ticks`: monotonic milliseconds, by which time is measured,
    because the clock may be wrong or be set; `pods` None: no access to pods.

    `sandboxed`: the driver runs pods in a sandbox; otherwise tasks that ask for one are given back. `open_host`: dials
    other hosts for checkpoints of pods; None: never. `beside`: further parts that run as long as the agent;
    `periodic`: parts that add their periodic jobs when it is ready.

    `link`: the loop of `transport`, `pods` and `handlers`, in which peers are served, so that their load delays neither
    heartbeats nor reports; None: the agent's own. `link_port`: the connection to the node for that loop. `counts`: of
    the outbox, kept up to date. `sealing`: opens files that tenants of a confidential host deliver.
    """

    def __init__(
        self,
        port: ChainPort,
        driver: Driver,
        transport: Transport,
        state: StateDir,
        key: Ed25519Signer,
        hardware: Hardware,
        *,
        now_ms: Callable[[], int],
        ticks: Callable[[], int] = ticks_ms,
        beside: Sequence[Callable[[NodeAgent], Awaitable[None]]] = (),
        periodic: Sequence[Callable[[NodeAgent, PeriodicJobs], None]] = (),
        pods: PodAccess | None = None,
        sandboxed: bool = False,
        open_host: OpenHost | None = None,
        handlers: Mapping[Op, Handler] = MappingProxyType({}),
        link: LoopThread | None = None,
        link_port: ChainPort | None = None,
        counts: OutboxCounts | None = None,
        sealing: SealingKey | None = None,
    ) -> None:
        self._beside = beside
        self._periodic = periodic
        self._handlers = handlers
        self._loop = asyncio.get_running_loop()
        self._link = link or SameLoop()
        self._port = port
        self._link_chain = GantryChain(link_port or port)
        self._chain = GantryChain(port)
        self._driver = driver
        self._transport = transport
        self._dir = state
        self._key = key
        self._now_ms = now_ms
        deliver = bound_to(self._loop, self.deliver)
        self._access = None if pods is None else PodRequests(pods, state.path / "uploads", key, deliver, sealing)
        self._host = key.address
        self._hardware = hardware
        self._state = AgentState(LocalHost(self._host, local_devices(hardware), sandboxed))
        self._outbox = Outbox(port, state.store, key, now_ms=now_ms, one_at_a_time=True, counts=counts)
        self._clock = ChainClock(now_ms, ticks)
        self._silence = ChainSilence(ticks)
        self._duplicates = DuplicateWatch(self._host, self._chain, state.store, self._outbox)
        self._sender = CallSender(self._outbox)
        self._background = BackgroundTasks()
        self._notes = PodNotes(state.logs, self._pod, now_ms)
        self._checkpoints = CheckpointManager(
            self._chain,
            self._host,
            driver,
            state.checkpoints,
            self._sender,
            pods=lambda: self._state.pods,
            now_ms=self._clock.now_ms,
            say=self._notes.say,
            open_host=open_host,
        )
        self._follower = ChainFollower(
            port,
            self._chain,
            self._host,
            self._clock,
            self._silence,
            self._outbox,
            state.store,
            on_block=self._duplicates.on_final,
            held=lambda: self._state.pods,
            tasks=lambda: self._checkpoints.standby_tasks,
            emit=self.emit,
            on_events=self._checkpoints.on_events,
        )
        self._heartbeat = Heartbeat(
            self._chain,
            self._host,
            self._sender,
            self._background,
            lambda: self._transport.addresses,
            self._duplicates.watch,
        )
        self._replicas = ReplicaResults(port, state.store, key.public_key)
        reporting = (self._sender, self._duplicates, self._silence, self._replicas)
        self._reports = ReportSender(*reporting, emit=self.emit, pod_of=self._pod, say=self._notes.say)
        self._upkeep = DriverUpkeep(driver, self._pod, self.emit)
        self._timers = TickTimers(self.emit, self._clock.now_ms)
        self._runner = CommandRunner(
            self._host,
            driver,
            state,
            self._chain,
            self._reports,
            self._checkpoints,
            self._upkeep,
            emit=self.emit,
            wake_at=self._timers.tick_at,
            pod_of=self._pod,
            say=self._notes.say,
        )
        self._events = EventQueue(self._take)
        self.ready = asyncio.Event()

    @property
    def state(self) -> AgentState:
        """The current state of pods."""
        return self._state

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until `stop` is set. Containers keep running; the next start adopts them."""
        record = await self._chain.host(self._host)
        check_devices(record, self._hardware)
        check_answers(record, self._hardware)
        genesis_hash = await self._port.genesis_hash()
        answers = self._make_host_requests()
        server = HostServer(
            self._transport,
            genesis_hash=genesis_hash,
            authorise=answers.authorise,
            handlers={
                **answers.handlers(),
                **CheckpointRequests(
                    bound_to(self._loop, self._find_checkpoint), self._dir.checkpoints.path
                ).handlers(),
                **SnapshotRequests(self._loop, self._driver, self._pod, self._take_event).handlers(),
                **self._handlers,
                **({} if self._access is None else self._access.handlers()),
            },
            verify=signature_is_genuine,
            now_ms=self._clock.now_ms,
        )
        if not await self._recover(stop):
            return
        tasks: list[asyncio.Task[object]] = [
            asyncio.create_task(self._link.run(server.serve()), name="p2p"),
            asyncio.create_task(keep_reconnecting(self._outbox.run), name="outbox"),
            asyncio.create_task(keep_reconnecting(self._follower.follow_final), name="final"),
            asyncio.create_task(keep_reconnecting(self._follower.follow_best), name="best"),
            asyncio.create_task(stop.wait(), name="stop"),
            asyncio.create_task(self._duplicates.until_stopped(), name="duplicates"),
        ]
        helpers = [asyncio.create_task(restart_on_failure(partial(work, self))) for work in self._beside]
        helpers.append(asyncio.create_task(restart_on_failure(self._checkpoints.run), name="checkpoints"))
        helpers.append(asyncio.create_task(restart_on_failure(partial(self._replicas.run, self.send))))
        log.info("ready: host %s at %s", self._host, ", ".join(self._transport.addresses))
        self.ready.set()
        try:
            async with PeriodicJobs() as jobs:
                self._add_jobs(jobs)
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            self._timers.cancel()
            await self._link.run(server.close())
            if self._access is not None:
                await self._link.run(self._access.close())
            for task in (*tasks, *helpers):
                task.cancel()
            await asyncio.gather(*tasks, *helpers, return_exceptions=True)
            # At once: a report and a command may each cause the other.
            await asyncio.gather(self._background.close(), self._runner.close(), self._reports.close())

    def _add_jobs(self, jobs: PeriodicJobs) -> None:
        jobs.add("heartbeat", self._heartbeat.send_due, LOOK_S)
        jobs.add("tick", lambda: self.emit(ev.Tick()), TICK_S)
        jobs.add("upkeep", self._upkeep.run, UPKEEP_S)
        jobs.add("tidying", self._tidy, TIDY_S, delay_s=TIDY_S)
        starts = StartProgress(self._driver, lambda: self._state.pods, self._notes.say)
        jobs.add("progress of starts", starts.report, PROGRESS_S)
        for part in self._periodic:
            part(self, jobs)

    @property
    def disk_mib(self) -> Mapping[int, int]:
        """Disk usage of each lease's pod in MiB, from the last measurement."""
        return self._upkeep.disk_mib

    @property
    def chain(self) -> GantryChain:
        return self._chain

    @property
    def host(self) -> str:
        return self._host

    async def send(self, key: str, call: Call) -> bool:
        """Submit a call of the host, one at a time for each key; return whether it took effect."""
        return await self._sender.send_again(f"beside/{key}", call)

    @property
    def heartbeat(self) -> Heartbeat:
        """The host's presence on the chain."""
        return self._heartbeat

    @property
    def suspended_since_ms(self) -> int | None:
        """Chain time at which the agent saw the host's suspension begin; None if it did not see that."""
        return self._heartbeat.suspension.since_ms

    @property
    def troubles(self) -> Mapping[str, str]:
        """Problems that keep this host from its work, as sentences by subject."""
        found = {"engine": self._upkeep.trouble, "disk": self._events.trouble, "clock": self._clock.trouble}
        found["chain"] = self._follower.trouble
        found["identity"] = self._duplicates.trouble
        if self._silence.is_long:
            found["node"] = f"no block has come from the chain's node for {self._silence.ms // 1000} s; reports wait"
        return {what: why for what, why in found.items() if why}

    def devices_failed(self, devices: frozenset[int], message: str) -> None:
        """Give back the pods that use one of these GPUs."""
        self.emit(ev.DevicesFailed(devices, message))

    def emit(self, event: ev.Event) -> None:
        """Handle one event: the new state is on disk before any of its commands runs."""
        self._events.put(event)

    def _take(self, event: ev.Event) -> None:
        before = self._state
        try:
            after, commands = handle(before, event, self._clock.now_ms())
        except IllegalMove:
            log.exception("an event was dropped")
            return
        changed = {
            number: after.pods.get(number)
            for number in before.pods.keys() | after.pods.keys()
            if before.pods.get(number) is not after.pods.get(number)
        }
        if changed:
            self._dir.save_pods(changed)
        self._state = after
        for number, pod in changed.items():
            if pod is not None and (text := waiting_text(before.pods.get(number), pod)):
                self._notes.say(number, text)
            if number in before.pods and (pod is None or pod.phase is Phase.ENDING):
                self._reports.take_back(before.pods[number].lease)
        if self._access is not None:
            for number in (number for number, pod in changed.items() if pod is None):
                self._background.run(self._link.run(self._access.end_lease(number)))
        self._runner.run(commands)

    async def deliver(self, lease: int, name: str, data: bytes) -> None:
        """Store a file for which a pod waits. Raises ValueError with a message for the tenant."""
        pod = self._pod(lease)
        if pod is None or pod.spec is None:
            raise ValueError(f"lease {lease} has no pod here yet; try again in a few seconds")
        if name not in pod.spec.files:
            raise ValueError(f"the manifest of task {pod.lease.task} names no secret or input {name!r}")
        if pod.phase is not Phase.AWAITING:
            raise ValueError(f"the pod of lease {lease} waits for no files (it is {pod.phase.value})")
        await asyncio.to_thread(self._dir.files.put, pod.spec, name, data)
        self.emit(ev.FileDelivered(lease, name))

    async def _take_event(self, event: ev.Event) -> None:
        self.emit(event)

    async def _find_checkpoint(self, key: PodKey, digest: bytes) -> CheckpointFile | None:
        return self._dir.checkpoints.find(key, digest)

    def _pod(self, number: int) -> Pod | None:
        return self._state.pods.get(number)

    async def _recover(self, stop: asyncio.Event) -> bool:
        """Adopt running containers. Return False if the agent was stopped while it waited for its node to sync."""
        begun = None
        while begun is None:
            try:
                begun = await self._follower.begin()
            except ChainBehind as error:
                log.warning("%s Containers run on.", error)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), RECONNECT_S)
                if stop.is_set():
                    return False
        head, live = begun
        found = await self._driver.recover()
        leftovers = await self._driver.leases()
        pods = self._dir.load_pods()
        self._state = AgentState(self._state.host, pods)
        over = (pods.keys() | leftovers) - {lease.number for lease in live}
        ended = await self._follower.reasons(over, live, head.hash)
        files = tuple((number, self._dir.files.names(pod.spec)) for number, pod in pods.items() if pod.spec is not None)
        log.info("found %d containers and %d live leases", len(found), len(live))
        held = {one.handle.lease for one in found} | leftovers
        if any(lease.status is LeaseStatus.ACTIVE and lease.number not in held for lease in live):
            self._duplicates.watch.note_missing_containers()
        self.emit(ev.Recovered(found, live, tuple(sorted(leftovers)), tuple(ended.items()), files))
        for lease in self._dir.files.leases() - self._state.pods.keys():
            self._dir.files.remove(lease)
        return True

    async def _tidy(self) -> None:
        try:
            await self._driver.tidy()
        except DriverError as error:
            log.warning("%s", error)
        removed = self._dir.tidy(self._now_ms() / 1000)
        if removed:
            log.info("removed %d old results and logs", removed)

    def _make_host_requests(self) -> HostRequests:
        return HostRequests(self._link_chain, self._host, self._dir, self._driver, self._pod, self._notes)
