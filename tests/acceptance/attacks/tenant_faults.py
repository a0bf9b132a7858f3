"""Tasks that fail before their start because of their tenant: how they are made, and what they must not do to hosts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest

from offchain.adapters.keys.signer import from_uri
from offchain.cli.kit.session import send
from offchain.schema.chain_types._generated_chain import calls
from tests.support.local_network import TENANT, Done, Net
from tests.support.real_chain import by_sudo

START_TIMEOUT_MS: Final = 20_000
MS_PER_HOUR: Final = 3_600_000
SUDO: Final = "//Alice"
MANIFEST: Final = """\
name: tenant-fault
services:
  main:
    image: {image}
    command: ["true"]
    user: "{user}"
    {secret}
    deploy:
      resources:
        limits: {{cpus: "0.2", memory: 32M, pids: 16}}
{secrets}
x-gantry:
  kind: job
  price: {{max_per_hour: 2.5 GTY}}
  duration: 10m
"""
DEMO: Final = "${GANTRY_DEMO_IMAGE:?scripts/demo-image builds the image and prints its name}"


@pytest.fixture(autouse=True)
async def one_short_attempt(net: Net) -> AsyncIterator[None]:
    """A task fails with its first attempt, and a pod must start within `START_TIMEOUT_MS`."""
    before = await net.typed.params("Tasks")
    short = replace(before, start_timeout_ms=START_TIMEOUT_MS, max_attempts=1)
    await send(net.chain, by_sudo(calls.tasks_set_params(params=short)), from_uri(SUDO))
    try:
        yield
    finally:
        await send(net.chain, by_sudo(calls.tasks_set_params(params=before)), from_uri(SUDO))


def manifest(folder: Path, image: str = DEMO, user: str = "65534:65534", *, secret: bool = False) -> Path:
    file = folder / "fault.yaml"
    text = MANIFEST.format(
        image=image,
        user=user,
        secret="secrets: [api-key]" if secret else "",
        secrets="secrets: {api-key: {external: true}}" if secret else "",
    )
    file.write_text(text, encoding="utf-8")
    return file


@dataclass(frozen=True)
class HostFacts:
    """Bond and score of every host, by address."""

    bonds: dict[str, int]
    scores: dict[str, Any]

    def assert_only_charged(self, later: HostFacts, host: str, fee: int) -> None:
        """Assert that between the two only the bond of `host` has changed, by `fee` base units."""
        assert later.scores == self.scores, "the score of no host has changed"
        assert later.bonds == {name: bond - fee if name == host else bond for name, bond in self.bonds.items()}


async def host_facts(net: Net) -> HostFacts:
    hosts = await net.typed.hosts()
    scores = {name: await net.chain.query("Reputation", "HostScores", [name]) for name in hosts}
    return HostFacts({name: record.bond for name, record in hosts.items()}, scores)


async def refused(net: Net, file: Path, *, for_all_time: bool = True) -> Done:
    """Submit and wait until the task has failed; check what the chain did, and return what the command said.

    `for_all_time`: the tenant is charged for all of the time for which the pod held the host, and not for the minimum.
    """
    before, first = await host_facts(net), (await net.chain.finalized_head()).number
    done = await net.gantry("submit", file, "--account", TENANT, "--wait", "--json")
    assert done.code == 1, done.said
    assert done.json["state"] == "Failed(AttemptsExhausted)", done.said
    (lease,) = await net.leases(done.json["task"])
    params = await net.typed.params("Tasks")
    assert lease.started_at is None
    assert lease.ended_at is not None
    held_ms = lease.ended_at - lease.created_at
    assert held_ms < START_TIMEOUT_MS
    charged_ms = max(held_ms, params.min_charge_ms) if for_all_time else params.min_charge_ms
    charge = min(lease.escrow.deposit, lease.escrow.rate_per_hour * charged_ms // MS_PER_HOUR)
    assert charge > 0
    fee = min(params.refusal_fee, charge)
    assert (lease.escrow.paid, lease.escrow.fee, lease.escrow.open) == (charge, charge, False), done.said
    before.assert_only_charged(await host_facts(net), lease.host, fee)
    for number in range(first, (await net.chain.finalized_head()).number + 1):
        assert "Slashed" not in {event.name for event in (await net.chain.block(number)).events}
    return done


async def told(net: Net, done: Done, reason: str) -> None:
    """The tenant's commands say the cause: waiting, showing, and the log of a pod that never started."""
    assert done.json["reason"] == reason, done.said
    shown = await net.gantry("task", "show", str(done.json["task"]))
    assert "  Reason" in shown.out, shown.said
    logs = await net.check("logs", str(done.json["task"]), "--account", TENANT)
    assert f"the host gave this pod back ({reason})" in logs.out, logs.said
    for text in (done.err, shown.out, logs.out):
        assert "HostRefused" not in text
