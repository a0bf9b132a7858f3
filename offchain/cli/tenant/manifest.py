"""gantry manifest: reading of manifests, and what they ask for as JSON and as text."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import click

from offchain.cli.kit import options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.network import environment
from offchain.cli.kit.output import Screen, details, emit, progress, say
from offchain.core.pricing import deposit
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.task_spec import manifest_digest
from offchain.schema.manifest.types import (
    WHOLE_GPU,
    CheckpointSpec,
    GpuRequirements,
    Manifest,
    ManifestError,
    RegistryLogin,
    RestartPolicy,
    ResultSpec,
    ScalingSpec,
    ServiceSpec,
    SpotSpec,
    Survival,
)
from offchain.schema.manifest.values import format_amount
from offchain.schema.manifest.variables import resolve as put_in_variables
from offchain.schema.value_text import counted, duration_text

SURVIVALS: Final[Mapping[Survival, str | None]] = {
    "restart": None,
    "move": "its pods may be moved off a host that deteriorates",
    "standby": "its pods may be moved, and continue at a standby if their host fails",
}
"""What the survival policy allows."""
_LARGEST_FILE = 1 << 20
_DEMO_IMAGE: Final = "GANTRY_DEMO_IMAGE"
_OF_SHELL: Final = re.compile(r"(?<!\$)\$\{?(HOME|HOSTNAME|LOGNAME|PATH|PWD|SHELL|TMPDIR|USER)\b")
"""Variables that every shell has, so that a manifest that names them probably means those of the container."""


def held_at_most(manifest: Manifest) -> int:
    """Return the base units that all pods together can have deposited at the beginning."""
    return deposit(manifest.max_rate_per_hour, manifest.duration_ms) * manifest.pods


def plain_manifest(manifest: Manifest) -> dict[str, Any]:
    """Return the manifest for --json. Durations in ms, amounts in base units."""
    scaling, ssh, result = manifest.scaling, manifest.ssh, manifest.result
    return {
        "kind": manifest.kind,
        "image": manifest.main.image.reference,
        "pods": manifest.pods,
        "pods_min": manifest.pods_min,
        "cpu_milli": manifest.cpu_milli,
        "memory_mib": manifest.memory_mib,
        "disk_gib": manifest.disk_gib,
        "gpus": manifest.gpus.count,
        "gpu_milli": manifest.gpus.milli if manifest.gpus.count else 0,
        "services": [_plain_service(service) for service in manifest.services],
        "volumes": list(manifest.volumes),
        "deliveries": list(manifest.deliveries),
        "verification": manifest.verification,
        "result": {"source": result.source, "path": result.path, "seal_to": result.seal_to and result.seal_to.hex()}
        if manifest.kind == "job"
        else None,
        "scaling": scaling and asdict(scaling),
        "ssh": ssh and {"keys": len(ssh.authorized_keys), "path": ssh.path, "port": ssh.port},
        "data_from": manifest.data_from,
        "snapshot": manifest.snapshot,
        "spot": manifest.spot and asdict(manifest.spot),
        "survival": manifest.survival,
        "checkpoint": manifest.checkpoint and asdict(manifest.checkpoint),
        "registry_login": manifest.registry_login and asdict(manifest.registry_login),
        "confidential": manifest.confidential and manifest.confidential.plain(),
        "duration_ms": manifest.duration_ms,
        "max_rate_per_hour": manifest.max_rate_per_hour,
        "held_at_most": held_at_most(manifest),
    }


def _plain_service(service: ServiceSpec) -> dict[str, Any]:
    check = service.healthcheck
    return {
        "name": service.name,
        "image": service.image.reference,
        "cpu_milli": service.cpu_milli,
        "memory_mib": service.memory_mib,
        "pids": service.pids,
        "gpus": service.gpu_count,
        "ports": list(service.ports),
        "volumes": [asdict(mount) for mount in service.volumes],
        "files": [
            {"name": file.name, "path": file.path, "sha256": file.digest.hex() if file.digest is not None else None}
            for file in service.files
        ],
        "healthcheck": check and asdict(check),
        "restart": _restart_text(service.restart),
        "stop_signal": service.stop_signal,
        "stop_grace_ms": service.stop_grace_ms,
        "depends_on": {dependency.service: dependency.until for dependency in service.depends_on},
    }


def manifest_lines(manifest: Manifest) -> list[tuple[str, object]]:
    """Return the lines about the task as a whole."""
    scaling, ssh = manifest.scaling, manifest.ssh
    return [
        ("kind", manifest.kind),
        ("pods", _pods_text(manifest)),
        ("each pod", _resources_text(manifest)),
        ("volumes", ", ".join(manifest.volumes) or None),
        ("to deliver", ", ".join(manifest.deliveries) or None),
        (
            "scaling",
            scaling
            and f"{_target_text(scaling)} adds pods; they go after {duration_text(scaling.stabilisation_ms)} below it",
        ),
        ("verification", _verification_text(manifest)),
        ("result", _result_text(manifest.result) if manifest.kind == "job" else None),
        ("ssh", ssh and f"port {ssh.port}, {counted(len(ssh.authorized_keys), 'key')} in {ssh.path}"),
        ("data from", None if manifest.data_from is None else f"lease {manifest.data_from}"),
        ("starts from", None if manifest.snapshot is None else f"snapshot {manifest.snapshot}"),
        ("spot", manifest.spot and _spot_text(manifest.spot)),
        ("survival", SURVIVALS[manifest.survival]),
        ("checkpoint", manifest.checkpoint and _checkpoint_text(manifest.checkpoint)),
        ("registry login", manifest.registry_login and _login_text(manifest.registry_login)),
        ("confidential", manifest.confidential and manifest.confidential.text),
        ("duration", duration_text(manifest.duration_ms)),
        ("price limit", f"{format_amount(manifest.max_rate_per_hour)} an hour and pod"),
    ]


def _target_text(scaling: ScalingSpec) -> str:
    own = scaling.metric
    if isinstance(own, str):
        return f"{own} above {scaling.target_percent}%"
    return f"{own.name} (port {own.port}, {own.path}) above {own.target_milli / 1000:g} a pod"


def service_lines(service: ServiceSpec) -> list[tuple[str, object]]:
    """Return the lines about one service."""
    check = service.healthcheck
    mounts = [f"{mount.volume} at {mount.path}{' (read-only)' if mount.read_only else ''}" for mount in service.volumes]
    files = [f"{file.name} at {file.path}{'' if file.digest else ' (secret)'}" for file in service.files]
    waits = [f"{dependency.service} ({dependency.until})" for dependency in service.depends_on]
    signal = service.stop_signal or "the signal that the image names"
    return [
        ("  image", service.image.reference),
        ("  limits", f"{service.cpu_milli / 1000:g} cores, {service.memory_mib} MiB, {service.pids} processes"),
        ("  GPUs", service.gpu_count or None),
        ("  waits for", ", ".join(waits) or None),
        ("  volumes", ", ".join(mounts) or None),
        ("  files", ", ".join(files) or None),
        ("  ports", ", ".join(map(str, service.ports)) or None),
        (
            "  healthy if",
            check
            and f"{' '.join(check.test)} every {duration_text(check.interval_ms)}, {check.retries} failures allowed",
        ),
        ("  restart", _restart_text(service.restart)),
        ("  stop", f"{signal}, killed after {duration_text(service.stop_grace_ms)}"),
    ]


def next_steps(manifest: Manifest, task: int, account: str | None) -> Iterator[tuple[str, str]]:
    """Yield what can be done with the task now, and the command. `account`: the one named on the command line."""
    who = f" --account {account}" if account else ""
    for name in manifest.deliveries:
        yield f"deliver {name}", f"gantry deliver {task} {name} FILE{who}"
    if manifest.ssh is not None:
        yield "log in by ssh", f"gantry forward {task} {manifest.ssh.port}{who}"
    for service in manifest.services:
        for port in service.ports:
            if manifest.ssh is None or port != manifest.ssh.port:
                yield f"reach {service.name}", f"gantry forward {task} {port}{who}"
    yield "follow it", f"gantry logs {task} --follow{who}"
    if manifest.kind == "job":
        yield "wait for its result", f"gantry task wait {task} --accept{who}"
        yield "see its state and bill", f"gantry task show {task}"
        yield "stop it", f"gantry task cancel {task}{who}"
        return
    yield from _next_of_lasting(manifest, task, who)


def _next_of_lasting(manifest: Manifest, task: int, who: str) -> Iterator[tuple[str, str]]:
    """Yield the steps for services and rentals."""
    yield "open a terminal", f"gantry shell {task}{who}"
    yield "see its state and bill", f"gantry task show {task}"
    if manifest.kind == "service":
        yield from _service_steps(manifest, task, who)
    if manifest.kind == "rental":
        yield "save its state", f"gantry task snapshot {task}{who}"
        yield "stop the machine", f"gantry task suspend {task}{who}"
        yield "start it again", f"gantry task resume {task}{who}"
    yield "extend it", f"gantry task extend {task} 1h{who}"
    yield "end it", f"gantry task end {task}{who}"


def _service_steps(manifest: Manifest, task: int, who: str) -> Iterator[tuple[str, str]]:
    if manifest.pods > manifest.pods_min:
        yield "change its size", f"gantry task scale {task} {manifest.pods_min}{who}"
    if manifest.scaling is not None:
        yield "scale it with its load", f"gantry worker autoscaler{who}"
    if manifest.name is not None:
        yield "update it to a new version", f"gantry service update FILE{who}"


def deposit_text(manifest: Manifest) -> str:
    """Return what is held of the tenant's coins, and until when."""
    each = format_amount(deposit(manifest.max_rate_per_hour, manifest.duration_ms))
    pod = "each pod" if manifest.pods > 1 else "it"
    ends = {
        "job": "The unused part is refunded when it is settled.",
        "service": "It ends when that is used up; the unused part is refunded.",
        "rental": "It ends when that is used up; the unused part is refunded, and its volumes are kept for a while.",
    }[manifest.kind]
    again = ", and as much again while another host repeats the job" if manifest.verification == "audit" else ""
    return f"At most {each} are deposited for {pod}, enough for {duration_text(manifest.duration_ms)}{again}. {ends}"


