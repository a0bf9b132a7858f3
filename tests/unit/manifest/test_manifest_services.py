"""What one service may say beyond image and command: mounts, ports, health, restarts, stopping."""

from typing import Any

import pytest
from manifest_builders import Change, gantry, gpu, helper, manifest, parse, problems, refused, service, together, top

from offchain.schema.manifest import types
from offchain.schema.manifest.parse import parse_manifest

DATA = top(volumes={"data": None, "cache": {}})
TOKEN = top(secrets={"token": {"external": True}})
SERVICE = gantry(kind="service")
HEX = "0123456789abcdef" * 4


def train(*changes: Change) -> types.ServiceSpec:
    return parse(together(*changes)).services[0]


def test_volumes_are_mounted_in_both_of_composes_ways() -> None:
    mounts = [
        "data:/data",
        "cache:/cache/:ro",
        {"type": "volume", "source": "data", "target": "/again", "read_only": True},
        {"type": "tmpfs", "target": "/scratch", "tmpfs": {"size": "64M", "mode": 1777}},
    ]
    found = parse(together(DATA, service(volumes=mounts)))
    assert found.volumes == ("data", "cache")
    assert found.main.volumes == (
        types.VolumeMount("data", "/data", read_only=False),
        types.VolumeMount("cache", "/cache", read_only=True),
        types.VolumeMount("data", "/again", read_only=True),
    )
    assert found.main.tmpfs == (types.TmpfsMount("/scratch", "size=67108864,mode=1777"),)


@pytest.mark.parametrize(
    ("mount", "message"),
    [
        ("/srv/data:/data", '"/srv/data" is a path of your machine'),
        ("./data:/data", '"./data" is a path of your machine'),
        ("~/data:/data", '"~/data" is a path of your machine'),
        ("..:/data", '".." is a path of your machine'),
        ("/data", "a volume without a name"),
        ("data", "is not a mount"),
        ("dta:/data", 'there is no volume "dta"'),
        ("data:data", "is not an absolute path"),
        ("data:/a/../b", "is not an absolute path"),
        ("data:/", "cannot be mounted over"),
        ("data:/.//", "cannot be mounted over"),
        ("data:/proc/sys", "belongs to the kernel"),
        ("data:/dev", "belongs to the kernel"),
        ("data:/.gantry-gate", "is a program of the host's agent"),
        ("data:/run/gantry", "is where the host writes the notice of a preemption"),
        ("data:/run/gantry/x", "is where the host writes the notice of a preemption"),
        ("data:/data:z", '"z" is not supported'),
        ("data:/data:ro,nocopy", '"nocopy" is not supported'),
        ({"type": "bind", "source": "/srv", "target": "/data"}, '"bind" is not supported'),
        ({"type": "volume", "target": "/data"}, "source is missing"),
        ({"type": "volume", "source": "data"}, "target is missing"),
        ({"source": "data", "target": "/data"}, "type is missing"),
        ({"type": "volume", "source": "nix", "target": "/data"}, 'there is no volume "nix"'),
        ({"type": "volume", "source": "data", "target": "/d", "volume": {"nocopy": True}}, 'support "volume"'),
        ({"type": "volume", "source": "data", "target": "/d", "tmpfs": {}}, "no options of a tmpfs"),
        ({"type": "tmpfs", "source": "data", "target": "/d"}, "a tmpfs has no source"),
        ({"type": "tmpfs", "target": "/d", "tmpfs": {"size": "big"}}, "is not a size"),
        ({"type": "volume", "source": "data", "target": "/d", "raed_only": 1}, 'unknown key "raed_only"'),
        (True, "expected text"),
    ],
)
def test_a_wrong_mount_is_refused(mount: Any, message: str) -> None:
    path, said, _ = refused(together(DATA, service(volumes=[mount])))
    assert path.startswith("services.train.volumes[0]")
    assert message in said


@pytest.mark.parametrize(
    ("volumes", "path", "message"),
    [
        ({"data": {"driver": "nfs"}}, "volumes.data.driver", '"driver"'),
        ({"data": {"external": True}}, "volumes.data.external", '"external"'),
        ({"data": {"name": "x"}}, "volumes.data.name", '"name"'),
        ({"da/ta": None}, "volumes.da/ta", "is not the name of a volume"),
        ({f"v{n}": None for n in range(17)}, "volumes.v16", "17 volumes are too many"),
        (["data"], "volumes", "expected a mapping"),
    ],
)
def test_volumes_have_a_name_and_nothing_else(volumes: Any, path: str, message: str) -> None:
    refused(top(volumes=volumes), path, message)


