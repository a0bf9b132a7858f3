"""scripts/demo-cheater: three hosts run a task, one lies, it is detected, slashed and replaced.

The node, the scheduler, the settler and the agents are those of the product. The hosts' programs run without
containers, so that the demo needs no Docker engine, and one of them writes a wrong result: no option of the product
does that.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import from_uri
from offchain.cli.kit.host_connection import fetch_result, result_lease_of
from offchain.core.pricing import deposit
from offchain.ports import ChainEvent
from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.manifest.values import format_amount
from offchain.services.record_views import TaskView, read_task
from tests.support.compared_host import MODEL, compared_host
from tests.support.demo_folder import add_folder_option, demo_folder
from tests.support.final_events import FinalEvents, final_events
from tests.support.real_chain import Chain, chain_of
from tests.support.worker_process import worker_process

PATIENCE_S: Final = 90.0
TENANT, WORKER = from_uri("//Charlie"), "//Dave"
RIGHT, WRONG = "primes below 1000000: 78498\n", "primes below 1000000: 78497\n"
PROVIDERS: Final = {"honest": "//Bob", "liar": "//Eve", "replacement": "//Ferdie"}
NAMES: Final = {"honest": "the honest host", "liar": "the lying host", "replacement": "the third host"}
GENESIS: Final[dict[str, Any]] = {"tasks": {"params": {"maxReplicas": 3}}}
MANIFEST: Final = f"""
services:
  job:
    image: primes@sha256:{"ab" * 32}
    deploy:
      resources:
        limits: {{cpus: "1", memory: 64MiB}}
        reservations: {{devices: [{{count: 1, capabilities: [gpu]}}]}}
x-gantry:
  price: {{max_per_hour: "100 GTY"}}
  duration: 3m
  verification: {{replicas: 2}}
  placement: {{allow_simulated: true, models: [{MODEL}]}}
"""


@dataclass
class CheaterDemo:
    """The demo's chain, and what has happened on it. `hosts`: addresses by role."""

    chain: Chain
    folder: Path
    events: FinalEvents
    stack: contextlib.ExitStack
    quiet: bool
    hosts: dict[str, str] = field(default_factory=dict)
    bonds: dict[str, int] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Print a step."""
        self.steps.append(text)
        if not self.quiet:
            sys.stdout.write(f"{len(self.steps):>2}. {text}\n")
            sys.stdout.flush()

    def name(self, host: str) -> str:
        """Return a host's role, for people."""
        return next((NAMES[role] for role, known in self.hosts.items() if known == host), host)

    async def start_host(self, role: str) -> None:
        """Start a host, and wait until it is online."""
        output = WRONG if role == "liar" else RIGHT
        self.stack.enter_context(compared_host(self.chain.url, self.folder / role, PROVIDERS[role], output))
        self.hosts[role] = await self.chain.online(self.folder / role)
        self.bonds[role] = await self.bond(role)

    async def bond(self, role: str) -> int:
        record = await GantryChain(self.chain.link).host(self.hosts[role])
        assert record is not None, role
        return record.bond

    async def coins(self, address: str) -> int:
        """Return the free and held coins of an account, in base units."""
        account = await self.chain.link.query("System", "Account", [address])
        return 0 if account is None else int(account["data"]["free"]) + int(account["data"]["reserved"])


