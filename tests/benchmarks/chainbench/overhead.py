"""Cost of an extrinsic apart from its call: time to author signed `System.remark` calls, against their weight."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from chainbench.blocks import Reader
from chainbench.crowd import Crowd
from chainbench.load import AUTHORED, AUTHORING
from chainbench.node import Node, NodeError
from chainbench.signing import Account
from offchain.schema.chain_types.values import Call

# Extrinsics of a block, all of one account: fewer than a block can hold, enough for the clock.
_EXTRINSICS = 2_000
_BLOCKS = 9
_IDLE_BLOCKS = 5


@dataclass(frozen=True, slots=True)
class Overhead:
    """Of one signed remark, in microseconds: the median time of authoring over blocks, and the weight charged."""

    author_us: float
    weight_us: float


def measure(node: Node, crowd: Crowd, sender: Account) -> Overhead:
    """Author blocks full of remarks. Raises NodeError where remarks did not come into one block."""
    reader = Reader(node.port, node.code)
    before, blocks = _authoring(node)
    node.await_final(node.header().number + _IDLE_BLOCKS)
    after, later = _authoring(node)
    idle = (after - before) / (later - blocks)
    author, weight = [], []
    remark = node.runtime.encode_call(Call("System", "remark", {"remark": b""}))
    for _ in range(_BLOCKS):
        first = node.header().number
        before, blocks = _authoring(node)
        crowd.act([(sender, remark)] * _EXTRINSICS, at_once=_EXTRINSICS)
        after, later = _authoring(node)
        made = [reader.read(number) for number in range(first + 1, node.header().number + 1)]
        charged = sum(block.normal_ps for block in made) / 1e6
        if not charged:
            raise NodeError("no block holds the remarks")
        author.append((after - before - (later - blocks) * idle) / _EXTRINSICS * 1e6)
        weight.append(charged / _EXTRINSICS)
    return Overhead(statistics.median(author), statistics.median(weight))


def _authoring(node: Node) -> tuple[float, float]:
    """Return the seconds spent on authoring blocks, and how many were authored."""
    metrics = node.metrics()
    return metrics.total(AUTHORING), metrics.total(AUTHORED)
