"""A rental's whole life, as examples/rental.yaml tells it: to the receipt of the deletion of what it left."""

import hashlib
import json
import shutil
import subprocess
import tarfile
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from test_api import assert_escrows_agree
from test_examples import ACCOUNT, EXAMPLES, act, ended, forwarded, submitted

from offchain.adapters.chain.submit_once import submit_once
from offchain.adapters.keys.signer import from_uri
from offchain.devnet import demo_image
from offchain.schema.chain_types._generated_chain import LeasesParams, calls
from tests.support.local_network import Net, Pods, run
from tests.support.real_chain import by_sudo

ROOT_KEY = from_uri("//Alice")
RETENTION_MS = 6_000

pytestmark = [
    pytest.mark.skipif(
        bool(demo_image.missing()), reason="the image lacks busybox or dropbear (scripts/up installs them when root)"
    ),
    pytest.mark.skipif(
        shutil.which("dbclient") is None, reason="dbclient, the SSH client of dropbear, is not installed"
    ),
]


class Login:
    """A key, and logging in with it."""

    def __init__(self, folder: Path) -> None:
        self._key = folder / "key"
        made = subprocess.run(
            ["dropbearkey", "-t", "ed25519", "-f", self._key], capture_output=True, text=True, check=True
        )
        self.public = next(line for line in made.stdout.splitlines() if line.startswith("ssh-ed25519"))

    async def run(self, port: int, command: str) -> str | None:
        """What a command printed; None where nobody could log in."""
        done = await run(
            *("dbclient", "-y", "-y", "-T", "-i", self._key, "-p", str(port), "gantry@127.0.0.1", command), env={}
        )
        return done.out if done.code == 0 else None

    async def said(self, net: Net, task: int, command: str) -> str | None:
        """Run a command by the way that a tenant takes."""
        async with forwarded(net, task, 2222) as port:
            return await self.run(port, command)