def _spot_text(spot: SpotSpec) -> str:
    notice = (
        f"gets {spot.checkpoint_signal} as notice" if spot.checkpoint_signal else "gets no signal before the last one"
    )
    return f"may be preempted, and {notice}"


def _checkpoint_text(checkpoint: CheckpointSpec) -> str:
    return f"{checkpoint.path}, saved every {duration_text(checkpoint.every_ms)}"


def _login_text(login: RegistryLogin) -> str:
    return f"the secret {login.secret}, for images at {login.registry}"


def _pods_text(manifest: Manifest) -> str:
    if manifest.verification == "redundant":
        return f"{manifest.pods} replicas on hosts of different providers"
    if manifest.verification == "audit":
        return "1, and another one on a host of another provider if the chain draws an audit"
    return str(manifest.pods) if manifest.pods == manifest.pods_min else f"{manifest.pods_min} to {manifest.pods}"


def _resources_text(manifest: Manifest) -> str:
    gpus = manifest.gpus
    models = f" ({' or '.join(gpus.models)})" if gpus.models else ""
    vram = f" with {gpus.min_vram_mib} MiB at least" if gpus.min_vram_mib else ""
    text = f"{manifest.cpu_milli / 1000:g} cores, {manifest.memory_mib} MiB memory, {manifest.disk_gib} GiB disk"
    return text + (f", {_gpus_text(gpus)}{models}{vram}" if gpus.count else "")


