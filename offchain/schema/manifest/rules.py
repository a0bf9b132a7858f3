"""Rules between the values of a manifest: within a service, between the services of a pod, and for a kind of task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any, cast

from offchain.schema.manifest.compose import HOST_PATH
from offchain.schema.manifest.deploy import MAX_GPUS
from offchain.schema.manifest.section import NAME, Placed
from offchain.schema.manifest.service import MAX_PORTS, ServiceSection
from offchain.schema.manifest.types import WHOLE_GPU, DeliveredFile, Dependency, Kind, ServiceSpec, VolumeMount
from offchain.schema.manifest.x_gantry import GantrySection, PodsSection, SshSection
from offchain.schema.manifest.yaml_reader import Problems, YamlValue

_U32 = 2**32 - 1
_ONE_NETWORK = "The containers of a pod share one network: give one of the two another port"
_ONLY_FOR: Mapping[str, tuple[Kind, str]] = {
    "result": ("job", "gantry cp fetches files; gantry logs shows the output"),
    "verification": ("job", "only the results of jobs can be compared"),
    "scaling": ("service", "only services have a number of pods that changes"),
    "ssh": ("rental", "gantry shell opens a terminal in any pod"),
    "data_from": ("rental", "only rentals keep their data"),
    "snapshot": ("rental", "only rentals have snapshots"),
}


@dataclass(frozen=True, slots=True)
class ParsedService:
    """A service with its section, for the places of its keys, and with everything that is mounted into it."""

    spec: ServiceSpec
    section: ServiceSection
    mounts: Sequence[Placed[Any]]

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def dependencies(self) -> Sequence[Placed[Dependency]]:
        return cast("Sequence[Placed[Dependency]]", self.section.depends_on)

    def place(self, *keys: str) -> YamlValue:
        """Return the place of a key of the service or of its `deploy`."""
        deploy = self.section.deploy
        if deploy is not None and any(key in deploy.written for key in keys):
            return deploy.place(*keys)
        return self.section.place(*keys)


def sections_of_kind(gantry: GantrySection, problems: Problems) -> tuple[Kind, GantrySection]:
    """Return the kind, and the section without the keys that belong to other kinds. Such keys are problems."""
    wrong = dict.fromkeys(_ONLY_FOR) if "kind" in gantry.written and gantry.kind is None else {}
    kind = gantry.kind or "job"
    for key, (only, reason) in _ONLY_FOR.items():
        accepted = key == "verification" and gantry.place(key).raw == "acceptance"
        if key in gantry.written and key not in wrong and kind != only and not accepted:
            problems.add(gantry.place(key), f"a {kind} has no {key}", f"Remove it; {reason}")
            wrong[key] = None
    return kind, gantry.model_copy(update=wrong)


def check_pod(
    services: Sequence[ParsedService], volumes: Sequence[str], secrets: Sequence[str], problems: Problems
) -> None:
    """Check the services of one pod together."""
    _check_dependencies(services, problems)
    _check_ports(services, problems)
    _check_sums(services, problems)
    for service in services:
        _check_mounts(service, volumes, secrets, problems)


def _check_dependencies(services: Sequence[ParsedService], problems: Problems) -> None:
    by_name = {service.name: service for service in services}
    for service in services:
        for dependency in service.dependencies:
            at, name, until = dependency.at, dependency.value.service, dependency.value.until
            target = by_name.get(name)
            if target is None:
                problems.add(at, f'there is no service "{name}"', f"Write {' or '.join(by_name)}")
            elif target is service:
                problems.add(at, "a service cannot wait for itself", "Remove it")
            elif until == "healthy" and target.spec.healthcheck is None:
                hint = "Give it a healthcheck; that of the image is not used"
                problems.add(at, f'"{name}" has no healthcheck to wait for', hint)
            elif until == "completed" and target is services[0]:
                hint = "Wait for service_started, or change the order of the services"
                problems.add(at, f'the pod ends with its first service, "{name}"', hint)
            elif until == "completed" and target.spec.restart.when == "always":
                hint = f"Give {name} restart: on-failure"
                problems.add(at, f'"{name}" is always restarted, so it never completes', hint)
    _check_cycles(services, problems)


def _check_cycles(services: Sequence[ParsedService], problems: Problems) -> None:
    names = [service.name for service in services]
    waits = {
        service.name: sorted({found.value.service for found in service.dependencies} & set(names) - {service.name})
        for service in services
    }
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as error:
        backwards: list[str] = error.args[1][1:]
        start = backwards.index(min(backwards, key=names.index))
        cycle = [*backwards[start::-1], *backwards[:start:-1]]
        first = services[names.index(cycle[0])]
        at = next(found.at for found in first.dependencies if found.value.service == cycle[1])
        message = f"services wait for each other: {' -> '.join([*cycle, cycle[0]])}"
        problems.add(at, message, "Remove one of these dependencies")


def _check_ports(services: Sequence[ParsedService], problems: Problems) -> None:
    taken: dict[int, str] = {}
    for service in services:
        ports = service.spec.ports
        if len(ports) > MAX_PORTS:
            hint = f"Keep it to {MAX_PORTS}; all can be forwarded"
            problems.add(service.place("ports", "expose"), f"{len(ports)} ports are too many", hint)
        for port in ports:
            other = taken.setdefault(port, service.name)
            if other != service.name:
                problems.add(service.place("ports", "expose"), f'port {port} is taken by "{other}"', _ONE_NETWORK)


def _check_sums(services: Sequence[ParsedService], problems: Problems) -> None:
    gpus = 0
    for service in services:
        gpus += service.spec.gpu_count
        if gpus > MAX_GPUS >= gpus - service.spec.gpu_count:
            problems.add(
                service.place("resources"), f"the pod asks for {gpus} GPUs", f"Ask for {MAX_GPUS} in all at most"
            )
    cpu_milli, memory_mib = (sum(getattr(s.spec, key) for s in services) for key in ("cpu_milli", "memory_mib"))
    if max(cpu_milli, memory_mib) > _U32:
        at = services[-1].place("resources")
        problems.add(at, "the pod's limits add up to more than any host has", "Ask for less")


def _check_mounts(service: ParsedService, volumes: Sequence[str], secrets: Sequence[str], problems: Problems) -> None:
    """Every name is declared, nothing is mounted over something else, and no file lies where a folder is."""
    for mount in service.mounts:
        if isinstance(mount.value, VolumeMount) and mount.value.volume not in volumes:
            name = mount.value.volume
            hint = f"Add volumes: {{{name}: }} at the top of the file"
            if NAME.fullmatch(name) is None:
                hint = HOST_PATH
            problems.add(mount.name_at, f'there is no volume "{name}"', hint)
        if isinstance(mount.value, DeliveredFile) and mount.value.digest is None and mount.value.name not in secrets:
            name = mount.value.name
            hint = f"Add secrets: {{{name}: {{external: true}}}} at the top"
            problems.add(mount.name_at, f'there is no secret "{name}"', hint)
    hint = "Choose another path for one of the two"
    mounts = sorted(service.mounts, key=lambda mount: mount.at.line)
    for number, mount in enumerate(mounts):
        path, is_file = mount.value.path, isinstance(mount.value, DeliveredFile)
        for other in mounts[:number]:
            taken, taken_by_file = other.value.path, isinstance(other.value, DeliveredFile)
            if path == taken:
                problems.add(mount.at, f"{path} is mounted twice", hint)
            elif (is_file and taken.startswith(f"{path}/")) or (taken_by_file and path.startswith(f"{taken}/")):
                problems.add(mount.at, f"{path} and {taken} cannot both be there", hint)


def pod_range(kind: Kind, gantry: GantrySection, problems: Problems) -> tuple[int, int]:
    """Return the least and the most pods."""
    at, pods, replicas = gantry.place("pods"), gantry.pods, gantry.replicas
    if isinstance(pods, PodsSection) and kind != "service":
        hint = "Write pods: 2, or remove it for one" if kind == "job" else "Remove it; a rental has one pod"
        problems.add(at, f"a {kind} has a fixed number of pods", hint)
        low = high = 1
    elif isinstance(pods, PodsSection):
        low, high = pods.min or 1, pods.max or pods.min or 1
        if low > high:
            problems.add(at, f"min {low} is more than max {high}", "Exchange them")
    else:
        low = high = pods or replicas or 1
    if kind == "rental" and high != 1:
        problems.add(at, "a rental has one pod", "Remove pods, and submit one task for each machine")
    if gantry.policy == "audit" and (low, high) != (1, 1):
        message = f"an audited job has one pod, and pods is {high}"
        problems.add(at, message, "Remove pods; the chain asks for another host if it draws an audit")
    if "pods" in gantry.written and replicas is not None and (low, high) != (replicas, replicas):
        message = f"pods and verification.replicas ({replicas}) differ"
        problems.add(at, message, "Remove pods; each replica is a pod")
    if gantry.scaling is not None and low == high:
        message = f"there is nothing to scale: the service always has {low} pods"
        hint = f"Write x-gantry.pods: {{min: 1, max: {max(high, 2)}}}"
        problems.add(gantry.place("scaling"), message, hint)
    return low, high


def gpu_count(services: Sequence[ParsedService]) -> int:
    """Return the number of GPUs of one pod."""
    return sum(service.spec.gpu_count for service in services)


def gpu_milli(gantry: GantrySection) -> int:
    """Return the share of each GPU, in thousandths."""
    return (gantry.gpu.share if gantry.gpu is not None else None) or WHOLE_GPU


def check_gpus(gantry: GantrySection, services: Sequence[ParsedService], pods: int, problems: Problems) -> None:
    """Check placement, share and scaling against the number of GPUs and pods."""
    count, place, gpu, scaling = gpu_count(services), gantry.placement, gantry.gpu, gantry.scaling
    hint = "Remove it, or ask for GPUs under deploy.resources.reservations.devices"
    for key in ("models", "min_vram", "verified_only"):
        if place is not None and key in place.written and not count:
            problems.add(place.place(key), f"{key} without a GPU", hint)
    for key in ("spread", "pack"):
        if place is not None and key in place.written and pods == 1:
            problems.add(place.place(key), f"{key} with one pod", "Remove it, or ask for more under x-gantry.pods")
    if gpu is not None and "share" in gpu.written and not count:
        hint = "Remove it, or ask for one GPU under deploy.resources.reservations.devices"
        problems.add(gpu.place("share"), "a share without a GPU", hint)
    elif gpu is not None and "share" in gpu.written and count > 1:
        hint = "Ask for one GPU in all services together, or remove gpu and take whole ones"
        problems.add(gpu.place("share"), f"a share is of one GPU, and the pod asks for {count}", hint)
    if scaling is not None and scaling.metric == "gpu" and not count:
        problems.add(scaling.place("metric"), "the service has no GPU to follow", "Write cpu or memory")
    elif scaling is not None and scaling.metric == "gpu" and gpu_milli(gantry) < WHOLE_GPU:
        hint = "Write cpu or memory, or a metric that each pod publishes (metric: {port, path, name, target_per_pod})"
        problems.add(scaling.place("metric"), "the use of a shared GPU by one pod is not known", hint)
    _check_amd(services, place.models if place is not None else (), problems)


def _check_amd(services: Sequence[ParsedService], models: Sequence[str], problems: Problems) -> None:
    """Check that a pod with AMD's devices names their models: hosts are found by model, not by maker."""
    drivers = [service.section.devices for service in services if service.section.devices is not None]
    named = [device for device in drivers if device.driver in ("amd", "amdgpu")]
    for device in named:
        if not models:
            hint = "Add x-gantry.placement.models: [MI300X]; gantry host list shows models"
            problems.add(device.place("driver"), "AMD devices are found by their model, and none is named", hint)
        elif len(named) < sum(1 for other in drivers if other.count):
            message = "the services of a pod ask for GPUs of different makers"
            problems.add(device.place("driver"), message, "Use one driver for all")


