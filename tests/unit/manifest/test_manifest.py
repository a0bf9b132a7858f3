"""What a manifest may contain, and the error for each thing that it may not."""

from typing import Any

import pytest
from manifest_builders import (
    ALICE,
    BOB,
    DIGEST,
    Change,
    devices,
    gantry,
    gpu,
    limits,
    manifest,
    parse,
    problems,
    service,
)

from offchain.core.values import Layout
from offchain.schema.manifest import compose
from offchain.schema.manifest.parse import MAX_BYTES, parse_manifest
from offchain.schema.manifest.task_spec import to_task_spec
from offchain.schema.manifest.types import MAX_LINES, ImageRef, ManifestError, ResultSpec, TmpfsMount


def test_the_smallest_manifest_gets_the_documented_defaults() -> None:
    found = parse()
    assert found.kind == "job"
    assert found.max_rate_per_hour == 2_500_000_000_000
    assert found.duration_ms == 600_000
    assert (found.billing, found.priority, found.queue, found.verification) == ("second", 100, "default", "acceptance")
    assert (found.pods, found.disk_gib, found.gpus.count, found.deadline_ms) == (1, 1, 0, None)
    assert found.result == ResultSpec("stdout", None)
    assert (found.cpu_milli, found.memory_mib) == (1500, 512)
    (train,) = found.services
    assert train.image == ImageRef("registry.example:5000/lab/train", DIGEST)
    assert train.image.reference == f"registry.example:5000/lab/train@{DIGEST}"
    assert (train.command, train.entrypoint, train.environment, train.pids) == (None, None, (), 512)


def test_every_key_has_its_value() -> None:
    def change(data: dict[str, Any]) -> None:
        data.update(name="all", volumes={"out": None})
        service(
            command="run --name 'a b'",
            entrypoint=["/bin/tool", ""],
            environment={"A": "x=y", "B": 2, "C": ""},
            working_dir="/work",
            user="1000:100",
            read_only=True,
            tmpfs=["/tmp:size=64M,mode=1777", "/scratch"],
            volumes=["out:/out"],
        )(data)
        limits(pids=64, cpus=2, memory="1.5GiB")(data)
        gpu(driver="nvidia", count=2)(data)
        gantry(
            kind="job",
            billing="hour",
            deadline="2030-01-31T18:00:00+02:00",
            priority=7,
            queue="night/video",
            verification="acceptance",
            placement={
                "regions": ["eu-west"],
                "hosts": [ALICE],
                "providers": {"allow": [ALICE], "deny": [BOB]},
                "tiers": ["datacenter", "professional"],
                "verified_only": True,
                "allow_simulated": True,
                "models": ["H200"],
                "min_vram": "80GiB",
                "min_network_mbps": 500,
                "max_latency": "50ms",
                "spread": "providers",
                "isolation": "sandboxed",
            },
            result="/out/result.bin",
            pods=3,
            disk="10GiB",
        )(data)

    found = parse(change)
    (train,) = found.services
    assert found.name == "all"
    assert train.command == ("run", "--name", "a b")
    assert train.entrypoint == ("/bin/tool", "")
    assert train.environment == (("A", "x=y"), ("B", "2"), ("C", ""))
    assert (train.working_dir, train.user, train.read_only) == ("/work", "1000:100", True)
    assert train.tmpfs == (TmpfsMount("/tmp", "size=67108864,mode=1777"), TmpfsMount("/scratch", ""))
    assert (train.pids, train.cpu_milli, train.memory_mib) == (64, 2000, 1536)
    assert (found.gpus.count, found.gpus.milli, found.gpus.min_vram_mib, found.gpus.models) == (
        2,
        1000,
        81920,
        ("H200",),
    )
    assert found.deadline_ms == 1_896_105_600_000
    assert (found.billing, found.priority, found.queue, found.pods, found.disk_gib) == ("hour", 7, "night/video", 3, 10)
    assert found.result == ResultSpec("file", "/out/result.bin")
    assert found.placement.regions == ("eu-west",)
    assert found.placement.hosts == (ALICE,)
    assert (found.placement.providers_allowed, found.placement.providers_denied) == ((ALICE,), (BOB,))
    assert found.placement.tiers == ("datacenter", "professional")
    assert found.placement.verified_only
    assert found.placement.allow_simulated
    assert found.placement.min_network_mbps == 500
    assert (found.placement.spread, found.placement.pack) == ("providers", False)
    assert found.placement.max_latency_ms == 50
    spec = to_task_spec(found, bytes(32)).placement
    assert (spec.min_network_mbps, spec.max_latency_ms) == (500, 50)
    assert (found.placement.sandboxed, spec.capabilities.sandboxed) == (True, True)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({}, Layout.ANY),
        ({"pack": False}, Layout.ANY),
        ({"spread": "hosts"}, Layout.HOSTS),
        ({"spread": "providers"}, Layout.PROVIDERS),
        ({"pack": True}, Layout.PACKED),
    ],
)
def test_spread_and_pack_become_the_layout_on_the_chain(written: dict[str, Any], expected: Layout) -> None:
    found = parse(gantry(placement=written, pods=2))
    assert to_task_spec(found, bytes(32)).placement.layout is expected


