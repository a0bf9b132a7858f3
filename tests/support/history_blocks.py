"""Blocks as a busy network makes them, from a seed: tasks from submission to settlement, hosts, coins, refusals."""

import hashlib
import random
from collections.abc import Iterator
from typing import Any

from offchain.adapters.keys import ss58
from offchain.ports import Block, BlockRef, ChainEvent, DispatchFailure, Inclusion
from offchain.schema.chain_types.ids import lease_id

GENESIS = hashlib.sha256(b"genesis").digest()
BLOCK_MS = 2000
DISPATCH_INFO = {"weight": {"ref_time": 1000, "proof_size": 100}, "class": "Normal", "pays_fee": "Yes"}


def address(number: int) -> str:
    return ss58.encode(hashlib.sha256(b"account %d" % number).digest())


TENANTS = [address(n) for n in range(20)]
PROVIDERS = [address(100 + n) for n in range(5)]
HOSTS = [address(200 + n) for n in range(25)]


class History:
    """Makes blocks one after the other."""

    def __init__(self, seed: int = 1, *, hosts: int = 10) -> None:
        self.random = random.Random(seed)  # noqa: S311 - repeats a run, guards nothing
        self.number = 0
        self.parent = bytes(32)
        self.next_task = 0
        self.hosts = HOSTS[:hosts]
        self.known: set[str] = set()
        self.queued: list[int] = []
        self.assigned: dict[int, tuple[int, str, int]] = {}
        self.running: dict[int, tuple[int, str, int]] = {}
        self.reported: dict[int, tuple[int, str, int]] = {}
        self.attempts: dict[int, int] = {}

    def blocks(self, count: int, events_per_block: int = 40) -> Iterator[Block]:
        for _ in range(count):
            yield self.block(events_per_block)

    def block(self, wanted: int = 40) -> Block:
        """Return a block with about this number of events."""
        number = self.number
        block_hash = GENESIS if number == 0 else hashlib.sha256(self.parent + number.to_bytes(4, "big")).digest()
        events: list[ChainEvent] = []
        refused: dict[int, DispatchFailure] = {}
        if number:
            while len(events) < wanted:
                events += self.step()
            no = DispatchFailure("Tasks", "NotQueued", "The task is not queued.")
            refused[0] = no
            error = {"Module": {"index": 11, "error": b"\x03\0\0\0"}}
            events.append(ChainEvent("Tasks", "ItemRefused", {"index": 0, "task": 0, "error": error}, 1))
            events.append(
                ChainEvent("System", "ExtrinsicFailed", {"dispatch_error": error, "dispatch_info": DISPATCH_INFO}, 2)
            )
        inclusions = (
            (
                Inclusion(0, hashlib.sha256(block_hash + b"0").digest(), None, call="Timestamp.set"),
                Inclusion(
                    1,
                    hashlib.sha256(block_hash + b"1").digest(),
                    None,
                    refused,
                    "Tasks.assign_batch",
                    TENANTS[number % 20],
                ),
                Inclusion(
                    2,
                    hashlib.sha256(block_hash + b"2").digest(),
                    DispatchFailure("Tasks", "NoSuchTask", ""),
                    call="Tasks.cancel",
                    signer=TENANTS[0],
                ),
            )
            if number
            else ()
        )
        made = Block(BlockRef(number, block_hash), self.parent, number * BLOCK_MS, tuple(events), tuple(inclusions))
        self.parent, self.number = block_hash, number + 1
        return made

    def step(self) -> list[ChainEvent]:  # noqa: PLR0911 - one line for each operation
        """One operation: its events, with those of the balances that go with it."""
        choice = self.random.random()
        if len(self.known) < len(self.hosts):
            return self.register()
        if choice < 0.22 or not (self.queued or self.assigned or self.running or self.reported):
            return self.submit()
        if choice < 0.45 and self.queued:
            return self.assign()
        if choice < 0.62 and self.assigned:
            return self.start()
        if choice < 0.68 and self.running:
            return self.lose()
        if choice < 0.84 and self.running:
            return self.report()
        if self.reported:
            return self.settle()
        return self.submit()

    def event(self, pallet: str, name: str, **fields: Any) -> ChainEvent:
        return ChainEvent(pallet, name, fields, 1)

    def register(self) -> list[ChainEvent]:
        host = self.hosts[len(self.known)]
        self.known.add(host)
        provider = PROVIDERS[len(self.known) % len(PROVIDERS)]
        return [
            self.event("Balances", "Held", reason={"Hosts": "Bond"}, who=provider, amount=10**15),
            self.event("Hosts", "Registered", host=host, provider=provider),
            self.event("Hosts", "StatusChanged", host=host, **{"from": "Unverified", "to": "Online"}),
        ]

    def submit(self) -> list[ChainEvent]:
        count = self.random.choice([1, 1, 1, 4])
        first, tenant = self.next_task, self.random.choice(TENANTS)
        self.next_task += count
        self.queued += range(first, first + count)
        return [
            self.event("Balances", "Held", reason={"Tasks": "Deposit"}, who=tenant, amount=10**10 * count),
            self.event(
                "Tasks",
                "Submitted",
                first=first,
                count=count,
                tenant=tenant,
                kind="Job",
                manifest_digest=hashlib.sha256(b"%d" % first).digest(),
            ),
            self.event("TransactionPayment", "TransactionFeePaid", who=tenant, actual_fee=2 * 10**9, tip=0),
        ]

    def assign(self) -> list[ChainEvent]:
        task = self.queued.pop(self.random.randrange(len(self.queued)))
        generation = self.attempts.get(task, 0)
        lease, host = lease_id(task, 0, generation), self.random.choice(self.hosts)
        deposit = self.random.randrange(10**12, 10**20)
        self.assigned[task] = (lease, host, deposit)
        return [
            self.event(
                "Tasks",
                "Assigned",
                task=task,
                generation=generation,
                leases=[(lease, host, 10**12, deposit)],
                state="Assigned",
            )
        ]

    def _pop(self, of: dict[int, tuple[int, str, int]]) -> tuple[int, tuple[int, str, int]]:
        task = self.random.choice(list(of))
        return task, of.pop(task)

    def start(self) -> list[ChainEvent]:
        task, lease = self._pop(self.assigned)
        self.running[task] = lease
        return [
            self.event("Tasks", "PodStarted", task=task, lease=lease[0], depletes_at=2**40, state="Running"),
            self.event("Reputation", "Scored", host=lease[1], score_ppm=self.random.randrange(10**6)),
        ]

    def bill(self, lease: tuple[int, str, int], paid: int) -> dict[str, int]:
        shares = {"scheduler_fee": paid // 100, "settler_fee": paid // 200}
        return {"lease": lease[0], "paid": paid, "fee": paid // 20, **shares, "refunded": lease[2] - paid}

    def lose(self) -> list[ChainEvent]:
        task, lease = self._pop(self.running)
        self.attempts[task] = self.attempts.get(task, 0) + 1
        self.queued.append(task)
        return [
            self.event("Hosts", "Slashed", host=lease[1], fault="LostPod", amount=10**9),
            self.event(
                "Tasks",
                "Requeued",
                task=task,
                lease=lease[0],
                reason={"HostRefused": "DriverError"},
                bills=[self.bill(lease, 0)],
                failures=self.attempts[task],
                state="Queued",
            ),
        ]

    def report(self) -> list[ChainEvent]:
        task, lease = self._pop(self.running)
        self.reported[task] = lease
        usage = {"wall_ms": 5000, "cpu_ms": 4000, "memory_peak_mib": 100}
        result = {"digest": hashlib.sha256(b"%d" % task).digest(), "exit_code": 0, "usage": usage}
        return [self.event("Tasks", "PodReported", task=task, lease=lease[0], result=result, state="Reported")]

    def settle(self) -> list[ChainEvent]:
        task, lease = self._pop(self.reported)
        paid = self.random.randrange(lease[2])
        return [
            self.event(
                "Balances",
                "TransferOnHold",
                reason={"Billing": "Escrow"},
                source=TENANTS[task % 20],
                dest=lease[1],
                amount=paid,
            ),
            self.event("Tasks", "Settled", task=task, bills=[self.bill(lease, paid)]),
        ]
