"""Leases, manifests and hosts for tests of the agent."""

import dataclasses
import hashlib

from node_agent.core.values import Ending, EndKind, Handle, Host, Lease, LocalDevice, Usage

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

HOST = Host("5Host", (LocalDevice(None, "Simulated A100 80GB", 81920), LocalDevice("GPU-1", "Real", 1024)))
USAGE = Usage(wall_ms=1000, cpu_ms=10, memory_peak_mib=1)


def a_lease(number=1, *, manifest=MANIFEST, **changes) -> Lease:
    lease = Lease(
        number=number,
        task=number + 100,
        pod=0,
        attempt=0,
        plain_job=True,
        devices=(),
        cpu_milli=500,
        memory_mib=64,
        manifest_digest=hashlib.sha256(manifest).digest(),
        max_duration_ms=600_000,
        created_at_ms=1_000,
        started=False,
        depletes_at_ms=None,
    )
    return dataclasses.replace(lease, **changes)


def a_handle(number=1, start=1) -> Handle:
    return Handle("fake", 1, number, start, f"container-{number}-{start}")


def an_ending(kind=EndKind.SELF, exit_code=0) -> Ending:
    return Ending(kind, exit_code, oom_killed=False, usage=USAGE)
