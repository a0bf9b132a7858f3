"""What jobs, services and rentals may contain, and what of it goes to the chain."""

import base64
from typing import Any

import pytest
from manifest_builders import Change, gantry, gpu, helper, manifest, parse, problems, refused, service, together, top

from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.manifest.task_spec import to_task_spec
from offchain.schema.manifest.types import PodMetric, RestartPolicy, ResultSpec, ScalingSpec, SpotSpec, SshSpec

DIGEST = b"\7" * 32
DATA = together(top(volumes={"data": None}), service(volumes=["data:/data"]))
RENTAL = gantry(kind="rental")
SEAL = "5f" * 32


def ssh_key(kind: str = "ssh-ed25519", inside: str | None = None) -> str:
    name = (inside or kind).encode()
    body = len(name).to_bytes(4, "big") + name + (32).to_bytes(4, "big") + b"\1" * 32
    return f"{kind} {base64.b64encode(body).decode()}"


KEY = ssh_key()


def ssh(**entries: Any) -> Change:
    return gantry(kind="rental", ssh={"authorized_keys": [KEY]} | entries)


def spec(*changes: Change) -> gen.TaskSpec:
    return to_task_spec(parse(together(*changes)), DIGEST)


def test_the_kind_goes_to_the_chain() -> None:
    assert [spec(gantry(kind=kind)).kind for kind in ("job", "service", "rental")] == [
        gen.TaskKind.JOB,
        gen.TaskKind.SERVICE,
        gen.TaskKind.RENTAL,
    ]


def test_a_services_pods_are_a_range_or_a_number() -> None:
    found = spec(gantry(kind="service", pods={"min": 2, "max": 5}))
    assert (found.pods_min, found.pods_max) == (2, 5)
    found = spec(gantry(kind="service", pods=3))
    assert (found.pods_min, found.pods_max) == (3, 3)
    found = spec(gantry(pods=3))
    assert (found.pods_min, found.pods_max) == (3, 3)


OWN = {"port": 9090, "name": "jobs_waiting", "target_per_pod": 2.5}


@pytest.mark.parametrize(
    ("said", "meant"),
    [(True, SpotSpec()), (False, None), ({}, SpotSpec()), ({"checkpoint_signal": "SIGHUP"}, SpotSpec("SIGHUP"))],
)
@pytest.mark.parametrize("kind", ["job", "service", "rental"])
def test_any_kind_may_be_spot(kind: str, said: Any, meant: SpotSpec | None) -> None:
    assert parse(gantry(kind=kind, spot=said)).spot == meant
    assert spec(gantry(kind=kind, spot=said)).spot == (meant is not None)


def test_a_task_is_not_spot_by_default() -> None:
    assert not spec().spot


@pytest.mark.parametrize("kind", ["job", "service"])
@pytest.mark.parametrize("said", ["restart", "move", "standby"])
def test_jobs_and_services_have_each_survival(kind: str, said: str) -> None:
    assert parse(gantry(kind=kind, survival=said)).survival == said
    assert spec(gantry(kind=kind, survival=said)).survival == gen.Survival(said.capitalize())
    assert spec(gantry(kind=kind)).survival == gen.Survival.RESTART
    assert spec(gantry(kind="rental", survival="restart")).survival == gen.Survival.RESTART


def test_scaling_follows_a_share_of_what_a_pod_has() -> None:
    scaling = {"metric": "cpu", "target": "70%", "stabilisation": "90s"}
    wide = gantry(kind="service", pods={"min": 1, "max": 3}, scaling=scaling)
    assert parse(wide).scaling == ScalingSpec("cpu", 70, 90_000)
    own = gantry(kind="service", pods={"min": 1, "max": 3}, scaling={"metric": OWN})
    assert parse(own).scaling == ScalingSpec(PodMetric(9090, "/metrics", "jobs_waiting", 2_500), None, 300_000)
    scaling = {"metric": "gpu", "target": "100 %"}
    wide = gantry(kind="service", pods={"min": 1, "max": 3}, scaling=scaling)
    assert parse(together(gpu(), wide)).scaling == ScalingSpec("gpu", 100, 300_000)


def test_compared_results_have_a_pod_for_each_replica() -> None:
    found = spec(gantry(verification={"replicas": 3}))
    assert found.verification == gen.VerificationPolicyRedundant(3)
    assert (found.pods_min, found.pods_max) == (3, 3)
    assert spec(gantry(verification={"replicas": 2}, pods=2)).pods_max == 2
    assert spec(gantry(verification="acceptance")).verification == gen.VerificationPolicyAcceptance()
    on_gpus = together(gpu(), gantry(verification={"replicas": 2}, placement={"models": ["A100"]}))
    assert spec(on_gpus).resources.gpus.models == (b"A100",)


