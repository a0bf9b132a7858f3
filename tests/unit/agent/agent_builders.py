"""Leases, manifests and hosts for tests of the agent."""

import dataclasses
import hashlib

from node_agent.core.machine import handle
from node_agent.core.pod_steps import begin
from node_agent.core.states import AgentState, Phase, Pod
from node_agent.core.values import (
    ContainerSpec,
    Ending,
    EndKind,
    Handle,
    HostLease,
    LeaseStatus,
    LocalDevice,
    LocalHost,
    PodSpec,
    TaskKind,
    Usage,
)
from offchain.schema.manifest.types import ImageRef, ResultSpec, ServiceSpec

MANIFEST = b"""\
services:
  main:
    image: demo/shell@sha256:%s
    command: ["sh", "-c", "echo hello"]
    deploy:
      resources:
        limits: {cpus: "0.5", memory: 64M, pids: 32}
x-gantry:
  kind: job
  price: {max_per_hour: 1 GTY}
  duration: 10m
""" % (b"1" * 64)

HOST = LocalHost("5Host", (LocalDevice(None, "Simulated A100 80GB", 81920), LocalDevice("GPU-1", "Real", 1024)))
USAGE = Usage(wall_ms=1000, cpu_ms=10, memory_peak_mib=1)


def a_lease(number=1, *, manifest=MANIFEST, **changes) -> HostLease:
    lease = HostLease(
        number=number,
        task=number + 100,
        pod=0,
        attempt=0,
        kind=TaskKind.JOB,
        redundant=False,
        status=LeaseStatus.PENDING,
        devices=(),
        gpu_milli=1000,
        cpu_milli=500,
        memory_mib=64,
        disk_gib=1,
        manifest_digest=hashlib.sha256(manifest).digest(),
        max_duration_ms=600_000,
        created_at_ms=1_000,
        started=False,
        depletes_at_ms=None,
    )
    return dataclasses.replace(lease, **changes)


def a_handle(number=1, start=1, service="main") -> Handle:
    return Handle("fake", 2, number, service, start, f"container-{number}-{service}-{start}")


def an_ending(kind=EndKind.SELF, exit_code=0, mark="") -> Ending:
    return Ending(kind, exit_code, oom_killed=False, usage=USAGE, mark=mark)


def a_service(name="main", **changes) -> ServiceSpec:
    service = ServiceSpec(
        name=name,
        image=ImageRef("demo/shell", "sha256:" + "1" * 64),
        command=None,
        entrypoint=None,
        environment=(),
        cpu_milli=250,
        memory_mib=32,
        pids=32,
        working_dir=None,
        user=None,
        read_only=False,
        tmpfs=(),
    )
    return dataclasses.replace(service, **changes)


def a_pod(number=1, *services, lease=None, now_ms=5_000, **changes) -> Pod:
    """A pod whose manifest was read and whose files are here, about to be prepared."""
    spec = a_spec(number, *services, **changes)
    lease = lease or a_lease(number)
    pod = Pod(lease=lease, phase=Phase.ASSIGNED, stop_at_ms=lease.depletes_at_ms, started_known=lease.started)
    return begin(pod, spec, now_ms)[0]


def a_spec(number=1, *services, **changes) -> PodSpec:
    spec = PodSpec(
        lease=number,
        task=number + 100,
        pod=0,
        attempt=0,
        host=HOST.address,
        containers=tuple(ContainerSpec(service) for service in services or (a_service(),)),
        result=ResultSpec("stdout", None),
    )
    return dataclasses.replace(spec, **changes)


class Player:
    """Feeds events to an agent's state and keeps the last commands."""

    def __init__(self, now_ms=5_000):
        self.state = AgentState(HOST)
        self.now_ms = now_ms
        self.commands = []

    def __call__(self, *events):
        self.commands = []
        for event in events:
            self.state, more = handle(self.state, event, self.now_ms)
            self.commands += more
        return self.commands
