"""A chain with somebody in every role, and a host, a task and a lease in every state: where wrong calls are tried."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from offchain.adapters.chain import registration
from offchain.adapters.keys.signer import from_uri
from offchain.ports import Block, Call, DispatchFailure, Signer
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import calls
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import ANY_RATE, NO_GPU, ask, hardware, task_spec
from tests.support.real_chain import GTY, PATIENCE, Chain, by_sudo, hand_over

MANIFEST = b"services: {}"
UNKNOWN_TASK = 999_999
MINUTE_MS = 60_000
PEOPLE = {
    name: from_uri(uri)
    for name, uri in {
        "sudo": "//Alice",
        "provider": "//Bob",
        "tenant": "//Charlie",
        "scheduler": "//Dave",
        "other": "//Eve",
        "anyone": "//Ferdie",
        "poor": "//Poor",
    }.items()
}
HOSTS = {
    name: from_uri(f"//{name}", "ed25519")
    for name in ("online", "second", "offline", "draining", "suspended", "retiring")
}
NOBODYS_HOST = from_uri("//nobody", "ed25519")
SIGNERS: dict[str, Signer] = {**PEOPLE, **HOSTS, "nobody": NOBODYS_HOST}
PATCH = {
    "hosts": {"params": {"absenceLimitMs": 12_000, "heartbeatPeriodMs": 6_000}},
    "leases": {"params": {"retentionMs": 60 * MINUTE_MS}},
    "tasks": {"params": {"disputeWindowMs": 60 * MINUTE_MS, "startTimeoutMs": 60 * MINUTE_MS, "maxAttempts": 1}},
}
"""Absence is found fast; nothing else happens by itself while the wrong calls are tried."""
OURS = ("Hosts", "Tasks", "Leases", "Billing", "Reputation", "Verification", "Validators", "Governance")
MOVES_BY_ITSELF = {("Leases", "AgendaAt"), ("Validators", "Authored"), ("Verification", "LastRandomness")}
"""What hooks write in every block."""


ASK = ask(gpu_per_hour=GTY, cpu_core_per_hour=GTY, storage_gib_per_hour=GTY // 1_000_000, day_ppm=0)
"""Storage is cheap, so that an ended rental has paid for keeping its data while wrong calls are tried."""


HARDWARE = hardware(8_000, 16_384, 100)


JOB = task_spec(
    manifest_digest=sha256(MANIFEST).digest(),
    resources=gen.Resources(100, 64, 1, NO_GPU),
    max_rate_per_hour=2 * GTY,
    max_duration_ms=60 * MINUTE_MS,
)
SERVICE = replace(JOB, kind=gen.TaskKind.SERVICE)
RENTAL = replace(JOB, kind=gen.TaskKind.RENTAL)
RESULT = gen.PodResult(bytes(32), 0, gen.Usage(1_000, 1_000, 10))
FAILED = gen.HostFailure.DRIVER_ERROR


def on(host: str, pod: int = 0, devices: bytes = b"") -> gen.PodPlacement:
    return gen.PodPlacement(pod, SIGNERS[host].address, devices, ANY_RATE)


@dataclass
class Network:
    chain: Chain
    genesis: bytes
    tasks: dict[str, int] = field(default_factory=dict)
    """State -> the task that is in it."""

    def lease(self, state: str) -> int:
        """The one lease of the task in this state."""
        return lease_id(self.tasks[state], 0, 0)

    async def send(self, wanted: Sequence[tuple[str, Call]]) -> list[DispatchFailure | None]:
        """Have every call included, each signer's in the order given; gives how each ended."""
        link = self.chain.link
        nonces: dict[str, int] = {}
        hashes: list[bytes] = []
        start = (await link.finalized_head()).number
        for signer, call in wanted:
            who = SIGNERS[signer]
            nonce = nonces.get(signer, await link.next_nonce(who.address) if signer not in nonces else 0)
            nonces[signer] = nonce + 1
            hashes.append((await hand_over(link, call, who, nonce)).hash)
        found: dict[bytes, DispatchFailure | None] = {}
        missing = set(hashes)
        async with asyncio.timeout(PATIENCE):
            number = start
            while missing:
                number += 1
                block: Block = await self.chain.block_with(number)
                for inclusion in block.inclusions:
                    if inclusion.extrinsic_hash in missing:
                        found[inclusion.extrinsic_hash] = inclusion.failure
                        missing.discard(inclusion.extrinsic_hash)
        return [found[one] for one in hashes]

    async def do(self, *wanted: tuple[str, Call]) -> None:
        """Have every call succeed."""
        for (signer, call), failure in zip(wanted, await self.send(wanted), strict=True):
            assert failure is None, f"{signer}: {call.pallet}.{call.function}: {failure}"

    async def books(self) -> dict[str, Any]:
        """Everything that our pallets keep, but what hooks write in every block."""
        runtime = self.chain.runtime()
        head = await self.chain.link.finalized_head()
        books: dict[str, Any] = {}
        for pallet in OURS:
            for item in runtime.pallet(pallet).storage:
                if (pallet, item) not in MOVES_BY_ITSELF:
                    entry = runtime.entry(pallet, item)
                    read = self.chain.link.query_map if entry.keys else self.chain.link.query
                    books[f"{pallet}.{item}"] = await read(pallet, item, (), head.hash)
        return books