def test_an_audited_job_has_one_pod_and_the_rules_of_replicas() -> None:
    found = spec(gantry(verification="audit"))
    assert found.verification == gen.VerificationPolicyAudit()
    assert (found.pods_min, found.pods_max) == (1, 1)
    assert spec(gantry(verification="audit", pods=1)).pods_max == 1
    on_gpus = together(gpu(), gantry(verification="audit", placement={"models": ["A100"]}))
    assert spec(on_gpus).resources.gpus.models == (b"A100",)
    assert [parse(gantry(verification=policy)).is_compared for policy in ("audit", {"replicas": 2})] == [True, True]
    assert [parse(gantry(verification=policy)).is_compared for policy in ("acceptance", "deterministic")] == [False] * 2


def test_a_deterministic_job_is_accepted_by_its_tenant_and_executed_again_in_a_dispute() -> None:
    assert parse(gantry(verification="deterministic")).verification == "deterministic"
    assert spec(gantry(verification="deterministic")).verification == gen.VerificationPolicyAcceptance()
    assert spec(gantry(verification="deterministic", pods=2)).pods_max == 2
    assert parse().verification == "acceptance"


def test_a_rental_is_one_machine_with_keys_and_data() -> None:
    keys = [f"{KEY} anna@desk", ssh_key("ssh-rsa")]
    found = parse(together(DATA, ssh(authorized_keys=keys, path="/workspace/.ssh/keys", port=2222)))
    assert found.ssh == SshSpec((f"{KEY} anna@desk", ssh_key("ssh-rsa")), "/workspace/.ssh/keys", 2222)
    on_volume = ssh(path="/data/.ssh/authorized_keys")
    assert parse(together(DATA, service(read_only=True), on_volume)).ssh is not None
    assert parse(ssh()).ssh == SshSpec((KEY,), "/root/.ssh/authorized_keys", 22)
    taken = spec(DATA, gantry(kind="rental", data_from=117_440_512))
    assert (taken.data_from, taken.pods_min, taken.pods_max) == (117_440_512, 1, 1)
    assert spec(RENTAL).data_from is None


def test_services_and_rentals_are_restarted_by_default() -> None:
    init = helper("init")
    waits = service(depends_on={"init": {"condition": "service_completed_successfully"}})

    def restarts(kind: str, *changes: Change) -> list[RestartPolicy]:
        found = parse(together(init, waits, *changes, gantry(kind=kind)))
        return [each.restart for each in found.services]

    always, failed, never = (RestartPolicy(when, None) for when in ("always", "on-failure", "no"))
    assert restarts("job") == [never, never]
    assert restarts("service") == [always, failed]
    assert restarts("rental") == [always, failed]
    assert restarts("service", service(restart="no")) == [never, failed]


def test_other_services_of_a_job_may_be_restarted() -> None:
    found = parse(helper(restart="always", healthcheck={"test": "true"}))
    assert found.services[1].restart == RestartPolicy("always", None)
    assert parse(service(restart="no")).main.restart == RestartPolicy("no", None)


def test_results_are_sealed_to_a_key() -> None:
    key = bytes.fromhex(SEAL)
    assert parse(gantry(result={"path": "/out/r", "seal_to": SEAL})).result == ResultSpec("file", "/out/r", key)
    assert parse(gantry(result={"seal_to": f"0x{SEAL.upper()}"})).result == ResultSpec("stdout", None, key)
    assert parse(gantry(result={"path": "stdout"})).result == ResultSpec("stdout", None)


