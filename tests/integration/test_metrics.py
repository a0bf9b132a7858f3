"""The metrics of the processes of a local network, read with the parser of the Prometheus client library."""

import asyncio
import json

from tests.support.local_network import Net
from tests.support.metric_text import Sample, base_name, label_names, samples, scrape, value
from tests.support.metrics_page import NODE_METRICS, definitions, listed

MOST_SERIES = 700
"""Of one process with one host and its default queues."""
PROCESSES = {"workers", "indexer", "gateway", "agent"}


async def measured(net: Net, process: str) -> dict[Sample, float]:
    urls = json.loads((net.state / "network.json").read_text(encoding="utf-8"))["metrics"]
    assert set(urls) == {"node", *PROCESSES}
    return samples(await asyncio.to_thread(scrape, urls[process]))


async def test_each_process_serves_metrics_of_the_page_with_their_labels(net: Net, settled: int) -> None:
    del settled  # something has happened
    known = {one.name: tuple(sorted(one.labels)) for one in definitions()} | dict.fromkeys(listed("process"), ())
    for process in PROCESSES:
        found = await measured(net, process)
        names = label_names(found)
        assert names.keys() <= known.keys(), process
        assert {name: labels for name, labels in names.items() if labels != {known[name]}} == {}, process
        assert len(found) < MOST_SERIES, process


async def test_the_numbers_follow_from_a_settled_task(net: Net, settled: int) -> None:
    lease = (await net.leases(settled))[0]

    async def look() -> bool:
        workers, agent = await measured(net, "workers"), await measured(net, "agent")
        return (
            value(workers, "gantry_scheduler_assignments_total", outcome="accepted") >= 1
            and value(agent, "gantry_agent_earned_gty_total") > 0
        )

    await net.each_block(look, "earnings of the host")
    workers, agent = await measured(net, "workers"), await measured(net, "agent")
    assert value(workers, "gantry_chain_connected") == 1
    assert value(workers, "gantry_chain_best_block") >= value(workers, "gantry_chain_final_block") > 0
    assert value(workers, "gantry_chain_final_block_age_seconds") < 60
    assert value(workers, "gantry_worker_block_age_seconds") < 60
    assert value(workers, "gantry_scheduler_cycle_seconds_count") >= 1
    assert value(workers, "gantry_scheduler_pods_placed_total") >= 1
    assert value(workers, "gantry_account_balance_gty", kind="free") > 0
    assert value(workers, "gantry_outbox_outcomes_total", outcome="included") >= 1
    assert value(agent, "gantry_agent_heartbeats_total") >= 1
    assert value(agent, "gantry_agent_heartbeat_period_seconds") > 0
    assert value(agent, "gantry_agent_gateways", state="attached") == 1
    devices = {dict(one.labels)["device"] for one in agent if one.name == "gantry_device_info"}
    assert devices >= {str(index) for index in lease.devices}
    indexer, gateway = await measured(net, "indexer"), await measured(net, "gateway")
    assert value(indexer, "gantry_indexer_rows_total") > 0
    assert value(indexer, "gantry_indexer_block") > 0
    assert value(gateway, "gantry_gateway_hosts") == 1


async def test_the_node_has_the_metrics_that_the_page_names(net: Net) -> None:
    names = {one.name for one in await measured(net, "node")}
    assert set(listed(NODE_METRICS)) <= names | set(map(base_name, names))