def test_environment_lists_keep_values_as_written() -> None:
    (train,) = parse(service(environment=["A=1=2", "B="])).services
    assert train.environment == (("A", "1=2"), ("B", ""))


def test_anchors_and_merges_work_as_in_compose() -> None:
    text = f"""
x-base: &base
  image: tool@{DIGEST}
  read_only: true
services:
  train:
    <<: *base
    read_only: false
    deploy: {{resources: {{limits: {{cpus: 1, memory: 64M}}}}}}
x-gantry: {{price: {{max_per_hour: 1 GTY}}, duration: 90s}}
"""
    (train,) = parse_manifest(text.encode()).services
    assert train.image.name == "tool"
    assert not train.read_only


@pytest.mark.parametrize("key", sorted(compose.SERVICE))
def test_each_compose_key_of_a_service_that_is_not_supported_is_named(key: str) -> None:
    ((path, message, _),) = problems(manifest(service(**{key: "x"})))
    assert path == f"services.train.{key}"
    assert f'"{key}"' in message


@pytest.mark.parametrize("key", sorted(compose.FILE))
def test_each_compose_section_that_is_not_supported_is_named(key: str) -> None:
    ((path, message, _),) = problems(manifest(lambda data: data.update({key: {}})))
    assert path == key
    assert f'"{key}"' in message