def test_a_result_file_lies_on_disk() -> None:
    tmpfs = service(tmpfs="/out")
    assert "/out is a tmpfs" in refused(together(tmpfs, gantry(result="/out/r")))[1]
    deep = together(DATA, service(volumes=["data:/out/kept"], tmpfs="/out"), gantry(result="/out/kept/r"))
    assert parse(deep).result.path == "/out/kept/r"
    frozen = service(read_only=True)
    assert "the container is read_only" in refused(together(frozen, gantry(result="/out/r")))[1]
    assert parse(together(DATA, frozen, gantry(result="/data/r"))).result.path == "/data/r"
    reading = together(DATA, service(volumes=["data:/data:ro"]), frozen, gantry(result="/data/r"))
    assert "the container is read_only" in refused(reading)[1]


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        (gantry(kind="service", result="stdout"), "result", "a service has no result"),
        (gantry(kind="rental", result="/out"), "result", "a rental has no result"),
        (gantry(kind="service", verification={"replicas": 2}), "verification", "a service has no verification"),
        (gantry(scaling={"metric": "cpu", "target": "70%"}), "scaling", "a job has no scaling"),
        (gantry(ssh={"authorized_keys": [KEY]}), "ssh", "a job has no ssh"),
        (gantry(kind="service", data_from=1), "data_from", "a service has no data_from"),
        (gantry(spot="often"), "spot", "true or false"),
        (gantry(spot={"checkpoint_signal": "SIGTERM"}), "spot.checkpoint_signal", "SIGTERM"),
        (gantry(spot=True, verification={"replicas": 2}), "spot", "compared cannot be spot"),
        (gantry(kind="rental", survival="move"), "survival", "cannot continue on another host"),
        (gantry(survival="standby", verification={"replicas": 2}), "survival", "compared stay where they are"),
        (gantry(survival="moves"), "survival", 'unknown value "moves"'),
        (gantry(pods={"min": 1, "max": 2}), "pods", "a job has a fixed number of pods"),
        (gantry(kind="rental", pods=2), "pods", "a rental has one pod"),
        (gantry(kind="rental", pods={"min": 1, "max": 1}), "pods", "a rental has a fixed number of pods"),
        (gantry(kind="service", pods={"min": 3, "max": 2}), "pods", "min 3 is more than max 2"),
        (gantry(kind="service", pods={"max": 2}), "pods", "min is missing"),
        (gantry(kind="service", pods={"min": 0, "max": 2}), "pods.min", "0 is out of range"),
        (gantry(kind="service", pods={"min": 1, "max": 17}), "pods.max", "17 is out of range"),
        (gantry(kind="service", pods={"min": 1, "max": 2, "step": 1}), "pods.step", 'unknown key "step"'),
        (gantry(verification={"replicas": 2}, pods=3), "pods", "pods and verification.replicas (2) differ"),
        (gantry(verification="audit", pods=2), "pods", "an audited job has one pod, and pods is 2"),
        (gantry(kind="service", verification="audit"), "verification", "a service has no verification"),
        (gantry(kind="rental", verification="audit"), "verification", "a rental has no verification"),
        (gantry(spot=True, verification="audit"), "spot", "compared cannot be spot"),
        (gantry(survival="move", verification="audit"), "survival", "compared stay where they are"),
        (gantry(verification="audit", result={"seal_to": SEAL}), "result.seal_to", "cannot be sealed"),
        (together(gpu(), gantry(verification="audit")), "verification", "GPUs of different models"),
        (gantry(verification="audits"), "verification", '"audits" is not a way to verify a result'),
        (gantry(verification={"replicas": 1}), "verification.replicas", "1 is out of range"),
        (gantry(verification={"replicas": 4}), "verification.replicas", "4 is out of range"),
        (gantry(verification={}), "verification", "replicas is missing"),
        (gantry(verification=2), "verification", "is not a way to verify"),
        (gantry(verification={"replicas": 2}, result={"seal_to": SEAL}), "result.seal_to", "cannot be sealed"),
        (together(gpu(), gantry(verification={"replicas": 2})), "verification", "GPUs of different models"),
        (
            together(gpu(), gantry(verification={"replicas": 2}, placement={"models": ["A100", "H100"]})),
            "verification",
            "GPUs of different models",
        ),
        (gantry(verification="deterministic", result={"seal_to": SEAL}), "result.seal_to", "cannot be sealed"),
        (gantry(kind="service", verification="deterministic"), "verification", "a service has no verification"),
        (together(helper(), gantry(verification="deterministic")), "verification", "has one service, and there are 2"),
        (
            gantry(verification="deterministic", checkpoint={"path": "/ckpt", "every": "10m"}),
            "checkpoint",
            "has no checkpoints",
        ),
        (
            gantry(verification="deterministic", inputs=[{"name": "a", "path": "/a", "sha256": "0" * 64}]),
            "verification",
            "has no delivered files",
        ),
        (gantry(result={"seal_to": "5f"}), "result.seal_to", "64 hex digits"),
        (gantry(result={"path": "out"}), "result.path", "is not a result"),
        (gantry(result={"file": "/out"}), "result.file", 'unknown key "file"'),
        (gantry(kind="service", scaling={"metric": "cpu", "target": "70%"}), "scaling", "nothing to scale"),
        (ssh(authorized_keys=[]), "ssh.authorized_keys", "there is no key"),
        (ssh(authorized_keys=[KEY] * 17), "ssh.authorized_keys[16]", "17 keys are too many"),
        (ssh(authorized_keys=["-----BEGIN OPENSSH PRIVATE KEY-----"]), "ssh.authorized_keys[0]", "a private key"),
        (ssh(authorized_keys=[f"{KEY}\n{KEY}"]), "ssh.authorized_keys[0]", "more than one line"),
        (ssh(authorized_keys=[f'command="x" {KEY}']), "ssh.authorized_keys[0]", "is not a type of key"),
        (ssh(authorized_keys=["ssh-dss AAAA"]), "ssh.authorized_keys[0]", '"ssh-dss" is not a type'),
        (ssh(authorized_keys=["ssh-ed25519 !"]), "ssh.authorized_keys[0]", "is not base64"),
        (ssh(authorized_keys=["ssh-ed25519"]), "ssh.authorized_keys[0]", "is not of the type"),
        (
            ssh(authorized_keys=[ssh_key("ssh-ed25519", "ssh-rsa")]),
            "ssh.authorized_keys[0]",
            "is not of the type ssh-ed25519",
        ),
        (ssh(path="keys"), "ssh.path", "not an absolute path"),
        (ssh(port=0), "ssh.port", "0 is out of range"),
        (gantry(kind="rental", ssh={}), "ssh", "authorized_keys is missing"),
        (together(DATA, ssh(path="/data")), "ssh.path", "is taken by a mount"),
        (together(service(read_only=True), ssh()), "ssh", "the container is read_only"),
        (together(helper(expose=[22]), ssh()), "ssh", 'port 22 is taken by "db"'),
        (gantry(kind="rental", data_from=1), "data_from", "there is no volume"),
        (together(DATA, gantry(kind="rental", data_from="seven")), "data_from", "expected a whole number"),
        (together(DATA, gantry(kind="rental", snapshot="before")), "snapshot", "the data of an earlier rental"),
        (gantry(kind="rental", data_from=1, snapshot="Before!"), "snapshot", "is not a name for a snapshot"),
        (gantry(kind="service", snapshot="before"), "snapshot", "a service has no snapshot"),
        (service(healthcheck={"test": "true"}), "services.train.healthcheck", "has no healthcheck"),
        (service(restart="always"), "services.train.restart", "is not restarted"),
    ],
)
def test_keys_of_another_kind_are_refused(change: Change, path: str, message: str) -> None:
    refused(change, path if path.startswith("services") else f"x-gantry.{path}", message)


