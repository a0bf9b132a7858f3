"""gantry submit: what is sent, what is printed afterwards, and the errors and notes about a manifest."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from cli_world import BOB, HOST, MANIFEST, RATE, RESULT, SENT, Pallets, World, refused

from offchain.adapters.transport.port import HostUnreachable
from offchain.cli.tenant import follow
from offchain.errors import SubmitRefusal
from offchain.ports import DispatchFailure
from offchain.schema.chain_types import _generated_chain as gen
from tests.support.chain_records import Tasks, lease


def test_a_task_is_sent_with_the_manifests_exact_bytes(world: World, pallets: Pallets, manifest: Path) -> None:
    found = world.json("submit", manifest, "--account", "//Charlie")
    assert found["task"] == 0
    (call,) = pallets.calls
    assert call.args["manifest"] == MANIFEST.encode()
    digest = hashlib.sha256(MANIFEST.encode()).digest()
    assert call.args["spec"]["manifest_digest"] == digest
    assert found["manifest_digest"] == digest.hex()
    assert call.args["spec"]["max_rate_per_hour"] == 2_500_000_000_000
    assert call.args["spec"]["resources"]["gpus"]["count"] == 1
    assert call.args["spec"]["placement"]["allow_simulated"]


def test_waiting_ends_with_result_bill_and_score(world: World, pallets: Pallets, manifest: Path) -> None:
    found = world.json("submit", manifest, "--account", "//Charlie", "--wait")
    assert found["state"] == "Settled"
    assert found["result"] == RESULT.decode()
    assert found["result_digest"] == hashlib.sha256(RESULT).hexdigest()
    assert found["paid"] == RATE * 5000 // 3_600_000
    assert found["fee"] == found["paid"] // 50
    assert found["host"] == HOST
    assert found["host_score"] == 574_999
    assert [call.function for call in pallets.calls] == ["submit", "accept_result"]


@pytest.mark.usefixtures("pallets")
def test_the_size_of_the_result_is_reported(world: World, manifest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fetch(_chain: Any, _lease: Any, _signer: Any) -> bytes:
        return b"x"

    monkeypatch.setattr(follow, "fetch_result", fetch)
    _, _, err = world.run("submit", manifest, "--account", "//Charlie", "--wait")
    assert "Result of 1 byte fetched; its digest matches the chain.\n" in err


def test_only_the_submission_is_reported_as_sent_on_a_terminal(
    world: World, pallets: Pallets, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    _, _, err = world.run("submit", manifest, "--account", "//Charlie", "--wait")
    assert [call.function for call in pallets.calls] == ["submit", "accept_result"]
    assert err.count(SENT) == 1
    assert err.index(SENT) < err.index("Task 0 submitted in block")


def test_no_accept_lets_the_dispute_window_decide(world: World, pallets: Pallets, manifest: Path) -> None:
    pallets.window_is_open = False
    status, _, _ = world.run("submit", manifest, "--account", "//Charlie", "--wait", "--no-accept")
    assert status == 0
    assert [call.function for call in pallets.calls] == ["submit"]


def test_people_get_the_result_first_and_the_bill_to_the_last_unit(
    world: World, pallets: Pallets, manifest: Path
) -> None:
    status, out, err = world.run("submit", manifest, "--account", "//Charlie", "--wait")
    assert status == 0
    assert out.startswith(RESULT.decode())
    assert f"({RATE * 5000 // 3_600_000} base units)" in out
    assert "Task 0 submitted" in err
    assert pallets.calls


def test_a_result_that_does_not_arrive_is_not_accepted(
    world: World, pallets: Pallets, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fetch(_chain: Any, _lease: Any, _signer: Any) -> bytes:
        raise HostUnreachable("the host does not answer")

    monkeypatch.setattr(follow, "fetch_result", fetch)
    pallets.window_is_open = False
    status, out, err = world.run("submit", manifest, "--account", "//Charlie", "--wait", "--json")
    assert status == 0
    assert "result" not in json.loads(out)
    assert "gantry task result 0" in err
    assert [call.function for call in pallets.calls] == ["submit"]


def test_a_program_that_fails_is_settled_with_a_status_of_its_own(
    world: World, pallets: Pallets, manifest: Path
) -> None:
    pallets.exit_code, pallets.window_is_open = 9, False
    status, out, err = world.run("submit", manifest, "--account", "//Charlie", "--wait", "--json")
    assert status == 3, err
    assert json.loads(out)["exit_code"] == 9
    assert "exit code 9" in err


def test_a_task_that_is_not_settled_is_an_error(world: World, pallets: Pallets, manifest: Path) -> None:
    pallets.path, pallets.ends, pallets.window_is_open = (), {"Failed": "AttemptsExhausted"}, False
    status, _, err = world.run("submit", manifest, "--account", "//Charlie", "--wait")
    assert status == 1
    assert "error: task 0 did not succeed. Its state: Failed: every attempt failed." in err


def refused_by_host(world: World, pallets: Pallets, monkeypatch: pytest.MonkeyPatch) -> None:
    """The only attempt of each submitted task is given back by its host with a message in the pod's log."""
    refusal = gen.EndReasonHostRefused(gen.HostFailure.IMAGE_UNAVAILABLE)
    ended = lease(HOST, state=gen.LeaseStateEnded(refusal))
    failed = gen.TaskStateFailed(gen.FailReason.ATTEMPTS_EXHAUSTED)

    def effects(call: Any, account: str) -> list[Any]:
        found = pallets.effects(call, account)
        Tasks(world.chain).change(0, state=failed, leases=(ended,), attempts=(gen.Attempt(HOST, BOB, refused=True),))
        return found

    async def read_log(_chain: Any, _lease: Any, _signer: Any, *, tail: int | None = None) -> bytes:
        assert tail is None
        return b"2026-11-24T09:00:00Z [the host gave this pod back (image_unavailable): there is no image tool]\n"

    pallets.path, pallets.ends, pallets.window_is_open = (), {"Failed": "AttemptsExhausted"}, False
    world.chain.effects = effects
    monkeypatch.setattr(follow, "_read_log", read_log)


