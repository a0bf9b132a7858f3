"""What tasks take: bytes of state in each stage of their lives, and bytes of database for their whole lives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from chainbench import costs
from chainbench.costs import Costs
from chainbench.node import SLOT_SECONDS, Node, running
from chainbench.scene import BATCH, PARAMS, Scene, endowed
from offchain.devnet.release import Binaries

HOSTS, SCHEDULERS = 64, 16
# Tasks whose whole lives are put into a database, to see how it grows.
STORED = 4 * HOSTS * BATCH
# How many states a node keeps that does not keep all.
KEPT_STATES = "8"
_IDLE_BLOCKS = 15
_PAGE = 1000
_SYSTEM = "0x26aa394eea5630e07c48ae0c9558cef7"
_SECONDS_A_YEAR = 365 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Database:
    """How a database grows, in bytes: with each task's whole life, and with each block that is empty."""

    a_task: float
    an_empty_block: float

    def after_a_year(self, tasks_a_day: int) -> float:
        """On paper: bytes after a year of so many tasks each day."""
        return 365 * tasks_a_day * self.a_task + _SECONDS_A_YEAR / SLOT_SECONDS * self.an_empty_block


@dataclass(frozen=True, slots=True)
class Outcome:
    """`costs`: of an operation of each kind; `state`: stage a task is in -> bytes of keys and values; `archive` keeps
    every state, `pruned` the last ones."""

    costs: Mapping[str, Costs]
    state: Mapping[str, float]
    archive: Database
    pruned: Database


def _pairs(node: Node) -> Iterator[tuple[str, str]]:
    """All keys and values of the best state, but those of the system pallet: events, accounts, hashes of blocks."""
    at, start = node.header().hash, "0x"
    while keys := node.rpc.call("state_getKeysPaged", "0x", _PAGE, start, at):
        wanted = [key for key in keys if not key.startswith(_SYSTEM)]
        if wanted:
            yield from node.rpc.call("state_queryStorageAt", wanted, at)[0]["changes"]
        start = keys[-1]


def _size(node: Node) -> int:
    return sum(len(key) // 2 - 1 + len(value) // 2 - 1 for key, value in _pairs(node))


def _state(binaries: Binaries) -> tuple[dict[str, Costs], dict[str, float]]:
    """Costs of an operation, and bytes a task in each stage."""
    count = HOSTS * BATCH
    with running(binaries, endowed(schedulers=SCHEDULERS, cranks=SCHEDULERS), PARAMS) as node:
        scene = Scene(node, HOSTS, BATCH, SCHEDULERS)
        scene.build()
        first = scene.submit_tasks(BATCH)
        found_costs = costs.of_stages(scene, scene.cohort_stages(0, range(first, first + BATCH)))
        empty = _size(node)
        first = scene.submit_tasks(count)
        found = {"submit": (_size(node) - empty) / count}
        for line in scene.lives(first):
            scene.crowd.act(line.calls)
            found[line.stage] = (_size(node) - empty) / count
    return found_costs, found


def _live(scene: Scene, count: int) -> None:
    """So many tasks through their whole lives."""
    first = scene.submit_tasks(count)
    for start in range(first, first + count, HOSTS * BATCH):
        for line in scene.lives(start):
            scene.crowd.act(line.calls)


def _database(binaries: Binaries, pruning: str) -> Database:
    """Its growth, measured with the node stopped, when its logs are written to their places."""

    def size() -> int:
        node.stop()
        found = node.database_bytes()
        node.start()
        return found

    with running(binaries, endowed(schedulers=SCHEDULERS, cranks=SCHEDULERS), PARAMS, pruning) as node:
        scene = Scene(node, HOSTS, BATCH, SCHEDULERS)
        scene.build()
        _live(scene, HOSTS * BATCH)
        # What blocks that are not final hold is written later, and would be counted as the empty blocks'.
        node.await_final(node.header().number + int(KEPT_STATES))
        before = size()
        begun = node.header().number
        node.await_final(begun + _IDLE_BLOCKS)
        idle, blocks = size(), node.header().number - begun
        _live(scene, STORED)
        loaded = node.header().number
        node.await_final(loaded + int(KEPT_STATES))
        after, more = size(), node.header().number - begun - blocks
    an_empty_block = max(0.0, (idle - before) / blocks)
    return Database((after - idle - more * an_empty_block) / STORED, an_empty_block)


def measure(binaries: Binaries) -> Outcome:
    """State and both kinds of database."""
    return Outcome(*_state(binaries), _database(binaries, "archive"), _database(binaries, KEPT_STATES))