async def run_demo(demo: CheaterDemo) -> dict[str, Any]:
    """Run the demo, and return its outcome."""
    for role in ("honest", "liar"):
        await demo.start_host(role)
    honest, liar = demo.bonds["honest"], demo.bonds["liar"]
    demo.say(f"Two hosts of two providers are online, with bonds of {format_amount(honest)} and {format_amount(liar)}.")
    tenant_before = await demo.coins(TENANT.address)
    task = await demo.chain.submit(TENANT, MANIFEST.encode())
    most = deposit(100 * 10**12, 180_000)
    demo.say(f"The tenant submits task {task}: 2 replicas, at most {format_amount(most)} each.")
    treasury_before = await treasury(demo)
    deposits = report_assignment(demo, task, await demo.events.until("Assigned", task=task))
    starting = asyncio.create_task(demo.start_host("replacement"))
    for role in ("honest", "liar"):
        lease = lease_on(deposits, demo.hosts[role])
        bound = await demo.events.until("ResultCommitted", lease=lease)
        demo.say(f"{demo.name(demo.hosts[role]).capitalize()} commits {bound.fields['commitment'].hex()[:16]}….")
    for role in ("honest", "liar"):
        await report_tag(demo, role, lease_on(deposits, demo.hosts[role]))
    await demo.events.until("ExtraPodWanted", task=task)
    demo.say(
        "The tags differ, so the results do. No result was shown, so that another host, which is asked, copies none."
    )
    await starting
    deposits |= report_assignment(demo, task, await demo.events.until("Assigned", earlier=1, task=task))
    await report_tag(demo, "replacement", lease_on(deposits, demo.hosts["replacement"]))
    for role in demo.hosts:
        await report_reveal(demo, role, lease_on(deposits, demo.hosts[role]))
    rejected = await demo.events.until("ReplicaRejected", task=task)
    slashed = await demo.events.until("Slashed", host=rejected.fields["host"])
    liar_deposit = deposits[rejected.fields["lease"]][1]
    demo.say(
        f"Two of three results agree. {demo.name(rejected.fields['host']).capitalize()} is slashed by "
        f"{format_amount(slashed.fields['amount'])} of its bond, {slashed.fields['amount'] / liar_deposit:g} times the "
        "deposit of its lease."
    )
    report_shares(demo, task, slashed.fields["amount"])
    settled = await demo.events.until("Settled", task=task)
    return await outcome_of(demo, task, deposits, settled, (tenant_before, treasury_before))


def report_assignment(demo: CheaterDemo, task: int, event: ChainEvent) -> dict[int, tuple[str, int]]:
    """Print where replicas are placed; return host and deposit by lease."""
    found = {lease: (host, amount) for lease, host, _, amount in event.fields["leases"]}
    for lease, (host, amount) in found.items():
        pod = lease_parts(lease)[1]
        demo.say(f"Replica {pod} of task {task} runs on {demo.name(host)}; {format_amount(amount)} are deposited.")
    return found


def lease_on(deposits: dict[int, tuple[str, int]], host: str) -> int:
    return next(lease for lease, (on, _) in deposits.items() if on == host)


async def report_tag(demo: CheaterDemo, role: str, lease: int) -> None:
    shown = await demo.events.until("ResultTagged", lease=lease)
    demo.say(f"{demo.name(demo.hosts[role]).capitalize()} shows the tag {bytes(shown.fields['tag']).hex()[:16]}….")


def report_shares(demo: CheaterDemo, task: int, slashed: int) -> None:
    """Print who gets a part of the slash."""
    names = {TENANT.address: "The tenant"}
    names |= {from_uri(PROVIDERS[role]).address: f"The provider of {NAMES[role]}" for role in PROVIDERS}
    found = shares(demo, task)
    for account, amount in found.items():
        demo.say(f"{names.get(account, account)} gets {format_amount(amount)} of the slash.")
    rest = format_amount(slashed - sum(found.values()))
    demo.say(
        f"The other {rest} are the treasury's. Rewards are parts of its fees for the leases that agree, so that nobody "
        "gains by outvoting a host."
    )


def shares(demo: CheaterDemo, task: int) -> dict[str, int]:
    """Return the parts of the slash that did not go to the treasury, by account."""
    found: dict[str, int] = {}
    for event in demo.events.all("SlashShared", task=task):
        found[event.fields["who"]] = found.get(event.fields["who"], 0) + event.fields["amount"]
    return found


async def report_reveal(demo: CheaterDemo, role: str, lease: int) -> None:
    shown = await demo.events.until("ResultRevealed", lease=lease)
    digest = bytes(shown.fields["result"]["digest"]).hex()
    demo.say(f"{demo.name(demo.hosts[role]).capitalize()} reveals a result with SHA-256 {digest[:16]}….")


