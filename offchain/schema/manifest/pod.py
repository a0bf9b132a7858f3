"""Rules about the services of one pod together: what they wait for, what they share, what they add up to."""

from __future__ import annotations

from collections.abc import Sequence

from offchain.schema.manifest.mounts import check_places
from offchain.schema.manifest.nodes import Field, Reader
from offchain.schema.manifest.resources import MAX_GPUS
from offchain.schema.manifest.service import Draft

MAX_SERVICES = 8
_U32 = 2**32 - 1


def check_pod(drafts: Sequence[Draft], reader: Reader) -> None:
    """Note every problem that only shows when all services are known."""
    for extra in drafts[MAX_SERVICES : MAX_SERVICES + 1]:
        remedy = f"Keep it to {MAX_SERVICES}, or submit some as a task of their own"
        reader.problem(extra.field, f"{len(drafts)} services are too many", remedy)
    _check_dependencies(drafts, reader)
    _check_ports(drafts, reader)
    _check_sums(drafts, reader)
    for draft in drafts:
        check_places(draft.mounts, reader)


def _check_dependencies(drafts: Sequence[Draft], reader: Reader) -> None:
    by_name = {draft.spec.name: draft for draft in drafts}
    for draft in drafts:
        for at, dependency in draft.dependencies:
            target = by_name.get(dependency.service)
            if target is None:
                reader.problem(at, f'there is no service "{dependency.service}"', f"Write {_names(by_name)}")
            elif target is draft:
                reader.problem(at, "a service cannot wait for itself", "Remove it")
            elif dependency.until == "healthy" and target.spec.healthcheck is None:
                remedy = "Give it a healthcheck; that of the image is not used"
                reader.problem(at, f'"{dependency.service}" has no healthcheck to wait for', remedy)
            elif dependency.until == "completed" and target is drafts[0]:
                remedy = "Wait for service_started, or change the order of the services"
                reader.problem(at, f'the pod ends with its first service, "{dependency.service}"', remedy)
            elif dependency.until == "completed" and target.spec.restart.when == "always":
                remedy = f"Give {dependency.service} restart: on-failure"
                reader.problem(at, f'"{dependency.service}" is always started again, so it never completes', remedy)
    _check_cycles(drafts, reader)


def _check_cycles(drafts: Sequence[Draft], reader: Reader) -> None:
    """Take away services that wait for nobody left; what stays waits in a circle."""
    names = {draft.spec.name for draft in drafts}
    waits = {
        draft.spec.name: {d.service for _, d in draft.dependencies} & names - {draft.spec.name} for draft in drafts
    }
    while free := {name for name, others in waits.items() if not others}:
        waits = {name: others - free for name, others in waits.items() if name not in free}
    # Of those left, some only wait for the circle. Following each one's wait from any of them ends within it.
    if not waits:
        return
    path = [next(iter(waits))]
    while path[-1] not in path[:-1]:
        path.append(min(waits[path[-1]]))
    circle = path[path.index(path[-1]) :]
    draft = next(draft for draft in drafts if draft.spec.name == circle[0])
    at = next(at for at, dependency in draft.dependencies if dependency.service == circle[1])
    reader.problem(at, f"services wait for each other: {' -> '.join(circle)}", "Remove one of these dependencies")


def _check_ports(drafts: Sequence[Draft], reader: Reader) -> None:
    taken: dict[int, str] = {}
    for draft in drafts:
        for port in draft.spec.ports:
            other = taken.setdefault(port, draft.spec.name)
            if other != draft.spec.name:
                remedy = "The containers of a pod share one network: give one of the two another port"
                at = draft.at("ports" if "ports" in draft.entries else "expose")
                reader.problem(at, f'port {port} is taken by "{other}"', remedy)


def _check_sums(drafts: Sequence[Draft], reader: Reader) -> None:
    gpus, cpu_milli, memory_mib = 0, 0, 0
    for draft in drafts:
        gpus += draft.spec.gpu_count
        cpu_milli += draft.spec.cpu_milli
        memory_mib += draft.spec.memory_mib
        if gpus > MAX_GPUS >= gpus - draft.spec.gpu_count:
            reader.problem(draft.at("resources"), f"the pod asks for {gpus} GPUs", f"Ask for {MAX_GPUS} in all at most")
    if drafts and max(cpu_milli, memory_mib) > _U32:
        reader.problem(drafts[-1].at("resources"), "the pod's limits add up to more than any host has", "Ask for less")


def check_amd(drafts: Sequence[Draft], models: Field | None, reader: Reader) -> None:
    """Hosts are chosen by model, not by maker: who asks for AMD's devices names their models."""
    named = [draft for draft in drafts if draft.needs.amd is not None]
    for draft in named:
        at = draft.needs.amd or draft.field
        if models is None:
            remedy = "Add x-gantry.placement.models: [MI300X]; gantry host list shows models"
            reader.problem(at, "AMD devices are found by their model, and none is named", remedy)
        elif len(named) < sum(1 for other in drafts if other.spec.gpu_count):
            reader.problem(at, "the services of a pod ask for GPUs of different makers", "Use one driver for all")


def _names(by_name: dict[str, Draft]) -> str:
    return " or ".join(by_name)