def check_kind(
    kind: Kind, gantry: GantrySection, services: Sequence[ParsedService], volumes: Sequence[str], problems: Problems
) -> None:
    """Check what the kind of the task cannot have."""
    if kind == "job" and services and (gantry.kind is not None or "kind" not in gantry.written):
        _check_first_service(services[0], problems)
    if kind == "rental" and gantry.survival != "restart":
        hint = "Remove it; its data lies on its host: gantry task snapshot keeps what is in it"
        problems.add(gantry.place("survival"), "the pod of a rental cannot continue on another host", hint)
    if kind == "rental" and gantry.checkpoint is not None:
        hint = "Remove it; snapshots and volumes are kept"
        problems.add(gantry.checkpoint.place(), "the data of a rental stays on its host", hint)
    if gantry.data_from is not None and not volumes and "snapshot" not in gantry.written:
        hint = "Declare under volumes: those of the earlier rental, with their names"
        problems.add(gantry.place("data_from"), "there is no volume to take data over into", hint)
    if kind == "rental" and "snapshot" in gantry.written and "data_from" not in gantry.written:
        hint = "Add data_from with the lease that has the snapshot: gantry task show prints its number"
        problems.add(gantry.place("snapshot"), "a snapshot is part of the data of an earlier rental", hint)


