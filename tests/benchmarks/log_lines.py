"""How soon a line that a container writes is with the tenant: through engine, agent, and the way to the host."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from contextlib import aclosing
from datetime import datetime
from pathlib import Path
from typing import Any

from table import Figure

from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.chain.typed import GantryChain
from offchain.devnet.paths import ROOT

LINES = 400
EVERY_S = 0.05
SKIPPED_S = 2.0
"""What was written before somebody listened is not late; nor is what came while the client got there."""
PATIENCE_S = 120.0
TENANT = ("--account", "//Charlie")
MANIFEST = """
services:
  main:
    image: ${{GANTRY_DEMO_IMAGE:?}}
    command: [sh, -c, "n=0; while [ $$n -lt {lines} ]; do n=$$((n + 1)); echo line $$n; sleep {every_s}; done"]
    deploy: {{resources: {{limits: {{cpus: "0.5", memory: 32M}}}}}}
x-gantry: {{kind: job, price: {{max_per_hour: 2 GTY}}, duration: 10m, result: stdout}}
"""


class LogError(Exception):
    """The benchmark could not be carried out; the text says why."""


def measure(state: Path, lines: int = LINES) -> Figure:
    """On a local network that runs with this state folder."""
    manifest = state / "lines.yaml"
    manifest.write_text(MANIFEST.format(lines=lines, every_s=EVERY_S), encoding="utf-8")
    facts = json.loads((state / "network.json").read_text(encoding="utf-8"))
    submitted = _gantry(state, "submit", str(manifest), *TENANT, "--json")
    out, err = submitted.communicate(timeout=PATIENCE_S)
    if submitted.returncode != 0:
        raise LogError(f"the task was not taken: {err.strip()}")
    task = int(json.loads(out.splitlines()[-1])["task"])
    asyncio.run(_until(facts["url"], task, "Running"))
    with _gantry(state, "logs", str(task), "--follow", *TENANT) as following:
        late = _late_ms(following)
    asyncio.run(_until(facts["url"], task, "Settled"))
    if len(late) < lines // 4:
        raise LogError(f"only {len(late)} of {lines} lines came while they were written")
    return Figure("log-line", "ms", tuple(late), target_p95=200)


def _late_ms(following: subprocess.Popen[str]) -> list[float]:
    """Milliseconds from the engine's stamp on each line until the client has printed it."""
    assert following.stdout is not None
    late: list[float] = []
    began_s: float | None = None
    for line in following.stdout:
        now_s = time.time()
        if began_s is None:
            began_s = now_s
        stamp_s = datetime.fromisoformat(line.partition(" ")[0]).timestamp()
        if stamp_s > began_s + SKIPPED_S:
            late.append(round(1000 * (now_s - stamp_s), 2))
    return late


def _gantry(state: Path, *arguments: str) -> subprocess.Popen[str]:
    env = {**os.environ, "GANTRY_STATE": str(state), "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"}
    env |= dict(line.split("=", 1) for line in (state / "env").read_text(encoding="utf-8").splitlines() if "=" in line)
    line = [sys.executable, "-m", "offchain.cli", *arguments]
    return subprocess.Popen(line, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


async def _until(url: str, task: int, wanted: str) -> None:
    """Wait until a task is in a state."""
    chain = SubstrateChain(url)
    await chain.connect()
    typed: Any = GantryChain(chain)
    try:
        async with asyncio.timeout(PATIENCE_S), aclosing(chain.best()) as heads:
            async for _ in heads:
                found = await typed.task(task)
                if found is not None and found.record.state.tag == wanted:
                    return
    except TimeoutError:
        raise LogError(f"task {task} was not {wanted} after {PATIENCE_S:.0f} s") from None
    finally:
        await chain.close()