@pytest.fixture
async def keep_shortly(net: Net) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Has governance say that data is kept for some seconds only; at the end it is kept as long as before."""
    before = LeasesParams.decode(await net.chain.query("Leases", "Params"))

    async def become(params: LeasesParams) -> None:
        await submit_once(net.chain, ROOT_KEY, by_sudo(calls.leases_set_params(params=params)), 60)

    try:
        yield partial(become, replace(before, retention_ms=RETENTION_MS))
    finally:
        await become(before)


async def test_a_rental_is_stopped_restored_rented_on_and_deleted_with_a_receipt(  # noqa: PLR0915  (one story)
    net: Net, pods: Pods, tmp_path: Path, keep_shortly: Callable[[], Awaitable[None]]
) -> None:
    login = Login(tmp_path)
    task = (await submitted(net, "rental", SSH_PUBLIC_KEY=login.public))["task"]
    write = "echo kept > note && echo v1 > /opt/tool && id -un"
    assert await net.each_block(lambda: login.said(net, task, write), "a login") == "gantry\n"

    # Stopped and started, the machine has all it had.
    assert (await act(net, "suspend", task))["leases"][0]["state"] == "Suspended"
    assert not await _released(net, {task})
    resumed = await act(net, "resume", task)
    assert resumed["leases"][0]["state"] == "Active"
    look = "cat note /opt/tool"
    assert await net.each_block(lambda: login.said(net, task, look), "a login after the stop") == "kept\nv1\n"

    # What was broken after a snapshot is whole again; what is on the volume is as it is now.
    taken = await act(net, "snapshot", task, "--name", "before")
    assert [one["name"] for one in taken["snapshots"]] == ["before"]
    assert await login.said(net, task, "rm /opt/tool && echo changed > note") == ""
    assert (await act(net, "restore", task))["current"] == "before"

    async def restored() -> bool:
        return await login.said(net, task, look) == "changed\nv1\n"

    await net.each_block(restored, "the machine as it was in the snapshot")
    in_use = await net.gantry("task", "snapshot", str(task), "--remove", "before", *ACCOUNT)
    assert in_use.code == 1, in_use.said
    assert "is made of 'before'" in in_use.err
    stranger = await net.gantry("task", "snapshot", str(task), "--list", "--account", "//Ferdie")
    assert (stranger.code, "does not belong to" in stranger.err) == (1, True), stranger.said
    archive = tmp_path / "machine.tar"
    await act(net, "snapshot", task, "--save", str(archive))
    assert b"v1\n" in await _in_archive(archive)

    # It ends; another one takes over what it left, is made of its snapshot, and lasts until what was paid is used up.
    await ended(net, task)
    old = (await net.task(task)).leases[0].id
    await net.each_block(lambda: _state(net, task, "Retained"), "the data to be retained")
    manifest = tmp_path / "again.yaml"
    text = (EXAMPLES / "rental.yaml").read_text(encoding="utf-8").replace("duration: 2h", "duration: 30s")
    text = text.replace("# data_from: 117440512 ", f"data_from: {old} ")
    manifest.write_text(text.replace("# snapshot: before ", "snapshot: before "), encoding="utf-8")
    second = await net.check(
        *("submit", manifest, *ACCOUNT, "--wait", "--json"), env={**net.variables, "SSH_PUBLIC_KEY": login.public}
    )
    again = second.json["task"]
    assert await net.each_block(lambda: login.said(net, again, look), "a login to the next one") == "changed\nv1\n"
    assert await _state(net, task, "Ended")
    await keep_shortly()
    since = (await net.chain.best_head()).number
    await net.each_block(lambda: _state(net, again, "Purged"), "the rental to expire and its data to be deleted")

    await net.each_block(lambda: _released(net, {task, again}), "the coins of both rentals to be released")

    # The chain has the receipt of the deletion, and the engine nothing.
    receipt = await _receipt(net, again, since)
    blob = (net.state / "agent" / "blobs" / receipt.hex()).read_bytes()
    record = json.loads(blob)
    assert hashlib.sha256(blob).digest() == receipt
    assert [one["name"] for one in record["volumes"]] == ["home"]
    assert [one["name"] for one in record["snapshots"]] == ["before"]
    assert record["lease"] == (await net.task(again)).leases[0].id
    numbers = (str(old), str(record["lease"]))
    left = [one.name for one in pods.client.volumes.list() if any(number in one.name for number in numbers)]
    images = [tag for one in pods.client.images.list() for tag in one.tags if tag.endswith(f"-{old}:before")]
    assert (left, images, pods.of(again, everything=True)) == ([], [], [])
    gone = await net.gantry("task", "snapshot", str(again), "--list", *ACCOUNT)
    assert (gone.code, "has ended" in gone.err) == (1, True), gone.said


async def _released(net: Net, tasks: set[int]) -> bool:
    """Return whether the index has no coins of these tasks of one tenant on hold; it agrees with the chain."""
    tenant = (await net.task(min(tasks))).record.tenant
    return tasks.isdisjoint(one["task"] for one in await assert_escrows_agree(net, tenant))


async def _state(net: Net, task: int, state: str) -> bool:
    (lease,) = await net.leases(task)
    return lease.state.tag == state


async def _receipt(net: Net, task: int, since: int) -> bytes:
    """What the chain was told of the deletion."""
    head = await net.chain.best_head()

    async def final() -> bool:
        return (await net.chain.finalized_head()).number >= head.number

    await net.each_block(final, f"block {head.number} to be final")
    for number in range(since, head.number + 1):
        for event in (await net.chain.block(number)).events:
            if event.name == "Purged" and event.fields["task"] == task:
                receipt = event.fields["receipt"]
                return receipt if isinstance(receipt, bytes) else bytes.fromhex(receipt.removeprefix("0x"))
    raise AssertionError("no block tells of the deletion")


async def _in_archive(path: Path) -> bytes:
    """All files of an image archive, one after the other."""
    with tarfile.open(path) as tar:
        found = [tar.extractfile(member) for member in tar if member.isfile()]
        return b"".join(file.read() for file in found if file is not None)
