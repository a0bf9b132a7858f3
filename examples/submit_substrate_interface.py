#!/usr/bin/env python3
"""Submit examples/primes.yaml with substrate-interface, knowing only the chain's metadata; wait until it is settled.

    python3 -m venv /tmp/si
    /tmp/si/bin/pip install --require-hashes -r examples/requirements-substrate-interface.lock
    GANTRY_DEMO_IMAGE=$(scripts/demo-image) /tmp/si/bin/python examples/submit_substrate_interface.py [URL] [ACCOUNT]

substrate-interface needs an environment of its own: it and cyscale, which Gantry's tests use, both install a module
named scalecodec.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from substrateinterface import Keypair, SubstrateInterface
from substrateinterface.exceptions import SubstrateRequestException

FINAL = ("Settled", "Expired", "Cancelled", "Failed")
PATIENCE_S = 180
NONE: tuple[list[Any]] = ([],)
"""An empty bounded list. To this client a bounded list is a tuple of one item, the list inside."""


def fail(message: str, hint: str) -> NoReturn:
    """Say what happened and what to do."""
    sys.exit(f"error: {message}\n  {hint}")


def manifest() -> bytes:
    """The text with its variables put in: these bytes go on the chain, and their sha256 with them."""
    image = os.environ.get("GANTRY_DEMO_IMAGE")
    if not image:
        fail("GANTRY_DEMO_IMAGE is not set.", "Run: export GANTRY_DEMO_IMAGE=$(scripts/demo-image)")
    text = (Path(__file__).parent / "primes.yaml").read_text(encoding="utf-8")
    text = re.sub(r"\$\{GANTRY_DEMO_IMAGE:\?[^}]*\}", image, text)
    text = re.sub(r"\$\{LIMIT:-(\d+)\}", lambda match: os.environ.get("LIMIT", match[1]), text)
    return text.encode()


def task_spec(text: bytes) -> dict[str, Any]:
    """What the manifest says, in the chain's terms."""
    return {
        "kind": "Job",
        "manifest_digest": "0x" + hashlib.sha256(text).hexdigest(),
        "resources": {
            "cpu_milli": 1000,
            "memory_mib": 64,
            "disk_gib": 1,
            "gpus": {"count": 1, "milli": 1000, "min_vram_mib": 0, "models": NONE},
        },
        "pods_min": 1,
        "pods_max": 1,
        "max_rate_per_hour": 2_500_000_000_000,
        "unit": "Second",
        "max_duration_ms": 600_000,
        "deadline": None,
        "priority": 100,
        "queue": "default",
        "verification": "Acceptance",
        "placement": {
            "regions": NONE,
            "hosts": NONE,
            "providers_allowed": NONE,
            "providers_denied": NONE,
            "tiers": NONE,
            "verified_only": False,
            "allow_simulated": True,
            "min_network_mbps": 0,
            "max_latency_ms": 0,
            "capabilities": {
                "docker": True,
                "kvm": False,
                "kubernetes": False,
                "cdi": False,
                "mig": False,
                "shares": False,
                "sandboxed": False,
            },
            "layout": "Any",
            "min_terms": {"uptime_ppm": 0, "start_ms": 0, "notice_ms": 0, "penalty_ppm": 0},
        },
        "data_from": None,
        "spot": False,
        "survival": "Restart",
    }


def submit(chain: SubstrateInterface, account: str, text: bytes) -> int:
    """Send the task; gives its number, once the block is final."""
    call = chain.compose_call("Tasks", "submit", {"spec": task_spec(text), "manifest": "0x" + text.hex()})
    extrinsic = chain.create_signed_extrinsic(call, Keypair.create_from_uri(account), era={"period": 64})
    receipt = chain.submit_extrinsic(extrinsic, wait_for_finalization=True)
    if not receipt.is_success:
        error = receipt.error_message
        fail(f"the chain refused the task: {error['name']}. {' '.join(error['docs'])}", "Mend it and try again.")
    for record in receipt.triggered_events:
        event = record.value["event"]
        if (event["module_id"], event["event_id"]) == ("Tasks", "Submitted"):
            return int(event["attributes"]["first"])
    fail("the chain gave the task no number.", "Is this a Gantry chain?")


def name_of(state: Any) -> str:
    """An enum's variant, with or without payload."""
    return state if isinstance(state, str) else next(iter(state))


def follow(chain: SubstrateInterface, task: int) -> dict[str, Any]:
    """Print each state in finalized blocks until nothing can change any more; gives the task's record."""
    last = ""
    limit = time.monotonic() + PATIENCE_S
    key = "0x" + task.to_bytes(8, "big").hex()  # big-endian: neighbours stay neighbours in storage

    def look(header: Any, *_: Any) -> dict[str, Any] | None:
        nonlocal last
        number = header["header"]["number"]
        record = chain.query("Tasks", "Tasks", [key], block_hash=chain.get_block_hash(number)).value
        if record is not None and (state := name_of(record["state"])) != last:
            last = state
            print(f"state {state}", flush=True)
        if last in FINAL:
            return record
        if time.monotonic() > limit:
            fail(f"task {task} is still {last} after {PATIENCE_S} s.", "Look at the network's logs.")
        return None

    found: dict[str, Any] = chain.subscribe_block_headers(look, finalized_only=True)
    return found


def main() -> int:
    """Submit, follow, print."""
    url = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("GANTRY_URL", "ws://127.0.0.1:9944")
    account = sys.argv[2] if len(sys.argv) > 2 else "//Ferdie"
    text = manifest()
    try:
        chain = SubstrateInterface(url=url)
    except OSError as error:
        fail(f"no chain node answers at {url} ({error}).", "scripts/up starts a network.")
    try:
        task = submit(chain, account, text)
    except SubstrateRequestException as error:
        fail(f"the node did not take the task: {error}.", "Has the account coins for it?")
    print(f"task {task}", flush=True)
    record = follow(chain, task)
    for lease in record["leases"]:
        if lease["result"] is not None:
            print(f"result sha256 {lease['result']['digest'].removeprefix('0x')}")
        print(f"paid {lease['escrow']['paid']}")
    chain.close()
    return 0 if name_of(record["state"]) == "Settled" else 1


if __name__ == "__main__":
    sys.exit(main())
