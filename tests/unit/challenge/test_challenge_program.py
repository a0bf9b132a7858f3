"""The program that computes proofs, as an agent runs it, and the code for GPUs on the processor."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from node_agent.challenge.bundle import PROGRAM, bundle
from node_agent.challenge.cupy_device import open_cupy_device
from node_agent.challenge.devices import SimulatedDevice
from node_agent.challenge.program import ChallengeProgram, ChallengeProgramError
from offchain.core.challenge.verification import verify_commitment, verify_opening
from offchain.schema.challenge.order import (
    MAX_LINE,
    ChallengeWork,
    drawn_numbers,
    opening_seed,
    read_commitment,
    read_opening,
)
from offchain.schema.protocol.fields import WireError, canonical_json
from tests.support.challenge_samples import SEED, WORK, no_limit
from tests.support.host_cupy import installed


def line(**fields: Any) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def prepare(work: ChallengeWork = WORK, **changed: Any) -> bytes:
    order = {"work": dataclasses.asdict(work), "backend": "numpy", "device": 0, "time_limit_s": 60, "folder": ""}
    return line(type="prepare", **(order | changed))


def test_the_bundle_runs_without_the_packages_of_this_project(tmp_path: Path) -> None:
    file = tmp_path / PROGRAM
    file.write_bytes(bundle())
    assert bundle() == file.read_bytes()
    rows, chains = ([*range(20)] for _ in "ab")
    orders = [
        prepare(folder=str(tmp_path)),
        line(type="compute", seed=SEED.hex()),
        line(type="open", rows=rows, chains=chains),
    ]
    # No module of this clone is on the path, and the environment's own packages are.
    done = subprocess.run(
        [sys.executable, str(file)], input=b"".join(orders), capture_output=True, cwd=tmp_path, env={}, check=True
    )
    ready, committed, opened = (json.loads(one) for one in done.stdout.splitlines())
    assert ready["is_simulated"] is True
    assert ready["probes"].keys() >= {"sha256_mbs", "memory_copy_mbs", "disk_write_mbs"}
    assert committed["commitment"]["measured"]["is_simulated"] is True
    assert [one["number"] for one in opened["opening"]["rows"]] == rows


def test_a_proof_of_the_program_is_right() -> None:
    program = ChallengeProgram()
    program.answer(prepare())
    committed = program.answer(line(type="compute", seed=SEED.hex()))
    commitment = read_commitment(canonical_json(committed["commitment"]))
    digest = bytes.fromhex(committed["digest"])
    seed = opening_seed(SEED, digest, b"later")
    rows, chains = (drawn_numbers(seed, name, getattr(WORK, name)) for name in ("rows", "chains"))
    opening = read_opening(canonical_json(program.answer(line(type="open", rows=rows, chains=chains))["opening"]))
    assert verify_commitment(commitment, SEED, WORK, digest, is_simulated=True).is_right
    assert verify_opening(commitment, WORK, opening, seed).is_right


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (b"", "not JSON"),
        (b"[]", "not a JSON object"),
        (line(type="stop"), "type must be prepare, compute or open"),
        (line(type="compute", seed="00"), "seed must be"),
        (line(type="compute", seed=SEED.hex(), more=1), "unknown field 'more'"),
        (line(type="open", rows=[1], chains=[1]), "rows must be a list of 20 numbers"),
        (line(type="open", rows=[True] * 20, chains=[1] * 20), "rows must be a whole number"),
        (b'{"type":"prepare"}', "work must be an object"),
        (prepare(device=-1), "device must be"),
        (prepare(time_limit_s=0), "time_limit_s must be"),
        (b" " * (MAX_LINE + 1), "longer than"),
    ],
)
def test_a_malformed_order_is_refused(order: bytes, message: str) -> None:
    with pytest.raises(WireError, match=message):
        ChallengeProgram().answer(order)


def test_orders_in_the_wrong_sequence_are_refused() -> None:
    program = ChallengeProgram()
    with pytest.raises(ChallengeProgramError, match="compute came before prepare"):
        program.answer(line(type="compute", seed=SEED.hex()))
    with pytest.raises(ChallengeProgramError, match="open came before compute"):
        program.answer(line(type="open", rows=[*range(20)], chains=[*range(20)]))
    with pytest.raises(ChallengeProgramError, match="backend must be 'numpy' or 'cupy', not 'torch'"):
        program.answer(prepare(backend="torch"))
    program.answer(prepare())
    program.answer(line(type="compute", seed=SEED.hex()))
    with pytest.raises(ChallengeProgramError, match="rows has the number 2048, and there are 2048"):
        program.answer(line(type="open", rows=[*range(2029, 2049)], chains=[*range(20)]))


def test_the_program_gives_up_at_its_time_limit() -> None:
    times = iter(range(0, 1000, 7))
    program = ChallengeProgram(clock=lambda: next(times))
    program.answer(prepare(time_limit_s=30))
    with pytest.raises(ChallengeProgramError, match="longer than 30 s"):
        program.answer(line(type="compute", seed=SEED.hex()))


@pytest.mark.parametrize(
    "work",
    [
        ChallengeWork(64, 3, 1000, 256, 4, 300, 8),
        ChallengeWork(192, 2, 262, 512, 6, 200, 16),
        ChallengeWork(64, 1, 2, 4096, 1, 100, 4),
    ],
)
def test_the_code_for_gpus_computes_the_same(work: ChallengeWork) -> None:
    simulated = SimulatedDevice()
    with installed():
        device = open_cupy_device(0)
        device.prepare(work)
        rows = device.row_fingerprints(SEED, work, no_limit)
        chains, _ = device.chain_ends(SEED, work, no_limit)
        assert device.probes().keys() >= {"copy_gbs", "host_to_device_gbs", "device_to_host_gbs"}
    assert device.name == "NVIDIA H200"
    assert not device.is_simulated
    assert np.array_equal(rows, simulated.row_fingerprints(SEED, work, no_limit))
    assert np.array_equal(chains, simulated.chain_ends(SEED, work, no_limit)[0])
