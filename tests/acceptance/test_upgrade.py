"""A running chain of the previous release takes this release's runtime: nobody loses a coin, a task or a lease."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from previous_release import (
    ANYONE,
    HEARTBEAT,
    HOST,
    ONLOOKERS,
    PROVIDER,
    RATE_SEEN,
    ROOT,
    SCHEDULER,
    SUDO,
    TENANT,
    assign,
    failed,
    on_task,
    previous_runtime,
    register,
    result,
    started,
    submit,
)

from offchain.devnet.release import binaries
from offchain.errors import SubmitRefusal, SubmitRefused
from offchain.ports import Call, SignedExtrinsic
from offchain.schema.chain_types import ids
from tests.support.real_chain import GTY, PATIENCE, Chain, chain_of

QUEUED, ASSIGNED, RUNNING, REPORTED, VERIFIED, SETTLED, CANCELLED, AGAIN, GANG = range(9)
STATES = {
    QUEUED: "Queued",
    ASSIGNED: "Assigned",
    RUNNING: "Running",
    REPORTED: "Reported",
    VERIFIED: "Verified",
    SETTLED: "Settled",
    CANCELLED: "Cancelled",
    AGAIN: "Running",
    GANG: "Assigned",
}
ATTEMPTS = {AGAIN: 1}
"""How many attempts had come to nothing in release 3, where any did: the chain counts anew."""
CROWD = 40
"""How many more tasks each of the onlookers submits."""
LIVE = {
    (ASSIGNED, 0): "Pending",
    (RUNNING, 0): "Active",
    (AGAIN, 0): "Active",
    (GANG, 0): "Active",
    (GANG, 1): "Pending",
}
"""The live leases by task and pod."""
CORE, GPU = 36 * GTY, 3_600 * GTY
"""What one core and one device cost an hour."""
WALL_MS = 1_000
"""For how long every pod says that it ran: less than it did, so that bills can be told beforehand."""
MOST_NOT_FINAL = 8
"""GRANDPA needs two or three blocks; a chain whose finality stalls has more and more that are not final."""


def lease_id(task: int, pod: int) -> int:
    """The number of the present lease of a pod."""
    return ids.lease_id(task, pod, ATTEMPTS.get(task, 0))


async def live_on(chain: Chain) -> None:
    """Bring release 3 into a state with tasks in every state and live leases."""
    genesis = await chain.link.genesis_hash()
    # The host needs coins only to report many things in one call.
    coins = Call("Balances", "transfer_keep_alive", {"dest": {"Id": HOST.address}, "value": 10 * GTY})
    tasks = [submit(pods=2 if task == GANG else 1, gpus=1 if task == RUNNING else 0) for task in range(9)]
    await asyncio.gather(
        chain.do(PROVIDER, register(chain, genesis), coins),
        chain.do(SCHEDULER, Call("Tasks", "bond_scheduler", {})),
        chain.do(TENANT, *tasks),
    )
    await chain.do(HOST, HEARTBEAT)
    placed = [assign(task, devices_of(task)) for task in range(9) if task not in (QUEUED, CANCELLED)]
    await asyncio.gather(
        chain.do(SCHEDULER, *placed),
        chain.do(TENANT, on_task("cancel", CANCELLED)),
        *[chain.do(who, *[submit()] * CROWD) for who in ONLOOKERS],
    )
    await chain.do(HOST, HEARTBEAT, failed(ids.lease_id(AGAIN, 0, 0)))
    await chain.do(SCHEDULER, assign(AGAIN))
    runs = (RUNNING, REPORTED, VERIFIED, SETTLED, AGAIN, GANG)
    await chain.do(HOST, HEARTBEAT, *[started(lease_id(task, 0)) for task in runs])
    await chain.do(HOST, *[result(lease_id(task, 0), WALL_MS) for task in (REPORTED, VERIFIED, SETTLED)])
    await chain.do(TENANT, on_task("accept_result", VERIFIED), on_task("accept_result", SETTLED))
    await asyncio.gather(chain.do(ANYONE, on_task("settle", SETTLED)), chain.do(HOST, HEARTBEAT))


def devices_of(task: int) -> list[bytes]:
    """The devices of each pod."""
    return [b"", b""] if task == GANG else [b"\0"] if task == RUNNING else [b""]


@asynccontextmanager
async def finality_watched(chain: Chain) -> AsyncIterator[list[int]]:
    """Gives how many blocks were not final each time a block came."""
    gaps: list[int] = []

    async def watch() -> None:
        async for head in chain.link.best():
            final = await chain.link.finalized_head()
            gaps.append(head.number - final.number)

    watching = asyncio.ensure_future(watch())
    try:
        yield gaps
        assert not watching.done(), "blocks came all the time"
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def upgrade(chain: Chain, runtime: Path) -> dict[str, Any]:
    """What scripts/upgrade-chain does once its environment is there."""
    command = [
        sys.executable,
        "-m",
        "offchain.cli.operator.upgrade_chain",
        "--url",
        chain.url,
        "--account",
        "//Alice",
        "--json",
    ]
    process = await asyncio.create_subprocess_exec(
        *command, f"--runtime={runtime}", cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert process.returncode == 0, out.decode() + err.decode()
    done: dict[str, Any] = json.loads(out)
    return done


async def sign_early(chain: Chain) -> tuple[SignedExtrinsic, SignedExtrinsic]:
    """A call that is in a block of release 3, and one that was signed then and never sent."""
    remark = Call("System", "remark", {"remark": b"early"})
    nonce = await chain.link.next_nonce(SUDO.address)
    sent = await chain.link.sign(remark, SUDO, nonce)
    kept = await chain.link.sign(remark, ANYONE, await chain.link.next_nonce(ANYONE.address))
    await chain.link.broadcast(sent)
    async with asyncio.timeout(PATIENCE):
        async for _ in chain.link.best():
            if await chain.link.next_nonce(SUDO.address) > nonce:
                return sent, kept
    raise AssertionError("the chain ended")


async def assert_tasks_carried_over(chain: Chain) -> None:
    tasks = {int.from_bytes(key, "big"): record for key, record in await chain.link.query_map("Tasks", "Tasks")}
    everyone = range(len(STATES) + CROWD * len(ONLOOKERS))
    assert {task: record["state"] for task, record in tasks.items()} == {
        task: STATES.get(task, "Queued") for task in everyone
    }
    assert await chain.link.query("Tasks", "NextTaskId") == len(everyone)
    for task, record in ((task, tasks[task]) for task in (*STATES, everyone[-1])):
        assert (record["generation"], record["attempts"]) == (ATTEMPTS.get(task, 0), [])
        final = STATES.get(task) in ("Settled", "Cancelled")
        key = task.to_bytes(8, "big")
        assert (await chain.link.query("Tasks", "Manifests", [key]) is None) is final
        spec = await chain.link.query("Tasks", "Specs", [key])
        assert (spec["count"], spec["open"], spec["kept"]) == (1, int(not final), 1)  # type: ignore[index]
        live = {(task, lease["pod"]): lease["state"] for lease in record["leases"] if isinstance(lease["state"], str)}
        assert live == {place: state for place, state in LIVE.items() if place[0] == task}
        assert all(lease["escrow"]["open"] is not final for lease in record["leases"])
    (listed,) = [
        list(leases) for host, leases in await chain.link.query_map("Leases", "ByHost") if host == HOST.address
    ]
    assert listed == sorted(lease_id(*place) for place in LIVE)
    host = await chain.link.query("Hosts", "Hosts", [HOST.address])
    assert host is not None
    assert (host["status"], host["live_leases"], host["free"]["cpu_milli"]) == (
        "Online",
        len(LIVE),
        64_000 - 1_000 * len(LIVE),
    )
    assert [device["milli_free"] for device in host["devices"]] == [0, 1_000]
    assert dict(await chain.link.query_map("Tasks", "Schedulers")) == {SCHEDULER.address: 100 * GTY}


async def finish(chain: Chain) -> dict[int, tuple[int, int]]:
    """Have every task end by the calls of the new release; gives what each paid, and the fee in it."""
    pending = [lease_id(*place) for place, state in LIVE.items() if state == "Pending"]
    await asyncio.gather(
        chain.do(SCHEDULER, assign(QUEUED, **RATE_SEEN)),
        chain.do(HOST, HEARTBEAT, *[started(lease) for lease in pending]),
    )
    await chain.do(HOST, HEARTBEAT, started(lease_id(QUEUED, 0)))
    await chain.do(HOST, HEARTBEAT, *[result(lease_id(*place), WALL_MS) for place in [(QUEUED, 0), *LIVE]])
    unsettled = [QUEUED, ASSIGNED, RUNNING, REPORTED, AGAIN, GANG]
    # REPORTED has waited for longer than the dispute window; nobody needs to accept it.
    await chain.do(TENANT, *[on_task("accept_result", task) for task in unsettled if task != REPORTED])
    events = await chain.do(ANYONE, *[on_task("settle", task) for task in (*unsettled, VERIFIED)])
    settled = [event.fields for event in events if (event.pallet, event.name) == ("Tasks", "Settled")]
    return {
        one["task"]: (sum(bill["paid"] for bill in one["bills"]), sum(bill["fee"] for bill in one["bills"]))
        for one in settled
    }


@pytest.mark.network
async def test_a_running_chain_is_upgraded_and_nothing_is_lost(tmp_path: Path) -> None:
    async with chain_of(tmp_path, runtime=previous_runtime()) as chain:
        await live_on(chain)
        in_a_block, never_sent = await sign_early(chain)
        async with finality_watched(chain) as gaps:
            done = await upgrade(chain, binaries().runtime)
        assert max(gaps) <= MOST_NOT_FINAL, f"blocks that were not final, at each block: {gaps}"
        assert done["to_version"] > done["from_version"]

        applied, migrated = done["applied_in"], done["migrated_in"]
        before = await chain.coins((await chain.block_with(applied)).ref.hash)
        await chain.reconnect()
        after = await chain.coins((await chain.block_with(migrated)).ref.hash)
        assert before == after
        assert before["escrowed"] > 0
        pause = [await chain.block_with(number) for number in range(applied + 1, migrated + 1)]
        assert pause, "the state is migrated in the block after the upgrade or later"
        assert [len(block.inclusions) for block in pause] == [1] * len(pause), "nothing but the clock is taken"
        await assert_tasks_carried_over(chain)

        # The pool bans for a while what was in a block. Extrinsics of the previous release lack the byte of
        # CheckMetadataHash, so that this runtime cannot decode them.
        replayed = {SubmitRefusal.BANNED, SubmitRefusal.INVALID}
        for early, refusals in ((in_a_block, replayed), (never_sent, {SubmitRefusal.INVALID})):
            with pytest.raises(SubmitRefused) as refused:
                await chain.link.broadcast(early)
            assert refused.value.kind in refusals

        bills = await finish(chain)
        rates = {RUNNING: CORE + GPU, GANG: 2 * CORE}
        expected = {
            task: rates.get(task, CORE) * WALL_MS // 3_600_000 for task in STATES if task not in (SETTLED, CANCELLED)
        }
        assert {task: paid for task, (paid, _) in bills.items()} == expected
        earned = sum(paid - fee for paid, fee in bills.values())
        end = await chain.coins((await chain.link.finalized_head()).hash)
        assert end["accounts"][PROVIDER.address]["free"] - after["accounts"][PROVIDER.address]["free"] == earned
        assert (end["issuance"], end["escrowed"]) == (before["issuance"], 0)
        # The deposit of each task is held until the task is pruned.
        assert end["holds"][TENANT.address] == [("{'Tasks': 'Deposit'}", len(STATES) * GTY // 1_000)]
        assert sum(one["free"] + one["reserved"] for one in end["accounts"].values()) == end["issuance"]