def _check_first_service(main: ParsedService, problems: Problems) -> None:
    """Check that a job's first service runs once; the other services may be restarted."""
    if main.spec.healthcheck is not None:
        hint = "Remove it; a job is done when its first service ends"
        problems.add(main.place("healthcheck"), "the first service of a job has no healthcheck", hint)
    if main.spec.restart.when != "no":
        hint = "Remove it; a job's first service runs once, and is placed anew when its host fails"
        at = main.section.place("restart") if "restart" in main.section.written else main.place("restart_policy")
        problems.add(at, "the first service of a job is not restarted", hint)


def check_paths(gantry: GantrySection, services: Sequence[ParsedService], problems: Problems) -> None:
    """Check that result, keys and checkpoint lie where the container can write and the host can read them."""
    result, main = gantry.result, services[0].spec
    if result is not None and result.path != "stdout":
        _check_result_file(result.place("path"), result.path, main, problems)
    if gantry.ssh is not None:
        _check_ssh(gantry.ssh, services, problems)
    if gantry.checkpoint is not None and gantry.checkpoint.path is not None:
        _check_checkpoint(gantry.checkpoint.place("path"), gantry.checkpoint.path, main, problems)


def _check_result_file(at: YamlValue, path: str, main: ServiceSpec, problems: Problems) -> None:
    """Check that the file lies on disk: it is fetched when the container has ended, and its memory is gone."""
    mounts = [(mount.path, False) for mount in main.volumes if not mount.read_only]
    mounts += [(mount.path, True) for mount in main.tmpfs]
    over = max(((folder, tmpfs) for folder, tmpfs in mounts if path.startswith(f"{folder.rstrip('/')}/")), default=None)
    if over is not None and over[1]:
        hint = "Write it to a volume, or to a path that is not mounted over"
        problems.add(at, f"{over[0]} is a tmpfs, which is gone when the result is fetched", hint)
    elif over is None and main.read_only:
        message = f"nothing can be written to {path}, because the container is read_only"
        problems.add(at, message, "Mount a volume there, or remove read_only")


