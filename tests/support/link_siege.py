"""Attacks on agent and gateway of a running local network, and what the network's honest users notice meanwhile."""

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import from_uri
from offchain.adapters.transport.routing import open_direct
from offchain.devnet.paths import ROOT
from offchain.errors import GantryError
from offchain.ports import Block
from offchain.schema.chain_types._generated_chain import HostRecord
from offchain.schema.chain_types.ids import lease_id
from offchain.schema.protocol.gateway import is_gateway, parse_gateway
from offchain.schema.protocol.messages import WEBSOCKET, parse_endpoint
from tests.support.local_network import TENANT, Net

MIB = 1024
QUESTION_S = 60.0
"""A limit for a question that is never answered."""
PAUSE_S = 0.2


@dataclass(frozen=True, slots=True)
class Target:
    """A server of the host link: its ed25519 key and where it listens."""

    key: bytes
    quic: str
    websocket: str

    def address(self, *, websocket: bool) -> str:
        return self.websocket if websocket else self.quic


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One process of attackers, as of `tests.support.link_attacker`."""

    kind: str
    target: Target
    websocket: bool = True
    connections: int = 4
    sources: int = 1
    lease: int = 1
    account: str | None = None


async def the_host(net: Net) -> tuple[str, HostRecord]:
    """Return account and record of the network's only host that is online."""
    return next((name, record) for name, record in (await net.typed.hosts()).items() if record.status.tag == "Online")


async def agent_of(net: Net) -> Target:
    """Return the agent of the network's host."""
    name, record = await the_host(net)
    addresses = [address for address in parse_endpoint(record.endpoint) if not is_gateway(address)]
    websocket = next(address for address in addresses if address.startswith(WEBSOCKET))
    return Target(ss58.decode(name), next(one for one in addresses if one != websocket), websocket)


def gateway_of(net: Net) -> Target:
    """Return the gateway of the network."""
    text = (net.state / "gateway" / "address").read_text(encoding="utf-8").strip()
    gateway = parse_gateway(text)
    place = f"{gateway.host}:{gateway.port}"
    return Target(ss58.decode(gateway.account), place, f"{WEBSOCKET}{place}")


async def attack(net: Net, plan: Plan, seconds: float, nice: int) -> dict[str, Any]:
    """Run one process of attackers for this time; return what it did.

    It has a session of its own, of a lower priority (`nice`) once it has started: attackers have machines of their own,
    and take no processor from those they attack.
    """
    options = {
        "key": plan.target.key.hex(),
        "genesis": net.genesis.hex(),
        "address": plan.target.address(websocket=plan.websocket),
        "seconds": seconds,
        "connections": plan.connections,
        "sources": plan.sources,
        "nice": nice,
        "lease": plan.lease,
        **({} if plan.account is None else {"account": plan.account}),
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.support.link_attacker", plan.kind),
        *(f"--{name}={value}" for name, value in options.items()),
        cwd=ROOT,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = await process.communicate()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    assert process.returncode == 0, err.decode()
    done: dict[str, Any] = json.loads(out)
    return done


def rss_mib(pid: int) -> float:
    """Return the resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / MIB
    return 0.0


@dataclass
class Observed:
    """What was seen of the network during a siege."""

    late_ms: int = 0
    """The longest time between a heartbeat of the host and the time of a block, milliseconds."""
    heartbeats_late: int = 0
    """Blocks at which the last heartbeat was older than half of the time after which a host may be reported absent."""
    blocks: int = 0
    absent: int = 0
    """Events that report the host absent, or slash it."""
    lost: int = 0
    """Events that say that a pod was lost."""
    questions_ms: list[float] = field(default_factory=list)
    """Durations of the tenant's questions, each on a connection of its own."""
    unanswered: list[str] = field(default_factory=list)
    rss_mib: dict[str, list[float]] = field(default_factory=dict)
    """Resident memory of agent and gateway at each look."""

    @property
    def growth_mib(self) -> dict[str, float]:
        """The most that each of the processes grew over what it had at first."""
        return {name: round(max(seen) - seen[0], 1) for name, seen in self.rss_mib.items() if seen}

    @property
    def rss_growth_mib(self) -> float:
        """The most that one of the processes grew."""
        return max(self.growth_mib.values(), default=0.0)


@contextlib.asynccontextmanager
async def observed(net: Net, lease: int) -> AsyncIterator[Observed]:
    """Observe the network, and ask the host about the tenant's lease again and again, as long as the block lasts."""
    seen = Observed()
    host, _ = await the_host(net)
    target = await agent_of(net)
    work = [
        asyncio.create_task(_follow(net, host, seen)),
        asyncio.create_task(_ask(net, target, lease, seen)),
        asyncio.create_task(_weigh(net, seen)),
    ]
    try:
        yield seen
    finally:
        for task in work:
            task.cancel()
        results = await asyncio.gather(*work, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result


async def _follow(net: Net, host: str, seen: Observed) -> None:
    last = (await net.chain.finalized_head()).number
    late_ms = (await net.typed.params("Hosts")).absence_limit_ms // 2
    async for head in net.chain.finalized():
        for number in range(last + 1, head.number + 1):
            block: Block = await net.chain.block(number)
            record = await net.typed.host(host, at=block.ref.hash)
            assert record is not None
            waited_ms = block.timestamp_ms - record.last_heartbeat
            seen.late_ms = max(seen.late_ms, waited_ms)
            seen.heartbeats_late += waited_ms > late_ms
            seen.blocks += 1
            names = [f"{event.pallet}.{event.name}" for event in block.events]
            seen.absent += sum(name in {"Hosts.AbsenceReported", "Hosts.Slashed", "Tasks.Slashed"} for name in names)
            seen.lost += sum(name in {"Tasks.PodLost", "Tasks.Requeued"} for name in names)
        last = max(last, head.number)


async def _ask(net: Net, target: Target, lease: int, seen: Observed) -> None:
    addresses = [target.quic, target.websocket]
    signer = from_uri(TENANT)
    while True:
        began = time.perf_counter()
        try:
            async with asyncio.timeout(QUESTION_S):
                async with open_direct(target.key, addresses, genesis_hash=net.genesis, signer=signer) as client:
                    async for _ in client.logs(lease, tail=1):
                        pass
                    seen.questions_ms.append((time.perf_counter() - began) * 1000)
        except (GantryError, TimeoutError) as error:
            seen.unanswered.append(str(error) or type(error).__name__)
        await asyncio.sleep(PAUSE_S)


async def _weigh(net: Net, seen: Observed) -> None:
    while True:
        for name in ("agent", "gateway"):
            with contextlib.suppress(OSError):
                seen.rss_mib.setdefault(name, []).append(rss_mib(net.pid(name)))
        await asyncio.sleep(PAUSE_S)


async def siege(net: Net, plans: Sequence[Plan], seconds: float, *, nice: int) -> list[dict[str, Any]]:
    """Run all attacks at the same time."""
    return list(await asyncio.gather(*(attack(net, plan, seconds, nice) for plan in plans)))


async def lease_of(net: Net, task: int) -> int:
    """Return the number of the only lease of a task."""
    (lease,) = await net.leases(task)
    return lease_id(task, lease.pod, lease.generation)
