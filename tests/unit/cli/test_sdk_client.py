"""The SDK on the in-memory chain: the same network, tasks and errors with and without coroutines."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import gantry
import pytest
from cli_world import CHARLIE, GTY, MANIFEST, RATE, RESULT, Pallets, World

from offchain.adapters.transport.port import HostUnreachable
from offchain.cli.tenant import follow
from offchain.ports import DispatchFailure
from offchain.schema.manifest.types import ManifestError


def test_a_task_from_submission_to_bill(pallets: Pallets, manifest: Path) -> None:
    with gantry.connect(account="//Charlie") as network:
        assert (network.account, network.balance()) == (CHARLIE, 1000 * GTY)
        task = network.submit(manifest)
        result = task.wait()
        bill = task.bill()
    assert (task.number, result.text, dict(result.exit_codes)) == (0, RESULT.decode(), {0: 0})
    assert [call.function for call in pallets.calls] == ["submit", "accept_result"]
    assert (bill.paid, bill.pods[0].seconds) == (RATE * 5000 // 3_600_000, 5.0)
    assert str(bill).endswith("protocol fee")


@pytest.mark.usefixtures("pallets")
def test_the_same_with_coroutines_and_the_text_of_a_manifest() -> None:
    notes: list[str] = []

    async def work() -> gantry.TaskResult:
        async with gantry.connect_async(account="//Charlie") as network:
            task = await network.submit(MANIFEST)
            return await (await network.task(task.number)).wait(accept=True, notify=notes.append)

    assert asyncio.run(work()).data == {0: RESULT}
    assert any("Result of" in note for note in notes)


def test_nothing_is_printed_on_a_terminal(
    pallets: Pallets, world: World, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    pallets.path, pallets.ends = (), "Queued"
    with gantry.connect(account="//Charlie") as network:
        network.submit(manifest).cancel()
    assert [call.function for call in pallets.calls] == ["submit", "cancel"]
    assert world.capture.readouterr() == ("", "")


def test_a_failed_program_is_an_error_with_its_output(pallets: Pallets, manifest: Path) -> None:
    pallets.exit_code, pallets.window_is_open = 42, False
    with gantry.connect(account="//Charlie") as network:
        task = network.submit(manifest)
        with pytest.raises(gantry.ProgramFailed) as failed:
            task.wait()
        assert (failed.value.exit_code, failed.value.output, failed.value.code) == (42, RESULT, "program_failed")
        assert task.wait(check=False).exit_codes == {0: 42}


def test_a_task_that_is_never_run_is_an_error_with_its_state(pallets: Pallets, manifest: Path) -> None:
    pallets.path, pallets.ends, pallets.window_is_open = (), "Expired", False
    with gantry.connect(account="//Charlie") as network:
        with pytest.raises(gantry.TaskFailed) as failed:
            network.submit(manifest).wait()
        assert failed.value.state == "Expired"


def test_a_result_that_does_not_arrive_is_an_error(
    pallets: Pallets, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(_chain: Any, _lease: Any, _signer: Any) -> bytes:
        raise HostUnreachable("nobody answers")

    monkeypatch.setattr(follow, "fetch_result", away)
    pallets.window_is_open = False
    with gantry.connect(account="//Charlie") as network, pytest.raises(gantry.ResultUnavailable):
        network.submit(manifest).wait()


def test_a_refusal_of_the_chain_names_pallet_and_error(pallets: Pallets, world: World, manifest: Path) -> None:
    world.chain.verdicts = lambda _call, _account: DispatchFailure("Tasks", "TooManyPods", "No.")
    with gantry.connect(account="//Charlie") as network, pytest.raises(gantry.CallRefused) as refused:
        network.submit(manifest)
    assert (refused.value.pallet, refused.value.name) == ("Tasks", "TooManyPods")
    assert pallets.calls == []


def test_errors_before_anything_is_sent(pallets: Pallets, world: World, manifest: Path) -> None:
    world.put("System", "Account", CHARLIE, {"data": {"free": 1, "reserved": 0}})
    with gantry.connect(account="//Charlie") as network:
        with pytest.raises(ManifestError):
            network.submit("services:\n  main: {}\n")
        with pytest.raises(gantry.GantryError) as poor:
            network.submit(manifest)
        assert poor.value.code
        with pytest.raises(gantry.GantryError) as missing:
            network.task(7)
        assert missing.value.code == "no_such_task"
    assert pallets.calls == []


@pytest.mark.usefixtures("world")
def test_a_network_is_used_within_its_block_only() -> None:
    network = gantry.connect(account="//Charlie")
    with pytest.raises(RuntimeError, match="not connected"):
        network.balance()
    with network:
        network.balance()
    with pytest.raises(RuntimeError, match="not connected"):
        network.balance()