@pytest.mark.parametrize("key", sorted(compose.DEPLOY))
def test_each_deploy_key_that_is_not_supported_is_named(key: str) -> None:
    ((path, _, _),) = problems(manifest(lambda data: data["services"]["train"]["deploy"].update({key: "x"})))
    assert path == f"services.train.deploy.{key}"


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        (service(imge="x"), "services.train.imge", 'unknown key "imge"'),
        (service(image="primes:latest"), "services.train.image", "has no digest"),
        (service(image="primes@sha256:abc"), "services.train.image", "64 lower-case hex digits"),
        (service(image=f"primes:1.0@{DIGEST}"), "services.train.image", "has a tag"),
        (service(image=f"Primes@{DIGEST}"), "services.train.image", "is not an image name"),
        (service(image=f"@{DIGEST}"), "services.train.image", "is not an image name"),
        (service(image=True), "services.train.image", "expected text, found true or false"),
        (service(command="echo 'open"), "services.train.command", "cannot be split"),
        (service(command=[["nested"]]), "services.train.command[0]", "expected text, found a list"),
        (service(command={"a": 1}), "services.train.command", "expected text, found a mapping"),
        (service(environment={"A": None}), "services.train.environment.A", "A has no value"),
        (service(environment=["A"]), "services.train.environment[0]", "A has no value"),
        (service(environment=["A=1", "A=2"]), "services.train.environment[1]", "set twice"),
        (service(environment={"1A": "x"}), "services.train.environment.1A", "not a variable name"),
        (service(environment={"A": True}), "services.train.environment.A", "expected text"),
        (service(working_dir="tmp"), "services.train.working_dir", "not an absolute path"),
        (service(working_dir="/a/../b"), "services.train.working_dir", "not an absolute path"),
        (service(entrypoint=["/proc/self/exe"]), "services.train.entrypoint", "belongs to the kernel"),
        (service(entrypoint="/usr/../dev/x y"), "services.train.entrypoint", "belongs to the kernel"),
        (service(entrypoint=["/.gantry-init"]), "services.train.entrypoint", "is a program of the host's agent"),
        (service(working_dir="//proc/./self/fd/7"), "services.train.working_dir", "belongs to the kernel"),
        (service(user="a b"), "services.train.user", "is not a user"),
        (service(read_only="maybe"), "services.train.read_only", "expected true or false"),
        (service(tmpfs="/tmp:size=big"), "services.train.tmpfs", "is not a size"),
        (service(tmpfs="/tmp:exec"), "services.train.tmpfs", "is not supported as an option"),
        (service(tmpfs="/"), "services.train.tmpfs", "cannot be mounted over"),
        (gpu(driver="cdi"), "services.train.deploy.resources.reservations.devices[0].driver", "not supported"),
        (limits(cpus="-1"), "services.train.deploy.resources.limits.cpus", "not a number of cores"),
        (limits(cpus=0), "services.train.deploy.resources.limits.cpus", "out of range"),
        (limits(cpus="0.0001"), "services.train.deploy.resources.limits.cpus", "finer than a thousandth"),
        (limits(memory="64Q"), "services.train.deploy.resources.limits.memory", "not a size"),
        (limits(memory="1M"), "services.train.deploy.resources.limits.memory", "out of range"),
        (limits(pids=0), "services.train.deploy.resources.limits.pids", "0 is out of range"),
        (limits(gpus=1), "services.train.deploy.resources.limits.gpus", 'unknown key "gpus"'),
        (gpu(count=-1), "services.train.deploy.resources.reservations.devices[0].count", "-1 is out of range"),
        (gpu(count=0), "services.train.deploy.resources.reservations.devices[0].count", "0 is out of range"),
        (gpu(count=17), "services.train.deploy.resources.reservations.devices[0].count", "17 is out of range"),
        (gpu(count=1.5), "services.train.deploy.resources.reservations.devices[0].count", "expected a whole number"),
        (gpu(count="all"), "services.train.deploy.resources.reservations.devices[0].count", "not a number of GPUs"),
        (gpu(device_ids=["0"]), "services.train.deploy.resources.reservations.devices[0].device_ids", "not support"),
        (gpu(capabilities=["tpu"]), "services.train.deploy.resources.reservations.devices[0].capabilities[0]", "tpu"),
        (devices({"count": 1}), "services.train.deploy.resources.reservations.devices[0]", "capabilities is missing"),
        (
            devices({"capabilities": ["gpu"]}),
            "services.train.deploy.resources.reservations.devices[0]",
            "count is missing",
        ),
        (gantry(kind="jbo"), "x-gantry.kind", 'unknown value "jbo"'),
        (gantry(price={"max_per_hour": "2.5"}), "x-gantry.price.max_per_hour", "not an amount"),
        (gantry(price={"max_per_hour": "-1 GTY"}), "x-gantry.price.max_per_hour", "not an amount"),
        (gantry(price={"max_per_hour": "1.0000000000001 GTY"}), "x-gantry.price.max_per_hour", "not an amount"),
        (gantry(price={}), "x-gantry.price", "max_per_hour is missing"),
        (gantry(price="1 GTY"), "x-gantry.price", "expected a mapping"),
        (gantry(duration="ten"), "x-gantry.duration", "not a duration"),
        (gantry(duration="0s"), "x-gantry.duration", "is zero, and a duration must be longer"),
        (gantry(duration=600), "x-gantry.duration", "not a duration"),
        (gantry(deadline="tomorrow"), "x-gantry.deadline", "not a time"),
        (gantry(deadline="2030-01-31T18:00:00"), "x-gantry.deadline", "no time zone"),
        (gantry(billing="minute"), "x-gantry.billing", 'unknown value "minute"'),
        (gantry(priority=256), "x-gantry.priority", "256 is out of range"),
        (gantry(queue="A B"), "x-gantry.queue", "is not a queue"),
        (gantry(queue="night/"), "x-gantry.queue", "is not a queue"),
        (gantry(queue="q" * 33), "x-gantry.queue", "33 bytes"),
        (gantry(verification="redundant"), "x-gantry.verification", "is not a way to verify"),
        (gantry(result="out"), "x-gantry.result", "is not a result"),
        (gantry(pods=0), "x-gantry.pods", "0 is out of range"),
        (gantry(disk="0"), "x-gantry.disk", "out of range"),
        (gantry(placement={"region": "x"}), "x-gantry.placement.region", 'unknown key "region"'),
        (gantry(placement={"hosts": ["5Grw"]}), "x-gantry.placement.hosts[0]", "is not an address"),
        (gantry(placement={"hosts": [ALICE[:-1] + "Z"]}), "x-gantry.placement.hosts[0]", "wrong checksum"),
        (gantry(placement={"hosts": [ALICE] * 9}), "x-gantry.placement.hosts[8]", "9 entries are too many"),
        (gantry(placement={"providers": [ALICE]}), "x-gantry.placement.providers", "expected a mapping"),
        (gantry(placement={"providers": {"alow": [ALICE]}}), "x-gantry.placement.providers.alow", 'unknown key "alow"'),
        (gantry(placement={"providers": {"deny": ["5G"]}}), "x-gantry.placement.providers.deny[0]", "not an address"),
        (gantry(placement={"tiers": ["gold"]}), "x-gantry.placement.tiers[0]", 'unknown value "gold"'),
        (gantry(placement={"tiers": ["consumer"] * 2}), "x-gantry.placement.tiers", "named twice"),
        (gantry(placement={"verified_only": True}), "x-gantry.placement.verified_only", "without a GPU"),
        (gantry(placement={"min_vram": "8GiB"}), "x-gantry.placement.min_vram", "without a GPU"),
        (gantry(placement={"models": ["H200"]}), "x-gantry.placement.models", "without a GPU"),
        (
            gantry(placement={"min_network_mbps": "10M"}),
            "x-gantry.placement.min_network_mbps",
            "expected a whole number",
        ),
        (gantry(placement={"min_network_mbps": 0}), "x-gantry.placement.min_network_mbps", "out of range"),
        (gantry(placement={"max_latency": 50}), "x-gantry.placement.max_latency", '"50" is not a duration'),
        (gantry(placement={"max_latency": "0.5ms"}), "x-gantry.placement.max_latency", "not a duration"),
        (
            gantry(placement={"max_latency": "0ms"}),
            "x-gantry.placement.max_latency",
            "is zero, and a duration must be longer",
        ),
        (gantry(placement={"max_latency": "65536ms"}), "x-gantry.placement.max_latency", '"65536ms" is out of range'),
        (gantry(placement={"max_latency": "2m"}), "x-gantry.placement.max_latency", "out of range"),
        (gantry(placement={"max_latency": ["50ms"]}), "x-gantry.placement.max_latency", "expected text"),
        (gantry(placement={"isolation": "gvisor"}), "x-gantry.placement.isolation", 'unknown value "gvisor"'),
        (gantry(placement={"isolation": True}), "x-gantry.placement.isolation", "expected text"),
        (gantry(placement={"spread": "hosts"}), "x-gantry.placement.spread", "spread with one pod"),
        (gantry(placement={"pack": True}), "x-gantry.placement.pack", "pack with one pod"),
        (gantry(pods=2, placement={"spread": "racks"}), "x-gantry.placement.spread", 'unknown value "racks"'),
        (
            gantry(pods=2, placement={"spread": "hosts", "pack": True}),
            "x-gantry.placement.pack",
            "pack and spread exclude each other",
        ),
        (gantry(prise=1), "x-gantry.prise", 'unknown key "prise"'),
        (lambda data: data.update(services={}), "services", "no service"),
        (lambda data: data.update({"x-gnatry": {}}), "x-gnatry", "unknown key"),
        (lambda data: data.pop("x-gantry"), "", "x-gantry is missing"),
        (lambda data: data.pop("services"), "", "services is missing"),
        (lambda data: data["x-gantry"].pop("duration"), "x-gantry", "duration is missing"),
        (lambda data: data["x-gantry"].pop("price"), "x-gantry", "price is missing"),
        (lambda data: data["services"]["train"].pop("image"), "services.train", "image is missing"),
        (lambda data: data["services"]["train"].pop("deploy"), "services.train.deploy.resources.limits", "missing"),
    ],
)
def test_a_wrong_value_is_reported_with_its_path(change: Change, path: str, message: str) -> None:
    found = problems(manifest(change))
    assert any(path == at and message in said for at, said, _ in found), found


