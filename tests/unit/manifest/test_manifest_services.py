"""What one service may say beyond image, command and mounts: ports, health, restarts, dependencies, resources."""

from typing import Any

import pytest
from manifest_builders import Change, gantry, gpu, helper, manifest, parse, refused, service, together, train

from offchain.schema.manifest import types
from offchain.schema.manifest.parse import parse_manifest

SERVICE = gantry(kind="service")


def test_ports_are_those_inside_the_container() -> None:
    ports = [8080, "9000-9002/tcp", {"target": 22, "protocol": "tcp"}, "8080"]
    assert train(service(expose=["7000", 8080], ports=ports)).ports == (7000, 8080, 9000, 9001, 9002, 22)


@pytest.mark.parametrize(
    ("port", "message"),
    [
        ("80:8080", "publishes a port of the host"),
        ("127.0.0.1:80:8080", "publishes a port of the host"),
        ("22:22", "publishes a port of the host"),
        (":8080", "publishes a port of the host"),
        ("8080/udp", '"udp" is not supported'),
        ("0", "out of range"),
        ("65536", "out of range"),
        ("9-8", "out of range"),
        ("1-33", "33 ports are too many"),
        ("http", "is not a port"),
        ({"target": 80, "published": 8080}, '"published"'),
        ({"target": 80, "host_ip": "0.0.0.0"}, '"host_ip"'),  # noqa: S104
        ({"target": 80, "protocol": "udp"}, '"udp" is not supported'),
        ({"protocol": "tcp"}, "target is missing"),
        ({"target": 0}, "out of range"),
    ],
)
def test_a_wrong_port_is_refused(port: Any, message: str) -> None:
    path, said, _ = refused(service(ports=[port]))
    assert path.startswith("services.train.ports[0]")
    assert message in said


def test_the_hint_for_a_published_port_is_gantry_forward() -> None:
    hint = refused(service(ports=["127.0.0.1:80:8080/tcp"]))[2]
    assert "gantry forward TASK 80:8080 " in hint


def test_too_many_ports_in_all() -> None:
    assert "40 ports are too many" in refused(service(ports=["1-20", "101-120"]))[1]


def test_health_checks_have_composes_defaults() -> None:
    def check(**entries: Any) -> types.HealthCheck | None:
        return train(SERVICE, service(healthcheck=entries)).healthcheck

    shell = ("/bin/sh", "-c", "test -f /ok")
    assert check(test="test -f /ok") == types.HealthCheck(shell, 30_000, 30_000, 3, 0)
    assert check(test=["CMD-SHELL", "test -f /ok"]) == types.HealthCheck(shell, 30_000, 30_000, 3, 0)
    times = {"interval": "5s", "timeout": "500ms", "retries": 2, "start_period": "1h"}
    assert check(test=["CMD", "check", ""], **times) == types.HealthCheck(("check", ""), 5_000, 500, 2, 3_600_000)
    assert check(test=["NONE"]) is None
    assert check(disable=True) is None
    assert check(test="true", disable=False, start_period="0s") == types.HealthCheck(
        ("/bin/sh", "-c", "true"), 30_000, 30_000, 3, 0
    )


@pytest.mark.parametrize(
    ("check", "path", "message"),
    [
        ({}, "", "test is missing"),
        ({"test": []}, ".test", "does not begin with"),
        ({"test": ["curl", "x"]}, ".test", "does not begin with"),
        ({"test": ["CMD"]}, ".test", "CMD takes a program"),
        ({"test": ["CMD-SHELL", "a", "b"]}, ".test", "CMD-SHELL takes exactly one"),
        ({"test": ["NONE", "a"]}, ".test", "NONE takes nothing"),
        ({"test": ["CMD", True]}, ".test[1]", "expected text"),
        ({"test": "true", "interval": "0s"}, ".interval", "0s is out of range"),
        ({"test": "true", "interval": "2h"}, ".interval", "7200s is out of range"),
        ({"test": "true", "timeout": "1ms"}, ".timeout", "0.001s is out of range"),
        ({"test": "true", "retries": 0}, ".retries", "0 is out of range"),
        ({"test": "true", "start_period": "2d"}, ".start_period", "out of range"),
        ({"test": "true", "start_interval": "1s"}, ".start_interval", '"start_interval"'),
        ({"test": "true", "disable": "maybe"}, ".disable", "expected true or false"),
        ("true", "", "expected a mapping"),
    ],
)
def test_a_wrong_health_check_is_refused(check: Any, path: str, message: str) -> None:
    refused(together(SERVICE, service(healthcheck=check)), f"services.train.healthcheck{path}", message)


