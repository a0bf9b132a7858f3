"""A chain for all scenarios of verification: its accounts, hosts, tasks and coins."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from verification_client import PATIENCE, Client, Done
from verification_roles import ANYONE, ASK, GTY, HARDWARE, SUDO, VERIFIERS, Roles, make_roles

from offchain.adapters.chain.registration import sign_registration
from offchain.ports import Block, Call, Signer
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import calls, storage
from offchain.schema.chain_types.ids import lease_id, task_key
from tests.support._generated_events import TasksSubmitted
from tests.support.chain_records import ANY_RATE, task_spec
from tests.support.development_node import DevelopmentNode
from tests.support.real_chain import by_sudo, plain

MANIFEST = b"services: {}"
JOB = task_spec(
    manifest_digest=sha256(MANIFEST).digest(),
    resources=gen.Resources(1_000, 1_024, 1, gen.GpuRequest(1, 1_000, 0, ())),
    max_rate_per_hour=3_600 * GTY,
)
PRICE = GTY * 15 // 100
"""What a pod costs that says it ran for WALL_MS."""
WALL_MS = 150
FEE = 50
"""One in so many coins of every bill is the network's."""
TREASURY_FEE = PRICE // FEE * 9 // 10
"""The treasury's part of the fee for `PRICE`, of which a settler gets a tenth."""
WEIGHT_OF_DEPOSIT = 6_703_125
"""The weight, in millionths, of evidence about a lease with a fee of 2 % of the deposit of such a job, 12 GTY, of which
a settler gets a tenth."""
WEIGHT_OF_PRICE = 27_000
"""The weight, in millionths, of evidence about a lease with the fee of `PRICE`, 0.003 GTY, of which a settler gets a
tenth."""


def result(content: int) -> gen.PodResult:
    """What a pod worked out, in a second."""
    return gen.PodResult(bytes([content] * 32), 0, gen.Usage(WALL_MS, WALL_MS, 10))


@dataclass(frozen=True)
class Job:
    """A task whose pods run, pod n on the scenario's host n."""

    task: int
    leases: tuple[int, ...]


