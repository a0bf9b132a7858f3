"""A network with the production preset on one machine: it takes no simulated GPU, and admits a host by a challenge.

The second test starts it with the flag that lets the chain take simulated GPUs. Everything else is the preset's.
"""

import json
import subprocess
from pathlib import Path
from typing import Final

from offchain.devnet.paths import ROOT

LIMIT_S: Final = 400
"""A limit for something broken; alone it takes a minute and a half."""


def demo(*options: str) -> subprocess.CompletedProcess[str]:
    line = [str(ROOT / "scripts" / "demo-admission"), *options]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=LIMIT_S)


def test_the_production_preset_refuses_a_simulated_gpu(tmp_path: Path) -> None:
    made = demo("--folder", str(tmp_path / "demo"))
    assert made.returncode == 1, made.stderr
    assert "Hosts.SimulatedDevicesRefused" in made.stderr
    assert made.stdout == ""


def test_a_host_is_admitted_by_a_challenge_alone_and_runs_a_task(tmp_path: Path) -> None:
    """It takes no lease before; a committee of five is drawn from 21 bonded verifiers and verifies its proof."""
    made = demo("--allow-simulated", "--json", "--folder", str(tmp_path / "demo"))
    assert made.returncode == 0, made.stderr[-8_000:]
    found = json.loads(made.stdout.splitlines()[-1])
    assert (found["preset"], found["verifiers"], found["committee_size"]) == ("production", 21, 5)
    assert found["status_before"] == "Unverified"
    assert "HostNotOnline" in found["refusal_before"]
    challenge = found["challenge"]
    assert challenge["outcome"] == "Passed"
    assert len(set(challenge["committee"])) == 5
    assert set(challenge["votes"]) == {"Yes"}
    assert len(challenge["votes"]) >= 3, "more than half of the seats"
    assert found["status_after"] in ("Verified", "Online")
    task = found["task"]
    assert (task["state"], task["ran_on_host"], task["result"]) == ("Settled", True, "primes below 10: 4\n")
    assert task["paid"] > 0