def _gpus_text(gpus: GpuRequirements) -> str:
    return counted(gpus.count, "GPU") if gpus.milli == WHOLE_GPU else f"{gpus.milli / 10:g} % of a GPU"


def _verification_text(manifest: Manifest) -> str | None:
    if manifest.kind != "job":
        return None
    if manifest.verification == "redundant":
        return "the results of the replicas are compared; another one decides if they differ; wrong ones are not paid"
    if manifest.verification == "audit":
        return "the chain draws if another host repeats the job; if not, you accept the result, or the window passes"
    if manifest.verification == "deterministic":
        return "you accept the result, or the dispute window passes; in a dispute, jurors may execute the job again"
    return "you accept the result, or the dispute window passes"


def _result_text(result: ResultSpec) -> str:
    return (
        f"{result.path or 'what the first service writes to stdout'}{', sealed to your key' if result.seal_to else ''}"
    )


def _restart_text(policy: RestartPolicy) -> str:
    return policy.when if policy.attempts is None else f"{policy.when}:{policy.attempts}"


def load(file: str) -> tuple[bytes, Manifest]:
    """Return the bytes of a manifest as they go on the chain, with variables substituted, and the parsed manifest."""
    text = substituted(file)
    return text, parse_manifest(text, source=_source(file))


def _source(file: str) -> str:
    return "standard input" if file == "-" else os.path.relpath(file)


