"""Attacks on agent and gateway of a running network: are heartbeats on time, do pods live, is the tenant answered?"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import docker
from main_job import network, say
from table import Figure

from tests.support.link_siege import Observed, Plan, agent_of, gateway_of, lease_of, observed, siege
from tests.support.local_network import TENANT, Net, Pods, connected, engine_url

SECONDS = 60
CONTROL_SECONDS = 20
TIMES = 3
"""The tenant may wait so many times as long as without attacks."""
MOST_GROWTH_MIB = 64


def measure(seconds: int = SECONDS) -> tuple[list[Figure], dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="gantry-siege-") as folder:
        state = Path(folder) / "net"
        with network(state):
            return asyncio.run(_measure(state, seconds))


async def _measure(state: Path, seconds: int) -> tuple[list[Figure], dict[str, Any]]:
    async with connected(state) as net:
        task = await net.submit_until_signal()
        await net.until(task, {"Running"})
        lease = await lease_of(net, task)
        say(f"{CONTROL_SECONDS} s without attacks")
        async with observed(net, lease) as control:
            await asyncio.sleep(CONTROL_SECONDS)
        say(f"{seconds} s of attacks")
        async with observed(net, lease) as seen:
            done = await siege(net, await _plans(net, lease), seconds, nice=19)
        client = docker.DockerClient(base_url=engine_url(state), timeout=30)
        try:
            await net.end_pod(task, Pods(client))
            ended = await net.until(task, {"Settled"})
        finally:
            client.close()
    return _judged(control, seen, done, ended)


async def _plans(net: Net, lease: int) -> list[Plan]:
    """Strangers from many addresses, by websocket and QUIC, and a tenant who sends single bytes: 64 connections."""
    agent, gateway = await agent_of(net), gateway_of(net)
    return [
        Plan(kind="rapid-reset", target=agent, connections=16, sources=8),
        Plan(kind="rapid-reset", target=agent, connections=8, sources=4, websocket=False),
        Plan(kind="large-requests", target=agent, connections=8, sources=2),
        Plan(kind="half-close", target=agent, connections=8, sources=2),
        Plan(kind="pings", target=agent, connections=4),
        Plan(kind="single-bytes", target=agent, connections=2, lease=lease, account=TENANT),
        Plan(kind="rapid-reset", target=gateway, connections=12, sources=4),
        Plan(kind="slow-resets", target=gateway, connections=6, sources=2),
    ]


def _judged(
    control: Observed, seen: Observed, done: list[dict[str, Any]], ended: str
) -> tuple[list[Figure], dict[str, Any]]:
    before = Figure("siege-control", "ms", tuple(control.questions_ms))
    limit_ms = round(TIMES * before.p95, 2)
    figures = [
        before,
        Figure("siege-honest", "ms", tuple(seen.questions_ms), target_p95=limit_ms),
        Figure("siege-heartbeat-age", "ms", (float(seen.late_ms),)),
        Figure("siege-heartbeats-late", "blocks", (float(seen.heartbeats_late),), 0),
        Figure("siege-pods-lost", "pods", (float(seen.lost + seen.absent),), 0),
        Figure("siege-rss-growth", "MiB", (seen.rss_growth_mib,), MOST_GROWTH_MIB),
    ]
    said = [
        f"{figure.name} {figure.value:g} {figure.unit} is not {figure.aim}" for figure in figures if figure.met is False
    ]
    if seen.unanswered:
        said.append(f"{len(seen.unanswered)} questions of the tenant were not answered: {seen.unanswered[0]}")
    facts = {
        "heartbeats_late": seen.heartbeats_late,
        "heartbeat_age_ms": seen.late_ms,
        "pods_lost": seen.lost + seen.absent,
        "honest_p95_ms": figures[1].p95,
        "control_p95_ms": before.p95,
        "rss_growth_mib": seen.rss_growth_mib,
        "rss_growth_of_mib": seen.growth_mib,
        "questions": len(seen.questions_ms),
        "unanswered": len(seen.unanswered),
        "attack_frames": sum(one["frames"] for one in done),
        "attack_connections": sum(one["connections"] for one in done),
        "task": ended,
        "said": said,
    }
    return figures, facts
