"""The people on a chain that starts from the previous release, and what they do there."""

import json
from collections.abc import Sequence
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import from_uri
from offchain.devnet.paths import ROOT
from offchain.ports import Call
from tests.support.chain_records import ANY_RATE
from tests.support.real_chain import GTY, Chain

PREVIOUS = ROOT / "chain" / "release" / "previous"
MANIFEST = b"services: {}"

SUDO = from_uri("//Alice")
PROVIDER = from_uri("//Bob")
TENANT = from_uri("//Charlie")
SCHEDULER = from_uri("//Dave")
ANYONE = from_uri("//Ferdie")
ONLOOKERS = [from_uri(f"//{name}") for name in ("Eve", "Alice//stash", "Bob//stash", "Charlie//stash", "Dave//stash")]
HOST = from_uri("//Host", "ed25519")


def previous_runtime() -> Path:
    """The runtime of the release before this one, checked against its manifest."""
    newest = max(json.loads((PREVIOUS / "MANIFEST.json").read_text())["releases"], key=lambda one: one["spec_version"])
    path: Path = PREVIOUS / newest["file"]
    assert sha256(path.read_bytes()).hexdigest() == newest["sha256"], f"{path} was altered"
    return path


CAPABILITIES = dict.fromkeys(("docker", "kvm", "kubernetes", "cdi", "mig", "shares"), False)
"""The capabilities that release 3 knows."""


def hardware() -> dict[str, Any]:
    gpu = {"vendor": "Nvidia", "model": b"SIM-1", "vram_mib": 24_576, "simulated": True}
    return {
        "tier": "Consumer",
        "capabilities": {**CAPABILITIES, "docker": True},
        "cpu_milli": 64_000,
        "memory_mib": 65_536,
        "disk_gib": 1_000,
        "network_mbps_down": 1_000,
        "network_mbps_up": 1_000,
        "devices": [gpu, gpu],
    }


def ask() -> dict[str, Any]:
    return {
        "gpu": [],
        "gpu_per_hour": 3_600 * GTY,
        "cpu_core_per_hour": 36 * GTY,
        "memory_gib_per_hour": 0,
        "disk_gib_per_hour": 0,
        "network_gib": 0,
        "storage_gib_per_hour": 0,
        "second_ppm": 1_000_000,
        "hour_ppm": 1_000_000,
        "day_ppm": 1_000_000,
    }


def register(chain: Chain, genesis: bytes) -> Call:
    """The registration of HOST by PROVIDER as release 3 expects it to be signed."""
    runtime = chain.runtime()
    (function,) = [v for v in runtime.metadata.variants(runtime.pallet("Hosts").calls) if v.name == "register"]
    args = {"hardware": hardware(), "endpoint": b"here", "region": b"eu", "ask": ask()}
    encoded = b"".join(runtime.encode(f.type, args[f.name], f.name) for f in function.fields if f.name in args)
    message = b"gantry/register/v2" + genesis + ss58.decode(PROVIDER.address) + encoded
    signature = HOST.sign(blake2b(message, digest_size=32).digest())
    return Call("Hosts", "register", {"host": HOST.address, **args, "host_signature": signature})


HEARTBEAT = Call("Hosts", "heartbeat", {})
"""A host that is silent for longer than the absence limit is not paid for the silence."""


def submit(*, pods: int = 1, gpus: int = 0) -> Call:
    """A job as release 3 encodes it: `pods` pods of one core each."""
    spec = {
        "kind": "Job",
        "manifest_digest": sha256(MANIFEST).digest(),
        "resources": {
            "cpu_milli": 1_000,
            "memory_mib": 512,
            "disk_gib": 1,
            "gpus": {"count": gpus, "milli": 1_000, "min_vram_mib": 0, "models": []},
        },
        "pods_min": pods,
        "pods_max": pods,
        "max_rate_per_hour": 4_000 * GTY,
        "unit": "Second",
        "max_duration_ms": 3_600_000,
        "deadline": None,
        "priority": 3,
        "queue": b"default",
        "verification": "Acceptance",
        "placement": {
            "regions": [b"eu"],
            "hosts": [],
            "providers_allowed": [],
            "providers_denied": [],
            "tiers": [],
            "verified_only": False,
            "allow_simulated": True,
            "min_network_mbps": 0,
            "max_latency_ms": 0,
            "capabilities": CAPABILITIES,
            "layout": "Any",
        },
        "data_from": None,
        "spot": False,
        "survival": "Restart",
    }
    return Call("Tasks", "submit", {"spec": spec, "manifest": MANIFEST})


RATE_SEEN = {"rate_per_hour": ANY_RATE}
"""What a placement says in release 4 beyond release 3: the rate that the scheduler saw, here any."""


def assign(task: int, devices: Sequence[bytes] = (b"",), **placement: int) -> Call:
    """An assignment to HOST; `placement`: fields of each placement that release 3 does not have."""
    pods = [{"pod": pod, "host": HOST.address, "devices": chosen, **placement} for pod, chosen in enumerate(devices)]
    return Call("Tasks", "assign", {"task": task, "pods": pods})


def started(lease: int) -> Call:
    return Call("Tasks", "report_started", {"lease": lease})


def result(lease: int, wall_ms: int) -> Call:
    usage = {"wall_ms": wall_ms, "cpu_ms": wall_ms, "memory_peak_mib": 1}
    value = {"digest": bytes([9] * 32), "exit_code": 0, "usage": usage}
    return Call("Tasks", "report_result", {"lease": lease, "result": value})


def failed(lease: int) -> Call:
    return Call("Tasks", "report_failed", {"lease": lease, "reason": "DriverError"})


def on_task(function: str, task: int) -> Call:
    """accept_result, settle, cancel."""
    return Call("Tasks", function, {"task": task})