def register(net: Network, host: str) -> Call:
    provider = PEOPLE["provider"].address
    return registration.register(SIGNERS[host], net.genesis, provider, HARDWARE, b"here", b"eu", ASK)


STATES = ("Queued", "Assigned", "Running", "Reported", "Verified", "Settled", "Cancelled", "Failed", "Expired")
"""Of jobs with one pod. Beside them: a running service, a running rental, and one whose data is retained."""


async def build(net: Network) -> None:
    """Make hosts, tasks and leases in every state."""
    sudo, provider, tenant = "sudo", "provider", "tenant"
    transfers = [
        Call(
            "Balances",
            "transfer_allow_death",
            {"dest": {"Id": signer.address}, "value": GTY * (1 if name == "poor" else 1_000)},
        )
        for name, signer in {**HOSTS, "nobody": NOBODYS_HOST, "poor": PEOPLE["poor"]}.items()
    ]
    await net.do(
        *((sudo, call) for call in transfers),
        *((provider, register(net, host)) for host in HOSTS),
        ("scheduler", calls.tasks_bond_scheduler()),
    )
    await net.do(*((host, calls.hosts_heartbeat()) for host in HOSTS))
    now = int(await net.chain.link.query("Timestamp", "Now") or 0)
    kinds = dict.fromkeys(STATES, JOB) | {"Service": SERVICE, "Rental": RENTAL, "Retained": RENTAL}
    kinds["Expired"] = replace(JOB, deadline=now + 15_000)
    first = int(await net.chain.link.query("Tasks", "NextTaskId") or 0)
    net.tasks = {state: first + place for place, state in enumerate(kinds)}
    await net.do(*((tenant, calls.tasks_submit(spec=spec, manifest=MANIFEST)) for spec in kinds.values()))
    placed = [state for state in kinds if state not in ("Queued", "Expired", "Cancelled")]
    await net.do(*(("scheduler", calls.tasks_assign(task=net.tasks[state], pods=[on("online")])) for state in placed))
    begun = [state for state in placed if state not in ("Assigned", "Failed")]
    await net.do(
        *(("online", calls.tasks_report_started(lease=net.lease(state))) for state in begun),
        ("online", calls.tasks_report_failed(lease=net.lease("Failed"), reason=FAILED)),
        (tenant, calls.tasks_cancel(task=net.tasks["Cancelled"])),
        (provider, calls.hosts_drain(host=HOSTS["draining"].address)),
        (provider, calls.hosts_retire(host=HOSTS["retiring"].address)),
        (sudo, by_sudo(calls.hosts_suspend(host=HOSTS["suspended"].address))),
    )
    reported = ("Reported", "Verified", "Settled")
    await net.do(
        *(("online", calls.tasks_report_result(lease=net.lease(state), result=RESULT)) for state in reported),
        (tenant, calls.tasks_end(task=net.tasks["Retained"])),
    )
    await net.do(*((tenant, calls.tasks_accept_result(task=net.tasks[state])) for state in reported[1:]))
    await net.do(("anyone", calls.tasks_settle(task=net.tasks["Settled"])))
    await _until_absent(net, now)
    await net.do(
        ("anyone", calls.hosts_report_absent(host=HOSTS["offline"].address)),
        ("anyone", calls.tasks_expire(task=net.tasks["Expired"])),
    )
    # From here on nobody is missed any more, however long the wrong calls take.
    params = gen.HostsParams.decode(await net.chain.link.query("Hosts", "Params"))
    patient = replace(params, absence_limit_ms=60 * MINUTE_MS)
    await net.do(("sudo", by_sudo(calls.hosts_set_params(params=patient))))


async def _until_absent(net: Network, since_ms: int) -> None:
    """Keep all hosts but one beating until that one is missed and the deadline has passed."""
    while int(await net.chain.link.query("Timestamp", "Now") or 0) <= since_ms + 18_000:
        await net.do(*((host, calls.hosts_heartbeat()) for host in HOSTS if host not in ("offline", "retiring")))
