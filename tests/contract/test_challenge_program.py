"""The port of the challenge program, in both of its forms: a child process, and a container of a real engine."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import driver_cases as case
import pytest

from node_agent.challenge.bundle import bundle
from node_agent.challenge.child_process import ChildProgram, ChildPrograms
from node_agent.challenge.container import ContainerProgram, ContainerPrograms
from node_agent.challenge.container_options import PIDS, SIMULATED_BASE_MIB, memory_limit_mib
from node_agent.challenge.program_port import (
    MOST_LINE,
    ProgramSource,
    ProofComputationError,
    ProofProgram,
    prepare_order,
)
from node_agent.challenge.self_test import try_program
from node_agent.drivers.docker.clear import clear_engine
from node_agent.telemetry.hardware import HostDevice
from offchain.core.challenge.verification import verify_commitment, verify_opening
from offchain.devnet.paths import ROOT
from offchain.schema.challenge.order import (
    ChallengeWork,
    drawn_numbers,
    opening_seed,
    read_commitment,
    read_opening,
)
from offchain.schema.protocol.fields import canonical_json
from tests.support.challenge_container_run import run_in_container
from tests.support.challenge_image import numpy_image
from tests.support.challenge_programs import INSIDE, archive
from tests.support.challenge_samples import SEED, WORK

DEVICE = HostDevice("Nvidia", "SIM-1", 24_576, None)
LONG_WORK = ChallengeWork(512, 4096, 64, 256, 1, 20, 1)
"""Hours of one processor: it is always ended while it computes."""
PATIENCE_S = 60.0
NOWHERE = "sha256:" + "0" * 64
Make = Callable[..., ProgramSource]


@pytest.fixture(scope="session")
def challenge_image(docker_api: docker.APIClient) -> Iterator[str]:
    with numpy_image(docker_api) as image:
        yield image


@pytest.fixture
async def in_container(challenge_image: str) -> AsyncIterator[Callable[..., ContainerPrograms]]:
    """Makes sources of containers; what they ran is gone afterwards."""
    made = []

    def make(archive: Callable[[], bytes] = bundle, image: str = challenge_image) -> ContainerPrograms:
        url = os.environ["GANTRY_DOCKER_HOST"]
        made.append(ContainerPrograms(url, case.HOST, image, archive=archive))
        return made[-1]

    yield make
    for one in made:
        await one.clear()
        await one.close()


@pytest.fixture(params=["child", pytest.param("container", marks=pytest.mark.docker)])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Makes sources of one form."""
    if request.param == "container":
        return request.getfixturevalue("in_container")
    return lambda archive=bundle: ChildPrograms(tmp_path, archive)


@contextlib.asynccontextmanager
async def started(source: ProgramSource, work: ChallengeWork = WORK) -> AsyncIterator[ProofProgram]:
    program = await source.start(DEVICE, work)
    try:
        yield program
    finally:
        await program.close()


async def ask(program: ProofProgram, kind: str, **fields: Any) -> dict[str, Any]:
    order = prepare_order(WORK, "numpy") if kind == "prepare" else {}
    return await program.ask({**order, "type": kind, **fields}, PATIENCE_S)


async def test_a_proof_is_computed_and_right(make: Make) -> None:
    source = make()
    await source.check()
    async with started(source) as program:
        assert (await ask(program, "prepare"))["device"] == "simulated"
        committed = await ask(program, "compute", seed=SEED.hex())
        commitment = read_commitment(canonical_json(committed["commitment"]))
        seed = opening_seed(SEED, commitment.digest(), b"later")
        rows, chains = (drawn_numbers(seed, name, getattr(WORK, name)) for name in ("rows", "chains"))
        opened = await ask(program, "open", rows=rows, chains=chains)
        assert verify_commitment(commitment, SEED, WORK, commitment.digest(), is_simulated=True).is_right
        assert verify_opening(commitment, WORK, read_opening(canonical_json(opened["opening"])), seed).is_right
        assert program.is_running
    assert not program.is_running


async def test_the_program_is_tried_before_a_host_joins(make: Make) -> None:
    result = await try_program(make(), DEVICE)
    assert result.device == "simulated"
    assert result.measured.is_simulated
    assert result.measured.gemm_gflops >= 0


async def test_an_order_that_fails_ends_nothing(make: Make) -> None:
    async with started(make()) as program:
        with pytest.raises(ProofComputationError, match="compute: the order compute came before prepare"):
            await ask(program, "compute", seed=SEED.hex())
        with pytest.raises(ProofComputationError, match="cupy is not installed here") as error:
            await ask(program, "prepare", backend="cupy")
        assert "--target challenge" in error.value.remedy
        assert (await ask(program, "prepare"))["type"] == "ready"


