"""Challenge of this machine's GPU in the container form, with times: `scripts/gpu-challenge --container`."""

import asyncio
import dataclasses
import json
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import docker

from node_agent.challenge.container import ContainerProgram, ContainerPrograms
from node_agent.challenge.container_options import memory_limit_mib
from node_agent.challenge.program_port import ProofComputationError, ProofProgram, backend_of, prepare_order
from node_agent.challenge.self_test import try_program
from node_agent.telemetry.hardware import HostDevice
from node_agent.telemetry.nvml import Nvml
from offchain.core.challenge.device_class import plausible_models, proven_class, tier_of
from offchain.core.challenge.verification import verify_commitment, verify_opening
from offchain.schema.challenge.order import (
    ChallengeCommitment,
    ChallengeWork,
    drawn_numbers,
    opening_seed,
    read_commitment,
    read_opening,
)
from offchain.schema.challenge.sizing import terms_of
from offchain.schema.protocol.fields import canonical_json
from tests.support.challenge_image import make_image
from tests.support.challenge_programs import INSIDE, archive

HOST = "5GpuChallengeContainerRun"
SEED = bytes(range(32))
PREPARE_S, COMPUTE_S, OPEN_S = 120.0, 300.0, 60.0
KILL_AFTER_S = 5.0
"""Seconds of computing after which the container is killed: in the middle of the products."""


class ContainerRun:
    """Steps on one engine; each adds its seconds."""

    def __init__(self, url: str, api: docker.APIClient, image: str, device: HostDevice, work: ChallengeWork) -> None:
        self._url, self._api, self._image, self._device, self._work = url, api, image, device, work
        self.programs = ContainerPrograms(url, HOST, image)
        self.seconds: dict[str, float] = {}
        self._prepare_order = prepare_order(work, backend_of(device))

    async def timed(self, name: str, action: Awaitable[Any]) -> Any:
        began = time.perf_counter()
        found = await action
        self.seconds[name] = round(time.perf_counter() - began, 3)
        return found

    async def inside(self) -> dict[str, Any]:
        """What a program sees in its container."""
        programs = ContainerPrograms(self._url, HOST, self._image, archive=archive(INSIDE))
        program = await programs.start(self._device, self._work)
        try:
            answer = await program.ask(self._prepare_order, PREPARE_S)
        finally:
            await program.close()
            await programs.close()
        return dict(json.loads(answer["device"]))

    async def proof(self) -> dict[str, Any]:
        """The whole challenge, from the start of the container to the verification."""
        program = await self.timed("start", self.programs.start(self._device, self._work))
        try:
            ready = await self.timed("prepare", program.ask(self._prepare_order, PREPARE_S))
            commitment, parts = await self.timed("compute", self._compute(program))
            digest = commitment.digest()
            seed = opening_seed(SEED, digest, b"randomness of later blocks")
            rows, chains = (list(drawn_numbers(seed, name, getattr(self._work, name))) for name in ("rows", "chains"))
            opened = await self.timed("open", program.ask({"type": "open", "rows": rows, "chains": chains}, OPEN_S))
            peak_mib = self._memory_peak_mib(program)
        finally:
            await self.timed("close", program.close())
        opening = canonical_json(opened["opening"])
        began = time.perf_counter()
        verdicts = (
            verify_commitment(commitment, SEED, self._work, digest, is_simulated=self._device.simulated),
            verify_opening(commitment, self._work, read_opening(opening), seed),
        )
        self.seconds["verify"] = round(time.perf_counter() - began, 3)
        proven = proven_class(self._work, round(1000 * self.seconds["compute"]), is_simulated=self._device.simulated)
        return {
            "right": all(one.is_right for one in verdicts),
            "verdicts": [str(one) for one in verdicts],
            "device": ready["device"],
            "probes": ready["probes"],
            "parts": parts,
            "measured": dataclasses.asdict(commitment.measured),
            "proven": dataclasses.asdict(proven),
            "tier": tier_of(commitment.measured),
            "models": [one.name for one in plausible_models(commitment.measured)],
            "opening_bytes": len(opening),
            "memory_peak_mib": peak_mib,
            "roots": [commitment.rows_root.hex(), commitment.chains_root.hex()],
        }

    async def killed(self, after_s: float) -> dict[str, Any]:
        """Kill the container while it computes, start another one, and compute the proof again."""
        program = await self.programs.start(self._device, self._work)
        await program.ask(self._prepare_order, PREPARE_S)
        computing = asyncio.create_task(self._compute(program))
        await asyncio.sleep(after_s)
        await asyncio.to_thread(self._api.kill, program.identity, "SIGKILL")
        try:
            await computing
            said = "it was not killed"
        except ProofComputationError as error:
            said = str(error)
        await program.close()
        program = await self.programs.start(self._device, self._work)
        try:
            await program.ask(self._prepare_order, PREPARE_S)
            commitment, _ = await self.timed("compute_again", self._compute(program))
        finally:
            await program.close()
        return {"said": said, "roots": [commitment.rows_root.hex(), commitment.chains_root.hex()]}

    async def _compute(self, program: ProofProgram) -> tuple[ChallengeCommitment, dict[str, float]]:
        answer = await program.ask({"type": "compute", "seed": SEED.hex()}, COMPUTE_S)
        return read_commitment(canonical_json(answer["commitment"])), dict(answer["seconds"])

    def _memory_peak_mib(self, program: ContainerProgram) -> int | None:
        """The most memory that the container used, by its control group; None if that is not visible here."""
        # Other containers end meanwhile, and their groups go; os.walk passes over them.
        for folder, _, names in os.walk("/sys/fs/cgroup"):
            for name in ("memory.peak", "memory.max_usage_in_bytes"):
                if program.identity in Path(folder).name and name in names:
                    return int(Path(folder, name).read_text()) >> 20
        return None


