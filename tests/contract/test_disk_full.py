"""Databases on a disk that is really full: what was stored is whole, and it goes on when there is space."""

import asyncio
import contextlib
import os
import subprocess

import pytest
from outbox_rig import call, running_rig

from offchain.adapters.outbox.admin import OutboxAdmin
from offchain.adapters.outbox.intent_values import CallIncluded, IntentState
from offchain.adapters.outbox.store import Store
from offchain.errors import StoreStuck
from offchain.indexer.engines import open_index
from offchain.indexer.rows import BlockRow
from offchain.indexer.verification import replayed_digest, stored_digest
from offchain.indexer.writer import IndexWriter
from tests.support.history_blocks import GENESIS, History

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="mounting a disk needs root")
SIZE_KIB = 2048


@pytest.fixture
def disk(tmp_path):
    """A folder on a small disk."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_KIB}k", "tmpfs", str(folder)]
    done = subprocess.run(mount, check=False, capture_output=True)
    if done.returncode != 0:
        pytest.skip(f"this machine does not allow mounts: {done.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(folder):
    """Take all the space that is left."""
    with contextlib.suppress(OSError), (folder / "ballast").open("wb", buffering=0) as ballast:
        while ballast.write(bytes(4096)):
            pass


async def test_an_outbox_loses_nothing_and_goes_on_by_itself(disk):
    with contextlib.closing(Store(disk / "worker.db")) as store:
        async with running_rig(store=store) as rig:
            stored = []

            async def submit_for_ever():
                for n in range(10_000):
                    await rig.outbox.submit(f"k{n}", call(n))
                    stored.append(n)

            fill(disk)
            with pytest.raises(StoreStuck) as stuck:
                await submit_for_ever()
            assert stuck.value.code == "disk_full"
            assert str(disk) in stuck.value.message
            sending, watching = rig.tasks
            await asyncio.sleep(0)
            assert len(OutboxAdmin(store).entries(*IntentState)) == len(stored)
            (disk / "ballast").unlink()
            await rig.outbox.submit("after", call(77777))
            async with asyncio.timeout(60):
                while not isinstance(rig.outbox.outcome("after"), CallIncluded) or rig.outbox.unfinished:
                    if watching.done():  # whoever runs it starts it again
                        assert isinstance(watching.exception(), StoreStuck)
                        watching = rig.tasks[1] = asyncio.ensure_future(rig.watcher.run(rig.outbox.observe))
                    await rig.chain.produce()
                    await asyncio.sleep(0.01)
            assert not sending.done()
            assert rig.done() == [b"%d" % n for n in [*stored, 77777]]


def test_an_index_keeps_whole_blocks_only(disk):
    blocks = list(History(9).blocks(400))
    with contextlib.closing(open_index(str(disk / "index.db"), create=True)) as db:
        index = IndexWriter(db)
        index.prepare(GENESIS)

        def add_all():
            while (start := 0 if index.cursor is None else index.cursor.number + 1) < len(blocks):
                index.add(blocks[start : start + 5])

        with pytest.raises(StoreStuck):
            add_all()
        reached = index.cursor.number
        assert [row.number for row in db.rows(BlockRow)] == list(range(reached + 1))
        assert stored_digest(db).hex() == replayed_digest(db).hex()
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        add_all()
        assert index.cursor == blocks[-1].ref
        assert stored_digest(db).hex() == replayed_digest(db).hex()