READ = "for line in sys.stdin.buffer:\n    "
BROKEN = {
    "no JSON": (READ + "print('hello', flush=True)", "answer is not JSON: b'hello'"),
    "no object": (READ + "print('[1]', flush=True)", "answer is not 'ready'"),
    "an empty line": (READ + "print(flush=True)", "answer is not JSON"),
    "deep": (READ + "print('[' * 500000, flush=True)", "answer is not JSON"),
    "a field is missing": (READ + "answer('ready')", "answer is not 'ready' with device, probes"),
    "another type": (READ + "answer('opened', opening={})", "answer is not 'ready'"),
    "two lines": (READ + "print('{}\\n{}', flush=True)", "more than one line"),
    "a long line": (READ + f"print('x' * {MOST_LINE + 1_000_000}, flush=True)", f"longer than {MOST_LINE} bytes"),
    "output without an end": ("while True: sys.stdout.write('x' * 65536)", f"longer than {MOST_LINE} bytes"),
    "nothing": (READ + "sys.exit(3)", "ended at the order prepare: exit status 3"),
    "not asked": ("sys.exit(4)", "ended at the order prepare: exit status 4"),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_program_that_answers_with_something_else_is_ended(make: Make, name: str) -> None:
    body, message = BROKEN[name]
    async with started(make(archive(body))) as program:
        with pytest.raises(ProofComputationError, match=message):
            await ask(program, "prepare")
        assert not program.is_running


async def test_a_program_that_is_late_is_ended(make: Make) -> None:
    async with started(make(archive(READ + "pass"))) as program:
        with pytest.raises(ProofComputationError, match=r"no answer to prepare within 0\.5 s"):
            await program.ask(prepare_order(WORK, "numpy"), 0.5)
        assert not program.is_running


async def test_a_program_that_is_killed_while_it_computes_is_started_again(
    make: Make, request: pytest.FixtureRequest
) -> None:
    source = make()
    async with started(source, LONG_WORK) as program:
        await ask(program, "prepare", work=prepare_order(LONG_WORK, "numpy")["work"])
        computing = asyncio.create_task(ask(program, "compute", seed=SEED.hex()))
        await asyncio.sleep(0)  # the order is on its way
        if isinstance(program, ChildProgram):
            os.kill(program.process.pid, signal.SIGKILL)
        else:
            assert isinstance(program, ContainerProgram)
            await asyncio.to_thread(request.getfixturevalue("docker_api").kill, program.identity, "SIGKILL")
        with pytest.raises(ProofComputationError, match=r"ended at the order compute: (signal 9|exit status 137)"):
            await computing
        assert not program.is_running
    assert (await try_program(source, DEVICE)).measured.is_simulated


async def test_a_cancelled_order_leaves_a_program_that_can_be_ended(make: Make) -> None:
    async with started(make(), LONG_WORK) as program:
        await ask(program, "prepare", work=prepare_order(LONG_WORK, "numpy")["work"])
        computing = asyncio.create_task(ask(program, "compute", seed=SEED.hex()))
        await asyncio.sleep(0)
        computing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await computing
        await program.close()
        assert not program.is_running


async def test_a_real_gpu_is_not_proven_by_a_child_process(tmp_path: Path) -> None:
    real = HostDevice("Nvidia", "NVIDIA H100 80GB HBM3", 81_559, "GPU-1")
    with pytest.raises(ProofComputationError, match="outside of a container") as error:
        await ChildPrograms(tmp_path).start(real, WORK)
    assert "--challenge-image" in error.value.remedy


@pytest.mark.docker
async def test_what_the_program_sees_in_its_container(in_container: Callable[..., ContainerPrograms]) -> None:
    async with started(in_container(archive(INSIDE))) as program:
        found = json.loads((await ask(program, "prepare"))["device"])
    assert found["interfaces"] == ["lo"]
    assert found["internet"] == found["machine"] == "Network is unreachable"
    assert found["names"] != "done"
    assert found["user"] == [65534, 65534]
    assert set(found["capabilities"]) == {"0" * 16}
    assert (found["no_new_privileges"], found["seccomp"]) == ("1", "2")
    assert found["root"] == "Read-only file system"
    assert found["devices"] == []
    assert int(found["memory"]) == memory_limit_mib(DEVICE, WORK) << 20
    assert int(found["processes"]) == PIDS
    assert found["scratch"] == 128
    assert found["execute"] == "Permission denied"
    assert {"HOME", "NVIDIA_VISIBLE_DEVICES", "OMP_NUM_THREADS"} <= set(found["environment"])
    assert not [name for name in found["environment"] if "GANTRY" in name or "KEY" in name]
    assert found["pid"] > 1, "an init of the engine ends the program's own processes"


@pytest.mark.docker
async def test_memory_and_processes_are_limited(in_container: Callable[..., ContainerPrograms]) -> None:
    fill = f"blocks = [bytearray(1 << 20) for _ in range({4 * SIMULATED_BASE_MIB})]"
    async with started(in_container(archive(READ + fill))) as program:
        limit = memory_limit_mib(DEVICE, WORK)
        with pytest.raises(ProofComputationError, match=f"reached its memory limit of {limit} MiB") as error:
            await ask(program, "prepare")
        assert "--reserve-memory-mib" in error.value.remedy
    fork = """
    sys.stdin.buffer.readline()
    count = 0
    try:
        while count < 4096:
            if not os.fork():
                time.sleep(600)
            count += 1
    except OSError:
        pass
    answer("ready", device=str(count), probes={})
    sys.stdin.buffer.read()
    """
    async with started(in_container(archive(fork))) as program:
        assert int((await ask(program, "prepare"))["device"]) < PIDS


@pytest.mark.docker
async def test_the_end_of_standard_error_is_in_the_message(in_container: Callable[..., ContainerPrograms]) -> None:
    body = "sys.stdin.buffer.readline(); sys.stderr.write('noise\\n' * 100_000); raise ValueError('what is wrong')"
    async with started(in_container(archive(body))) as program:
        with pytest.raises(ProofComputationError, match="exit status 1, ValueError: what is wrong"):
            await ask(program, "prepare")


@pytest.mark.docker
@pytest.mark.parametrize("image", [NOWHERE, f"gantry-test/challenge@{NOWHERE}"])
async def test_an_unknown_image_or_digest_is_named_with_its_remedy(
    in_container: Callable[..., ContainerPrograms], image: str
) -> None:
    source = in_container(image=image)
    for action in (source.check(), source.start(DEVICE, WORK)):
        with pytest.raises(ProofComputationError, match=f"the engine has no image {image}") as error:
            await action
        assert "docker build --target challenge" in error.value.remedy


@pytest.mark.docker
async def test_an_image_without_python_is_named_with_its_remedy(
    in_container: Callable[..., ContainerPrograms], shell_image: Any, docker_api: docker.APIClient
) -> None:
    async with started(in_container(image=shell_image.digest)) as program:
        with pytest.raises(ProofComputationError, match=r"exit status 127, .*exec python3 failed") as error:
            await ask(program, "prepare")
    assert "docker build --target challenge" in error.value.remedy
    assert held(docker_api) == []


async def test_an_engine_that_is_away_is_named(tmp_path: Path) -> None:
    source = ContainerPrograms(f"unix://{tmp_path}/none.sock", case.HOST, NOWHERE)
    for action in (source.check(), source.start(DEVICE, WORK), source.clear()):
        with pytest.raises(ProofComputationError, match="no Docker engine answers"):
            await action
    await source.close()


def held(api: docker.APIClient, host: str = case.HOST) -> list[str]:
    return [str(one["Id"]) for one in api.containers(all=True, filters={"label": [f"gantry.challenge={host}"]})]


@pytest.mark.docker
async def test_what_an_earlier_agent_left_is_removed(
    in_container: Callable[..., ContainerPrograms], docker_api: docker.APIClient
) -> None:
    first = await in_container().start(DEVICE, WORK)
    (left,) = held(docker_api)
    second = in_container()
    async with started(second) as program:
        assert left not in held(docker_api)
        with pytest.raises(ProofComputationError, match="container was removed"):
            await ask(first, "prepare")
        assert (await ask(program, "prepare"))["type"] == "ready"
        clear_engine(os.environ["GANTRY_DOCKER_HOST"], "5SomebodyElse", data=True)
        assert len(held(docker_api)) == 1
        clear_engine(os.environ["GANTRY_DOCKER_HOST"], case.HOST, data=True)
        assert held(docker_api) == []


@pytest.mark.docker
async def test_the_run_for_machines_with_a_gpu_works_with_a_simulated_one(challenge_image: str) -> None:
    steps: list[str] = []
    url = os.environ["GANTRY_DOCKER_HOST"]
    found = await run_in_container(url, challenge_image, DEVICE, steps.append, kill_after_s=0)
    assert steps == ["image", "self-test", "inside", "proof", "kill"]
    assert found["right"], found
    assert {"start", "prepare", "compute", "open", "close", "verify"} <= found["seconds"].keys()
    assert found["killed"]["same"]
    assert found["proof"]["tier"] == "simulated"
    json.dumps(found)


AGENT = """
import asyncio, sys
from node_agent.challenge.container import ContainerPrograms
from node_agent.telemetry.hardware import HostDevice
from tests.support.challenge_samples import WORK

async def main():
    programs = ContainerPrograms(*sys.argv[1:4])
    program = await programs.start(HostDevice("Nvidia", "SIM-1", 24_576, None), WORK)
    print(program.identity, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.docker
async def test_a_program_ends_when_its_agent_is_killed(
    challenge_image: str, in_container: Callable[..., ContainerPrograms], docker_api: docker.APIClient
) -> None:
    line = [sys.executable, "-c", AGENT, os.environ["GANTRY_DOCKER_HOST"], case.HOST, challenge_image]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    agent = await asyncio.create_subprocess_exec(*line, stdout=asyncio.subprocess.PIPE, cwd=ROOT, env=env)
    try:
        assert agent.stdout is not None
        identity = (await agent.stdout.readline()).decode().strip()
        assert held(docker_api) == [identity]
    finally:
        agent.kill()
        await agent.wait()
    ended = await asyncio.to_thread(docker_api.wait, identity, timeout=PATIENCE_S)
    assert ended["StatusCode"] == 0, "it read the end of its input"
    await in_container().clear()
    assert held(docker_api) == []
