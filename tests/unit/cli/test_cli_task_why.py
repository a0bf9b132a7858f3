"""gantry task why."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest
from cli_world import CHARLIE, GTY, HOST, World, the_host

from offchain.core.feasibility import Misfit
from offchain.core.scheduler.explain import Candidate, CandidateReport, PlacedTask, WaitReason
from offchain.core.values import PodPlacement
from offchain.indexer import queries
from offchain.indexer.block_rows import unpack
from offchain.indexer.engines import open_index
from offchain.indexer.writer import IndexWriter
from offchain.schema.chain_types import _generated_chain as gen
from offchain.services.decision_recorder import DecisionRecorder, PlacementOutcome
from tests.support.chain_records import Tasks, lease, placement, task_spec
from tests.support.history_blocks import History


@pytest.fixture
def submitted(world: World) -> World:
    Tasks(world.chain).submit(CHARLIE, task_spec(max_rate_per_hour=10 * GTY))
    return world


def test_the_rules_that_exclude_hosts_are_counted_for_a_waiting_task(submitted: World) -> None:
    submitted.put("Hosts", "Hosts", HOST, the_host(free=gen.Capacity(100, 8192, 100).encode()))
    found = submitted.json("task", "why", 0)
    assert found["waits"]
    assert found["state"] == "Queued"
    assert found["excluded_now"] == {"too little free cpu": 1}
    status, out, _ = submitted.run("task", "why", 0)
    assert status == 0
    assert "Excluded now  1 too little free cpu" in out
    assert "Later         1 more when running pods have ended" in out


def test_replicas_need_a_host_of_another_provider_each(world: World) -> None:
    one_model = gen.Resources(1000, 512, 1, gen.GpuRequest(1, 1000, 0, (b"A100",)))
    compared = task_spec(pods_min=2, pods_max=2, resources=one_model, verification=gen.VerificationPolicyRedundant(2))
    Tasks(world.chain).submit(CHARLIE, compared)
    shown = world.run("task", "why", 0)[1]
    assert "Replicas" in shown
    assert "2, each on a host of another provider" in shown
    assert world.json("task", "why", 0)["replicas"] == 2


def test_an_audited_job_shows_its_surcharge_and_then_that_it_was_drawn(world: World) -> None:
    one_model = gen.Resources(1000, 512, 1, gen.GpuRequest(1, 1000, 0, (b"A100",)))
    tasks = Tasks(world.chain)
    tasks.submit(CHARLIE, task_spec(resources=one_model, verification=gen.VerificationPolicyAudit()))
    assert "at most" in world.run("task", "why", 0)[1]
    assert world.json("task", "why", 0)["audit"]["surcharge_ppm"] == world.chain.storage["Tasks", "Params"][()].get(
        "audit_surcharge_ppm"
    )
    first = lease(HOST, state=gen.LeaseStateEnded(gen.EndReasonCompleted()))
    tasks.change(0, state=gen.TaskStateRunning(), leases=(first,), pods_wanted=2)
    assert "drawn: a host of another provider repeats the work" in world.run("task", "why", 0)[1]


def test_replicas_on_any_model_of_gpu_are_placed_by_nobody(world: World) -> None:
    compared = task_spec(pods_min=2, pods_max=2, verification=gen.VerificationPolicyRedundant(2))
    Tasks(world.chain).submit(CHARLIE, compared)
    assert "GPUs of different models may give different ones" in world.run("task", "why", 0)[1]


def test_a_final_task_without_history_is_reported(world: World) -> None:
    world.put("Tasks", "NextTaskId", (), 8)
    status, _, err = world.run("task", "why", 7)
    assert status == 1
    assert "task 7 is final, so it is no longer scheduled" in err
    assert "gantry chain inspect task 7" in err
    assert "--scheduler URL" in err


def test_an_unknown_task_is_reported(submitted: World) -> None:
    status, _, err = submitted.run("task", "why", 1)
    assert status == 1
    assert err.startswith("error: there is no task 1.\n  gantry task list shows the existing ones.")


@pytest.fixture
def decisions(tmp_path: Path) -> Path:
    best = Candidate(HOST, (0,), 142.5, {"worth lost": 100.0, "price": 42.5}, closed=False)
    seen = CandidateReport(3, 1, 0, {Misfit.DEVICE_BUSY: 2}, (best,))
    with contextlib.closing(DecisionRecorder(tmp_path, "scheduler-x", b"seed")) as record:
        record.placed(1_700_000_000_000, [(0, PlacedTask(7, (PodPlacement(0, HOST, b"\0", 1),), 1, 1, seen, None))])
        record.answered(1_700_000_004_000, 7, 0, (0,), PlacementOutcome("assigned", None, 12))
        record.waits(1_700_000_000_000, 0, WaitReason(0, 3, {Misfit.DEVICE_BUSY: 2}, 0, 1, closed=1))
    return tmp_path


def test_the_placement_of_a_final_task_is_explained(world: World, decisions: Path) -> None:
    status, out, _ = world.run("task", "why", 7, "--scheduler", decisions)
    assert status == 0
    assert "Scheduler scheduler-x" in out
    assert "Chain     assigned in block 12" in out
    assert "Excluded  2 GPUs in use" in out
    header, row = next(pair for pair in zip(out.splitlines(), out.splitlines()[1:], strict=False) if "HOST" in pair[0])
    assert header.split() == ["HOST", "GPUS", "COST", "FRAGMENTATION", "PRICE"]
    assert row.split() == [HOST, "0", "142.500", "100.000", "42.500"]
    found = world.json("task", "why", 7, "--scheduler", decisions)
    (told,) = found["schedulers"]
    assert told["decisions"][0]["answer"] == {
        "kind": "assigned",
        "reason": None,
        "block": 12,
        "at_ms": 1_700_000_004_000,
    }
    assert told["decisions"][0]["seen"]["best"][0]["parts"] == {"worth lost": 100.0, "price": 42.5}


def test_a_waiting_task_is_explained_by_chain_and_scheduler(submitted: World, decisions: Path) -> None:
    status, out, _ = submitted.run("task", "why", 0, "--scheduler", decisions)
    assert status == 0
    assert "Hosts      1 of 1 can run it now" in out
    assert "1 of 3 were feasible, 1 of them reserved for others" in out


def test_schedulers_are_named_by_the_environment_too(
    world: World, decisions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GANTRY_SCHEDULER", f"http://127.0.0.1:1 {decisions}")
    status, out, err = world.run("task", "why", 7)
    assert status == 0
    assert "note: no answer from the scheduler http://127.0.0.1:1: unreachable" in err
    assert "Chain     assigned in block 12" in out


def test_without_a_scheduler_the_command_for_asking_one_is_printed(submitted: World) -> None:
    status, out, _ = submitted.run("task", "why", 0)
    assert status == 0
    assert "The decisions of schedulers are not known. Ask a scheduler (--scheduler URL" in out


def test_the_address_for_answers_is_checked_before_the_worker_starts(world: World) -> None:
    status, _, err = world.run("worker", "scheduler", "--account", "//Dave", "--answers", "nowhere")
    assert status == 2
    assert '"nowhere" is not an address for answers' in err


def test_only_workers_that_schedule_have_the_option_answers(world: World) -> None:
    assert "--answers" in world.run("worker", "all", "--help")[1]
    assert "--answers" not in world.run("worker", "settler", "--help")[1]


def index_of(path: Path, genesis: bytes) -> int:
    """An index of this chain; gives a task that was settled."""
    with contextlib.closing(open_index(str(path), create=True)) as db:
        made = IndexWriter(db)
        made.prepare(genesis)
        made.add(list(History(6).blocks(40)))
        (settled,) = queries.events(db, queries.EventFilter("Tasks", "Settled", limit=1))
        return int(unpack(settled.event.fields)["task"])


def test_the_chains_answers_are_read_from_the_index(world: World, tmp_path: Path) -> None:
    settled = index_of(tmp_path / "index.db", asyncio.run(world.chain.genesis_hash()))
    found = world.json("task", "why", settled, "--index", tmp_path / "index.db")
    names = [step["event"] for step in found["history"]["steps"]]
    assert names[0] == "Tasks.Submitted"
    assert "Tasks.Assigned" in names
    assert (found["state"], found["history"]["up_to_block"]) == ("Settled", 39)
    _, out, _ = world.run("task", "why", settled, "--index", tmp_path / "index.db")
    assert "Assigned: lease" in out


def test_removed_events_of_the_index_are_mentioned(world: World, tmp_path: Path) -> None:
    genesis = asyncio.run(world.chain.genesis_hash())
    settled = index_of(tmp_path / "index.db", genesis)
    with contextlib.closing(open_index(str(tmp_path / "index.db"))) as db:
        made = IndexWriter(db, keep_ms=0)
        made.prepare(genesis)
        assert made.prune(10**6)
    found = world.json("task", "why", settled, "--index", tmp_path / "index.db")["history"]
    assert found["events_from_block"] == found["up_to_block"] == 39
    assert found["state"] == "Settled"
    _, out, _ = world.run("task", "why", settled, "--index", tmp_path / "index.db")
    assert "The index keeps no events before block 39." in out


def test_an_index_of_another_chain_is_ignored(world: World, tmp_path: Path) -> None:
    settled = index_of(tmp_path / "index.db", b"\x07" * 32)
    status, _, err = world.run("task", "why", settled, "--index", tmp_path / "index.db")
    assert status == 1
    assert f"there is no task {settled}" in err


def test_a_pod_on_a_host_beyond_its_latency_limit_is_at_risk(world: World) -> None:
    tasks = Tasks(world.chain)
    number = tasks.submit(CHARLIE, task_spec(placement=placement(max_latency_ms=50)))
    running = lease(HOST, devices=b"\0", state=gen.LeaseStateActive())
    tasks.change(number, state=gen.TaskStateRunning(), leases=(running,))
    world.put("Hosts", "Hosts", HOST, the_host(latency_ms=50))
    assert world.json("task", "why", number)["at_risk"] == []
    assert world.json("task", "show", number)["max_latency_ms"] == 50
    assert "at most 50 ms" in world.run("task", "show", number)[1]
    world.put("Hosts", "Hosts", HOST, the_host(latency_ms=51))
    assert "At risk  pod 0: the round trip to its host is longer than it may be" in world.run("task", "why", number)[1]


def test_a_pod_on_an_unhealthy_gpu_is_at_risk(world: World) -> None:
    tasks = Tasks(world.chain)
    number = tasks.submit(CHARLIE, task_spec(max_rate_per_hour=10 * GTY))
    there = lease(HOST, devices=b"\0", state=gen.LeaseStateActive())
    tasks.change(number, state=gen.TaskStateRunning(), leases=(there,))
    assert world.json("task", "why", number)["at_risk"] == []
    worn = {**the_host()["devices"][0], "healthy": False}
    world.put("Hosts", "Hosts", HOST, the_host(devices=[worn]))
    reason = "one of its GPUs is out of order"
    assert world.json("task", "why", number)["at_risk"] == [{"pod": 0, "host": HOST, "reason": reason}]
    _, out, _ = world.run("task", "why", number)
    assert f"At risk  pod 0: {reason}" in out