def _check_ssh(ssh: SshSection, services: Sequence[ParsedService], problems: Problems) -> None:
    """Check that the keys can be written, and that the port is free."""
    for other in services[1:]:
        if ssh.port in other.spec.ports:
            problems.add(ssh.place("port"), f'port {ssh.port} is taken by "{other.name}"', _ONE_NETWORK)
    at, path = ssh.place("path"), ssh.path
    main = services[0]
    volumes = [mount.path for mount in main.spec.volumes if not mount.read_only]
    if main.spec.read_only and not any(path.startswith(f"{volume}/") for volume in volumes):
        hint = "Choose a path on a volume, or remove read_only"
        problems.add(at, f"the keys cannot be written to {path}, because the container is read_only", hint)
    for mount in main.mounts:
        taken, is_file = mount.value.path, isinstance(mount.value, DeliveredFile)
        if path == taken or (is_file and path.startswith(f"{taken}/")) or taken.startswith(f"{path}/"):
            problems.add(at, f"{path} is taken by a mount", "Choose another path for the keys")


def _check_checkpoint(at: YamlValue, path: str, main: ServiceSpec, problems: Problems) -> None:
    """Check that the folder can be written, lies on disk, and has no files that the tenant delivers."""
    for mount in main.tmpfs:
        if _overlaps(path, mount.path):
            hint = "Choose a path on a volume, or on the container's own disk"
            problems.add(at, f"{mount.path} is a tmpfs, which cannot be saved", hint)
    for file in main.files:
        if _overlaps(path, file.path):
            hint = "Choose a path apart from secrets and inputs: a checkpoint lies on other hosts, too"
            problems.add(at, f"{file.path} is a delivered file, which is not saved", hint)
    over = [mount for mount in main.volumes if path == mount.path or path.startswith(f"{mount.path}/")]
    nearest = max(over, key=lambda mount: len(mount.path), default=None)
    if main.read_only and nearest is not None and nearest.path == path:
        problems.add(at, f"{path} is the whole volume of a read_only container", f"Save a folder of it: {path}/state")
    elif main.read_only if nearest is None else nearest.read_only:
        hint = "Mount a volume there that may be written, or remove read_only"
        problems.add(at, f"nothing can be written to {path}", hint)


def _overlaps(path: str, other: str) -> bool:
    return path == other or path.startswith(f"{other}/") or other.startswith(f"{path}/")


def check_registry_login(
    gantry: GantrySection, services: Sequence[ParsedService], secrets: Sequence[str], problems: Problems
) -> None:
    """Check that the registry has an image of the task, and that no container has the secret."""
    login = gantry.registry_login
    if login is None:
        return
    known = dict.fromkeys(service.spec.image.registry for service in services if service.spec.image.name)
    if login.registry is not None and known and login.registry not in known:
        message = f'no image is at the registry "{login.registry}"'
        problems.add(login.place("registry"), message, f"Write {' or '.join(known)}")
    if login.secret is not None and login.secret not in secrets:
        hint = f"Add secrets: {{{login.secret}: {{external: true}}}} at the top"
        problems.add(login.place("secret"), f'there is no secret "{login.secret}"', hint)
        return
    for service in services:
        if any(file.name == login.secret for file in service.spec.files):
            hint = f"Remove it from the secrets of {service.name}; the host alone needs it"
            problems.add(service.place("secrets"), f'"{login.secret}" is the login at a registry', hint)