def test_the_message_of_the_host_is_printed_if_no_pod_could_start(
    world: World, pallets: Pallets, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused_by_host(world, pallets, monkeypatch)
    status, _, err = world.run("submit", manifest, "--account", "//Charlie", "--wait")
    assert status == 1
    assert "Its state: Failed after 1 attempt: the image could not be pulled." in err
    assert f"The attempt failed: the image could not be pulled (host {HOST}). The host reported: there is no" in err
    _, out, err = world.run("task", "wait", 0, "--account", "//Charlie", "--json")
    assert (json.loads(out)["cause"], json.loads(out)["reason"]) == ("there is no image tool", "image_unavailable")
    assert "The host reported: there is no image tool." in err
    assert "the image could not be pulled; gantry logs 0 --pod 0 shows what" in world.run("task", "show", 0)[1]
    assert f"the image could not be pulled (host {HOST})" in world.run("task", "why", 0)[1]
    assert world.json("task", "why", 0)["reason"] == "image_unavailable"


def test_the_end_of_the_log_of_a_failed_program_is_printed(
    world: World, pallets: Pallets, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def read_log(_chain: Any, _lease: Any, _signer: Any, *, tail: int | None = None) -> bytes:
        return b"" if tail is None else b"out of memory\n"

    monkeypatch.setattr(follow, "_read_log", read_log)
    pallets.exit_code, pallets.window_is_open = 137, False
    status, out, err = world.run("submit", manifest, "--account", "//Charlie", "--wait")
    assert status == 3
    assert "137 (killed by SIGKILL; it used 9 of 1024 MiB memory)" in out
    assert "The last lines of the log of pod 0:\n  out of memory\n" in err


def test_a_service_that_cannot_start_is_reported_with_the_message_of_its_host(
    world: World, pallets: Pallets, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused_by_host(world, pallets, monkeypatch)
    manifest.write_text(MANIFEST + "  kind: service\n")
    status, _, err = world.run("submit", manifest, "--account", "//Charlie", "--wait")
    assert status == 1
    assert "The host reported: there is no image tool." in err
    status, _, err = world.run("task", "wait", "0", "--running", "--account", "//Charlie")
    assert status == 1
    assert "The host reported: there is no image tool." in err


@pytest.mark.usefixtures("pallets")
def test_the_log_is_printed_as_it_comes(world: World, manifest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Client:
        async def logs(self, number: int, *, follow: bool = False, tail: int | None = None) -> Any:
            assert (number, follow, tail) == (0, True, None)
            for piece in (b"step 1\n", b"step 2\n"):
                yield piece

    @contextlib.asynccontextmanager
    async def open_host(_chain: Any, _lease: Any, _signer: Any) -> Any:
        yield Client()

    monkeypatch.setattr(follow, "open_lease_host", open_host)
    status, out, err = world.run("submit", manifest, "--account", "//Charlie", "--wait", "--logs")
    assert status == 0
    assert err.count("step 1\nstep 2\n") == 1
    assert "step" not in out
    assert "step 2\n" in world.run("task", "wait", "0", "--account", "//Charlie", "--logs")[2]


def test_a_bad_manifest_names_file_line_and_key(world: World, manifest: Path) -> None:
    manifest.write_text(MANIFEST.replace("count: 1", "count: -1") + "  colour: red\n")
    status, out, err = world.run("submit", manifest, "--account", "//Charlie", "--json")
    assert status == 1
    report = json.loads(out)["error"]
    assert report["code"] == "bad_manifest"
    assert [problem["line"] for problem in report["problems"]] == [8, 13]
    assert "task.yaml:8: services.train.deploy" in err
    assert not world.chain.executed


def test_a_missing_file(world: World) -> None:
    assert refused(world, "nowhere.yaml", "--account", "//Charlie")[0] == "no_file"


def test_an_unset_variable_is_named(world: World, manifest: Path) -> None:
    manifest.write_text(MANIFEST.replace("2.5 GTY", "${GANTRY_TEST_UNSET:?say how much}"))
    code, err = refused(world, manifest, "--account", "//Charlie")
    assert code == "bad_manifest"
    assert "GANTRY_TEST_UNSET" in err
    assert "say how much" in err


def test_a_variable_of_the_local_network_names_the_command_that_sets_it(world: World, manifest: Path) -> None:
    manifest.write_text(MANIFEST.replace("image: tool", "image: ${GANTRY_DEMO_IMAGE}"))
    err = world.run("submit", manifest, "--account", "//Charlie")[2]
    assert "GANTRY_DEMO_IMAGE is not set. scripts/up sets it while the local network runs; start that." in err


def test_a_variable_of_the_shell_is_noted(
    world: World, pallets: Pallets, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/anna")
    manifest.write_text(MANIFEST.replace("    deploy:", '    command: [ls, "$HOME", "$$USER"]\n    deploy:'))
    _, _, err = world.run("submit", manifest, "--account", "//Charlie")
    assert "task.yaml:5: $HOME is replaced by its value here, /home/anna, which becomes public. Write $$HOME" in err
    assert "USER" not in err
    assert pallets.calls


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("apiVersion: v1", "This is a file for Kubernetes"),
        ("queues: {a: {}}", "This is a file for schedulers: gantry worker scheduler --queues FILE"),
        ("reservations: {}", "This is a file for schedulers: gantry worker scheduler --reservations FILE"),
    ],
)
def test_a_file_of_another_kind_is_recognised(world: World, manifest: Path, key: str, said: str) -> None:
    manifest.write_text(key + "\n")
    assert said in world.run("submit", manifest, "--account", "//Charlie")[2]


def test_variables_of_the_local_network_are_defaults(
    world: World, pallets: Pallets, manifest: Path, home: Path
) -> None:
    (home / "network").mkdir()
    (home / "network" / "env").write_text("LIMIT_FROM_UP=2.5 GTY\n")
    manifest.write_text(MANIFEST.replace("2.5 GTY", "${LIMIT_FROM_UP}"))
    world.json("submit", manifest, "--account", "//Charlie")
    assert pallets.calls[0].args["manifest"] == MANIFEST.encode()


def test_the_chains_error_is_printed(world: World, manifest: Path) -> None:
    failure = DispatchFailure("Tasks", "DurationTooLong", "The duration is longer than the chain allows.")
    world.chain.verdicts = lambda _call, _account: failure
    code, err = refused(world, manifest, "--account", "//Charlie")
    assert code == "call_failed"
    assert "Tasks.DurationTooLong. The duration is longer than the chain allows." in err


def test_a_permanent_refusal_of_the_pool_is_reported(world: World, manifest: Path) -> None:
    world.chain.unpayable = lambda _call, _account: True
    code, err = refused(world, manifest, "--account", "//Charlie")
    assert code in ("submit_refused", "gave_up")
    assert "pay" in err


def test_a_node_that_is_busy_for_a_moment_is_no_error(world: World, pallets: Pallets, manifest: Path) -> None:
    world.chain.refusals = [SubmitRefusal.POOL_FULL]
    assert world.json("submit", manifest, "--account", "//Charlie")["task"] == 0
    assert len(pallets.calls) == 1


def test_a_variable_that_looks_like_a_secret_is_noted(world: World, pallets: Pallets, manifest: Path) -> None:
    environment = "    environment: {HF_TOKEN: abc, EMPTY_TOKEN: '', SIZE: 3}\n    deploy:"
    manifest.write_text(MANIFEST.replace("    deploy:", environment))
    status, _, err = world.run("submit", manifest, "--account", "//Charlie")
    assert status == 0
    assert "HF_TOKEN" in err
    assert "EMPTY_TOKEN" not in err
    assert "abc" not in err
    assert pallets.calls
