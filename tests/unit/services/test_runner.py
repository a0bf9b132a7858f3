from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys

import pytest
from toy_network import WORKER, Toy

from offchain.errors import GantryError, StoreStuck
from offchain.ports import DispatchFailure
from offchain.services.log import line
from offchain.services.runner import WorkerError, run_worker, serve


async def serving(toy: Toy, *roles: str) -> asyncio.Task[None]:
    task = asyncio.create_task(serve(roles, toy.chain, toy.store, WORKER))
    await toy.quiet(task)
    return task


async def test_a_role_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(WorkerError, match="referee") as refused:
        await run_worker(["referee"], "ws://127.0.0.1:1", tmp_path, WORKER, None)
    assert "scheduler" in refused.value.hint


async def test_a_missing_package_is_named_with_the_command_to_run(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "offchain.services.compiling", raising=False)
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(WorkerError, match="needs the Python package numpy") as refused:
        await run_worker(["scheduler"], "ws://127.0.0.1:1", tmp_path, WORKER, None)
    assert f"gantry[scheduling], or run: {sys.executable} -m pip install numba numpy" in refused.value.hint


async def test_a_folder_belongs_to_one_worker(tmp_path):
    (tmp_path / "worker.db").mkdir()
    with pytest.raises(GantryError, match=r"worker\.db"):
        await run_worker(["settler"], "ws://127.0.0.1:1", tmp_path, WORKER, None)


async def test_a_scheduler_bonds_its_account_first():
    toy = Toy()
    toy.chain.storage["Tasks", "Schedulers"].clear()
    toy.host()
    await toy.block()
    task = await serving(toy, "scheduler")
    await toy.submit()
    async with asyncio.timeout(60):  # cycles run in a thread
        while not toy.done("assign"):
            await toy.block()
            await toy.quiet(task)
    os.kill(os.getpid(), signal.SIGTERM)
    await task
    functions = [call.function for call, account, _ in toy.chain.executed if account == WORKER.address]
    assert functions[0] == "bond_scheduler"
    assert "assign" in functions


async def test_a_bonded_scheduler_does_not_bond_again():
    toy = Toy()
    await toy.block()
    task = await serving(toy, "scheduler")
    os.kill(os.getpid(), signal.SIGTERM)
    await task
    assert not toy.waiting("bond_scheduler")


async def test_a_scheduler_that_cannot_pay_its_bond_ends_with_a_message():
    toy = Toy()
    toy.chain.storage["Tasks", "Schedulers"].clear()
    toy.verdict = lambda _: DispatchFailure("Tasks", "SchedulerCannotPay", "The bond cannot be paid.")
    await toy.block()
    task = await serving(toy, "scheduler")
    await toy.block()
    with pytest.raises(WorkerError, match="The bond cannot be paid") as refused:
        await task
    assert "coins" in refused.value.hint


async def test_a_worker_waits_while_its_disk_is_full_and_goes_on(monkeypatch, caplog):
    monkeypatch.setattr("offchain.services.runner.RECONNECT_S", 0.0)
    monkeypatch.setattr(logging.getLogger("gantry"), "propagate", True)  # another test may have sent it elsewhere
    toy = Toy()
    toy.host()
    await toy.block()
    full, write = True, toy.store.run

    def run(statement, *values):
        if full:
            raise StoreStuck("The database x cannot be written: disk full.", "Free some space.", code="disk_full")
        return write(statement, *values)

    monkeypatch.setattr(toy.store, "run", run)
    task = asyncio.create_task(serve(["scheduler"], toy.chain, toy.store, WORKER))
    await toy.block()
    async with asyncio.timeout(20):
        while "Free some space" not in caplog.text:
            await toy.block()
            await asyncio.sleep(0)
    assert not task.done()
    full = False
    await toy.submit()
    async with asyncio.timeout(20):
        while "assign" not in [call.function for call, _, _ in toy.chain.executed]:
            await toy.block()
            await asyncio.sleep(0)
    os.kill(os.getpid(), signal.SIGTERM)
    await task


def test_a_log_line_quotes_values_with_blanks():
    assert (
        line("waits", {"task": 7, "reason": 'of 1 "host"\n', "none": None})
        == 'waits task=7 reason="of 1 \\"host\\"\\n"'
    )
