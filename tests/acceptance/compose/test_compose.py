"""docker-compose.yml and docker-compose.operator.yml, started: every service, a task, crashes, an upgrade and the end.

The tests share one network and run in the order of this file.
"""

import itertools
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support.compose_engine import OUTSIDE_ADDRESS
from tests.support.operator_network import EVERYTHING, OPERATOR_FILES, OperatorNetwork, health

PROFILES = ("", "monitoring", "validators", f"{EVERYTHING},validators")
OPEN_PORTS = {"node": {30333}, "gateway": {4435}, "gateway-2": {4436}}
PRIVATE_PORTS = (9944, 9945, 8080, 8081, 9090, 9093, 9464, 9466, 9615)
UPGRADE = ("indexer", "gateway", "gateway-2", "scheduler-2", "scheduler", "settler-2", "settler", "node")
"""Services in the order of docs/operations.md, Upgrades; the others come after them, all at once."""
VALIDATORS = tuple(f"validator-{number}" for number in range(1, 5))
SMALL = ("node", "indexer", "gateway", "notifier")
ALONE = {"COMPOSE_FILE": "docker-compose.yml", "COMPOSE_PROJECT_NAME": "alone"}
ENDED_BY_SIGTERM = {0, 128 + signal.SIGTERM}


@pytest.mark.parametrize("files", ["docker-compose.yml", OPERATOR_FILES])
@pytest.mark.parametrize("profiles", PROFILES)
def test_the_configuration_is_valid(written: OperatorNetwork, files: str, profiles: str) -> None:
    written.compose("config", "--quiet", COMPOSE_FILE=files, COMPOSE_PROFILES=profiles)


def test_every_service_is_healthy(operator: OperatorNetwork) -> None:
    found = operator.containers()
    assert {name: health(one) for name, one in found.items()} == dict.fromkeys(operator.services(), "healthy")
    assert {name for name, one in found.items() if one["RestartCount"]} <= {"indexer", "notifier"}


def test_only_peers_gateways_and_hosts_are_open_to_other_machines(operator: OperatorNetwork) -> None:
    published = {}
    for name, one in operator.containers().items():
        bindings = itertools.chain.from_iterable(one["HostConfig"]["PortBindings"].values())
        others = {int(each["HostPort"]) for each in bindings if each["HostIp"] != "127.0.0.1"}
        if others:
            published[name] = others
    assert published == OPEN_PORTS
    answers = operator.engine.answers_at
    assert all(answers(OUTSIDE_ADDRESS, port) for ports in OPEN_PORTS.values() for port in ports)
    assert [port for port in PRIVATE_PORTS if answers(OUTSIDE_ADDRESS, port)] == []
    assert answers("127.0.0.1", 9944)


def test_passwords_are_in_no_environment_and_no_command_line(operator: OperatorNetwork) -> None:
    containers = operator.containers()
    text = json.dumps(list(containers.values()))
    for one in containers.values():
        for pid in pids(operator, one):
            for name in ("environ", "cmdline"):
                text += Path(f"/proc/{pid}/{name}").read_text(encoding="utf-8", errors="replace")
    assert "settler-2" in text
    assert [password for password in operator.passwords if password in text] == []


def test_prometheus_reaches_every_service_and_alertmanager(operator: OperatorNetwork) -> None:
    jobs = {"node", "scheduler", "settler", "verifier", "notifier", "indexer", "gateway"}

    def are_up(_: object) -> bool:
        targets = monitoring(operator, "targets")["activeTargets"]
        return {(one["labels"]["job"], one["health"]) for one in targets} == {(job, "up") for job in jobs}

    operator.until(are_up, "every target to be up", ("prometheus",))
    assert len(monitoring(operator, "alertmanagers")["activeAlertmanagers"]) == 1


def test_an_alert_about_a_host_reaches_the_notifier_with_the_token(operator: OperatorNetwork) -> None:
    labels = {"alertname": "GantryHostTrouble", "host": "5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty"}
    operator.fetched("http://127.0.0.1:9093/api/v2/alerts", json.dumps([{"labels": labels}]))

    def is_received(_: object) -> bool:
        return "gantry.notifier alerts taken=" in operator.compose("logs", "notifier")

    operator.until(is_received, "the notifier to receive the alert", ("alertmanager", "notifier"))


def test_a_task_runs_and_is_paid(operator: OperatorNetwork) -> None:
    assert "primes below 1000: 168, the largest is 997" in operator.run_job()


