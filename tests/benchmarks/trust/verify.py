"""Verification of a challenge's proof on one core, with the matrices of production."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from main_job import BenchError, say
from table import Figure

from offchain.devnet.paths import ROOT

RUNS: Final = 7
_LIMIT_S: Final = 2.0
_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_PATIENCE_S: Final = 600


@functools.cache
def samples(runs: int = RUNS) -> Mapping[str, Sequence[float]]:
    """Return seconds by part: `verify` is the whole, `proof` the computation of one product by the same core."""
    say("computes a proof with n = 8192 on one core, which takes some 20 s")
    line = [sys.executable, str(ROOT / "tests" / "benchmarks" / "trust" / "verify_process.py"), str(runs)]
    env = os.environ | dict.fromkeys(_THREADS, "1") | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(line, env=env, cwd=ROOT, stdout=subprocess.PIPE, check=False, timeout=_PATIENCE_S)
    if done.returncode:
        raise BenchError(f"the verification ended with {done.returncode}; its messages are above")
    found: dict[str, list[float]] = json.loads(done.stdout)
    return {name: tuple(round(one, 3) for one in seconds) for name, seconds in found.items()}


def measure() -> list[Figure]:
    """Return the seconds of a verification and of its parts."""
    found = samples()
    figures = [Figure("trust-verify", "s", tuple(found["verify"]), _LIMIT_S)]
    parts = ("generate", "cast", "multiply", "chains", "proof")
    return figures + [Figure(f"trust-verify-{part}", "s", tuple(found[part])) for part in parts]