def gpu_of_this_machine() -> HostDevice:
    """The first GPU, as the agent finds it."""
    nvml = Nvml()
    try:
        return nvml.devices()[0].device
    finally:
        nvml.close()


async def run_in_container(
    url: str,
    image: str | None,
    device: HostDevice,
    note: Callable[[str], None],
    kill_after_s: float = KILL_AFTER_S,
) -> dict[str, Any]:
    """Run all steps; `right` tells whether each of them gave what it must. `image` None: made of this machine's files.

    `note` is called before each step; `kill_after_s`: see :data:`KILL_AFTER_S`.
    """
    api = docker.APIClient(base_url=url, version="auto", timeout=600)
    terms = terms_of(device.model, device.vram_mib, simulated=device.simulated)
    if terms is None:
        raise ValueError(f"the table of models does not have {device.model!r}")
    note("image")
    began = time.perf_counter()
    chosen = image or await asyncio.to_thread(make_image, api, backend_of(device), "gantry-test/challenge-run")
    image_s = round(time.perf_counter() - began, 3)
    run = ContainerRun(url, api, chosen, device, terms.work)
    try:
        await run.programs.check()
        note("self-test")
        trial = await run.timed("self_test", try_program(run.programs, device))
        note("inside")
        inside = await run.timed("inside", run.inside())
        note("proof")
        proof = await run.proof()
        note("kill")
        killed = await run.killed(kill_after_s)
    finally:
        await run.programs.clear()
        await run.programs.close()
    confined = (
        inside["interfaces"] == ["lo"]
        and inside["internet"] == inside["machine"] == "Network is unreachable"
        and inside["root"] == "Read-only file system"
        and inside["user"] == [65534, 65534]
        and set(inside["capabilities"]) == {"0" * 16}
        and len(inside["gpus"] or ()) == (0 if device.simulated else 1)
    )
    again = killed["roots"] == proof["roots"] and "exit status 137" in killed["said"]
    return {
        "right": proof["right"] and confined and again,
        "gpu": {"model": device.model, "uuid": device.uuid, "vram_mib": device.vram_mib},
        "engine": api.version()["Version"],
        "image": {"id": chosen, "mib": api.inspect_image(chosen)["Size"] >> 20, "made_s": image_s},
        "deadline_s": terms.deadline_ms / 1000,
        "memory_limit_mib": memory_limit_mib(device, terms.work),
        "seconds": run.seconds,
        "self_test": {"measured": dataclasses.asdict(trial.measured), "parts": trial.seconds},
        "confined": confined,
        "inside": inside,
        "proof": proof,
        "killed": {**killed, "same": killed["roots"] == proof["roots"]},
    }