def test_every_killed_process_is_started_again(operator: OperatorNetwork) -> None:
    before = operator.containers()
    for one in before.values():
        os.kill(one["State"]["Pid"], signal.SIGKILL)

    def are_others(found: dict[str, dict[str, Any]]) -> bool:
        return all(found[name]["State"]["StartedAt"] != one["State"]["StartedAt"] for name, one in before.items())

    operator.until(are_others, "the engine to start every service again", ())
    operator.until_healthy(*operator.services())


def test_one_scheduler_and_one_gateway_are_enough(operator: OperatorNetwork) -> None:
    operator.compose("stop", "scheduler", "settler", "gateway")
    assert "168" in operator.run_job()
    assert operator.engine.answers_at("127.0.0.1", 8081)
    operator.compose("start", "scheduler", "settler", "gateway")


def test_an_upgrade_replaces_one_service_after_the_other(operator: OperatorNetwork) -> None:
    page = (operator.folder / "docs" / "operations.md").read_text(encoding="utf-8")
    section = page.split("## Upgrades", 1)[1].split("Going back", 1)[0]
    places = [section.index(f"`{command(name)}`") for name in UPGRADE]
    assert places == sorted(places)
    before = operator.containers()
    with (operator.folder / "offchain" / "__init__.py").open("a", encoding="utf-8") as source:
        source.write("\n# Another release.\n")
    operator.compose("build")
    assert {name: one["Id"] for name, one in operator.containers().items()} == {
        name: one["Id"] for name, one in before.items()
    }
    for name in UPGRADE:
        operator.compose(*command(name).split()[2:])
        operator.until_healthy(name)
    operator.compose("up", "--detach")
    operator.until_healthy(*operator.services())
    after = operator.containers()
    replaced = {name for name, one in after.items() if one["Image"] != before[name]["Image"]}
    assert replaced == {
        name for name, one in after.items() if one["Config"]["Image"] in ("gantry-workers", "gantry-agent")
    }
    assert "168" in operator.run_job()


def test_every_service_ends_in_order(operator: OperatorNetwork) -> None:
    operator.compose("stop")
    codes = {name: one["State"]["ExitCode"] for name, one in operator.containers().items()}
    assert {name: code for name, code in codes.items() if code not in ENDED_BY_SIGTERM} == {}
    operator.compose("down", "--volumes")


def test_the_network_of_the_first_file_has_its_index_in_sqlite(operator: OperatorNetwork) -> None:
    settings = ALONE | {"COMPOSE_PROFILES": "notifier", "GANTRY_ALERTS_TOKEN_FILE": "/dev/null"}
    try:
        operator.compose("up", "--detach", *SMALL, **settings)
        operator.until_healthy(*SMALL, **settings)
        answer = json.loads(operator.fetched("http://127.0.0.1:8080/v1/network"))
        assert answer["data"]["events_from_block"] == 0
    finally:
        operator.compose("down", "--volumes", **settings)


def test_four_validators_finalise_blocks(operator: OperatorNetwork) -> None:
    settings = ALONE | {"COMPOSE_PROFILES": "validators"}
    try:
        operator.compose("up", "--detach", *VALIDATORS, **settings)
        operator.until_healthy(*VALIDATORS, **settings)
        operator.until(lambda _: final_block(operator) > 1, "a final block", VALIDATORS, **settings)
    finally:
        operator.compose("down", "--volumes", **settings)


def command(service: str) -> str:
    """Return the command of docs/operations.md that upgrades a service."""
    return f"docker compose up --detach --no-deps {service}"


def pids(operator: OperatorNetwork, container: dict[str, Any]) -> list[int]:
    """Return the processes of a container."""
    listed = operator.engine.docker("top", container["Id"], "-o", "pid").split()
    return [int(word) for word in listed if word.isdecimal()]


def final_block(operator: OperatorNetwork) -> int:
    """Return the number of the newest final block of the four validators."""
    asked = {"id": 1, "jsonrpc": "2.0", "method": "chain_getFinalizedHead", "params": []}
    url = "http://127.0.0.1:9954"
    head = json.loads(operator.fetched(url, json.dumps(asked)))["result"]
    header = json.loads(operator.fetched(url, json.dumps(asked | {"method": "chain_getHeader", "params": [head]})))
    return int(header["result"]["number"], 16)


def monitoring(operator: OperatorNetwork, what: str) -> dict[str, Any]:
    """Return what Prometheus says about its targets or its alertmanagers."""
    url = f"http://127.0.0.1:9090/api/v1/{what}"
    found: dict[str, Any] = json.loads(operator.fetched(url))["data"]
    return found
