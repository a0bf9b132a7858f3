"""A pool that holds more than several blocks take validates few of its extrinsics again."""

import asyncio
import re
import time
from pathlib import Path
from typing import Final
from urllib.request import urlopen

from abuse_network import PEOPLE

from offchain.devnet import node_rpc
from offchain.devnet.release import binaries
from offchain.ports import Call
from tests.support.development_node import DevelopmentNode
from tests.support.fast_chain import fast
from tests.support.real_chain import PATIENCE, connect, plain

EXTRINSICS: Final = 800
"""Near the limit of the pool for extrinsics that wait for an earlier one of their account."""
EVENTS: Final = 300
"""Calls in each extrinsic, so that a block has time for a part of the extrinsics only."""
SLOT_MS: Final = 1_000
"""The pool validates what it has held for ten final blocks, which is longer than this test takes."""
PER_SECOND: Final = 50
"""Repeated validations with pauses of 20 ms. Besides, what comes while the pool builds its queues for a new block is
validated once more: on a busy machine, most of the extrinsics.
"""
_VALIDATIONS: Final = re.compile(r"^substrate_sub_txpool_validations_finished\S* (\d+)$", re.MULTILINE)


def validations(port: int) -> int:
    """Return how often the pool has had the runtime validate an extrinsic."""
    with urlopen(f"http://{node_rpc.LOOPBACK}:{port}/metrics", timeout=PATIENCE) as answer:
        found = _VALIDATIONS.search(answer.read().decode())
    assert found is not None
    return int(found[1])


async def test_a_full_pool_validates_few_extrinsics_again(tmp_path: Path) -> None:
    payer = PEOPLE["anyone"]
    remark = plain(Call("System", "remark_with_event", {"remark": b""}))
    call = Call("Utility", "batch", {"calls": [remark] * EVENTS})
    patch = fast({"validators": {"slotMs": SLOT_MS}})
    with DevelopmentNode(binaries(), tmp_path, patch=patch, metrics=True) as node:
        assert node.metrics_port is not None
        link = await connect(node.url)
        try:
            first = await link.next_nonce(payer.address)
            extrinsics = [await link.sign(call, payer, first + number) for number in range(EXTRINSICS)]
            # All become ready with the first one.
            await asyncio.gather(*map(link.broadcast, extrinsics[1:]))
            before, begun = validations(node.metrics_port), (await link.best_head()).number
            began_s = time.monotonic()
            await link.broadcast(extrinsics[0])
            async with asyncio.timeout(PATIENCE):
                async for head in link.best():
                    record = await link.query("System", "Account", [payer.address], at=head.hash)
                    if record is not None and record["nonce"] == first + EXTRINSICS:
                        break
            blocks = (await link.best_head()).number - begun
            repeats, seconds = validations(node.metrics_port) - before - 1, time.monotonic() - began_s
        finally:
            await link.close()
    told = f"{repeats} repeated validations in {blocks} blocks and {seconds:.1f} s"
    assert blocks > 1, told
    assert repeats <= EXTRINSICS + seconds * PER_SECOND, told
