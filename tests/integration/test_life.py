"""A task from submission to its bill, as a tenant sees it."""

import re

import pytest

from offchain.adapters.chain.submit_once import submit_once
from offchain.adapters.keys.signer import from_uri
from offchain.schema.chain_types._generated_chain import EndReasonCancelled, LeaseStateEnded, calls
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.task_spec import manifest_digest, to_task_spec
from tests.support.local_network import STRANGER, TENANT, Net, Pods, sha256, steps_output


async def test_the_demo_is_settled_and_billed_by_the_rule(net: Net, root):
    done = await net.check("submit", root / "examples" / "primes.yaml", "--account", TENANT, "--wait", "--json")
    outcome = done.json
    assert outcome["state"] == "Settled"
    assert await net.assert_paid_once(outcome["task"]) == outcome["paid"]
    (lease,) = await net.leases(outcome["task"])
    assert lease.result is not None
    assert outcome["result_digest"] == lease.result.digest.hex()
    assert outcome["result"].strip() == "primes below 1000000: 78498, the largest is 999983"
    assert 0 < outcome["host_score"] < 1_000_000


async def test_a_task_cancelled_while_it_runs_is_paid_pro_rata_and_its_container_goes(net: Net, pods: Pods):
    task = await net.submit(steps=300)
    await net.until(task, {"Running"})
    assert pods.of(task)
    await net.check("task", "cancel", str(task), "--account", TENANT, "--json")
    assert await net.until(task, {"Cancelled"})
    (lease,) = await net.leases(task)
    assert lease.state == LeaseStateEnded(EndReasonCancelled())
    assert 0 < lease.escrow.paid < lease.escrow.deposit
    await net.assert_bill(task, lease)

    async def container_gone() -> bool:
        return pods.gone(task)

    await net.each_block(container_gone, f"the container of task {task} to go")


async def test_logs_and_result_come_from_the_host_to_the_tenant_only(net: Net, settled: int):
    logs = await net.check("task", "logs", str(settled), "--account", TENANT)
    assert "step 3 of 3" in logs.out
    result = await net.check("task", "result", str(settled), "--account", TENANT)
    assert result.out.encode() == steps_output(3)
    (lease,) = await net.leases(settled)
    assert lease.result is not None
    assert lease.result.digest.hex() == sha256(steps_output(3))


@pytest.mark.parametrize("what", ["logs", "result"])
async def test_a_stranger_gets_neither_logs_nor_result(net: Net, settled: int, what):
    done = await net.gantry("task", what, str(settled), "--account", STRANGER)
    assert done.code not in (0, 70), done.said
    assert "step 1" not in done.out
    assert "Traceback" not in done.err
    # Before it there may be a line on the way to the host.
    assert any(line.startswith("error: ") for line in done.err.splitlines())


async def test_a_task_that_no_host_may_take_waits_and_can_be_cancelled(net: Net):
    done = await net.gantry(
        "submit",
        "tests/integration/manifests/steps.yaml",
        "--account",
        TENANT,
        "--json",
        env={"STEPS": "1", "MAX_PER_HOUR": "0.000001 GTY"},
    )
    if done.code != 0:
        assert "max_per_hour" in done.err or "price" in done.err, done.said
        return
    task = done.json["task"]
    await net.until(task, {"Queued"})
    await net.check("task", "cancel", str(task), "--account", TENANT)
    await net.until(task, {"Cancelled"})


async def test_a_task_s_story_is_told_from_events_alone(net: Net, settled: int):
    await net.story(settled)
    done = await net.check("chain", "inspect", "task", str(settled), "--json")
    names = [event["event"].removeprefix("Tasks.") for event in done.json["events"]]
    assert names == ["Submitted", "Assigned", "PodStarted", "PodReported", "Settled"]
    assert done.json["bill"]["paid"] == await net.assert_paid_once(settled)
    assert done.json["complete"]
    for_people = await net.gantry("chain", "inspect", "task", str(settled))
    assert "Settled." in for_people.out, for_people.said


async def test_a_settled_task_is_told_why_it_went_where_it_went(net: Net, settled: int):
    done = await net.check("task", "why", str(settled), "--json")
    (told,) = done.json["schedulers"]
    decision = told["decisions"][-1]
    (lease,) = await net.leases(settled)
    assert [spot["host"] for spot in decision["spots"]] == [lease.host]
    best = decision["seen"]["best"][0]
    assert best["host"] == lease.host
    assert sum(best["parts"].values()) == pytest.approx(best["points"], abs=1e-3)
    (assigned,) = [step for step in done.json["history"]["steps"] if step["event"] == "Tasks.Assigned"]
    assert decision["answer"]["kind"] == "assigned"
    assert decision["answer"]["block"] == assigned["block"]
    for_people = await net.gantry("task", "why", str(settled))
    assert f"assigned in block {assigned['block']}" in for_people.out, for_people.said


async def test_tasks_submitted_together_go_through_the_chain_in_batches(net: Net):
    text = re.sub(rb"        reservations:\n(          .*\n)+", b"", net.manifest(steps=1))
    spec = to_task_spec(parse_manifest(text), manifest_digest(text))
    assert spec.resources.gpus.count == 0, "so that all of them fit on one host at once"
    submit = calls.tasks_submit_array(spec=spec, manifest=text, count=4)
    included, block = await submit_once(net.chain, from_uri(TENANT), submit)
    first = next(event.fields["first"] for event in block.events if event.name == "Submitted")
    for task in range(first, first + 4):
        await net.until(task, {"Settled"})
        await net.assert_paid_once(task)
    last = (await net.chain.finalized_head()).number
    since = [await net.chain.block(number) for number in range(included.block.number, last + 1)]
    batches = [event.fields for block in since for event in block.events if event.name == "BatchDone"]
    assert batches
    assert all(batch["refused"] == 0 for batch in batches)
