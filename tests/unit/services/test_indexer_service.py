from __future__ import annotations

import asyncio
import os
import signal

from offchain.indexer import queries, status
from offchain.indexer.database import IndexFault
from offchain.indexer.queries import EventFilter
from offchain.services import indexer, log
from offchain.services.indexer import serve_index
from tests.support.fake_chain import FakeChain
from tests.support.history_blocks import History
from tests.support.index_rig import opened, upgrade_rules


async def test_it_indexes_until_it_is_told_to_stop_and_goes_on_later(tmp_path):
    chain = FakeChain()
    address = str(tmp_path / "index.db")
    for last in (4, 9):
        while chain._best.block.ref.number < last:
            await chain.produce()
        task = asyncio.create_task(serve_index(chain, address))
        async with asyncio.timeout(20):
            while not await asyncio.to_thread(reached, address, last):
                assert not task.done(), task.exception()
                await asyncio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)
        await task
    db = queries.open_for_reading(address)
    assert status.last_block(db).number == 9
    assert queries.events(db, EventFilter()) == []
    db.close()


async def test_it_logs_the_progress_of_a_rederivation(tmp_path, monkeypatch, caplog):
    address = str(tmp_path / "index.db")
    db, index = opened(address)
    index.add(list(History(3).blocks(6)))
    db.close()
    upgrade_rules(monkeypatch)
    caplog.set_level("INFO")
    db, index = opened(address)
    log_status = indexer._log_rederivation(log.EventLog("indexer"))
    while index.is_rederiving:
        index.rederive()
        log_status(index.status())
    db.close()
    lines = [record.getMessage() for record in caplog.records]
    assert lines == ["deriving block=5 of=5", "rederived block=5"]


def reached(address, number):
    try:
        db = queries.open_for_reading(address)
    except IndexFault:
        return False
    try:
        last = status.last_block(db)
        return last is not None and last.number >= number
    finally:
        db.close()
