"""gantry task usage: what is shown, and what is signed."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from cli_world import CHARLIE, GTY, HOST, World

from offchain.adapters.keys import signer, ss58
from offchain.cli.tenant import usage
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id
from offchain.schema.protocol.receipt import Countersignature, Receipt, SignedReceipt, Totals
from offchain.schema.protocol.receipt_bill import running_bill
from tests.support.chain_records import Tasks, escrow, lease, task_spec

WHO = ("--account", "//Charlie")
HOST_KEY = signer.from_uri("//Host", "ed25519")
OPENED, STARTED, NOW = 1_700_000_000_000, 1_700_000_001_000, 1_700_003_601_000


class Host:
    """The host of all pods: gives receipts that it signs, and keeps what tenants sign."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.changes: dict[str, Any] = {}
        self.key = HOST_KEY
        self.signed: dict[int, SignedReceipt] = {}

    async def receipt(self, number: int) -> bytes:
        if number not in self.signed:
            record = Tasks(self.world.chain).lease(number)
            receipt = Receipt(
                genesis_hash=self.world.chain.genesis,
                task=0,
                lease=number,
                host=HOST,
                tenant=CHARLIE,
                seq=3,
                from_ms=OPENED,
                until_ms=NOW,
                totals=Totals(
                    wall_ms=3_600_000,
                    unmetered_ms=60_000,
                    cpu_ms=1_800_000,
                    memory_mib_s=1024 * 3600 // 4,
                    memory_peak_mib=300,
                    gpu_ms=90_000,
                    received_bytes=2_048,
                    sent_bytes=5,
                ),
                bill=running_bill(record, NOW, 0),
                reported=None,
                final=False,
            )
            receipt = replace(receipt, **self.changes)
            self.signed[number] = SignedReceipt(receipt, self.key.sign(receipt.host_payload))
        return self.signed[number].encode()

    async def countersign(self, number: int, digest: bytes, signature: bytes) -> None:
        signed = self.signed[number]
        assert digest == signed.receipt.digest
        self.signed[number] = replace(signed, countersignature=Countersignature(CHARLIE, "sr25519", signature))


@pytest.fixture
def host(world: World, monkeypatch: pytest.MonkeyPatch) -> Host:
    found = Host(world)

    @contextlib.asynccontextmanager
    async def host_of(*_: object) -> AsyncIterator[Host]:
        yield found

    monkeypatch.setattr(usage, "open_lease_host", host_of)
    tasks = Tasks(world.chain)
    tasks.submit(CHARLIE, task_spec(kind=gen.TaskKind.SERVICE, pods_max=2), now=OPENED)
    held = escrow(deposit=10 * GTY, rate_per_hour=GTY, since=STARTED)
    leases = tuple(
        lease(HOST, pod=pod, state=gen.LeaseStateActive(), created_at=OPENED, started_at=STARTED, escrow=held)
        for pod in range(2)
    )
    tasks.change(0, state=gen.TaskStateRunning(), leases=leases)
    world.put("Timestamp", "Now", (), NOW)
    return found


def test_it_shows_what_was_used_and_is_owed(world: World, host: Host) -> None:
    status, out, err = world.run("task", "usage", 0, "--pod", 1, *WHO)
    assert (status, err) == (0, "")
    shown = dict(line.split("  ", 1) for line in out.splitlines())
    assert shown["ran"].strip() == "1:00:00.0 (0:01:00.0 of it without memory, GPU and disk readings)"
    assert "1800.0 s" in shown["cpu"]
    assert "0.2500 GiB h, at most 300 MiB" in out
    assert "0:01:30.0 at work" in shown["gpu"]
    assert "2.0 KiB in, 5 B out" in out
    assert "1:00:00.0: 1 GTY owed in all" in out
    assert host.signed[lease_id(0, 1, 0)].receipt.digest.hex() in out
    assert "wrong" not in out
    assert lease_id(0, 0, 0) not in host.signed


def test_json_has_each_receipt_whole_so_that_anybody_can_check_it(world: World, host: Host) -> None:
    found = world.json("task", "usage", 0, *WHO)
    assert [one["pod"] for one in found["pods"]] == [0, 1]
    for one in found["pods"]:
        fields = {name: one[name] for name in ("receipt", "digest", "signature", "countersignature")}
        assert SignedReceipt.decode(json.dumps(fields).encode()) in host.signed.values()
        assert (one["problems"], one["countersigned_by"]) == ([], None)


def test_countersigning_gives_the_host_a_signature(world: World, host: Host) -> None:
    found = world.json("task", "usage", 0, "--countersign", *WHO)
    assert [one["countersigned_by"] for one in found["pods"]] == [CHARLIE, CHARLIE]
    for signed in host.signed.values():
        given = signed.countersignature
        assert given is not None
        assert signer.verify(ss58.decode(CHARLIE), "sr25519", signed.receipt.tenant_payload, given.signature)
    assert "host and tenant" in world.run("task", "usage", 0, *WHO)[1]


def test_a_signature_of_another_account_is_shown(world: World, host: Host) -> None:
    world.json("task", "usage", 0, "--pod", 0, *WHO)
    ((number, signed),) = host.signed.items()
    bob = signer.from_uri("//Bob")
    for signature, told in (
        (bob.sign(signed.receipt.tenant_payload), f"for the tenant, {bob.address}"),
        (bytes(64), "host"),
    ):
        host.signed[number] = replace(signed, countersignature=Countersignature(bob.address, "sr25519", signature))
        (line,) = [x for x in world.run("task", "usage", 0, "--pod", 0, *WHO)[1].splitlines() if "signed by" in x]
        assert line.endswith(told)


def test_a_receipt_that_differs_from_the_chain_is_shown_and_not_signed(world: World, host: Host) -> None:
    host.changes = {"totals": Totals(cpu_ms=10**9)}
    status, out, _ = world.run("task", "usage", 0, *WHO)
    assert status == 0
    assert "Its cpu_ms is 1000000000" in out
    status, _, err = world.run("task", "usage", 0, "--countersign", *WHO)
    assert status == 1
    assert "not countersigned: Its cpu_ms" in err
    assert "evidence" in err
    assert all(signed.countersignature is None for signed in host.signed.values())


def test_a_receipt_by_another_key_proves_nothing(world: World, host: Host) -> None:
    host.key = signer.from_uri("//Other", "ed25519")
    status, _, err = world.run("task", "usage", 0, *WHO)
    assert status == 1
    assert "not signed with the host's key" in err


def test_a_task_without_pods_says_so(world: World, host: Host) -> None:
    del host
    Tasks(world.chain).change(0, state=gen.TaskStateQueued(), leases=())
    status, _, err = world.run("task", "usage", 0, *WHO)
    assert status == 1
    assert "has no host" in err


@pytest.mark.parametrize("command", [("task", "usage"), ("worker", "autoscaler")])
def test_help_has_an_example(world: World, command: tuple[str, str]) -> None:
    status, out, _ = world.run(*command, "--help")
    assert status == 0
    assert f"  gantry {' '.join(command)} " in out.partition("Usage:")[2].partition("\n")[2]
