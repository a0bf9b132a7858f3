"""What an operation costs the chain: signatures, keys of state read and written, calls of the storage, weight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import mul

from chainbench.blocks import Reader
from chainbench.driver import Stage
from chainbench.node import SLOT_SECONDS, Node, NodeError
from chainbench.scene import Scene

_METHODS = ("Get", "Put")
# A signed extrinsic reads more than this: its signer's account, the fee's multiplier, and what its call is about.
_LEAST_READS = 4


@dataclass(frozen=True, slots=True)
class Costs:
    """What one operation costs on average: signatures that are checked, keys that differ, and calls of the storage.

    Calls of the storage include events, the account of the signer and the fee. A key that several operations of one
    block read is counted once in the keys. `weight_us`: of execution, as the block is charged, extrinsics' base weight
    included; `block_share`: part of the weight of a block that is open to all.
    """

    signatures: float
    keys_read: float
    keys_written: float
    reads: float
    writes: float
    weight_us: float
    block_share: float

    @property
    def most_per_second(self) -> float:
        """Operations that the weight of blocks allows."""
        return 1 / (self.block_share * SLOT_SECONDS)

    @property
    def row(self) -> tuple[float, ...]:
        """All of them, in the order of the fields."""
        accesses = (self.keys_read, self.keys_written, self.reads, self.writes)
        return (self.signatures, *accesses, self.weight_us, self.block_share)

    def __str__(self) -> str:
        return (
            f"{self.signatures:.3g} signatures, {self.keys_read:.2f} keys read and {self.keys_written:.2f} written, "
            f"in {self.reads:.2f} and {self.writes:.2f} calls, {self.weight_us:.1f} µs of weight"
        )


@dataclass(frozen=True, slots=True)
class Trace:
    """The keys that a block reads and writes, in order."""

    reads: Sequence[str]
    writes: Sequence[str]


@dataclass(frozen=True, slots=True)
class Counted:
    """What blocks hold: signed extrinsics, operations, and the weight of execution that they were charged, in
    picoseconds; and how much of it a block may have."""

    extrinsics: int
    operations: int
    normal_ps: int
    normal_limit_ps: int


def traced(node: Node, number: int) -> Trace:
    """Return what this block reads and writes. The node answers only for blocks with little in them."""
    found: dict[str, list[str]] = {method: [] for method in _METHODS}
    trace = node.rpc.call("state_traceBlock", node.hash_of(number), "state", "", ",".join(_METHODS))
    for event in trace["blockTrace"]["events"]:
        values = event["data"]["stringValues"]
        found[values["method"]].append(values["key"])
    return Trace(found["Get"], found["Put"])


def costs(blocks: Sequence[Trace], idle: Trace, counted: Counted) -> Costs:
    """Return what each of the operations costs that these blocks hold, without what an empty block does anyway."""
    keys_read = sum(len(set(block.reads) - set(idle.reads)) for block in blocks)
    keys_written = sum(len(set(block.writes) - set(idle.writes)) for block in blocks)
    reads = sum(len(block.reads) - len(idle.reads) for block in blocks)
    writes = sum(len(block.writes) - len(idle.writes) for block in blocks)
    weight_us = counted.normal_ps / 1e6
    totals = (counted.extrinsics, keys_read, keys_written, reads, writes, weight_us)
    block_share = counted.normal_ps / counted.normal_limit_ps
    return Costs(*(total / counted.operations for total in (*totals, block_share)))


def mean(parts: Mapping[str, Costs], weights: Mapping[str, float] | None = None) -> Costs:
    """Return the costs of an operation where kinds are as frequent as `weights` says, or equally so."""
    shares = {kind: 1.0 if weights is None else weights[kind] for kind in parts}
    total = sum(shares.values())
    columns = zip(*(one.row for one in parts.values()), strict=True)
    return Costs(*(sum(map(mul, column, shares.values())) / total for column in columns))


def of_stages(scene: Scene, stages: Iterable[Stage]) -> dict[str, Costs]:
    """Make these stages one after another in blocks of their own, and return the costs of an operation of each kind."""
    node = scene.node
    scene.settle_down()
    idle = traced(node, node.header().number)
    reader = Reader(node.port, node.code)
    limit_ps = _normal_limit_ps(node)
    found = {}
    for stage in stages:
        before = node.header().number
        scene.crowd.act(stage.calls)
        made = [reader.read(number) for number in range(before + 1, node.header().number + 1)]
        if refused := sum(block.refused for block in made):
            raise NodeError(f"the chain refused {refused} of {stage.operations} operations of the stage {stage.kind}")
        blocks = [traced(node, number) for number in range(before + 1, node.header().number + 1)]
        weight = sum(block.normal_ps for block in made)
        counted = Counted(len(stage.calls), stage.operations, weight, limit_ps)
        found[stage.kind] = costs(_full(blocks, idle), idle, counted)
    return found


def _full(blocks: Sequence[Trace], idle: Trace) -> list[Trace]:
    """Return the blocks that hold extrinsics of the benchmark."""
    return [block for block in blocks if len(block.reads) > len(idle.reads) + _LEAST_READS]


def _normal_limit_ps(node: Node) -> int:
    """Weight of a block that is open to all, in picoseconds of execution."""
    limits = node.runtime.constant("System", "BlockWeights")
    return int(limits["per_class"]["normal"]["max_total"]["ref_time"])
