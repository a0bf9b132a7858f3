"""The tenant of a fault run: submits tasks through a durable outbox, and follows the chain to their ends."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from faults.verdict import Expected, Findings, Ledger
from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.chain.watcher import Watcher, blocks_after
from offchain.adapters.keys.signer import from_uri
from offchain.adapters.outbox.outbox import Outbox
from offchain.adapters.outbox.store import Store
from offchain.devnet.paths import ROOT
from offchain.errors import ChainUnreachable
from offchain.schema.chain_types._generated_chain import calls
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.task_spec import manifest_digest, to_task_spec
from offchain.schema.manifest.variables import resolve
from offchain.services.audit import audit_chain

TENANT = "//Charlie"
MANIFEST = ROOT / "tests" / "benchmarks" / "faults" / "steps.yaml"
STEPS = 6
_PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the chain says in all its final blocks up to `last`."""

    findings: Findings
    ledger: Ledger
    last: int


class Tenant:
    """Runs in a thread with an event loop of its own. `wanted` says how many tasks there are to be by now."""

    def __init__(self, url: str, store: Path, image: str, tasks: int, wanted: Callable[[], int]) -> None:
        self._url = url
        self._store = store
        self._text = resolve(
            MANIFEST.read_text(encoding="utf-8"), {"GANTRY_DEMO_IMAGE": image, "STEPS": str(STEPS)}
        ).encode()
        self._tasks = tasks
        self._wanted = wanted
        self.ledger = Ledger()
        output = b"".join(f"step {step} of {STEPS}\n".encode() for step in range(1, STEPS + 1))
        self.expected = Expected(tasks, hashlib.sha256(output).hexdigest())

    async def work(self, patience_s: float) -> None:
        """Submit all, and return when all have ended. TimeoutError `patience_s` after the last was submitted."""
        store = Store(self._store)
        chain = SubstrateChain(self._url, timeout=120)
        await chain.connect()
        outbox = Outbox(chain, store, from_uri(TENANT), now_ms=lambda: time.time_ns() // 1_000_000)
        watcher = Watcher(chain, store, "tenant")

        async def observe() -> None:
            async def handle(block: object) -> None:
                await outbox.observe(block)  # type: ignore[arg-type]
                self.ledger.add(block)  # type: ignore[arg-type]

            await watcher.run(handle)  # type: ignore[arg-type]

        jobs = [asyncio.ensure_future(job) for job in (outbox.run(), observe())]
        try:
            await self._submit(outbox, jobs)
            async with asyncio.timeout(patience_s):
                while self.ledger.ended() < self._tasks:
                    _raise_ended(jobs)
                    await asyncio.sleep(_PAUSE_S)
        finally:
            for job in jobs:
                job.cancel()
            await asyncio.gather(*jobs, return_exceptions=True)
            await chain.close()
            store.close()

    async def _submit(self, outbox: Outbox, jobs: list[asyncio.Future[None]]) -> None:
        spec = to_task_spec(parse_manifest(self._text), manifest_digest(self._text))
        submitted = 0
        while submitted < self._tasks:
            while submitted < min(self._wanted(), self._tasks):
                await outbox.submit(f"task:{submitted}", calls.tasks_submit(spec=spec, manifest=self._text))
                submitted += 1
            _raise_ended(jobs)
            await asyncio.sleep(_PAUSE_S)

    async def judge(self) -> Judgement:
        """Read the chain again from its first block, and every coin on it."""
        chain = SubstrateChain(self._url, timeout=60)
        await chain.connect()
        try:
            ledger, head = Ledger(), await chain.finalized_head()
            async with aclosing(blocks_after(chain, None, 0)) as blocks:
                async for block, _ in blocks:
                    ledger.add(block)
                    if block.ref.number >= head.number:
                        break
            findings = ledger.judge(self.expected)
            for account, gain in ledger.gains().items():
                had = await _coins(chain, account, (await chain.block_ref(0)).hash)
                findings.off(f"coins of {account}", await _coins(chain, account, head.hash), had + gain)
            for one in (await audit_chain(chain)).differences:
                findings.off(str(one), one.found, one.expected)
            return Judgement(findings, ledger, head.number)
        finally:
            await chain.close()


async def _coins(chain: SubstrateChain, account: str, at: bytes) -> int:
    """What an account has at a block, held or not."""
    data = (await chain.query("System", "Account", [account], at=at))["data"]
    return int(data["free"]) + int(data["reserved"])


def _raise_ended(jobs: list[asyncio.Future[None]]) -> None:
    for job in jobs:
        if job.done():
            job.result()
            raise ChainUnreachable("the chain", "the tenant's connection has ended")