@pytest.mark.parametrize(
    ("scaling", "path", "message"),
    [
        ({"metric": "gpu", "target": "70%"}, ".metric", "no GPU to follow"),
        ({"metric": "requests", "target": "70%"}, ".metric", 'unknown value "requests"'),
        ({"metric": "cpu", "target": 70}, ".target", "is not a share"),
        ({"metric": "cpu", "target": "0%"}, ".target", "is not a share"),
        ({"metric": "cpu", "target": "101%"}, ".target", "is not a share"),
        ({"metric": "cpu"}, "", "target is missing"),
        ({"target": "70%"}, "", "metric is missing"),
        (
            {"metric": "cpu", "target": "70%", "stabilisation": "0s"},
            ".stabilisation",
            "is zero, and a duration must be longer",
        ),
        ("cpu", "", "expected a mapping"),
        ({"metric": OWN, "target": "70%"}, ".target", "has no share"),
        ({"metric": {**OWN, "port": 0}}, ".metric.port", "0 is out of range"),
        ({"metric": {**OWN, "path": "metrics"}}, ".metric.path", "is not the path of a page"),
        ({"metric": {**OWN, "path": "/a b"}}, ".metric.path", "is not the path of a page"),
        ({"metric": {**OWN, "path": "/a\r\nX: y"}}, ".metric.path", "is not the path of a page"),
        ({"metric": {**OWN, "name": "jobs waiting"}}, ".metric.name", "is not the name of a Prometheus metric"),
        ({"metric": {**OWN, "target_per_pod": 0}}, ".metric.target_per_pod", '"0" is not a number'),
        ({"metric": {**OWN, "target_per_pod": "70%"}}, ".metric.target_per_pod", '"70%" is not a number'),
        ({"metric": {**OWN, "labels": "x"}}, ".metric.labels", 'unknown key "labels"'),
        ({"metric": {"port": 80, "name": "x"}}, ".metric", "target_per_pod is missing"),
    ],
)
def test_wrong_scaling_is_refused(scaling: Any, path: str, message: str) -> None:
    refused(gantry(kind="service", pods={"min": 1, "max": 2}, scaling=scaling), f"x-gantry.scaling{path}", message)


def test_all_keys_of_another_kind_are_reported() -> None:
    mixed = gantry(kind="service", ssh={"authorized_keys": [KEY]}, data_from=7, result="stdout")
    assert {at for at, _, _ in problems(manifest(mixed))} == {"x-gantry.result", "x-gantry.ssh", "x-gantry.data_from"}
