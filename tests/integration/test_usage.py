"""Receipts of a real pod: what they say fits what the chain settles, also when the agent was killed meanwhile."""

from typing import Any

from offchain.schema.protocol.fields import canonical_json
from offchain.schema.protocol.receipt import Receipt, SignedReceipt
from tests.support.local_network import STRANGER, TENANT, Net, Pods

COUNTERS = ("wall_ms", "cpu_ms", "received_bytes", "sent_bytes", "memory_mib_s", "memory_peak_mib", "disk_peak_mib")


async def the_receipt(net: Net, task: int, *options: str) -> tuple[Receipt, dict[str, Any]]:
    done = await net.check("task", "usage", str(task), *options, "--account", TENANT, "--json")
    (pod,) = done.json["pods"]
    assert pod["problems"] == []
    return read(pod), pod


def read(pod: dict[str, Any]) -> Receipt:
    fields = {name: pod[name] for name in ("receipt", "digest", "signature", "countersignature")}
    return SignedReceipt.decode(canonical_json(fields)).receipt


async def metered(net: Net, task: int) -> bool:
    """Whether the host writes receipts of the lease as one that was started, and has measured its pod."""
    done = await net.gantry("task", "usage", str(task), "--account", TENANT, "--json")
    assert done.code == 0 or done.json["error"]["code"] == "NotReady", done.said
    if done.code != 0:
        return False
    receipt = read(done.json["pods"][0])
    return receipt.bill.since_ms is not None and receipt.totals.cpu_ms > 0


async def test_what_is_metered_is_what_is_settled(net: Net, pods: Pods):
    task = await net.submit_until_signal()
    await net.until(task, {"Running"})
    # Receipts are written from final blocks and pods are measured every second; that the task runs is seen before.
    await net.each_block(lambda: metered(net, task), f"a receipt of task {task} with processor time")
    running, pod = await the_receipt(net, task)
    assert (running.final, pod["countersigned_by"]) == (False, None)
    net.kill("agent")
    await net.end_pod(task, pods)
    await net.until(task, {"Settled"})
    last, pod = await the_receipt(net, task, "--countersign")
    assert pod["countersigned_by"] == last.tenant
    (lease,) = await net.leases(task)
    assert lease.result is not None
    assert (last.final, last.reported, last.until_ms) == (True, lease.result.usage, lease.ended_at)
    assert last.bill.owed == lease.escrow.paid
    assert last.totals.wall_ms >= lease.result.usage.wall_ms
    assert 0 < last.totals.cpu_ms < last.totals.wall_ms
    for name in COUNTERS:
        assert getattr(last.totals, name) >= getattr(running.totals, name), name
    again, pod = await the_receipt(net, task)
    assert (again, pod["countersigned_by"]) == (last, last.tenant)


async def test_a_stranger_gets_no_receipt(net: Net, settled: int):
    done = await net.gantry("task", "usage", str(settled), "--account", STRANGER)
    assert (done.code, done.out, "does not belong to" in done.err) == (1, "", True), done.said