def substituted(file: str) -> bytes:
    """Return the bytes of a manifest as they go on the chain, with variables substituted."""
    try:
        data = sys.stdin.buffer.read(_LARGEST_FILE) if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise CliError(
            f"{file} cannot be read: {error.strerror}.", "Give the path of a manifest.", code="no_file"
        ) from None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return data
    found = environment()
    try:
        resolved = put_in_variables(text, found, source=_source(file))
    except ManifestError as error:
        raise _with_local_network(error, found) from None
    for number, line in enumerate(text.split("\n"), 1):
        for name in _OF_SHELL.findall(line.partition(" #")[0]):
            if name in found:
                progress(
                    f"note: {_source(file)}:{number}: ${name} is replaced by its value here, {found[name]}, which "
                    f"becomes public. Write $${name} for the variable in the container."
                )
    return resolved.encode()


def _with_local_network(error: ManifestError, found: Mapping[str, str]) -> ManifestError:
    """Return the error with the hint for a variable that only a running local network sets."""
    if _DEMO_IMAGE in found:
        return error
    problems = [
        replace(one, hint="scripts/up sets it while the local network runs; start that")
        if _DEMO_IMAGE in one.message
        else one
        for one in error.problems
    ]
    return ManifestError(error.source, problems)


@click.group()
def manifest() -> None:
    """Check a manifest, or print it as it is stored on the chain. Needs no network.

    \b
    Examples:
      gantry manifest check task.yaml
      gantry manifest resolve task.yaml > resolved.yaml
    """


@manifest.command()
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@options.as_json
def check(file: str, as_json: bool) -> None:
    """Report everything that is wrong with a manifest, or what it asks for.

    \b
    Example:
      gantry manifest check task.yaml
    """
    text, found = load(file)
    if as_json:
        emit({"digest": manifest_digest(text).hex(), "bytes": len(text)} | plain_manifest(found))
        return
    details([("digest", manifest_digest(text).hex()), ("bytes", len(text)), *manifest_lines(found)])
    for service in found.services:
        say()
        say(f"service {service.name}")
        details(service_lines(service))
    say()
    say(f"The manifest is valid. {deposit_text(found)}")


@manifest.command()
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
def resolve(file: str) -> None:
    """Print a manifest with its variables substituted: the bytes whose SHA-256 is on the chain.

    \b
    Example, for other clients of the chain:
      gantry manifest resolve task.yaml > resolved.yaml; sha256sum resolved.yaml
    """
    text, _ = load(file)
    screen = Screen()
    screen.show(text)
    screen.end()