@pytest.mark.parametrize(
    ("word", "policy"),
    [
        ("no", types.RestartPolicy("no", None)),
        ("always", types.RestartPolicy("always", None)),
        ("unless-stopped", types.RestartPolicy("always", None)),
        ("on-failure", types.RestartPolicy("on-failure", None)),
        ("on-failure:3", types.RestartPolicy("on-failure", 3)),
    ],
)
def test_restart_policies(word: str, policy: types.RestartPolicy) -> None:
    assert train(SERVICE, service(restart=word)).restart == policy


def test_an_unquoted_no_is_a_restart_policy() -> None:
    text = manifest(together(SERVICE, service(restart="NEVER"))).replace(b"NEVER", b"no")
    assert b"restart: no" in text
    assert parse_manifest(text).main.restart == types.RestartPolicy("no", None)


def policy(**entries: Any) -> Change:
    return lambda data: data["services"]["train"]["deploy"].update(restart_policy=entries)


def test_the_long_form_of_a_restart_policy() -> None:
    assert train(SERVICE, policy()).restart == types.RestartPolicy("always", None)
    assert train(SERVICE, policy(condition="none", max_attempts=3)).restart == types.RestartPolicy("no", None)
    assert train(SERVICE, policy(condition="on-failure", max_attempts=3)).restart == types.RestartPolicy(
        "on-failure", 3
    )


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        (service(restart="sometimes"), "restart", '"sometimes" is not a restart policy'),
        (service(restart="always:3"), "restart", "is not a restart policy"),
        (service(restart="on-failure:"), "restart", "expected a whole number"),
        (service(restart="on-failure:0"), "restart", "0 is out of range"),
        (service(restart=["no"]), "restart", "a list is not a restart policy"),
        (policy(condition="maybe"), "deploy.restart_policy.condition", 'unknown value "maybe"'),
        (policy(delay="5s"), "deploy.restart_policy.delay", '"delay"'),
        (policy(window="5s"), "deploy.restart_policy.window", '"window"'),
        (together(service(restart="no"), policy()), "deploy.restart_policy", "say the same thing"),
        (service(stop_signal="SIGSTOP"), "stop_signal", "is not a signal that stops"),
        (service(stop_signal="SIGRTMIN+16"), "stop_signal", "is not a signal that stops"),
        (service(stop_grace_period="61s"), "stop_grace_period", "61s is out of range"),
        (service(stop_grace_period="long"), "stop_grace_period", "is not a duration"),
    ],
)
def test_a_wrong_restart_or_stop_key_is_refused(change: Change, path: str, message: str) -> None:
    refused(together(SERVICE, change), f"services.train.{path}", message)


def test_stop_signal_and_grace_period() -> None:
    found = train(service(stop_signal="INT", stop_grace_period="1m"))
    assert (found.stop_signal, found.stop_grace_ms) == ("SIGINT", 60_000)
    found = train(service(stop_signal="SIGRTMIN+3", stop_grace_period="0s"))
    assert (found.stop_signal, found.stop_grace_ms) == ("SIGRTMIN+3", 0)
    assert (train().stop_signal, train().stop_grace_ms) == (None, 10_000)