@dataclass
class Network:
    """`runs`: the scenarios that run, by name."""

    node: DevelopmentNode
    client: Client
    genesis: bytes
    params: gen.VerificationParams
    roles_of: dict[str, Roles] = field(default_factory=dict)
    runs: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    # --- setting the scene ----------------------------------------------------------------------------------------

    async def enter(self, scenarios: Sequence[tuple[Scenario, Roles]]) -> None:
        """The verifiers are bonded, and the scenarios' hosts are registered and heard of."""
        do = self.client.do
        pairs = [pair for _, roles in scenarios for pair in zip(roles.providers, roles.hosts, strict=True)]
        await asyncio.gather(
            *(do(who, calls.verification_bond_verifier()) for who in VERIFIERS.values()),
            *(self._register(provider, host) for provider, host in pairs),
        )
        good = [host for scenario, roles in scenarios if scenario.verified for host in roles.hosts]
        if good:
            await do(SUDO, by_sudo(batch(calls.hosts_verify(host=host.address) for host in good)))
        await asyncio.gather(*(do(host, calls.hosts_heartbeat()) for _, host in pairs))
        self.roles_of = {scenario.name: roles for scenario, roles in scenarios}
        for scenario, roles in scenarios:
            if not scenario.alone:
                self.runs[scenario.name] = asyncio.ensure_future(scenario.play(self, roles))

    async def finish_all(self) -> None:
        """Wait until every scenario that does not run alone has ended, however it ended."""
        await asyncio.gather(*self.runs.values(), return_exceptions=True)

    async def _register(self, provider: Signer, host: Signer) -> Done:
        about = {"hardware": HARDWARE, "endpoint": b"here", "region": b"eu", "ask": ASK}
        signature = sign_registration(host, self.genesis, provider.address, HARDWARE, b"here", b"eu", ASK)
        call = calls.hosts_register(host=host.address, **about, host_signature=signature)  # type: ignore[arg-type]
        return await self.client.do(provider, call)

    async def final(self, block: Block) -> None:
        """Waits until this block cannot be lost any more."""
        async with asyncio.timeout(PATIENCE):
            async for head in self.client.link.finalized():
                if head.number >= block.ref.number:
                    return

    def kill(self) -> None:
        """End the node by a signal that it cannot answer."""
        os.kill(self.node.pid, signal.SIGKILL)
        self.node.stop()

    # --- tasks ----------------------------------------------------------------------------------------------------

    async def assigned(self, roles: Roles, replicas: int = 1, of: gen.TaskSpec = JOB) -> Job:
        """A task of the tenant has leases, one pod on each of so many hosts; results of several are compared."""
        policy: gen.VerificationPolicy = gen.VerificationPolicyAcceptance()
        if replicas > 1:
            policy = gen.VerificationPolicyRedundant(replicas=replicas)
        spec = replace(of, pods_min=replicas, pods_max=replicas, verification=policy)
        submitted = await self.client.do(roles.tenant, calls.tasks_submit(spec=spec, manifest=MANIFEST))
        task = submitted.one(TasksSubmitted).first
        pods = [gen.PodPlacement(pod, roles.hosts[pod].address, b"\0", ANY_RATE) for pod in range(replicas)]
        await self.client.do(roles.tenant, calls.tasks_assign(task=task, pods=pods))
        return Job(task, tuple(lease_id(task, pod, 0) for pod in range(replicas)))

    async def running(self, roles: Roles, replicas: int = 1, of: gen.TaskSpec = JOB) -> Job:
        """As `assigned`, and the pods run."""
        job = await self.assigned(roles, replicas, of)
        await asyncio.gather(*(self.started(roles, pod, lease) for pod, lease in enumerate(job.leases)))
        return job

    async def past(self, moment_ms: int) -> None:
        """Wait for a block after this time."""
        await self.client.until(lambda block: block if block.timestamp_ms > moment_ms else None)

    async def started(self, roles: Roles, host: int, lease: int) -> None:
        await self.client.do(roles.hosts[host], calls.tasks_report_started(lease=lease))

    async def reported(self, roles: Roles) -> Job:
        """A job of the tenant has run on the scenario's first host, whose result may be disputed."""
        job = await self.running(roles)
        await self.report(roles, job)
        return job

    async def report(self, roles: Roles, job: Job) -> Block:
        """Report the result of the pod on the first host."""
        call = calls.tasks_report_result(lease=job.leases[0], result=result(1))
        return (await self.client.do(roles.hosts[0], call)).block

    async def state_of(self, task: int) -> str:
        """`Verified`, `Failed(DisputeLost)` and so on."""
        state: Any = (await self.client.must(storage.tasks_tasks, task_key(task))).state.encode()
        return state if isinstance(state, str) else "".join(f"{name}({why})" for name, why in state.items())

    async def settle(self, task: int) -> Done:
        return await self.client.do(ANYONE, calls.tasks_settle(task=task))

    # --- hosts ----------------------------------------------------------------------------------------------------

    async def host(self, host: Signer, at: bytes | None = None) -> gen.HostRecord:
        return await self.client.must(storage.hosts_hosts, host.address, at=at)

    async def score(self, host: Signer, at: Block) -> gen.HostScore:
        """What is known for and against a host, as last written down: what is older fades a little each time."""
        return await self.client.must(storage.reputation_host_scores, host.address, at=at.ref.hash)

    async def conduct(self, tenant: Signer, at: Block) -> gen.TenantScore:
        """Return what is known for and against a tenant."""
        return await self.client.must(storage.reputation_tenant_scores, tenant.address, at=at.ref.hash)

    async def faults_of(self, provider: Signer) -> int:
        """What is held against a provider, in millionths of a grave fault, since its last."""
        record = await self.client.read(storage.reputation_provider_faults, provider.address)
        return 0 if record is None else record.weight

    # --- coins ----------------------------------------------------------------------------------------------------

    async def coins(self, who: str, at: bytes) -> int:
        """All coins of an account, held ones included."""
        record = await self.client.link.query("System", "Account", [who], at=at)
        return int(record["data"]["free"] + record["data"]["reserved"]) if record else 0

    async def all_coins(self, at: bytes) -> dict[str, int]:
        """All coins of all accounts, held ones included."""
        accounts = await self.client.link.query_map("System", "Account", at=at)
        return {who: record["data"]["free"] + record["data"]["reserved"] for who, record in accounts}

    async def gained(self, who: Signer, after: Block, until: Block) -> int:
        """What an account has more after `until` than after `after`, without the fees of its transactions."""
        between = [b for b in self.client.blocks if after.ref.number < b.ref.number <= until.ref.number]
        paid = [e.fields for b in between for e in b.events if e.name == "TransactionFeePaid"]
        fees = sum(fee["actual_fee"] for fee in paid if fee["who"] == who.address)
        had, has = [await self.coins(who.address, at=block.ref.hash) for block in (after, until)]
        return has - had + int(fees)

    @property
    def now(self) -> Block:
        """The newest block that was seen."""
        return self.client.blocks[-1]


Play = Callable[[Network, Roles], Coroutine[Any, Any, None]]


@dataclass(frozen=True)
class Scenario:
    """`play` runs at the same time as others, or `alone` after them. `verified`: its hosts are so from the start."""

    name: str
    hosts: int
    verified: bool
    hosts_pay: bool
    alone: bool
    play: Play


def scenario(
    *, hosts: int = 1, verified: bool = True, hosts_pay: bool = False, alone: bool = False
) -> Callable[[Play], Callable[[Network], Coroutine[Any, Any, None]]]:
    """Makes a test of a scenario: the test waits for its end."""

    def of(play: Play) -> Callable[[Network], Coroutine[Any, Any, None]]:
        about = Scenario(play.__name__, hosts, verified, hosts_pay, alone, play)

        async def test(net: Network) -> None:
            if alone:
                await net.finish_all()
                await play(net, net.roles_of[about.name])
            else:
                await net.runs[about.name]

        test.__name__, test.__doc__, test.__module__ = play.__name__, play.__doc__, play.__module__
        test.scenario = about  # type: ignore[attr-defined]
        return test

    return of


def scenarios_of(tests: Iterable[Any]) -> list[tuple[Scenario, Roles]]:
    """The scenarios among the tests that are to be run, and who plays in each."""
    scenarios = [test.function.scenario for test in tests if hasattr(test.function, "scenario")]
    return [
        (scenario, make_roles(scenario.name, scenario.hosts, hosts_pay=scenario.hosts_pay)) for scenario in scenarios
    ]


def batch(all_of: Iterable[Call]) -> Call:
    """Return the calls as one that is all or nothing."""
    return Call("Utility", "batch_all", {"calls": [plain(call) for call in all_of]})