def test_mounts_do_not_overlap() -> None:
    both = together(DATA, service(volumes=["data:/data/", "cache:/cache"], tmpfs="/data"))
    assert refused(both)[1] == "/data is mounted twice"
    inputs = [{"name": "in", "path": "/data", "sha256": HEX}]
    inside = together(DATA, service(volumes=["data:/data/deep"]), gantry(inputs=inputs))
    assert "cannot both be there" in refused(inside)[1]
    within = together(DATA, service(volumes=["data:/data"]), gantry(inputs=[{**inputs[0], "path": "/data/in"}]))
    assert train(within).files == (types.DeliveredFile("in", "/data/in", bytes.fromhex(HEX)),)


def test_secrets_are_mounted_where_compose_puts_them() -> None:
    uses = ["token", {"source": "token", "target": "other"}, {"source": "token", "target": "/etc/token"}]
    assert train(TOKEN, service(secrets=uses)).files == (
        types.DeliveredFile("token", "/run/secrets/token", None),
        types.DeliveredFile("token", "/run/secrets/other", None),
        types.DeliveredFile("token", "/etc/token", None),
    )


@pytest.mark.parametrize("key", ["file", "environment", "content"])
def test_the_value_of_a_secret_is_refused(key: str) -> None:
    path, _, hint = refused(top(secrets={"token": {key: "hush"}}))
    assert path == f"secrets.token.{key}"
    assert "gantry deliver" in hint


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        (top(secrets={"token": {}}), "secrets.token", "not external"),
        (top(secrets={"token": {"external": False}}), "secrets.token", "not external"),
        (top(secrets={"token": None}), "secrets.token", "expected a mapping"),
        (together(TOKEN, service(secrets=["tokn"])), "services.train.secrets[0]", 'no secret "tokn"'),
        (
            together(TOKEN, service(secrets=[{"source": "token", "mode": 400}])),
            "services.train.secrets[0].mode",
            '"mode"',
        ),
        (together(TOKEN, service(secrets=[{"target": "x"}])), "services.train.secrets[0]", "source is missing"),
        (
            together(TOKEN, service(secrets=[{"source": "token", "target": "../x"}])),
            "services.train.secrets[0].target",
            "not an absolute path",
        ),
    ],
)
def test_a_wrong_secret_is_refused(change: Change, path: str, message: str) -> None:
    refused(change, path, message)


def test_inputs_go_to_the_service_they_name_else_to_the_first() -> None:
    inputs = [
        {"name": "data.tar", "path": "/in/data.tar", "sha256": HEX},
        {"name": "seed.sql", "path": "/seed.sql", "sha256": HEX, "service": "db"},
        {"name": "data.tar", "path": "/data.tar", "sha256": HEX, "service": "db"},
    ]
    first, second = parse(together(helper(), gantry(inputs=inputs))).services
    digest = bytes.fromhex(HEX)
    assert first.files == (types.DeliveredFile("data.tar", "/in/data.tar", digest),)
    assert second.files == (
        types.DeliveredFile("seed.sql", "/seed.sql", digest),
        types.DeliveredFile("data.tar", "/data.tar", digest),
    )


@pytest.mark.parametrize(
    ("entries", "path", "message"),
    [
        ({"sha256": "abc"}, "x-gantry.inputs[0].sha256", "64 lower-case hex digits"),
        ({"sha256": HEX.upper()}, "x-gantry.inputs[0].sha256", "64 lower-case hex digits"),
        ({"path": "in"}, "x-gantry.inputs[0].path", "not an absolute path"),
        ({"path": "/"}, "x-gantry.inputs[0].path", "cannot be mounted over"),
        ({"name": "a/b"}, "x-gantry.inputs[0].name", "not the name of an input"),
        ({"name": "token"}, "x-gantry.inputs[0].name", "the name of a secret"),
        ({"service": "db"}, "x-gantry.inputs[0].service", 'no service "db"'),
        ({"url": "x"}, "x-gantry.inputs[0].url", 'unknown key "url"'),
    ],
)
def test_a_wrong_input_is_refused(entries: dict[str, str], path: str, message: str) -> None:
    good = {"name": "in.bin", "path": "/in.bin", "sha256": HEX}
    refused(together(TOKEN, gantry(inputs=[good | entries])), path, message)


def test_inputs_are_complete_and_bounded() -> None:
    found = problems(manifest(gantry(inputs=[{}])))
    assert [said for _, said, _ in found] == ["name is missing", "path is missing", "sha256 is missing"]
    many = [{"name": f"in{n}", "path": f"/in{n}", "sha256": HEX} for n in range(33)]
    assert "33 inputs are too many" in refused(gantry(inputs=many))[1]
    two = [{"name": "in", "path": f"/in{n}", "sha256": str(n) * 64} for n in range(2)]
    assert "two digests" in refused(gantry(inputs=two))[1]


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
