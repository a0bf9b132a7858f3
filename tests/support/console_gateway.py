"""A gateway with the web console, over an index of made blocks and a chain in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import delete

from offchain.adapters.keys.signer import from_uri
from offchain.devnet.ports import free
from offchain.gateway.api.relay_socket import RelaySockets
from offchain.gateway.api.server import ApiServer, ApiSettings
from offchain.indexer.genesis import store_genesis_balances
from offchain.indexer.offers import HostAtBlock, device_rows, offer_rows
from offchain.indexer.rows import HostRow, LeaseRow, TaskRow
from offchain.indexer.sign_in_rows import SessionRow
from offchain.indexer.state_rows import DeviceRow, GenesisBalanceRow, OfferRow
from offchain.indexer.tables import TABLES, columns
from offchain.schema.chain_types import _generated_chain as gen
from tests.support import matter_blocks
from tests.support.chain_records import GTY, ask, device, host_record, hosts_params, tasks_params
from tests.support.history_blocks import HOSTS, PROVIDERS, History
from tests.support.index_rig import opened
from tests.support.signing_chain import FakeSigningChain

ALICE, BOB = from_uri("//Alice"), from_uri("//Bob")
MARKUP = "<img src=x onerror=\"window.owned='yes'\">"
"""What a stranger may give as a model, a region or a name."""
_NOTHING = gen.Beta(0, 0)
REPUTATION = gen.HostScore(
    gen.Beta(8_000_000, 1_000_000), *[_NOTHING] * 4, gen.Sla(7_200_000, 3_600_000), settled_leases=9, updated_at=1_000
)
"""The reputation of the first host on the chain."""


@dataclass
class ConsoleGateway:
    """A gateway at a URL, and what it serves."""

    url: str
    db: Any
    index: Any
    history: History
    chain: FakeSigningChain
    disputed: int
    """The task whose dispute was rejected on appeal."""

    def grow(self, blocks: int = 1) -> int:
        """Write more blocks, and return their last number."""
        made = list(self.history.blocks(blocks))
        self.index.add(made)
        return made[-1].ref.number

    def task_in(self, state: str) -> tuple[TaskRow, LeaseRow]:
        """Return a task in a state, with its last lease.

        It is not the first of its array, whose manifest may have the digest of its result, and has run for some time.
        """
        for task in self.db.rows(TaskRow):
            if task.state == state and task.first != task.task:
                lease = [row for row in self.db.rows(LeaseRow) if row.task == task.task][-1]
                if lease.ended_ms is None or (lease.started_ms or 0) < lease.ended_ms:
                    return task, lease
        raise AssertionError(f"no task is {state}")

    def end_sessions(self) -> None:
        """Revoke every sign-in, as another gateway of the index may do."""
        with self.db.transaction():
            self.db.execute(delete(TABLES[SessionRow]))

    def state_of(self, task: int) -> str:
        (row,) = self.db.rows(TaskRow, columns(TaskRow).task == task)
        return str(row.state)

    def host_of(self, provider: str) -> str:
        """Give a host to a provider, and return its address."""
        template = self.db.rows(HostRow)[0]
        self.db.upsert(HostRow, [replace(template, provider=provider)])
        return str(template.host)


def _hosts() -> tuple[list[OfferRow], list[DeviceRow]]:
    """Return three hosts: real GPUs, a simulated one, and names that are markup."""
    fast = {"devices": (device(model=b"H100"), device(model=b"H100")), "ask": ask(gpu_per_hour=3 * GTY)}
    tiny = {"devices": (device(model=b"Tiny", simulated=True),), "ask": ask(gpu_per_hour=GTY // 2)}
    odd = {"devices": (device(model=MARKUP.encode(), healthy=False),), "region": MARKUP.encode()}
    records = [host_record(PROVIDERS[0], **fast), host_record(PROVIDERS[0], **tiny), host_record(PROVIDERS[1], **odd)]
    found = [HostAtBlock(HOSTS[number], 1, record, None) for number, record in enumerate(records)]
    return [row for one in found for row in offer_rows(one)], [row for one in found for row in device_rows(one)]


def _settled(db: Any) -> tuple[TaskRow, LeaseRow]:
    """Return the last task that is settled, and a lease of it."""
    task = [row for row in db.rows(TaskRow) if row.state == "Settled"][-1]
    return task, next(row for row in db.rows(LeaseRow) if row.task == task.task)


@asynccontextmanager
async def console_gateway(folder: Path, relay: RelaySockets | None = None) -> AsyncIterator[ConsoleGateway]:
    """Serve the console for the length of the block; the index is in `folder`. `relay`: for pages; None: no relay."""
    address = str(folder / "index.db")
    db, index = opened(address)
    history = History(5)
    index.add(list(history.blocks(60)))
    disputed, accused = _settled(db)
    stories = [
        matter_blocks.passed(0, HOSTS[0], PROVIDERS[0]),
        matter_blocks.failed(1, HOSTS[1], matter_blocks.MEMBERS[0]),
        matter_blocks.appealed(disputed.task, accused.lease, disputed.tenant, PROVIDERS[0]),
        [matter_blocks.bonded()],
    ]
    index.add(list(matter_blocks.blocks_after(history, *stories)))
    store_genesis_balances(db, [GenesisBalanceRow(one.address, 10**15, 0) for one in (ALICE, BOB)])
    offers, devices = _hosts()
    db.upsert(OfferRow, offers)
    db.upsert(DeviceRow, devices)
    chain = FakeSigningChain()
    for one in (ALICE, BOB):
        chain.storage["System", "Account"][one.address,] = {"data": {"free": 1000 * GTY, "reserved": GTY}}
    chain.constants["Balances", "ExistentialDeposit"] = 10**9
    chain.storage["Hosts", "Params"][()] = hosts_params()
    chain.storage["Tasks", "Params"][()] = tasks_params()
    chain.storage["Reputation", "HostScores"][HOSTS[0],] = REPUTATION.encode()
    await chain.produce(2)
    port = free()
    settings = ApiSettings(
        host="127.0.0.1",
        port=port,
        index=address,
        requests_per_s=1000,
        streams=64,
        domain=f"127.0.0.1:{port}",
        development=True,
    )
    try:
        async with ApiServer(settings, lambda: chain, relay).listening() as url:
            yield ConsoleGateway(url, db, index, history, chain, disputed.task)
    finally:
        db.close()
