"""The in-memory chain with just enough of the pallets on it for a scheduler and a settler to have something to do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import asynccontextmanager
from typing import Any

from offchain.link import keys
from offchain.link.fake import BLOCK_MS, FakeChain
from offchain.link.intents import unpack_call
from offchain.link.outbox import Outbox
from offchain.link.ports import Call, DispatchFailure
from offchain.link.store import Store
from offchain.link.watcher import Watcher
from offchain.schema import _generated_chain as gen
from offchain.services.acts import Performer
from offchain.services.scheduler import Scheduler
from offchain.services.settler import Settler
from offchain.services.view import View
from offchain.services.worker import Worker

TENANT = keys.from_uri("//Charlie")
WORKER = keys.from_uri("//Dave")
PROVIDER = keys.from_uri("//Bob")
HOST = keys.from_uri("//Host").address
OTHER_HOST = keys.from_uri("//OtherHost").address
GTY = 10**12
TASK = gen.Resources(1000, 512, 1, gen.GpuRequest(1, 1000, 0, ()))
NOT_QUEUED = DispatchFailure("Tasks", "NotQueued", "The task does not wait for a host.")


class Toy:
    def __init__(self) -> None:
        self.chain = FakeChain()
        self.chain.effects = self._apply
        self.chain.verdicts = lambda call, _: self.verdict(call)
        self.verdict: Callable[[Call], DispatchFailure | None] = lambda _: None
        self.store = Store(":memory:")
        self.events: list[dict[str, Any]] = []
        self.put("Tasks", "Params", value=gen.TasksParams(60_000, 6_000, 3, GTY, 0, 0, 10**9).encode())
        self.put(
            "Hosts",
            "Params",
            value=gen.HostsParams(0, 6_000, 30_000, 0, allow_simulated=True, verification_required=False).encode(),
        )
        self.put("Tasks", "Schedulers", WORKER.address, value=GTY)
        self.put("Tasks", "NextTaskId", value=0)
        self.put("Timestamp", "Now", value=0)

    # --- state ------------------------------------------------------------------------------------------------------

    def put(self, pallet: str, item: str, *key: Any, value: Any) -> None:
        self.chain.storage[pallet, item][key] = value

    def get(self, pallet: str, item: str, *key: Any) -> Any:
        return self.chain.storage[pallet, item].get(key)

    def host(self, host: str = HOST, *, gpus: int = 1, last_heartbeat: int = 10**9, **changes: Any) -> None:
        spec = gen.DeviceSpec(gen.Vendor.NVIDIA, b"A100", 40_960, simulated=False)
        record = gen.HostRecord(
            provider=PROVIDER.address,
            status=gen.HostStatusOnline(),
            total=gen.Capacity(8000, 8192, 100),
            free=gen.Capacity(8000, 8192, 100),
            devices=tuple(gen.Device(spec, 1000, attested=False) for _ in range(gpus)),
            ask=gen.Ask(GTY, 0, 0, 0),
            endpoint=b"",
            region=b"eu",
            bond=0,
            registered_at=0,
            last_heartbeat=last_heartbeat,
            live_leases=0,
        ).encode()
        self.put("Hosts", "Hosts", host, value={**record, **changes})

    def set_state(self, task: int, state: str, **changes: Any) -> None:
        record = self.get("Tasks", "Tasks", task)
        self.chain.storage["Tasks", "ByState"].pop((record["state"], task), None)
        self.put("Tasks", "Tasks", task, value={**record, "state": state, **changes})
        self.put("Tasks", "ByState", state, task, value=())

    @property
    def now(self) -> int:
        return int(self.get("Timestamp", "Now"))

    # --- calls ------------------------------------------------------------------------------------------------------

    async def call(self, function: str, pallet: str = "Tasks", **arguments: Any) -> None:
        """A call of the tenant, into the pool."""
        nonce = await self.chain.next_nonce(TENANT.address)
        await self.chain.broadcast(await self.chain.sign(Call(pallet, function, arguments), TENANT, nonce))

    async def submit(self, **changes: Any) -> int:
        """A task, into the pool; gives the number it will have."""
        task = int(self.get("Tasks", "NextTaskId"))
        await self.call("submit", changes=changes)
        return task

    async def block(self, *, finalize: bool = True, after_ms: int = BLOCK_MS) -> None:
        self.put("Timestamp", "Now", value=self.now + after_ms)
        self.events = []
        self.put("System", "Events", value=self.events)
        await self.chain.produce(finalize=finalize)

    def _apply(self, call: Call, account: str) -> list[tuple[str, str, dict[str, Any]]]:
        made = getattr(self, f"_{call.function}", None)
        events = [] if made is None else made(account, **call.args)
        self.events += [{"event": {pallet: {name: fields}}} for pallet, name, fields in events]
        return events

    def _submit(self, account: str, changes: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
        task = int(self.get("Tasks", "NextTaskId"))
        spec = gen.TaskSpec(
            kind=gen.TaskKind.JOB,
            manifest_digest=bytes(32),
            resources=TASK,
            pods_min=1,
            pods_max=1,
            max_rate_per_hour=10 * GTY,
            unit=gen.BillingUnit.SECOND,
            max_duration_ms=600_000,
            deadline=None,
            priority=0,
            queue=b"default",
            verification=gen.VerificationPolicy.ACCEPTANCE,
            placement=gen.Placement((), (), allow_simulated=False),
        ).encode()
        record = gen.TaskRecord(
            tenant=account,
            spec=gen.TaskSpec.decode({**spec, **changes}),
            state=gen.TaskStateQueued(),
            attempts=0,
            submitted_at=self.now,
            leases=(),
            pods_started=0,
            pods_reported=0,
            reported_at=None,
            deposit=0,
        ).encode()
        self.put("Tasks", "Tasks", task, value=record)
        self.put("Tasks", "ByState", "Queued", task, value=())
        self.put("Tasks", "NextTaskId", value=task + 1)
        return [("Tasks", "Submitted", {"task": task, "tenant": account, "kind": "Job", "manifest_digest": bytes(32)})]

    def _assign(self, _account: str, task: int, pods: list[dict[str, Any]]) -> list[tuple[str, str, dict[str, Any]]]:
        self.set_state(task, "Assigned")
        events: list[tuple[str, str, dict[str, Any]]] = []
        for pod in pods:
            lease = len(self.chain.storage["Leases", "Leases"])
            self.put(
                "Leases",
                "Leases",
                lease,
                value=gen.LeaseRecord(
                    task=task,
                    pod=pod["pod"],
                    attempt=0,
                    host=pod["host"],
                    provider=PROVIDER.address,
                    tenant=TENANT.address,
                    devices=pod["devices"],
                    resources=TASK,
                    rate_per_hour=GTY,
                    state=gen.LeaseStatePending(),
                    created_at=self.now,
                    started_at=None,
                    ended_at=None,
                    result=None,
                ).encode(),
            )
            self.put("Leases", "ByHost", pod["host"], lease, value=())
            self._take(pod["host"], pod["devices"], -1000)
            events.append(("Leases", "Opened", {"lease": lease, "task": task, "host": pod["host"]}))
        return [*events, ("Tasks", "Assigned", {"task": task, "attempt": 0, "leases": []})]

    def _report(self, _account: str, task: int, lease: int) -> list[tuple[str, str, dict[str, Any]]]:
        record = self.get("Leases", "Leases", lease)
        self.put("Leases", "Leases", lease, value={**record, "state": {"Ended": "Completed"}})
        del self.chain.storage["Leases", "ByHost"][record["host"], lease]
        self._take(record["host"], record["devices"], 1000)
        self.set_state(task, "Reported", reported_at=self.now)
        moved = {"task": task, "from": "Running", "to": "Reported"}
        return [("Leases", "Ended", {"lease": lease, "reason": "Completed"}), ("Tasks", "StateChanged", moved)]

    def _settle(self, _account: str, task: int) -> list[tuple[str, str, dict[str, Any]]]:
        self.set_state(task, "Settled")
        return [("Tasks", "StateChanged", {"task": task, "from": "Verified", "to": "Settled"})]

    def _requeue(self, _account: str, lease: int) -> list[tuple[str, str, dict[str, Any]]]:
        record = self.get("Leases", "Leases", lease)
        self.put("Leases", "Leases", lease, value={**record, "state": {"Ended": "StartTimeout"}})
        del self.chain.storage["Leases", "ByHost"][record["host"], lease]
        self._take(record["host"], record["devices"], 1000)
        self.set_state(record["task"], "Queued", attempts=1)
        moved = {"task": record["task"], "from": "Assigned", "to": "Queued"}
        return [("Leases", "Ended", {"lease": lease, "reason": "StartTimeout"}), ("Tasks", "StateChanged", moved)]

    def _report_absent(self, _account: str, host: str) -> list[tuple[str, str, dict[str, Any]]]:
        self.put("Hosts", "Hosts", host, value={**self.get("Hosts", "Hosts", host), "status": "Offline"})
        return [("Hosts", "StatusChanged", {"host": host, "from": "Online", "to": "Offline"})]

    def _take(self, host: str, devices: bytes, milli: int) -> None:
        record = self.get("Hosts", "Hosts", host)
        changed = [
            {**device, "milli_free": device["milli_free"] + milli} if index in devices else device
            for index, device in enumerate(record["devices"])
        ]
        self.put("Hosts", "Hosts", host, value={**record, "devices": changed})

    # --- workers ----------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def working(self, *roles: str):
        """A worker with these roles, as the runner puts it together."""
        outbox = Outbox(self.chain, self.store, WORKER, now_ms=lambda: self.now)
        perform = Performer(outbox)
        view = View(self.chain)
        head = await view.start()
        worker = Worker(self.chain, Watcher(self.chain, self.store, "worker", start=head.number), outbox, view)
        made = []
        if "scheduler" in roles:
            made.append(Scheduler(view, perform, b"seed", worker.wake))
        if "settler" in roles:
            made.append(Settler(view, perform, worker.wake))
        running = asyncio.create_task(worker.run(made))
        await self.quiet(running)
        try:
            yield lambda: self.quiet(running)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def quiet(self, running: asyncio.Task[None]) -> None:
        """Let the worker do all it can before the next block. Nothing in it waits for anything but the loop."""
        for _ in range(300):
            if running.done():
                running.result()
            await asyncio.sleep(0)

    def done(self, function: str) -> list[dict[str, Any]]:
        """The arguments of the worker's calls of this name in final blocks."""
        return [
            dict(call.args)
            for call, account, _ in self.chain.executed
            if call.function == function and account == WORKER.address
        ]

    def tried(self, function: str) -> list[Call]:
        """The worker's calls of this name that were signed, whatever came of them."""
        rows = self.store.all("SELECT call FROM intents WHERE account = ?", WORKER.address)
        calls = [unpack_call(row["call"]) for row in rows]
        return [call for call in calls if call.function == function]

    def waiting(self, function: str) -> list[dict[str, Any]]:
        """The arguments of the worker's calls of this name in the pool."""
        calls = [self.chain.call_of(extrinsic) for extrinsic in self.chain.pool if extrinsic.account == WORKER.address]
        return [dict(call.args) for call in calls if call.function == function]
