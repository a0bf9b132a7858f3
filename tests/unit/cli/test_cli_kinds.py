"""Services, rentals and pods on the command line: what a check shows, and what is told after submitting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli_world import CHARLIE, DIGEST, HOST, LEASE, RATE, Pallets, World

from offchain.cli.tenant.manifest import next_steps
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.values import parse_duration
from offchain.schema.value_text import duration_text
from tests.support.chain_records import Tasks, escrow, lease

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB me"
POD = f"""
services:
  web:
    image: lab/web@{DIGEST}
    ports: ["8080"]
    volumes: ["data:/data:ro"]
    secrets: [token]
    healthcheck: {{test: [CMD, check], interval: 5s}}
    depends_on: [db]
    deploy: &small
      resources:
        limits: {{cpus: "0.5", memory: 64M}}
  db:
    image: lab/db@{DIGEST}
    expose: ["5432"]
    stop_signal: SIGINT
    deploy: *small
volumes: {{data: }}
secrets: {{token: {{external: true}}}}
x-gantry:
  kind: service
  pods: {{min: 1, max: 3}}
  scaling: {{metric: cpu, target: 70%, stabilisation: 90s}}
  price: {{max_per_hour: "2.5 GTY"}}
  duration: 1h
"""
RENTAL = f"""
services:
  machine:
    image: lab/bench@{DIGEST}
    ports: ["2222", "8888"]
    volumes: ["home:/workspace"]
    deploy: {{resources: {{limits: {{cpus: "0.5", memory: 64M}}}}}}
volumes: {{home: }}
x-gantry:
  kind: rental
  ssh: {{authorized_keys: ["{KEY}"], port: 2222}}
  data_from: 117440512
  price: {{max_per_hour: "2.5 GTY"}}
  duration: 1d
"""


@pytest.fixture
def pod(tmp_path: Path) -> Path:
    path = tmp_path / "pod.yaml"
    path.write_text(POD)
    return path


def test_a_check_shows_all_of_a_service(world: World, pod: Path) -> None:
    status, out, _ = world.run("manifest", "check", pod)
    assert status == 0
    for told in (
        "1 to 3",
        "1 cores, 128 MiB memory, 1 GiB disk",
        "cpu above 70% adds pods; they go after 1m30s below it",
        "data at /data (read-only)",
        "token at /run/secrets/token (secret)",
        "check every 5s, 3 failures allowed",
        "db (started)",
        "service db",
        "SIGINT, killed after 10s",
        "At most 2.5 GTY are deposited for each pod, enough for 1h.",
    ):
        assert told in out, told


def test_a_check_in_json_has_all_of_it(world: World, pod: Path) -> None:
    found = world.json("manifest", "check", pod)
    assert (found["kind"], found["pods_min"], found["pods"]) == ("service", 1, 3)
    assert found["scaling"] == {"metric": "cpu", "target_percent": 70, "stabilisation_ms": 90_000}
    assert found["held_at_most"] == 7_500_000_000_000
    assert found["deliveries"] == ["token"]
    assert found["result"] is None
    web, db = found["services"]
    assert web["volumes"] == [{"volume": "data", "path": "/data", "read_only": True}]
    assert web["healthcheck"]["test"] == ["check"]
    assert (db["ports"], db["restart"], db["stop_signal"]) == ([5432], "always", "SIGINT")


def test_a_check_shows_a_rentals_way_in(world: World, tmp_path: Path) -> None:
    path = tmp_path / "rental.yaml"
    path.write_text(RENTAL)
    _, out, _ = world.run("manifest", "check", path)
    assert "port 2222, 1 key in /root/.ssh/authorized_keys" in out
    assert "lease 117440512" in out
    assert "its volumes are kept for a while" in out
    assert world.json("manifest", "check", path)["ssh"] == {
        "keys": 1,
        "path": "/root/.ssh/authorized_keys",
        "port": 2222,
    }


def steps(text: str, account: str | None = None) -> list[str]:
    return [command for _, command in next_steps(parse_manifest(text.encode()), 7, account)]


def test_the_next_steps_are_printed_for_each_kind() -> None:
    assert steps(POD, "anna") == [
        "gantry deliver 7 token FILE --account anna",
        "gantry forward 7 8080 --account anna",
        "gantry forward 7 5432 --account anna",
        "gantry logs 7 --follow --account anna",
        "gantry shell 7 --account anna",
        "gantry task show 7",
        "gantry task scale 7 1 --account anna",
        "gantry worker autoscaler --account anna",
        "gantry task extend 7 1h --account anna",
        "gantry task end 7 --account anna",
    ]
    assert steps(RENTAL) == [
        "gantry forward 7 2222",
        "gantry forward 7 8888",
        "gantry logs 7 --follow",
        "gantry shell 7",
        "gantry task show 7",
        "gantry task snapshot 7",
        "gantry task suspend 7",
        "gantry task resume 7",
        "gantry task extend 7 1h",
        "gantry task end 7",
    ]
    job = RENTAL.partition("x-gantry")[0] + 'x-gantry: {price: {max_per_hour: "1 GTY"}, duration: 1m}'
    assert "gantry task cancel 7" in steps(job)


@pytest.mark.parametrize("text", ["1d2h3m4s5ms", "90s", "1h", "500ms", "100d"])
def test_durations_are_printed_as_manifests_write_them(text: str) -> None:
    assert parse_duration(duration_text(parse_duration(text))) == parse_duration(text)


class _Service(Pallets):
    """A submitted service is assigned and starts, and then runs on."""

    def _submitted(self, call: Any) -> list[Any]:
        tasks = Tasks(self.chain)
        tasks.submit(CHARLIE, gen.TaskSpec.decode(call.args["spec"]), now=1)
        held = escrow(deposit=RATE, rate_per_hour=RATE)
        runs = lease(HOST, state=gen.LeaseStateActive(), started_at=2, escrow=held)
        tasks.change(0, state=gen.TaskStateRunning(), leases=(runs,))
        started = {"task": 0, "lease": LEASE, "depletes_at": 1_700_003_601_000, "state": "Running"}
        submitted = {"first": 0, "count": 1, "tenant": "x", "kind": "Service", "manifest_digest": bytes(32)}
        return [("Tasks", "Submitted", submitted), ("Tasks", "PodStarted", started)]


@pytest.fixture
def service(world: World) -> _Service:
    found = _Service(world.chain)
    world.chain.effects = found.effects
    return found


def test_waiting_for_a_service_ends_when_it_runs(world: World, service: _Service, pod: Path) -> None:
    status, out, _ = world.run("submit", pod, "--account", "//Charlie", "--wait")
    assert status == 0, out
    assert f"Pod 0 runs on {HOST} at " in out
    assert "are deposited" in out
    assert "gantry forward 0 8080 --account //Charlie" in out
    assert [call.args["spec"]["pods_max"] for call in service.calls] == [3]


def test_waiting_for_a_service_in_json_gives_the_task(world: World, service: _Service, pod: Path) -> None:
    found = world.json("submit", pod, "--account", "//Charlie", "--wait")
    assert found["state"] == "Running"
    assert found["leases"][0]["deposit"] == RATE
    assert len(service.calls) == 1


def test_without_waiting_the_next_steps_are_printed_at_once(world: World, service: _Service, pod: Path) -> None:
    _, out, _ = world.run("submit", pod, "--account", "//Charlie")
    assert out.startswith("Task 0 is a service and waits for a host. At most 2.5 GTY are deposited for each pod")
    assert "gantry task end 0 --account //Charlie" in out
    assert len(service.calls) == 1
