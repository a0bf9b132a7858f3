"""A spot task that has to leave, as its tenant follows it: what the container reads, and what could not be saved."""

import asyncio
import json
from datetime import datetime
from typing import Any

from tests.support.local_network import MANIFESTS, TENANT, Net, Pods

ACCOUNT = ("--account", TENANT)


async def test_a_container_reads_when_it_has_to_leave_and_the_tenant_what_could_not_be_saved(net: Net, pods: Pods):
    (host,) = (record for record in (await net.typed.hosts()).values() if record.status.tag == "Online")
    env = {**net.variables, "GPUS": str(len(host.devices))}
    done = await net.check("submit", MANIFESTS / "leaving.yaml", *ACCOUNT, "--json", env=env)
    spot = int(done.json["task"])
    await net.until(spot, {"Running"})

    async def told() -> Any:
        return (await net.task(spot)).record.preemption

    async with asyncio.TaskGroup() as group:
        # It goes on with the next run when the container is stopped.
        log = group.create_task(net.gantry("logs", str(spot), *ACCOUNT, "--follow"))
        urgent = await net.submit(steps=3)
        leaves = await net.each_block(told, f"task {spot} to be told to leave")
        assert leaves.wanting == urgent
        assert pods.of(spot), "it runs on when it was told"
        await net.until(urgent, {"Settled"})
        await net.until(spot, {"Running"})
        await net.check("task", "cancel", str(spot), *ACCOUNT)
    followed = log.result()
    assert followed.code == 0, followed.said
    assert f"Pod 0 of task {spot} had to leave" in followed.said
    assert f"Pod 0 of task {spot} runs on" in followed.said
    assert len(followed.out.splitlines()) == 3, followed.said
    notice, read, note = (line.partition(" ")[2] for line in followed.out.splitlines())
    assert json.loads(notice)["ends_at_ms"] == leaves.ends_at
    assert datetime.fromisoformat(json.loads(notice)["ends_at"]).timestamp() * 1000 == leaves.ends_at
    notice_ms = (await net.typed.params("Tasks")).preemption_notice_ms
    assert 0 < int(read.split()[1]) <= notice_ms / 1000, "before it is stopped"
    assert note.startswith("[/nowhere is not saved: there is no such folder; have the program make it"), note
