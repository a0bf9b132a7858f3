"""The agent: follows the chain, keeps containers as leases say, and answers tenants."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from apscheduler.schedulers.asyncio import AsyncIOScheduler

from node_agent.access.handlers import Access
from node_agent.access.ports import PodAccess
from node_agent.answers import Answers
from node_agent.chain_view import live_leases
from node_agent.core import events as ev
from node_agent.core.machine import handle
from node_agent.core.states import AgentState, IllegalMove, Phase, Pod
from node_agent.core.steps import DATA_MOVED
from node_agent.core.values import Host, Lease, LocalDevice, Outcome
from node_agent.ports import Driver, DriverError
from node_agent.presence import Due, due
from node_agent.runner import CommandRunner
from node_agent.state_dir import StateDir
from node_agent.telemetry.hardware import Hardware
from offchain.link.errors import BadReply, ChainUnreachable, OurError
from offchain.link.keys import Ed25519Signer
from offchain.link.outbox import Dead, Failed, Outbox
from offchain.link.p2p import Transport
from offchain.link.p2p_host import Handler, HostServer, signature_is_genuine
from offchain.link.ports import Block, BlockRef, ChainEvent, ChainPort
from offchain.link.store import Store
from offchain.link.typed import GantryChain, LeaseOfTask
from offchain.link.watcher import Watcher
from offchain.schema._generated_chain import HostRecord, LeaseStateEnded, calls
from offchain.schema.chain import Call
from offchain.schema.ids import TASK_PALLETS, tasks_of_event
from offchain.schema.wire import Op, endpoint_text

log = logging.getLogger(__name__)

TICK_S = 5
PRESENCE_S = 3
UPKEEP_S = 10
FAR_OFF_MS = 3_600_000
CLOCK_TOLERANCE_MS = 30_000
"""A final block is some seconds old; what is beyond is a wrong clock, or a chain that stood still."""
RECONNECT_S = 2.0
HELPER_PAUSE_S = 60.0
KEEP_REPORTS_BLOCKS = 5_000
TIDY_EVERY_BLOCKS = 500
REREAD_EVERY_BLOCKS = 15
"""Leases are compared with the chain now and then even where no event calls for it."""


class _Reports:
    """The outbox in the runner's words."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    async def send(self, key: str, call: Call) -> tuple[Outcome, str]:
        await self._outbox.submit(key, call)
        outcome = await self._outbox.wait(key)
        if isinstance(outcome, Failed):
            return Outcome.FAILED, f"{outcome.failure.pallet}.{outcome.failure.name}: {outcome.failure.doc}"
        if isinstance(outcome, Dead):
            return Outcome.DEAD, outcome.reason
        return Outcome.INCLUDED, ""


