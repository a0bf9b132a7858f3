"""docker-compose.yml and docker-compose.operator.yml: rights, secrets, ports and health checks of every service."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from offchain.cli.kit.accounts import address_of
from offchain.devnet.paths import ROOT
from tests.support.compose_files import merged

FILES = ("docker-compose.yml", "docker-compose.operator.yml")
SERVICES = merged(*(ROOT / name for name in FILES))
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
STAGES = {part.split(" AS ", 1)[1].split()[0]: part for part in DOCKERFILE.split("\nFROM ")[1:]}


def stage(service):
    """Text of the image's stage in the Dockerfile, by the name of the image."""
    image = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", service["image"])
    return STAGES[image.removeprefix("gantry-")]


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_no_right_that_it_does_not_need(name):
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in service
    is_agent = name == "agent"
    assert ("cap_add" in service) == is_agent
    assert (service.get("network_mode") == "host") == is_agent
    # The agent has to open the engine's socket.
    assert ("USER root" in stage(service) or "\nUSER " not in stage(service)) == is_agent


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"validators-chain"}))
def test_a_service_has_a_health_check(name):
    inherited = "HEALTHCHECK" in stage(SERVICES[name]) or "FROM runtime" in f"FROM {stage(SERVICES[name])}"
    assert "healthcheck" in SERVICES[name] or inherited


def test_only_gateways_and_the_peers_of_the_node_are_open_to_other_machines():
    published = {(name, port) for name, service in SERVICES.items() for port in service.get("ports", ())}
    others = {(name, port) for name, port in published if not port.startswith("127.0.0.1:")}
    assert others == {
        ("node", "30333:30333"),
        *{("gateway", f"4435:4435/{kind}") for kind in ("tcp", "udp")},
        *{("gateway-2", f"4436:4436/{kind}") for kind in ("tcp", "udp")},
    }
    assert SERVICES["postgres"]["network_mode"] == "none"


def test_passwords_are_files():
    for name, service in SERVICES.items():
        words = [*service.get("environment", {}).items(), *service.get("command", ())]
        assert "PASSWORD" not in str(words), name
        for secret in service.get("secrets", ()):
            option = {"alerts-token": "alerts-token-file", "smtp-password": "smtp-password-file"}.get(secret)
            # Alertmanager's configuration names the file, and so does the address of the index.
            named_elsewhere = name == "alertmanager" or (secret == "index-password" and "GANTRY_INDEX" in str(words))
            assert named_elsewhere or f"--{option or 'password-file'}=/run/secrets/{secret}" in service["command"]
    assert {name for name, service in SERVICES.items() if "secrets" in service} == {
        *("scheduler", "scheduler-2", "settler", "settler-2", "verifier", "juror", "notifier", "alertmanager"),
        *("indexer", "gateway", "gateway-2"),
    }
    assert all(
        "index-password" in service["secrets"]
        for service in SERVICES.values()
        if "GANTRY_INDEX" in service.get("environment", {})
    )


def test_a_juror_executes_nothing_unless_an_engine_is_given_to_it():
    juror = SERVICES["juror"]
    assert juror["image"] == SERVICES["verifier"]["image"] == "gantry-workers"
    assert juror["command"][:2] == ["juror", "run"]
    assert "--driver=${GANTRY_JUROR_DRIVER:-none}" in juror["command"]
    assert [volume for volume in juror["volumes"] if "docker.sock" in volume] == [
        "${GANTRY_JUROR_SOCKET:-/dev/null}:/run/juror/docker.sock"
    ]
    command = [*(re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", word) for word in juror["command"]), "--help"]
    checked = subprocess.run(
        [sys.executable, "-m", "offchain.cli", *command], cwd=ROOT, check=False, capture_output=True
    )
    assert checked.returncode == 0, checked.stderr.decode()


def test_there_are_two_of_each_worker_with_accounts_and_state_of_their_own():
    for kind in ("scheduler", "settler", "gateway"):
        first, second = SERVICES[kind], SERVICES[f"{kind}-2"]
        assert first["image"] == second["image"] == "gantry-workers"
        assert not {f"{kind}:/var/lib/gantry"} & set(second["volumes"])
    accounts = re.findall(r"--account=\$\{\w+:-(//[\w/]+)\}", str(SERVICES))
    assert len(accounts) == len(set(accounts)) == 6
    assert all(address_of(account) for account in accounts)


def test_the_settings_of_the_example_are_those_of_the_files():
    text = (ROOT / "examples" / "operator.env").read_text(encoding="utf-8")
    known = set(re.findall(r"\$\{(\w+)", "".join((ROOT / name).read_text(encoding="utf-8") for name in FILES)))
    named = set(re.findall(r"^#?([A-Z][A-Z0-9_]+)=", text, re.MULTILINE))
    assert named - {"COMPOSE_FILE", "COMPOSE_PROFILES"} <= known
    assert f"COMPOSE_FILE={':'.join(FILES)}" in text


@pytest.fixture
def server(tmp_path):
    """PostgreSQL as the container starts it, run by the user `postgres`."""
    if not shutil.which("runuser") or os.geteuid() != 0:
        pytest.fail("this test needs root, to run PostgreSQL as its own user")
    folder = Path("/tmp") / f"gantry-postgres-{os.getpid()}"
    folder.mkdir(mode=0o755)
    shutil.chown(folder, "postgres")
    script = tmp_path / "start"
    shutil.copy(ROOT / "scripts" / "lib-postgres-container", script)
    shutil.copy(script, folder / "start")
    env = {"PATH": os.environ["PATH"], "GANTRY_POSTGRES_DATA": f"{folder}/data", "GANTRY_POSTGRES_SOCKET": str(folder)}
    line = ["runuser", "-u", "postgres", "--", "sh", str(folder / "start")]
    with subprocess.Popen(line, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=folder) as process:
        limit_s = time.monotonic() + 60
        try:
            while query(folder, "postgres", "SELECT 1", "postgres").returncode:
                assert process.poll() is None, process.stderr.read().decode()
                assert time.monotonic() < limit_s
                time.sleep(0.1)
            yield folder
        finally:
            process.terminate()
            process.communicate()
            shutil.rmtree(folder)


def query(folder, user, text, database="gantry"):
    line = ["runuser", "-u", "postgres", "--", "psql", "-h", str(folder), "-U", user, "-At", "-c", text, database]
    return subprocess.run(line, capture_output=True, text=True, check=False, cwd=folder)


def test_the_database_belongs_to_a_role_that_only_its_own_user_can_take(server):
    owner = "SELECT rolname, rolsuper, rolcreatedb, rolcreaterole FROM pg_database JOIN pg_roles r ON r.oid = datdba"
    found = query(server, "postgres", f"{owner} WHERE datname = 'gantry'")
    assert found.stdout.strip() == "gantry|f|f|f"
    refused = query(server, "gantry", "SELECT 1")
    assert refused.returncode
    assert "Peer authentication failed" in refused.stderr
    assert query(server, "postgres", "SHOW listen_addresses").stdout.strip() == ""
