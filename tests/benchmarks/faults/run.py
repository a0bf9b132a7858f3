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

from faults import isolation
from faults.net import FaultNet, processes_of
from faults.plan import Plan
from faults.tenant import Tenant
from faults.verdict import Findings, summary
from offchain.indexer.index import last_block, replayed_digest, stored_digest
from offchain.indexer.queries import open_for_reading
from offchain.local.places import ROOT

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
        net = FaultNet(folder, plan.hosts, say)
        findings: Findings | None = None
        try:
            net.start()
            findings, facts = _under_fire(net, plan, killed, say)
        finally:
            net.stop()
            if keep_logs is not None and (findings is None or not findings.clean):
                shutil.copytree(net.places.log, keep_logs, dirs_exist_ok=True)
                say(f"the logs are in {keep_logs}")
        findings.orphans += [f"process {line}" for line in processes_of(folder)]
        findings.orphans += [f"interface {name}" for name in isolation.interfaces()]
    facts |= {"hosts": plan.hosts, "seed": plan.seed, "seconds": round(time.monotonic() - began, 1)}
    said = [*findings.lost, *findings.doubled, *findings.orphans]
    return summary(findings, facts, killed, plan.tasks) | {"said": said}


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
        say(f"kill {len(killed)} of {plan.kills}: {blow.victim}; {tenant.ledger.ended()} tasks have ended")
    while thread.is_alive():
        _mind(net, _TURN_S)
    if outcome and not isinstance(outcome[0], TimeoutError):
        sys.stderr.write(net.last_lines())
        raise FaultError(f"the tenant could not go on: {outcome[0]!r}") from outcome[0]
    # What is not over by now is judged as it is.
    orphans = _settled_down(net)
    findings = asyncio.run(tenant.judge())
    findings.orphans += orphans
    shims = net.shims()
    findings.lost += _index_differs(net)
    findings.coins_off += _audited(net)
    return findings, {"restarts": net.keeper.restarts, "shims_left_by_the_engine": shims}


def _mind(net: FaultNet, seconds: float) -> None:
    net.keeper.wait(seconds)


def _settled_down(net: FaultNet) -> list[str]:
    """What the engine still has of tasks when the agents have had time to tidy up."""
    left: list[str] = ["the engine did not answer"]
    limit = time.monotonic() + _CLEAN_S
    while time.monotonic() < limit:
        # While the engine comes back from a kill it does not answer.
        with contextlib.suppress(Exception):
            left = [f"{kind} {name}" for kind, names in net.objects().items() for name in names]
            if not left:
                return []
        _mind(net, 1.0)
    return left


def _index_differs(net: FaultNet) -> list[str]:
    """The indexer was killed, too: what it says must follow from its events, and reach the chain's end."""
    with contextlib.closing(open_for_reading(str(net.index))) as db:
        if last_block(db) is None:
            return ["the index is empty"]
        with db.moment():  # the indexer goes on writing meanwhile
            same = stored_digest(db).hex() == replayed_digest(db).hex()
    return [] if same else ["the index does not follow from its events"]


def _audited(net: FaultNet) -> int:
    """gantry doctor --audit, as an operator runs it."""
    line = [sys.executable, "-m", "offchain.cli", "doctor", "--audit", f"--url={net.url}"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.stderr.write(done.stderr)
    return 0 if done.returncode == 0 else 1
