"""Every example that a user can copy is a manifest, and the reference names every key."""

import re
from typing import Any

import pytest
import yaml
from manifest_builders import BASE, DIGEST

from offchain.devnet.paths import ROOT
from offchain.schema.manifest import compose, confidential, deploy, service, x_gantry
from offchain.schema.manifest.assemble import FileSection
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.section import Section
from offchain.schema.manifest.task_spec import to_task_spec
from offchain.schema.manifest.types import DeliveredFile, Dependency, Manifest, PodMetric, RestartPolicy
from offchain.schema.manifest.variables import resolve

DOCS = (ROOT / "docs" / "manifest.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^```yaml\n(.*?)^```$", DOCS, re.MULTILINE | re.DOTALL)
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB me"
ENV = {"GANTRY_DEMO_IMAGE": f"primes@{DIGEST}", "SSH_PUBLIC_KEY": KEY}


def completed(text: str) -> bytes:
    """An example of the reference with what it leaves out: image, limits, price and duration."""
    plain: dict[str, Any] = yaml.safe_load(text)
    for entries in plain.setdefault("services", BASE["services"]).values():
        for key, value in BASE["services"]["train"].items():
            entries.setdefault(key, value)
    for key, value in BASE["x-gantry"].items():
        plain["x-gantry"].setdefault(key, value)
    return yaml.safe_dump(plain, sort_keys=False).encode()


@pytest.mark.parametrize("text", SHOWN)
def test_an_example_of_the_reference_is_a_manifest(text: str) -> None:
    to_task_spec(parse_manifest(completed(text)), bytes(32))


def test_the_smallest_example_leaves_nothing_out() -> None:
    parse_manifest(SHOWN[0].encode())
    assert len(SHOWN) >= 7


@pytest.mark.parametrize(
    "model",
    [
        FileSection,
        service.ServiceSection,
        deploy.RestartPolicySection,
        deploy.LimitsSection,
        deploy.DeviceSection,
        confidential.ConfidentialSection,
        *(getattr(x_gantry, name) for name in dir(x_gantry) if name.endswith("Section") and name != "Section"),
    ],
    ids=lambda model: model.__name__,
)
def test_the_reference_names_every_key(model: type[Section]) -> None:
    for name, field in model.model_fields.items():
        assert re.search(rf"\b{field.alias or name}\b", DOCS), name


def refused_table() -> str:
    rows = ["| key | instead |", "|---|---|"]
    sections = {"the file": compose.FILE, "a service": compose.SERVICE, "its `deploy`": compose.DEPLOY}
    for where, refused in sections.items():
        by_hint: dict[str, list[str]] = {}
        for key, hint in refused.items():
            by_hint.setdefault(hint, []).append(f"`{key}`")
        for hint, names in by_hint.items():
            rows.append(f"| of {where}: {', '.join(names)} | {hint.replace('<', '&lt;')} |")
    return "\n".join(rows)


def test_the_reference_lists_what_is_refused() -> None:
    found = re.search(r"<!-- begin refused -->\n(.*)\n<!-- end refused -->", DOCS, re.DOTALL)
    assert found is not None
    assert found[1] == refused_table(), f"put this between the marks in docs/manifest.md:\n{refused_table()}"


def example(name: str) -> Manifest:
    text = (ROOT / "examples" / f"{name}.yaml").read_text(encoding="utf-8")
    return parse_manifest(resolve(text, ENV, source=name).encode(), source=name)


def test_primes_is_a_job_on_a_gpu() -> None:
    found = example("primes")
    assert found.kind == "job"
    assert found.gpus.count == 1
    assert found.placement.allow_simulated
    assert found.main.pids == 16


def test_share_takes_half_of_a_gpu() -> None:
    found = example("share")
    assert (found.gpus.count, found.gpus.milli) == (1, 500)
    assert found.main.command == ("sh", "-c", 'echo "my share of the GPU is $GANTRY_GPU_SHARE"; sleep 5')


def test_service_is_kept_alive_and_scales() -> None:
    found = example("service")
    assert (found.kind, found.pods_min, found.pods) == ("service", 1, 3)
    assert found.scaling is not None
    assert found.main.ports == (8080,)
    assert found.main.healthcheck is not None
    assert found.main.restart == RestartPolicy("always", None)


def test_rental_has_a_volume_and_ssh() -> None:
    found = example("rental")
    assert (found.kind, found.pods, found.volumes) == ("rental", 1, ("home",))
    assert found.ssh is not None
    assert found.ssh.authorized_keys == (KEY,)
    assert found.ssh.port in found.main.ports
    assert found.ssh.path.startswith(f"{found.main.volumes[0].path}/")


def test_pod_has_three_containers_that_wait_for_each_other() -> None:
    found = example("pod")
    assert [service.name for service in found.services] == ["count", "library", "writer"]
    assert found.main.depends_on == (Dependency("library", "healthy"),)
    assert found.services[1].depends_on == (Dependency("writer", "completed"),)
    assert found.volumes == ("shelf",)


def test_files_of_several_services_in_the_reference() -> None:
    several = next(text for text in SHOWN if "db_password" in text)
    api, db, migrate = parse_manifest(completed(several)).services
    assert api.files == (DeliveredFile("db_password", "/run/secrets/db_password", None),)
    assert db.files == (DeliveredFile("db_password", "/etc/db/password", None),)
    assert migrate.restart == RestartPolicy("on-failure", None)


def test_greeter_scales_by_a_metric_of_its_pods() -> None:
    found = example("greeter")
    assert (found.name, found.pods_min, found.pods) == ("greeter", 1, 3)
    assert found.scaling is not None
    assert found.scaling.metric == PodMetric(8080, "/metrics", "greetings_waiting", 10_000)