def test_dependencies_in_both_forms() -> None:
    healthy = {"db": {"condition": "service_healthy"}, "init": {"condition": "service_completed_successfully"}}
    init = helper("init")
    db = helper(depends_on=["init"], healthcheck={"test": "true"})
    found = parse(together(service(depends_on=healthy), db, init))
    assert found.services[0].depends_on == (types.Dependency("db", "healthy"), types.Dependency("init", "completed"))
    assert found.services[1].depends_on == (types.Dependency("init", "started"),)


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        (service(depends_on=["bd"]), "services.train.depends_on[0]", 'there is no service "bd"'),
        (service(depends_on={"bd": {"condition": "service_started"}}), "services.train.depends_on.bd", "no service"),
        (service(depends_on=["train"]), "services.train.depends_on[0]", "cannot wait for itself"),
        (service(depends_on=["db", "db"]), "services.train.depends_on[1]", "named twice"),
        (service(depends_on={"db": {}}), "services.train.depends_on.db", "condition is missing"),
        (service(depends_on={"db": {"condition": "ready"}}), "services.train.depends_on.db.condition", "ready"),
        (
            service(depends_on={"db": {"condition": "service_started", "restart": True}}),
            "services.train.depends_on.db.restart",
            '"restart"',
        ),
        (
            service(depends_on={"db": {"condition": "service_healthy"}}),
            "services.train.depends_on.db",
            "has no healthcheck",
        ),
        (
            helper("late", depends_on={"train": {"condition": "service_completed_successfully"}}),
            "services.late.depends_on.train",
            "the pod ends with its first service",
        ),
        (
            together(
                helper(restart="always"), service(depends_on={"db": {"condition": "service_completed_successfully"}})
            ),
            "services.train.depends_on.db",
            "never completes",
        ),
    ],
)
def test_a_wrong_dependency_is_refused(change: Change, path: str, message: str) -> None:
    refused(together(helper(), change), path, message)


def test_a_cycle_of_dependencies_is_named() -> None:
    tail = helper("tail", depends_on=["a"])
    circle = together(helper("a", depends_on=["b"]), helper("b", depends_on=["c"]), helper("c", depends_on=["a"]))
    path, said, _ = refused(together(service(depends_on=["tail"]), tail, circle))
    assert said == "services wait for each other: a -> b -> c -> a"
    assert path == "services.a.depends_on[0]"


def test_two_services_cannot_have_the_same_port() -> None:
    path, said, hint = refused(together(service(ports=[80]), helper(expose=["79-81"])))
    assert (path, said) == ("services.db.expose", 'port 80 is taken by "train"')
    assert "share one network" in hint


def test_services_and_gpus_of_a_pod_are_bounded() -> None:
    assert "9 services are too many" in refused(together(*(helper(f"s{n}") for n in range(8))))[1]
    wanted = {
        "limits": {"cpus": 1, "memory": "64M"},
        "reservations": {"devices": [{"count": 9, "capabilities": ["gpu"]}]},
    }
    pair = together(gpu(count=7), helper(deploy={"resources": wanted}))
    found = parse(pair)
    assert [spec.gpu_count for spec in found.services] == [7, 9]
    assert (found.gpus.count, found.cpu_milli, found.memory_mib) == (16, 2500, 576)
    path, said, _ = refused(together(pair, gpu(count=8)))
    assert (path, said) == ("services.db.deploy.resources", "the pod asks for 17 GPUs")


def test_limits_beyond_any_host_are_refused() -> None:
    huge = {"resources": {"limits": {"cpus": 1, "memory": "4294967295MiB"}}}
    assert "more than any host has" in refused(helper(deploy=huge))[1]


def test_devices_of_amd_are_found_by_model() -> None:
    path, _, hint = refused(gpu(driver="amd"))
    assert path == "services.train.deploy.resources.reservations.devices[0].driver"
    assert "x-gantry.placement.models" in hint
    found = parse(together(gpu(driver="amd"), gantry(placement={"models": ["AMD Instinct MI300X"]})))
    assert found.gpus.models == ("AMD Instinct MI300X",)
    both = together(
        gpu(driver="amd"),
        gantry(placement={"models": ["AMD Instinct MI300X"]}),
        helper(
            deploy={
                "resources": {
                    "limits": {"cpus": 1, "memory": "64M"},
                    "reservations": {"devices": [{"count": 1, "capabilities": ["gpu"], "driver": "nvidia"}]},
                }
            }
        ),
    )
    assert "different makers" in refused(both)[1]
