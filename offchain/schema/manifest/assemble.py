"""Put a manifest together from its models, and apply the rules between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from offchain.schema.manifest import compose, repetition_rules, rules, types
from offchain.schema.manifest.mounts import SecretSection, VolumeSection
from offchain.schema.manifest.rules import ParsedService
from offchain.schema.manifest.section import Bytes, Named, NullAllowed, Placed, Section, validate
from offchain.schema.manifest.service import ServiceSection
from offchain.schema.manifest.x_gantry import MAX_FILES, GantrySection, PlacementSection, ResultSection
from offchain.schema.manifest.yaml_reader import Problems, YamlValue


class FileSection(Section):
    unsupported: ClassVar = compose.FILE
    required: ClassVar = {
        "services": "Add services: with one service",
        "x-gantry": "Add at least: x-gantry: {price: {max_per_hour: 1 GTY}, duration: 10m}",
    }
    extensions: ClassVar = True
    name: Annotated[str | None, Bytes(types.MAX_NAME_BYTES)] = None
    volumes: Annotated[dict[str, Annotated[VolumeSection | None, NullAllowed]], Named("volume", 16)] = Field({})
    secrets: Annotated[dict[str, SecretSection], Named("secret", MAX_FILES)] = Field({})
    services: Annotated[dict[str, ServiceSection], Named("service", 8, ", or submit some as a task of their own")] = (
        Field({})
    )
    gantry: GantrySection | None = Field(default=None, alias="x-gantry")


def assemble(root: YamlValue, problems: Problems) -> types.Manifest | None:
    """Return the manifest. It must not be used if there are problems."""
    file = validate(FileSection, root, problems)
    if file is None:
        return None
    volumes, secrets = tuple(file.volumes), tuple(file.secrets)
    if not file.services and "services" in file.written and not problems.has(file.place("services")):
        problems.add(file.place("services"), "there is no service", "Add one service with an image")
    kind, gantry = rules.sections_of_kind(file.gantry or GantrySection.model_construct(), problems)
    inputs = _inputs_by_service(gantry, tuple(file.services), secrets, problems)
    services = [_parsed(name, section, inputs[name]) for name, section in file.services.items()]
    rules.check_pod(services, volumes, secrets, problems)
    if file.gantry is None:
        return None
    pods_min, pods = rules.pod_range(kind, gantry, problems)
    rules.check_kind(kind, gantry, services, volumes, problems)
    repetition_rules.check_deterministic(gantry, services, problems)
    repetition_rules.check_compared(gantry, services, problems)
    rules.check_gpus(gantry, services, pods, problems)
    if not services:
        return None
    rules.check_paths(gantry, services, problems)
    rules.check_registry_login(gantry, services, secrets, problems)
    place = gantry.placement or PlacementSection.model_construct()
    return types.Manifest(
        name=file.name,
        services=_with_restart_of_kind(kind, services),
        kind=kind,
        result=_result(gantry.result),
        gpus=types.GpuRequirements(rules.gpu_count(services), rules.gpu_milli(gantry), place.min_vram, place.models),
        disk_gib=gantry.disk,
        pods=pods,
        duration_ms=gantry.duration,
        max_rate_per_hour=gantry.price.max_per_hour if gantry.price is not None else 0,
        billing=gantry.billing,
        deadline_ms=gantry.deadline,
        priority=gantry.priority,
        queue=gantry.queue,
        verification=gantry.policy,
        placement=place.spec(),
        pods_min=pods_min,
        volumes=volumes,
        scaling=None if gantry.scaling is None else gantry.scaling.spec(),
        ssh=None if gantry.ssh is None else gantry.ssh.spec(),
        data_from=gantry.data_from,
        snapshot=gantry.snapshot,
        spot=gantry.spot,
        survival=gantry.survival,
        checkpoint=None if gantry.checkpoint is None else gantry.checkpoint.spec(),
        registry_login=None if gantry.registry_login is None else gantry.registry_login.spec(),
        confidential=gantry.confidential,
    )


def _parsed(name: str, section: ServiceSection, inputs: Sequence[Placed[types.DeliveredFile]]) -> ParsedService:
    mounts = (*section.tmpfs, *section.volumes, *section.secrets, *inputs)
    return ParsedService(section.spec(name, [file.value for file in inputs]), section, mounts)


def _inputs_by_service(
    gantry: GantrySection, services: Sequence[str], secrets: Sequence[str], problems: Problems
) -> Mapping[str, list[Placed[types.DeliveredFile]]]:
    """Return the inputs that are mounted into each service. Inputs and secrets are delivered by their names."""
    found: dict[str, list[Placed[types.DeliveredFile]]] = {name: [] for name in services}
    digests: dict[str, bytes] = {}
    for section in gantry.inputs:
        service = section.service or next(iter(services), "")
        if services and service not in found:
            hint = f"Write {' or '.join(services)}"
            problems.add(section.place("service"), f'there is no service "{service}"', hint)
        name, path, digest = section.name, section.path, section.sha256
        if name is None or path is None or digest is None:
            continue
        if name in secrets:
            problems.add(section.place("name"), f'"{name}" is the name of a secret', "Choose another name")
        if digests.setdefault(name, digest) != digest:
            problems.add(section.place("sha256"), f'"{name}" has two digests', "Give the second file another name")
        found.get(service, []).append(
            Placed(types.DeliveredFile(name, path, digest), section.place(), section.place("name"))
        )
    return found


def _with_restart_of_kind(kind: types.Kind, services: Sequence[ParsedService]) -> tuple[types.ServiceSpec, ...]:
    """Return the services, each with the restart policy of its kind where the file has none.

    Services and rentals continue until they are stopped, also after a reboot of their host. A service whose completion
    others wait for is restarted only when it failed. A job's services run once.
    """
    completing = {
        dependency.service
        for service in services
        for dependency in service.spec.depends_on
        if dependency.until == "completed"
    }
    return tuple(
        service.spec
        if kind == "job" or service.section.restart_policy is not None
        else replace(
            service.spec, restart=types.RestartPolicy("on-failure" if service.name in completing else "always", None)
        )
        for service in services
    )


def _result(section: ResultSection | None) -> types.ResultSpec:
    if section is None:
        return types.ResultSpec("stdout", None)
    if section.path == "stdout":
        return types.ResultSpec("stdout", None, section.seal_to)
    return types.ResultSpec("file", section.path, section.seal_to)
