"""scripts/demo-admission: a network with the production preset admits a host by a challenge alone.

The node, the verifiers, the scheduler, the settler and the agent are those of the product. Periods, amounts and sizes
of committees are those of the preset. The host has a simulated GPU, which the preset refuses: a flag starts the network
with `hosts.params.allowSimulated`. The programs of its pods run without containers, so that the demo needs no Docker
engine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import secrets
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from node_agent.chain.registration import registration_call
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys import keystore
from offchain.adapters.keys.signer import from_uri
from offchain.cli.kit.host_connection import fetch_result, result_lease_of
from offchain.devnet.node import merged
from offchain.devnet.release import Binaries, binaries
from offchain.errors import CallFailed
from offchain.files import replace_file
from offchain.ports import ChainEvent
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import calls
from offchain.schema.manifest.values import format_amount
from offchain.services.record_views import read_task
from tests.support.chain_records import ANY_RATE, GTY, ask
from tests.support.challenged_host import HARDWARE, challenged_host
from tests.support.demo_folder import add_folder_option, demo_folder
from tests.support.development_node import DevelopmentNode, endow
from tests.support.final_events import FinalEvents, final_events
from tests.support.local_network import memory_kib
from tests.support.real_chain import Chain, connect
from tests.support.worker_process import worker_process

PRESET: Final = "production"
PATIENCE_S: Final = 180.0
VERIFIERS: Final = {signer.address: signer for signer in (from_uri(f"//Verifier//{n}") for n in range(21))}
"""The verifiers by address: as few as the preset draws committees from."""
PROVIDER, TENANT = from_uri("//Bob"), from_uri("//Charlie")
WORKER: Final = "//Dave"
COUNCIL: Final = ("//Alice", "//Bob", "//Charlie")
OUTPUT: Final = "primes below 10: 4\n"
BUDGET_GTY: Final = 10
"""What each verifier holds for challenges that it opens, where all of them run."""
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
  duration: 10m
  placement: {{allow_simulated: true}}
"""


def production_genesis(found: Binaries, *, allow_simulated: bool) -> dict[str, Any]:
    """Return the patch that makes the production preset a chain of one machine.

    It names a validator, a council and accounts with coins, which the preset leaves out. `allow_simulated` is the only
    parameter that it changes.
    """
    author = from_uri("//Alice")
    keys = {"babe": author.address, "grandpa": from_uri("//Alice", "ed25519").address}
    people = {
        "session": {"keys": [[author.address, author.address, keys]]},
        "council": {"members": [from_uri(name).address for name in COUNCIL]},
    }
    rich = (PROVIDER.address, TENANT.address, from_uri(WORKER).address, *VERIFIERS)
    genesis = merged(people, endow(found, dict.fromkeys(rich, 10_000 * GTY), PRESET, people))
    return merged(genesis, {"hosts": {"params": {"allowSimulated": True}}} if allow_simulated else {})


@contextlib.asynccontextmanager
async def production_chain(folder: Path, *, allow_simulated: bool) -> AsyncIterator[tuple[Chain, int]]:
    """Start a node of a new chain with the production preset; yield a connection to it and the node's process."""
    found = binaries()
    patch = production_genesis(found, allow_simulated=allow_simulated)
    with DevelopmentNode(found, folder, patch=patch, preset=PRESET) as node:
        chain = Chain(node.port, await connect(node.url))
        try:
            yield chain, node.pid
        except BaseException:
            sys.stderr.write(node.last_lines(40))
            raise
        finally:
            await chain.link.close()


