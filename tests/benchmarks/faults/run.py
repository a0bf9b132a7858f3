"""One fault run, from an empty folder to its verdict."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from faults import isolation, left
from faults.net import FaultNet
from faults.plan import Plan
from faults.tenant import Judgement, Tenant
from faults.verdict import Findings, summary
from offchain.devnet.paths import ROOT
from offchain.indexer.queries import open_for_reading
from offchain.indexer.rows import LeaseRow, TaskRow
from offchain.indexer.status import last_block
from offchain.indexer.verification import replayed_digest, stored_digest

PATIENCE_S = 420.0
_CLEAN_S = 90.0
_TURN_S = 0.25


class FaultError(Exception):
    """The run could not be carried out; the text says why."""


def run_faults(plan: Plan, say: Callable[[str], None], keep_logs: Path | None = None) -> dict[str, object]:
    """Carry a plan out; gives the object that a run ends with, with the sentences behind its numbers in `said`.

    Needs root, and a process of its own: the engine is private, and so is the network. `keep_logs`: a folder that the
    logs are copied to where something was found.
    """
    began = time.monotonic()
    try:
        isolation.enter()
    except OSError as error:
        raise FaultError(f"no network of its own can be made ({error.strerror}): run this as root") from None
    killed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="gantry-f-") as name:
        folder = Path(name)
        net = FaultNet(folder, plan.hosts, say, plan.slot_ms)
        findings: Findings | None = None
        try:
            net.start()
            findings, facts = _under_fire(net, plan, killed, say)
            net.stop()
            findings.orphans += [f"process {line}" for line in (*left.naming(folder), *left.in_containers(folder))]
        finally:
            net.stop()
            if keep_logs is not None and (findings is None or findings.said):
                shutil.copytree(net.places.log, keep_logs, dirs_exist_ok=True)
                say(f"the logs are in {keep_logs}")
    facts |= {"hosts": plan.hosts, "seed": plan.seed, "seconds": round(time.monotonic() - began, 1)}
    return summary(findings, facts, killed, plan.tasks) | {"said": findings.said}


def _under_fire(
    net: FaultNet, plan: Plan, killed: list[str], say: Callable[[str], None]
) -> tuple[Findings, dict[str, object]]:
    tenant = Tenant(
        net.url, net.places.state / "tenant.db", net.image, plan.tasks, lambda: plan.wanted_tasks(len(killed))
    )
    outcome: list[BaseException] = []

    def work() -> None:
        try:
            asyncio.run(tenant.work(PATIENCE_S))
        except BaseException as error:  # noqa: BLE001 - told by the thread that waits
            outcome.append(error)

    thread = threading.Thread(target=work, name="tenant", daemon=True)
    thread.start()
    for blow in plan.blows():
        _mind(net, blow.after_s)
        while not net.kill(blow.victim):  # it is just dead: it will be back
            _mind(net, _TURN_S)
        killed.append(blow.victim)
        say(f"kill {len(killed)} of {plan.kills}: {blow.victim}; {tenant.ledger.shown()}")
    while thread.is_alive():
        _mind(net, _TURN_S)
    if outcome and not isinstance(outcome[0], TimeoutError):
        sys.stderr.write(net.last_lines())
        raise FaultError(f"the tenant could not go on: {outcome[0]!r}") from outcome[0]
    # What is not over by now is judged as it is.
    orphans = _settled_down(net)
    judgement = asyncio.run(tenant.judge())
    findings = judgement.findings
    findings.orphans += orphans
    findings.lost += _index_differs(net, judgement)
    findings.books += _audited(net)
    shims = left.shims(net.places.sockets)
    return findings, {"restarts": net.keeper.restarts, "shims_left_by_the_engine": shims}


def _mind(net: FaultNet, seconds: float) -> None:
    net.keeper.wait(seconds)


def _settled_down(net: FaultNet) -> list[str]:
    """What there still is of tasks when the agents have had time to tidy up, in the engine's eyes and the kernel's."""
    found: list[str] = ["the engine did not answer"]
    limit = time.monotonic() + _CLEAN_S
    while time.monotonic() < limit:
        # While the engine comes back from a kill it does not answer.
        with contextlib.suppress(Exception):
            found = [f"{kind} {name}" for kind, names in net.objects().items() for name in names]
            found += [f"interface {name}" for name in isolation.interfaces()]
            found += [f"process in a container {line}" for line in left.in_containers(net.places.state)]
            if not found:
                return []
        _mind(net, 1.0)
    return found


def _index_differs(net: FaultNet, judgement: Judgement) -> list[str]:
    """The indexer was killed, too: what it says must follow from its events, and be what the chain says."""
    limit = time.monotonic() + _CLEAN_S
    with contextlib.closing(open_for_reading(str(net.index))) as db:
        while (block := last_block(db)) is None or block.number < judgement.last:
            if time.monotonic() > limit:
                return [f"the index does not get to block {judgement.last}: it is at {block}"]
            _mind(net, _TURN_S)
        with db.snapshot():  # the indexer goes on writing meanwhile
            follows = stored_digest(db).hex() == replayed_digest(db).hex()
            tasks = {row.task: (row.state, row.paid) for row in db.rows(TaskRow)}
            leases = {row.lease: (row.paid, row.refunded, row.result_digest) for row in db.rows(LeaseRow)}
    ledger = judgement.ledger
    found = [] if follows else ["the index does not match its events"]
    if tasks != {row.task: (row.state, row.paid) for row in ledger.tasks.values()}:
        found.append("the index has other tasks than the chain")
    if leases != {row.lease: (row.paid, row.refunded, row.result_digest) for row in ledger.leases.values()}:
        found.append("the index has other leases than the chain")
    return found


def _audited(net: FaultNet) -> list[str]:
    """gantry doctor --audit, as an operator runs it."""
    line = [sys.executable, "-m", "offchain.cli", "doctor", "--audit", f"--url={net.url}"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    return [] if done.returncode == 0 else [f"gantry doctor --audit says: {done.stderr.strip()}"]
