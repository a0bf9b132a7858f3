"""gantry trace."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest
from cli_world import CHARLIE, HOST, World

from offchain.core.scheduler.explain import PlacedTask
from offchain.core.values import PodPlacement
from offchain.indexer.engines import open_index
from offchain.indexer.writer import IndexWriter
from offchain.ports import ChainEvent
from offchain.schema.chain_types.ids import lease_id
from offchain.schema.trace_ids import trace_id
from offchain.services.decision_recorder import DecisionRecorder, PlacementOutcome
from tests.support.history_blocks import History

AT_MS = 1_700_000_000_000
"""2023-11-14T22:13:20Z"""


class _TaskSeven(History):
    """Two blocks: task 7 is submitted, and its pod reports."""

    def step(self) -> list[ChainEvent]:
        if self.number == 1:
            fields = {"first": 7, "count": 1, "tenant": CHARLIE, "kind": "Job", "manifest_digest": bytes(32)}
            return [self.event("Tasks", "Submitted", **fields)]
        opened = [(lease_id(7, 0, 0), HOST, 10**12, 10**12)]
        return [self.event("Tasks", "Assigned", task=7, generation=0, leases=opened, state="Assigned")]


@pytest.fixture
def index(world: World, tmp_path: Path) -> Path:
    path = tmp_path / "index.db"
    db = open_index(str(path), create=True)
    writer = IndexWriter(db)
    writer.prepare(asyncio.run(world.chain.genesis_hash()))
    writer.add(list(_TaskSeven().blocks(3, events_per_block=1)))
    db.close()
    return path


@pytest.fixture
def genesis(world: World) -> bytes:
    return asyncio.run(world.chain.genesis_hash())


@pytest.fixture
def scheduler(tmp_path: Path) -> Path:
    folder = tmp_path / "scheduler"
    folder.mkdir()
    with contextlib.closing(DecisionRecorder(folder, "scheduler-x", b"seed")) as record:
        record.placed(AT_MS, [(0, PlacedTask(7, (PodPlacement(0, HOST, b"\0", 1),), 1, 1, None, None))])
        record.answered(AT_MS + 4000, 7, 0, (0,), PlacementOutcome("assigned", None, 12))
    return folder


@pytest.fixture
def logs(tmp_path: Path, genesis: bytes) -> Path:
    mine, other = trace_id(genesis, 7), trace_id(genesis, 8)
    path = tmp_path / "agent.log"
    path.write_text(
        "\n".join(
            [
                f"2023-11-14T22:13:21.500Z INFO lease 117440512: main runs (task 7, start 0) trace={mine}",
                f"2023-11-14T22:13:22.000Z INFO lease 134217728: main runs (task 8, start 0) trace={other}",
                f"agent-1 | 2023-11-14T22:13:30.250Z WARNING lease 117440512: main ended with exit code 3 trace={mine}",
                f"a tenant's text trace={mine}",
                f"2023-99-14T22:13:30.250Z INFO no time trace={mine}",
            ]
        ),
        encoding="utf-8",
    )
    return path


def test_chain_scheduler_and_logs_are_one_timeline(
    world: World, genesis: bytes, index: Path, scheduler: Path, logs: Path
) -> None:
    found = world.json("trace", 7, "--index", index, "--scheduler", scheduler, "--log", logs)
    assert (found["task"], found["trace"]) == (7, trace_id(genesis, 7))
    entries = found["entries"]
    assert [entry["time_ms"] for entry in entries] == sorted(entry["time_ms"] for entry in entries)
    assert [entry["source"] for entry in entries] == ["chain", "chain", "scheduler", "log", "scheduler", "log"]
    assert entries[0]["origin"] == "block 1"
    assert entries[2]["text"] == f"generation 0: placed 1 pod: pod 0 on {HOST}"
    assert entries[4]["text"] == "generation 0: assigned in block 12"
    assert entries[5]["text"] == "WARNING lease 117440512: main ended with exit code 3"
    assert (entries[5]["time_ms"], entries[5]["origin"]) == (AT_MS + 10_250, str(logs))


def test_a_trace_id_names_the_task(world: World, genesis: bytes, index: Path) -> None:
    status, out, _ = world.run("trace", trace_id(genesis, 7).upper(), "--index", index)
    assert status == 0
    assert out.splitlines()[0].split() == ["Task", "7"]
    assert "No log was given (--log FILE)" in out


def test_a_trace_id_of_another_chain_is_refused(world: World) -> None:
    status, _, err = world.run("trace", trace_id(b"\x07" * 32, 7))
    assert status == 1
    assert "this trace id is not of this chain" in err


def test_text_that_is_neither_is_refused(world: World) -> None:
    status, _, err = world.run("trace", "seven")
    assert status == 2
    assert "'seven' is not the number of a task" in err


def test_a_log_that_does_not_exist_is_named(world: World, index: Path, tmp_path: Path) -> None:
    status, _, err = world.run("trace", 7, "--index", index, "--log", tmp_path / "none.log")
    assert status == 1
    assert "none.log cannot be read: No such file or directory" in err