async def treasury(demo: CheaterDemo) -> int:
    """Return the coins of the treasury, to which slashed bonds go."""
    return await demo.coins(str(await demo.chain.link.constant("Billing", "TreasuryAccount")))


async def outcome_of(
    demo: CheaterDemo,
    task: int,
    deposits: dict[int, tuple[str, int]],
    settled: ChainEvent,
    before: tuple[int, int],
) -> dict[str, Any]:
    """Print the bill and the tenant's result, and return all numbers."""
    view = await read_task(demo.chain.link, task)
    bills = {bill["lease"]: bill for bill in settled.fields["bills"]}
    slashes = {one.fields["host"]: one.fields["amount"] for one in demo.events.all("Slashed")}
    hosts = []
    for role, host in demo.hosts.items():
        lease = lease_on(deposits, host)
        bill, after = bills[lease], await demo.bond(role)
        hosts.append(
            {
                "role": role,
                "host": host,
                "verdict": verdict_on(view, host),
                "deposited": deposits[lease][1],
                "paid": bill["paid"],
                "refunded": bill["refunded"],
                "bond_before": demo.bonds[role],
                "bond_after": after,
                "slashed": slashes.get(host, 0),
            }
        )
        demo.say(
            f"{demo.name(host).capitalize()} ({hosts[-1]['verdict']}) is paid {format_amount(bill['paid'])}; "
            f"{format_amount(bill['refunded'])} go back to the tenant; its bond is {format_amount(after)}."
        )
    result = (await fetch_result(demo.chain.link, result_lease_of(view, None), TENANT)).decode()
    tenant_paid = sum(host["paid"] for host in hosts)
    refunded = sum(host["refunded"] for host in hosts)
    demo.say(f"The tenant pays {format_amount(tenant_paid)} for the two results that agree, nothing for the wrong one.")
    demo.say(f"The tenant's result: {result.rstrip()}")
    return {
        "task": task,
        "state": view.state,
        "result": result,
        "hosts": hosts,
        "deposited": sum(amount for _, amount in deposits.values()),
        "tenant_paid": tenant_paid,
        "refunded": refunded,
        "tenant_spent": before[0] - await demo.coins(TENANT.address),
        "shared": shares(demo, task),
        "compensation": shares(demo, task).get(TENANT.address, 0),
        "treasury_received": await treasury(demo) - before[1],
        "steps": demo.steps,
    }


def verdict_on(view: TaskView, host: str) -> str:
    return next(str(lease.verdict) for lease in view.leases if lease.host == host)


async def main(options: argparse.Namespace, folder: Path) -> None:
    """Start the network, run the demo on it, and print the outcome."""
    began = time.monotonic()
    async with contextlib.AsyncExitStack() as stack:
        chain = await stack.enter_async_context(chain_of(folder / "node", GENESIS))
        events = await stack.enter_async_context(final_events(chain.link, PATIENCE_S))
        processes = stack.enter_context(contextlib.ExitStack())
        processes.enter_context(worker_process("all", WORKER, chain.url, folder / "worker"))
        found = await run_demo(CheaterDemo(chain, folder, events, processes, quiet=options.json))
    found["seconds"] = round(time.monotonic() - began, 1)
    if options.json:
        sys.stdout.write(json.dumps(found) + "\n")


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/demo-cheater",
        description="Three hosts run a task whose results are compared, and one lies: it is detected, slashed and "
        "replaced, and the tenant pays for right results only and is compensated. Starts a chain, a scheduler, a "
        "settler and hosts of its own, prints each step with its amounts, and takes half a minute. Needs no Docker "
        "engine.",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object with all amounts, in base units")
    add_folder_option(parser)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    chosen = parse(sys.argv[1:])
    with demo_folder(chosen.folder, "cheater") as place:
        asyncio.run(main(chosen, place))
