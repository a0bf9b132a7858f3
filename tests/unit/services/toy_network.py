"""The in-memory chain with just enough of the pallets on it for a scheduler and a settler to have something to do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import asynccontextmanager
from typing import Any

from offchain.adapters.chain.watcher import Watcher
from offchain.adapters.keys import signer as keys
from offchain.adapters.outbox.outbox import Outbox
from offchain.adapters.outbox.store import Store
from offchain.ports import Call, DispatchFailure, Signer
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id, lease_parts
from offchain.services.decision_recorder import DecisionSink
from offchain.services.scheduler import Scheduler
from offchain.services.settler import Settler
from offchain.services.submitter import Submitter
from offchain.services.view import ChainView
from offchain.services.worker import Worker
from tests.support.chain_records import GTY, Tasks, device, host_record, hosts_params, task_spec, tasks_params
from tests.support.chain_records import lease as lease_record
from tests.support.fake_chain import BLOCK_MS, FakeChain

TENANT = keys.from_uri("//Charlie")
WORKER = keys.from_uri("//Dave")
PROVIDER = keys.from_uri("//Bob")
HOST = keys.from_uri("//Host").address
OTHER_HOST = keys.from_uri("//OtherHost").address
BATCHES = {"assign_batch", "settle_batch"}
Events = list[tuple[str, str, dict[str, Any]]]
NOT_QUEUED = DispatchFailure("Tasks", "NotQueued", "The task does not wait for a host.")


def items_of(call: Call) -> list[Call]:
    """The calls that a batch stands for; the call itself where it is none."""
    if call.function == "assign_batch":
        return [Call("Tasks", "assign", {"task": task, "pods": pods}) for task, pods in call.args["assignments"]]
    if call.function == "settle_batch":
        return [Call("Tasks", "settle", {"task": task}) for task in call.args["tasks"]]
    return [call]


class Toy:
    def __init__(self) -> None:
        self.chain = FakeChain()
        self.tasks = Tasks(self.chain)
        self.chain.effects = self._apply
        self.chain.verdicts = lambda call, _: None if call.function in BATCHES else self.verdict(call)
        self.chain.refused_items = self._refused_items
        self.verdict: Callable[[Call], DispatchFailure | None] = lambda _: None
        self.store = Store(":memory:")
        self.stores = {WORKER.address: self.store}
        """Of each worker's account."""
        self.record: DecisionSink | None = None
        self.scheduler: Scheduler | None = None
        self.events: list[dict[str, Any]] = []
        self.notices: dict[int, tuple[str, list[int], list[dict[str, Any]]]] = {}
        """[waiting task]: who decided it, who leaves, and where the task is placed then."""
        self.put("Tasks", "Params", value=tasks_params())
        self.put("Hosts", "Params", value=hosts_params(heartbeat_period_ms=6_000, absence_limit_ms=30_000))
        self.put("Tasks", "Schedulers", WORKER.address, value=GTY)
        self.put("Tasks", "NextTaskId", value=0)
        self.put("Timestamp", "Now", value=0)

    # --- state ------------------------------------------------------------------------------------------------------

    def put(self, pallet: str, item: str, *key: Any, value: Any) -> None:
        self.chain.storage[pallet, item][key] = value

    def get(self, pallet: str, item: str, *key: Any) -> Any:
        return self.chain.storage[pallet, item].get(key)

    def host(self, host: str = HOST, *, gpus: int = 1, last_heartbeat: int = 10**9, **changes: Any) -> None:
        devices = (device(),) * gpus
        record = host_record(PROVIDER.address, devices=devices, last_heartbeat=last_heartbeat).encode()
        self.put("Hosts", "Hosts", host, value={**record, **changes})

    def state(self, task: int) -> str:
        return self.tasks.get(task).state.tag

    def go(self, task: int, state: gen.TaskState, **changes: Any) -> None:
        """A task comes to a state, now."""
        self.tasks.change(task, state=state, changed_at=self.now, **changes)

    @property
    def now(self) -> int:
        return int(self.get("Timestamp", "Now"))

    # --- calls ------------------------------------------------------------------------------------------------------

    async def call(self, function: str, pallet: str = "Tasks", who: Signer = TENANT, **arguments: Any) -> None:
        """A call of a tenant, into the pool."""
        nonce = await self.chain.next_nonce(who.address)
        await self.chain.broadcast(await self.chain.sign(Call(pallet, function, arguments), who, nonce))

    async def submit(self, count: int = 1, who: Signer = TENANT, **changes: Any) -> int:
        """Tasks, into the pool; gives the number the first will have."""
        task = int(self.get("Tasks", "NextTaskId"))
        await self.call("submit", who=who, count=count, changes=changes)
        return task

    async def block(self, *, finalize: bool = True, after_ms: int = BLOCK_MS) -> None:
        self.put("Timestamp", "Now", value=self.now + after_ms)
        self.events = []
        self.put("System", "Events", value=self.events)
        await self.chain.produce(finalize=finalize)

    def _refused_items(self, call: Call, _account: str) -> dict[int, DispatchFailure]:
        refused = {place: self.verdict(item) for place, item in enumerate(items_of(call))}
        return {} if call.function not in BATCHES else {at: why for at, why in refused.items() if why is not None}

    def _apply(self, call: Call, account: str) -> Events:
        events: Events = []
        for item in items_of(call):
            made = getattr(self, f"_{item.function}", None)
            if made is not None and self.verdict(item) is None:
                events += made(account, **item.args)
        self.events += [{"event": {pallet: {name: fields}}} for pallet, name, fields in events]
        return events

    def _submit(self, account: str, count: int, changes: dict[str, Any]) -> Events:
        first = self.tasks.submit(account, task_spec(**changes), count, now=self.now)
        return [("Tasks", "Submitted", {"first": first, "count": count, "tenant": account})]

    def _assign(self, _account: str, task: int, pods: list[dict[str, Any]]) -> Events:
        record = self.tasks.get(task)
        leases = tuple(
            lease_record(
                pod["host"],
                pod=pod["pod"],
                generation=record.generation,
                devices=pod["devices"],
                created_at=self.now,
            )
            for pod in pods
        )
        self.go(task, gen.TaskStateAssigned(), leases=record.leases + leases)
        for opened in leases:
            self._take(opened.host, opened.devices, -1000)
        opened = [(lease_id(task, one.pod, one.generation), one.host, GTY, GTY) for one in leases]
        return [("Tasks", "Assigned", {"task": task, "generation": 0, "leases": opened, "state": "Assigned"})]

    def _report(self, _account: str, lease: int) -> Events:
        self._end(lease, gen.EndReasonCompleted())
        task = lease_parts(lease)[0]
        self.go(task, gen.TaskStateReported())
        return [("Tasks", "PodReported", {"task": task, "lease": lease, "state": "Reported"})]

    def _settle(self, _account: str, task: int) -> Events:
        self.go(task, gen.TaskStateSettled())
        return [("Tasks", "Settled", {"task": task})]

    def _prune(self, _account: str, tasks: list[int]) -> Events:
        for task in tasks:
            self.tasks.put(task, None)
        return [("Tasks", "Pruned", {"task": task}) for task in tasks]

    def _requeue(self, _account: str, lease: int, reason: Any = "StartTimeout") -> Events:
        task, _, generation = lease_parts(lease)
        self._end(lease, gen.EndReasonStartTimeout())
        self.go(task, gen.TaskStateQueued(), generation=generation + 1, leases=())
        return [("Tasks", "Requeued", {"task": task, "lease": lease, "reason": reason, "state": "Queued"})]

    def _preempt(self, account: str, wanting: int, victims: list[int], pods: list[dict[str, Any]]) -> Events:
        told = gen.Preemption(wanting=wanting, ends_at=self.now + tasks_params()["preemption_notice_ms"])
        for victim in victims:
            self.tasks.change(victim, preemption=told)
        self.tasks.change(wanting, notice=gen.NoticeStateStanding(told.ends_at))
        self.notices[wanting] = account, victims, pods
        return [("Tasks", "PreemptionNoticed", {"task": victim, "wanting": wanting}) for victim in victims]

    def _name_standby(self, _account: str, lease: int, host: str, devices: bytes, rate_per_hour: int) -> Events:
        self.tasks.change_lease(lease, standby=gen.StandbyPlace(host, devices, rate_per_hour))
        return [("Tasks", "StandbyNamed", {"lease": lease, "host": host})]

    def _move_pod(
        self, _account: str, lease: int, host: str, devices: bytes, rate_per_hour: int, reason: str = "Moved"
    ) -> Events:
        del rate_per_hour
        task, pod, generation = lease_parts(lease)
        self._end(lease, gen.EndReasonMoved())
        opened = lease_record(host, pod=pod, generation=generation + 1, devices=devices, created_at=self.now)
        leases = tuple(opened if one.pod == pod else one for one in self.tasks.get(task).leases)
        self.tasks.change(task, generation=generation + 1, leases=leases)
        self._take(host, devices, -1000)
        to = lease_id(task, pod, generation + 1)
        return [("Tasks", "LeaseMoved", {"task": task, "from": lease, "to": to, "host": host, "reason": reason})]

    def _drain(self, _account: str, host: str) -> Events:
        self.put("Hosts", "Hosts", host, value={**self.get("Hosts", "Hosts", host), "status": "Draining"})
        return [("Hosts", "StatusChanged", {"host": host, "from": "Online", "to": "Draining"})]

    def _finish_preemption(self, _account: str, wanting: int) -> Events:
        scheduler, victims, pods = self.notices.pop(wanting)
        events: Events = []
        for task in victims:
            record = self.tasks.get(task)
            for one in record.leases:
                self._end(lease_id(task, one.pod, one.generation), gen.EndReasonPreempted())
            self.go(task, gen.TaskStateQueued(), generation=record.generation + 1, leases=())
            events.append(("Tasks", "Preempted", {"task": task, "wanting": wanting, "bills": [], "state": "Queued"}))
        self.tasks.change(wanting, notice=gen.NoticeStateAbsent())
        return events + self._assign(scheduler, wanting, pods)

    def withdraw(self, wanting: int, until: int) -> Events:
        """What the chain does where the pods do not fit when the notice is over."""
        _, victims, _ = self.notices.pop(wanting)
        for task in victims:
            self.tasks.change(task, preemption=None)
        self.tasks.change(wanting, notice=gen.NoticeStateWithdrawn(until))
        told = [("Tasks", "PreemptionWithdrawn", {"task": task, "wanting": wanting}) for task in victims]
        return [*told, ("Tasks", "PreemptionFailed", {"task": wanting, "error": None})]

    def start(self, task: int) -> None:
        """All pods of a task run."""
        for one in self.tasks.get(task).leases:
            self.tasks.change_lease(lease_id(task, one.pod, one.generation), state=gen.LeaseStateActive())
        self.go(task, gen.TaskStateRunning(), preemption=None)

    def _end(self, number: int, reason: gen.EndReason) -> None:
        ended = self.tasks.lease(number)
        self._take(ended.host, ended.devices, 1000)
        self.tasks.change_lease(number, state=gen.LeaseStateEnded(reason))

    def _report_absent(self, _account: str, host: str) -> Events:
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
    async def working(self, *roles: str, signer: Signer = WORKER):
        """A worker with these roles, as the runner puts it together."""
        store = self.stores.setdefault(signer.address, Store(":memory:"))
        outbox = Outbox(self.chain, store, signer, now_ms=lambda: self.now)
        perform = Submitter(outbox)
        view = ChainView(self.chain)
        head = await view.start()
        worker = Worker(self.chain, Watcher(self.chain, store, "worker", start=head.number), outbox, view)
        made = []
        if "scheduler" in roles:
            self.scheduler = Scheduler(view, perform, b"seed", worker.wake, account=signer.address, record=self.record)
            made.append(self.scheduler)
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
        """The arguments of the worker's calls of this name in final blocks, alone or in a batch."""
        return [
            dict(item.args)
            for call, account, _ in self.chain.executed
            for item in items_of(call)
            if item.function == function and account == WORKER.address and self.verdict(item) is None
        ]

    def tried(self, function: str) -> list[Call]:
        """The workers' calls of this name that were signed, whatever came of them."""
        calls = [call for (account, _), call in self.chain.signed.items() if account in self.stores]
        return [item for call in calls for item in items_of(call) if item.function == function]

    def waiting(self, function: str) -> list[dict[str, Any]]:
        """The arguments of the worker's calls of this name in the pool, alone or in a batch."""
        calls = [self.chain.call_of(extrinsic) for extrinsic in self.chain.pool if extrinsic.account == WORKER.address]
        return [dict(item.args) for call in calls for item in items_of(call) if item.function == function]

    def sent(self) -> list[str]:
        """The functions of the worker's extrinsics in the pool."""
        return [self.chain.call_of(extrinsic).function for extrinsic in self.chain.pool]