class Agent:
    """One host's agent. `now_ms` is the machine's clock in Unix milliseconds; `pods` None: nobody gets into pods."""

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
        beside: Sequence[Callable[[Agent], Awaitable[None]]] = (),
        pods: PodAccess | None = None,
        handlers: Mapping[Op, Handler] = MappingProxyType({}),
    ) -> None:
        self._beside = beside
        self._handlers = handlers
        self._port = port
        self._chain = GantryChain(port)
        self._driver = driver
        self._transport = transport
        self._dir = state
        self._key = key
        self._now_ms = now_ms
        self._access = None if pods is None else Access(pods, state.path / "uploads", key, self.deliver)
        self._host = key.address
        self._hardware = hardware
        self._state = AgentState(Host(self._host, local_devices(hardware)))
        self._outbox = Outbox(port, state.store, key, now_ms=now_ms)
        # Old blocks hold nothing for an agent: after a start the leases are read as they are now, and the outbox looks
        # for its own extrinsics itself. So the cursor is not kept, and a node without old state serves an agent, too.
        self._watcher = Watcher(port, Store(":memory:"), "agent", start="finalized")
        self._runner = CommandRunner(
            self._host,
            driver,
            state,
            self._chain,
            _Reports(self._outbox),
            emit=self.emit,
            wake_at=self._wake_at,
            pod_of=self._pod,
        )
        self._clock = AsyncIOScheduler(timezone=UTC)
        self._reading = asyncio.Lock()
        self._waiting: deque[ev.Event] = deque()
        self._final = -1
        self._ahead_ms = 0
        """By how much the chain's time is ahead of the clock, where that is more than the age of a block."""
        self._unsure: dict[int, int] = {}
        """Leases seen in a block that was not final, and that block's number."""
        self._sending: set[Due] = set()
        self._registered: bool | None = None
        self.disk_mib: Mapping[int, int] = {}
        """The disk that each lease's pod takes, MiB, as last looked at."""
        self._background: set[asyncio.Task[None]] = set()
        self.ready = asyncio.Event()

    @property
    def state(self) -> AgentState:
        """What the agent holds now."""
        return self._state

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until `stop` is set. Containers run on; the next start takes them up again."""
        record = await self._chain.host(self._host)
        check_devices(record, self._hardware)
        genesis_hash = await self._port.genesis_hash()
        server = HostServer(
            self._transport,
            genesis_hash=genesis_hash,
            authorise=(answers := self._answers()).authorise,
            handlers={
                **answers.handlers(),
                **self._handlers,
                **({} if self._access is None else self._access.handlers()),
            },
            verify=signature_is_genuine,
            now_ms=self._now_ms,
        )
        await self._recover()
        self._clock.add_job(self._tick, "interval", seconds=TICK_S)
        self._clock.add_job(
            self._presence, "interval", seconds=PRESENCE_S, next_run_time=datetime.now(UTC), max_instances=1
        )
        self._clock.add_job(self._upkeep, "interval", seconds=UPKEEP_S, max_instances=1)
        self._clock.add_job(self._tidy, "interval", hours=1)
        self._clock.start()
        tasks = [
            asyncio.create_task(server.serve(), name="p2p"),
            asyncio.create_task(self._forever(self._outbox.run), name="outbox"),
            asyncio.create_task(self._forever(lambda: self._watcher.run(self._on_final)), name="watcher"),
            asyncio.create_task(self._forever(self._follow_best), name="best"),
            asyncio.create_task(_until(stop), name="stop"),
        ]
        helpers = [asyncio.create_task(self._helped(work)) for work in self._beside]
        log.info("ready: host %s at %s", self._host, ", ".join(self._transport.addresses))
        self.ready.set()
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            self._clock.shutdown(wait=False)
            await server.close()
            if self._access is not None:
                await self._access.close()
            for task in (*tasks, *helpers, *self._background):
                task.cancel()
            await asyncio.gather(*tasks, *helpers, *self._background, return_exceptions=True)
            await self._runner.close()

    # --- for what runs beside it ----------------------------------------------------------------------------------

    @property
    def chain(self) -> GantryChain:
        """The chain's state."""
        return self._chain

    @property
    def host(self) -> str:
        """The host's address."""
        return self._host

    async def send(self, key: str, call: Call) -> bool:
        """Have a call of the host included, once at a time for each key; whether it took effect."""
        key = f"beside/{key}"
        await self._outbox.submit(key, call, supersede=self._outbox.outcome(key) is not None)
        outcome = await self._outbox.wait(key)
        if isinstance(outcome, (Failed, Dead)):
            log.warning("%s.%s was not taken: %s", call.pallet, call.function, outcome)
        self._outbox.forget(key)
        return not isinstance(outcome, (Failed, Dead))

    def devices_failed(self, devices: frozenset[int], message: str) -> None:
        """These GPUs are out of order: pods on them are given back."""
        self.emit(ev.DevicesFailed(devices, message))

    async def _helped(self, work: Callable[[Agent], Awaitable[None]]) -> None:
        """Work beside the agent; what fails there is told, and does not end the agent."""
        while True:
            try:
                await work(self)
            except Exception:
                log.exception("a part of the agent failed; it starts again in a minute")
            else:
                return
            await asyncio.sleep(HELPER_PAUSE_S)

    # --------------------------------------------------------------------------------------------------------------

    def emit(self, event: ev.Event) -> None:
        """Take one event: the new state is on disk before any command of it runs.

        Where the disk takes nothing now, the event waits, and all later ones behind it.
        """
        # What only says that time passed, or was just said, need not wait twice.
        if not (isinstance(event, ev.HostEvent) and event in self._waiting) and event != next(
            reversed(self._waiting), None
        ):
            self._waiting.append(event)
        while self._waiting:
            try:
                self._take(self._waiting[0])
            except (OurError, sqlite3.Error) as error:
                log.error("%s Events wait: %d.", error, len(self._waiting))  # noqa: TRY400
                return
            self._waiting.popleft()

    def _take(self, event: ev.Event) -> None:
        before = self._state
        try:
            after, commands = handle(before, event, self._chain_ms())
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
        if self._access is not None:
            for number in (number for number, pod in changed.items() if pod is None):
                self._in_background(self._access.end_lease(number))
        self._runner.run(commands)

    async def deliver(self, lease: int, name: str, data: bytes) -> None:
        """Take a file that a pod waits for. Raises ValueError, fit for its tenant, where it is not taken."""
        pod = self._pod(lease)
        if pod is None or pod.spec is None:
            raise ValueError(f"lease {lease} has no pod here yet; try again in a few seconds")
        if name not in pod.spec.files:
            raise ValueError(f"the manifest of task {pod.lease.task} names no secret or input {name!r}")
        if pod.phase is not Phase.AWAITING:
            raise ValueError(f"the pod of lease {lease} waits for no files (it is {pod.phase.value})")
        await asyncio.to_thread(self._dir.files.put, pod.spec, name, data)
        self.emit(ev.FileDelivered(lease, name))

    def _pod(self, number: int) -> Pod | None:
        return self._state.pods.get(number)

    # --- the chain ------------------------------------------------------------------------------------------------

    async def _recover(self) -> None:
        head = await self._port.finalized_head()
        self._compare_clocks((await self._port.block(head.number)).timestamp_ms)
        live = await live_leases(self._chain, self._host, head.hash)
        found = await self._driver.recover()
        leftovers = await self._driver.leases()
        self._final = head.number
        pods = self._dir.load_pods()
        self._state = AgentState(self._state.host, pods)
        over = (pods.keys() | leftovers) - {lease.number for lease in live}
        ended = await self._reasons(over, live, head.hash)
        files = tuple((number, self._dir.files.names(pod.spec)) for number, pod in pods.items() if pod.spec is not None)
        log.info("found %d containers and %d live leases", len(found), len(live))
        self.emit(ev.Recovered(found, live, tuple(sorted(leftovers)), tuple(ended.items()), files))
        for lease in self._dir.files.leases() - self._state.pods.keys():
            self._dir.files.remove(lease)

    async def _reasons(self, over: Iterable[int], live: Iterable[Lease], at: bytes) -> dict[int, str]:
        """Why these leases are over."""
        moved = {lease.data_from for lease in live}
        found = await self._chain.leases(over, at)
        return {number: DATA_MOVED if number in moved else _end_of(found.get(number)) for number in over}

    async def _on_final(self, block: Block) -> None:
        self._compare_clocks(block.timestamp_ms)
        await self._outbox.observe(block)
        due_again = block.ref.number % REREAD_EVERY_BLOCKS == 0
        if due_again or self._unsure or any(self._concerns_us(event) for event in block.events):
            await self._read_final()
        if block.ref.number % TIDY_EVERY_BLOCKS == 0:
            self._outbox.forget_ended_before(block.ref.number - KEEP_REPORTS_BLOCKS)

    def _concerns_us(self, event: ChainEvent) -> bool:
        """Whether it opens a lease of this host, or is about a task of which we hold a pod."""
        if event.pallet not in TASK_PALLETS:
            return False
        if event.name == "Assigned" and any(host == self._host for _, host, *_ in event.fields["leases"]):
            return True
        return not tasks_of_event(event.fields).isdisjoint(pod.lease.task for pod in self._state.pods.values())

    async def _read_final(self) -> None:
        """Compare what we hold with what is live in the newest final block."""
        async with self._reading:
            head = await self._port.finalized_head()
            live = {lease.number: lease for lease in await live_leases(self._chain, self._host, head.hash)}
            self._final = max(self._final, head.number)
            self._unsure = {
                number: block for number, block in self._unsure.items() if number not in live and block > head.number
            }
            for lease in live.values():
                self.emit(ev.LeaseAssigned(lease))
            over = [number for number in self._state.pods if number not in live and number not in self._unsure]
            for number, reason in (await self._reasons(over, live.values(), head.hash)).items():
                self.emit(ev.LeaseEnded(number, reason))

    async def _follow_best(self) -> None:
        """New leases are taken up before their block is final; should it be reverted, the pod is removed again."""
        heads = self._port.best()
        async with aclosing(heads) as stream:
            async for head in stream:
                await self._read_best(head)

    async def _read_best(self, head: BlockRef) -> None:
        async with self._reading:
            for lease in await live_leases(self._chain, self._host, head.hash, known=self._state.pods):
                # Data is taken over only once it is certain whose it is.
                if head.number > self._final and lease.data_from is None:
                    self._unsure[lease.number] = head.number
                    self.emit(ev.LeaseAssigned(lease))

    async def _forever(self, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await work()
            except (ChainUnreachable, BadReply) as error:
                log.warning("%s Containers run on; trying again.", error)
            await asyncio.sleep(RECONNECT_S)

    # --- being there ----------------------------------------------------------------------------------------------

    async def _presence(self) -> None:
        try:
            record = await self._chain.host(self._host)
            if record is None:
                if self._registered is not False:
                    log.warning(
                        "host %s is not registered: register it with 'python -m node_agent register'", self._host
                    )
                self._registered = False
                return
            self._registered = True
            params = await self._chain.params("Hosts")
            now_ms = await self._chain.now_ms()
        except (ChainUnreachable, BadReply):
            return  # the watcher says so already
        endpoint = endpoint_text(self._transport.addresses)
        for wanted in due(record, params.heartbeat_period_ms, endpoint, now_ms) - self._sending:
            call = calls.hosts_heartbeat() if wanted is Due.HEARTBEAT else calls.hosts_set_endpoint(endpoint=endpoint)
            self._sending.add(wanted)
            self._in_background(self._be_there(wanted, call))

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _be_there(self, wanted: Due, call: Call) -> None:
        key = f"presence/{wanted.value}"
        try:
            await self._outbox.submit(key, call, supersede=self._outbox.outcome(key) is not None)
            outcome = await self._outbox.wait(key)
            if isinstance(outcome, (Failed, Dead)):
                log.warning("%s was not taken: %s", wanted.value, outcome)
            self._outbox.forget(key)
        finally:
            self._sending.discard(wanted)

    # --- time -----------------------------------------------------------------------------------------------------

    async def _tick(self) -> None:
        self.emit(ev.Tick())

    async def _upkeep(self) -> None:
        """Mend what keeps pods apart, and stop those that take more disk than their leases give them."""
        try:
            used = await self._driver.upkeep()
        except DriverError as error:
            log.warning("%s", error)
            return
        self.disk_mib = used
        for number, mib in used.items():
            pod = self._pod(number)
            if pod is not None and pod.spec is not None and mib > pod.spec.disk_gib * 1024:
                message = f"the pod took {mib} MiB of disk, its lease is for {pod.spec.disk_gib * 1024}"
                self.emit(ev.LimitExceeded(number, message))

    async def _tidy(self) -> None:
        try:
            await self._driver.tidy()
        except DriverError as error:
            log.warning("%s", error)
        removed = self._dir.tidy(self._now_ms() / 1000)
        if removed:
            log.info("removed %d old results and logs", removed)

    def _wake_at(self, at_ms: int) -> None:
        if at_ms - self._chain_ms() > FAR_OFF_MS:
            return  # The steady tick meets it; a free lease ends at the end of time, which no calendar has.
        when: Any = datetime.fromtimestamp((at_ms - self._ahead_ms) / 1000, UTC)
        self._clock.add_job(self._tick, "date", run_date=when, misfire_grace_time=None)

    def _chain_ms(self) -> int:
        """The chain's time: the only one that says when a lease ends, whatever this machine's clock says."""
        return self._now_ms() + self._ahead_ms

    def _compare_clocks(self, block_ms: int) -> None:
        ahead_ms = block_ms - self._now_ms()
        wrong = abs(ahead_ms) > CLOCK_TOLERANCE_MS
        if wrong != bool(self._ahead_ms):
            log.warning("this machine's clock and the chain's differ by %d s; the chain's counts", ahead_ms // 1000)
        self._ahead_ms = ahead_ms if wrong else 0

    def _answers(self) -> Answers:
        return Answers(self._chain, self._host, self._dir, self._driver, self._pod)


def local_devices(hardware: Hardware) -> tuple[LocalDevice, ...]:
    """The devices in the core's words."""
    return tuple(LocalDevice(device.uuid, device.model, device.vram_mib) for device in hardware.devices)


def check_devices(record: HostRecord | None, hardware: Hardware) -> None:
    """Raises where the chain's record of this host lists other devices: leases name them by their place in it."""
    if record is None:
        return
    listed = [
        (device.spec.model.decode(errors="replace"), device.spec.vram_mib, device.spec.simulated)
        for device in record.devices
    ]
    here = [(device.model, device.vram_mib, device.simulated) for device in hardware.devices]
    if listed != here:
        raise OurError(
            f"The chain lists {_named(listed)} for this host, but here there is {_named(here)}.",
            "Start the agent with the hardware it was registered with (the same --simulate profile).",
        )


def _named(devices: list[tuple[str, int, bool]]) -> str:
    return ", ".join(model for model, _, _ in devices) or "no device"


def _end_of(lease: LeaseOfTask | None) -> str:
    """Why a lease is over, for the log."""
    if lease is None:
        return "GivenUp"
    state = lease.record.state
    return state.value.tag if isinstance(state, LeaseStateEnded) else state.tag


async def _until(stop: asyncio.Event) -> None:
    await stop.wait()