def test_the_hint_for_a_misspelt_key_is_the_right_one() -> None:
    ((_, _, hint),) = problems(manifest(gantry(bilingg="hour")))
    assert hint == 'Did you mean "billing"? Otherwise remove it'


def test_lines_are_those_of_the_file() -> None:
    text = f"""services:
  train:
    image: tool@{DIGEST}
    privileged: true

    deploy:
      resources:
        limits: {{cpus: 1,
          memory: lots}}
x-gantry:
  price: {{max_per_hour: 1 GTY}}
  duration: 10m
  colour: red
"""
    with pytest.raises(ManifestError) as caught:
        parse_manifest(text.encode(), source="f.yaml")
    assert [problem.line for problem in caught.value.problems] == [4, 9, 13]
    assert caught.value.lines()[0].startswith("f.yaml:4: services.train.privileged: ")


def test_all_problems_are_reported_together() -> None:
    def change(data: dict[str, Any]) -> None:
        service(image="x", privileged=True, user="a b")(data)
        gantry(duration="soon", kind="jbo")(data)

    assert len(problems(manifest(change))) == 5


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"# nothing\n", "the file is empty"),
        (b"\xff\xfe", "not UTF-8"),
        (b"a: [", "this is not YAML"),
        (b"a: 1\n---\nb: 2\n", "this is not YAML"),
        (b"a: !!python/object:os.system 1\n", 'unknown key "a"'),
        (b"- 1\n", "expected a mapping, found a list"),
        (b"[" * 9000, "more than 32 lists and mappings within each other"),
        (b"- " * 5_000, "more than 32 lists and mappings within each other"),
        (b"a: *nowhere\n", "this is not YAML"),
        (b"x: " + b"y" * MAX_BYTES, f"{MAX_BYTES + 3} bytes long"),
        (b"services: &s\n  <<: *s\n", "refers to itself"),
        (b"? [a]\n: 1\n", "a key must be plain text"),
        (b"services: {a: 1, a: 2}\n", "written twice"),
        (b"a: \x00\n", "this is not YAML"),
    ],
)
def test_a_text_that_is_no_manifest_is_refused(data: bytes, message: str) -> None:
    assert any(message in said for _, said, _ in problems(data))


def test_merges_that_double_are_refused() -> None:
    lines = ["x-0: &m0 {image: a}"]
    lines += [f"x-{n}: &m{n} {{<<: [*m{n - 1}, *m{n - 1}]}}" for n in range(1, 30)]
    text = "\n".join([*lines, "services: {train: {<<: *m29}}", "x-gantry: {}"])
    with pytest.raises(ManifestError, match="it has more than 4096 values, aliases counted"):
        parse_manifest(text.encode())


def test_only_the_first_problems_are_written_out() -> None:
    with pytest.raises(ManifestError) as caught:
        parse_manifest("".join(f"servic{number}: 1\n" for number in range(900)).encode(), source="f.yaml")
    lines = caught.value.lines()
    assert len(lines) == MAX_LINES + 1
    assert 'Did you mean "services"?' in lines[0]
    assert lines[-1].startswith(f"f.yaml: {len(caught.value.problems) - MAX_LINES} more problems.")