@dataclass
class AdmissionDemo:
    """The demo's chain, and what has happened on it. `processes`: numbers of processes by role."""

    chain: Chain
    folder: Path
    events: FinalEvents
    stack: contextlib.ExitStack
    options: argparse.Namespace
    processes: dict[str, list[int]]
    steps: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Print a step."""
        self.steps.append(text)
        if not self.options.json:
            sys.stdout.write(f"{len(self.steps):>2}. {text}\n")
            sys.stdout.flush()

    def run(self, role: str, process: contextlib.AbstractContextManager[subprocess.Popen[bytes]]) -> None:
        """Start a process that runs until the end of the demo."""
        self.processes.setdefault(role, []).append(self.stack.enter_context(process).pid)

    def run_verifiers(self, accounts: Iterable[str], *options: str) -> None:
        """Run the verifiers with these addresses, with keystores as operators have them."""
        password = self.folder / "password"
        replace_file(password, secrets.token_hex() + "\n", mode=0o600)
        for address in accounts:
            name = verifier_name(address)
            key = self.folder / f"{name}.json"
            keystore.save(key, VERIFIERS[address], password.read_text(encoding="utf-8").strip())
            chosen = (f"--password-file={password}", *options)
            self.run("verifiers", worker_process("verifier", str(key), self.chain.url, self.folder / name, *chosen))

    async def status(self, host: str) -> str:
        record = await GantryChain(self.chain.link).host(host)
        return "not registered" if record is None else record.status.tag


def verifier_name(address: str) -> str:
    return f"verifier-{list(VERIFIERS).index(address) + 1}"


async def refusal_of_simulated_host(chain: Chain) -> str | None:
    """Try to register a host with a simulated GPU; return why the chain refuses it, None if it does not."""
    key, genesis = from_uri("//simulated host", "ed25519"), await chain.link.genesis_hash()
    call = registration_call(
        key,
        genesis_hash=genesis,
        provider=PROVIDER.address,
        hardware=HARDWARE,
        endpoint=b"",
        region=b"eu",
        ask=ask(gpu_per_hour=GTY),
    )
    try:
        await chain.do(PROVIDER, call)
    except CallFailed as refused:
        return refused.message
    return None


async def run_demo(demo: AdmissionDemo) -> dict[str, Any]:
    """Run the demo on a chain that takes simulated GPUs, and return its outcome."""
    chain = demo.chain
    params = gen.VerificationParams.decode(await chain.link.query("Verification", "Params"))
    demo.say(
        f"A chain with the preset {PRESET} runs. Its hosts need a passed challenge; committees of "
        f"{params.committee_size} are drawn from {params.min_verifiers} verifiers at least."
    )
    demo.run("scheduler and settler", worker_process("all", WORKER, chain.url, demo.folder / "worker"))
    await asyncio.gather(*(chain.do(signer, calls.verification_bond_verifier()) for signer in VERIFIERS.values()))
    bond = format_amount(params.verifier_bond)
    demo.say(f"{len(VERIFIERS)} verifiers have bonded {bond} each.")
    demo.run("agent", challenged_host(chain.url, demo.folder / "host", "//Bob", output=OUTPUT))
    host = await chain.online(demo.folder / "host")
    before = await demo.status(host)
    task = await chain.submit(TENANT, MANIFEST.encode())
    refusal = await refused_lease(demo, task, host)
    demo.say(f"A host is registered, and its agent sends heartbeats: its status is {before}. Leases are refused.")
    if demo.options.all_verifiers:
        demo.run_verifiers(VERIFIERS, f"--challenge-budget={BUDGET_GTY}")
        demo.say("All verifiers run. One of them will open a challenge, by the draw of a block.")
    else:
        await chain.do(PROVIDER, calls.verification_open_challenge(host=host, device=0, lease=None))
    challenge = await judged(demo, host)
    admitted = await demo.status(host)
    # The host's own heartbeat is free only half a period after the last one, which is 6 min here.
    await chain.do(PROVIDER, calls.hosts_heartbeat_batch(hosts=[host]))
    demo.say("Its provider sends a heartbeat for it. The host takes leases from now on.")
    bill = await run_task(demo, task, host)
    return {
        "preset": PRESET,
        "host": host,
        "verifiers": len(VERIFIERS),
        "committee_size": params.committee_size,
        "status_before": before,
        "refusal_before": refusal,
        "challenge": challenge,
        "status_after": admitted,
        "task": bill,
        "processes": {role: measured(pids) for role, pids in demo.processes.items()},
        "steps": demo.steps,
    }


async def refused_lease(demo: AdmissionDemo, task: int, host: str) -> str:
    """Try to place the task on the host; return why the chain refuses it."""
    pod = gen.PodPlacement(0, host, b"\0", ANY_RATE)
    try:
        await demo.chain.do(TENANT, calls.tasks_assign(task=task, pods=[pod]))
    except CallFailed as refused:
        return refused.message
    raise AssertionError("the chain opened a lease on a host without a passed challenge")


async def judged(demo: AdmissionDemo, host: str) -> dict[str, Any]:
    """Follow a challenge of the host from its opening to the verdict, and return what happened."""
    opened_at, opened = await demo.events.timed("ChallengeOpened", host=host)
    number, opener = opened.fields["challenge"], opened.fields["opener"]
    by = "its provider" if opener == PROVIDER.address else "a verifier"
    demo.say(f"Challenge {number} is opened by {by}, for {format_amount(opened.fields['fee'])}.")
    drawn = await demo.events.until("CommitteeDrawn", matter={"Challenge": number})
    members = list(drawn.fields["members"])
    names = ", ".join(map(verifier_name, members))
    demo.say(f"The VRF of a later block draws the host's seed and the committee: {names}.")
    if not demo.options.all_verifiers:
        demo.run_verifiers(members)
    answered_at, _ = await demo.events.timed("Answered", challenge=number)
    demo.say(f"The host has answered {(answered_at - opened_at) / 1000:g} s after the opening.")
    closed_at, closed = await demo.events.timed("ChallengeClosed", challenge=number)
    votes = [one.fields["vote"] for one in demo.events.all("VoteRevealed", matter={"Challenge": number})]
    outcome = closed.fields["outcome"]
    demo.say(
        f"The committee has fetched the proof from the host and verified it, {votes.count('Yes')} of {len(members)} "
        f"votes are for it: {outcome}, {(closed_at - opened_at) / 1000:g} s after the opening."
    )
    return {
        "opened_by": by,
        "committee": members,
        "votes": votes,
        "outcome": outcome,
        "penalties": len(demo.events.all("VerifierPenalised")),
        "answered_s": (answered_at - opened_at) / 1000,
        "closed_s": (closed_at - opened_at) / 1000,
    }


async def run_task(demo: AdmissionDemo, task: int, host: str) -> dict[str, Any]:
    """Wait until the task has run on the host, accept its result, and return its bill."""
    assigned = await demo.events.until("Assigned", task=task)
    ((_, on, *_),) = assigned.fields["leases"]
    await demo.events.until("PodReported", task=task)
    await demo.chain.do(TENANT, calls.tasks_accept_result(task=task))
    settled: ChainEvent = await demo.events.until("Settled", task=task)
    paid = sum(bill["paid"] for bill in settled.fields["bills"])
    view = await read_task(demo.chain.link, task)
    result = (await fetch_result(demo.chain.link, result_lease_of(view, None), TENANT)).decode()
    demo.say(f"Task {task} ran there and is paid with {format_amount(paid)}. Its result: {result.rstrip()}")
    return {"task": task, "state": view.state, "ran_on_host": on == host, "paid": paid, "result": result}


def measured(pids: list[int]) -> dict[str, int]:
    """Return number and peak memory of processes."""
    return {"count": len(pids), "peak_memory_mib": sum(memory_kib(pid, "VmHWM") for pid in pids) // 1024}


async def main(options: argparse.Namespace, folder: Path) -> int:
    """Start the network and run the demo on it. Return the exit status: 1 where the host is refused."""
    began = time.monotonic()
    async with contextlib.AsyncExitStack() as stack:
        running = production_chain(folder / "node", allow_simulated=options.allow_simulated)
        chain, node = await stack.enter_async_context(running)
        if not options.allow_simulated:
            refused = await refusal_of_simulated_host(chain)
            sys.stderr.write(
                f"The host with a simulated GPU is not registered. {refused}\n"
                f"Networks with the preset {PRESET} take real GPUs only. --allow-simulated starts one for tests that "
                "takes simulated ones, too.\n"
            )
            return 1
        events = await stack.enter_async_context(final_events(chain.link, PATIENCE_S))
        processes = stack.enter_context(contextlib.ExitStack())
        found = await run_demo(AdmissionDemo(chain, folder, events, processes, options, {"node": [node]}))
    found["seconds"] = round(time.monotonic() - began, 1)
    if options.json:
        sys.stdout.write(json.dumps(found) + "\n")
    return 0


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/demo-admission",
        description="A chain with the production preset admits a host after a challenge: 21 verifiers bond, a "
        "committee of five is drawn and verifies the proof of its GPU, and the host runs a task. Starts a chain, a "
        "scheduler, a settler, verifiers and a host of its own, and prints each step. Needs no Docker engine.",
    )
    parser.add_argument(
        "--allow-simulated",
        action="store_true",
        help="have the chain take simulated GPUs, which the preset refuses; for tests only",
    )
    parser.add_argument(
        "--all-verifiers",
        action="store_true",
        help="run all 21 verifiers, one of which opens the challenge (default: the provider opens it, and the five "
        "that are drawn are started then)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object with all values, in base units")
    add_folder_option(parser)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    chosen = parse(sys.argv[1:])
    with demo_folder(chosen.folder, "admission") as place:
        sys.exit(asyncio.run(main(chosen, place)))
