"""Challenges from end to end: a real node with slots of 2 s, three verifiers, and hosts with a simulated GPU.

The program of one host runs in a container of a real Docker engine.

With three verifiers the chain allows committees of one member only: it requires more verifiers than two committees.
"""

import asyncio
import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import from_uri
from offchain.devnet import engine
from offchain.devnet.paths import DevnetPaths
from offchain.schema.chain_types._generated_chain import calls
from tests.support.challenge_image import numpy_image
from tests.support.challenge_network import GENESIS, ChallengeNetwork, challenge_network, start_verifiers
from tests.support.challenged_host import challenged_host
from tests.support.real_chain import PATIENCE

PROVIDER, OTHER = from_uri("//Bob"), from_uri("//Charlie")
WITHIN_MS = 180_000
"""From the opening of a challenge to its verdict, beside the other suites. Alone it takes 30 to 40 s."""
IN_SERVICE = ("Verified", "Online")
"""States of a verified host, before and after its next heartbeat."""


@pytest.fixture
async def network(tmp_path: Path) -> AsyncIterator[ChallengeNetwork]:
    async with challenge_network(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def docker_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, docker.APIClient]]:
    """This machine's engine, or a private one, the image of the program in it, and a client of it."""
    url = engine.find()
    child = None
    if url is None:
        if os.getuid() != 0 or shutil.which("dockerd") is None:
            pytest.skip("no Docker engine answers, and starting one needs root and dockerd")
        places = DevnetPaths(tmp_path_factory.mktemp("engine"))
        child, url = engine.private_child(places, dict(os.environ))
        child.start()
        engine.wait_for(child, url)
    try:
        client = docker.APIClient(base_url=url, version="auto", timeout=60)
        with contextlib.closing(client) as api, numpy_image(api) as image:
            yield url, image, api
    finally:
        if child is not None:
            child.stop()
            engine.remove_private_engine(places)


def programs(api: docker.APIClient, host: str) -> list[str]:
    """The containers with the challenge program of a host."""
    return [str(one["Id"]) for one in api.containers(all=True, filters={"label": [f"gantry.challenge={host}"]})]


async def test_hosts_are_verified_or_lose_by_their_proofs(network: ChallengeNetwork) -> None:
    """The honest agent is killed between its answer and the opening, and started again."""
    chain, folder = network.chain, network.folder
    honest, cheating = folder / "honest", folder / "cheating"
    with contextlib.ExitStack() as stack:
        start_verifiers(network, stack)
        first = stack.enter_context(challenged_host(chain.url, honest, "//Bob"))
        stack.enter_context(challenged_host(chain.url, cheating, "//Charlie", cheats=True))
        host, cheat = await network.online(honest), await network.online(cheating)
        for who, of in ((PROVIDER, host), (OTHER, cheat)):
            await chain.do(who, calls.verification_open_challenge(host=of, device=0, lease=None))
        opened_at, opened = await network.until("ChallengeOpened", host=host)
        _, against = await network.until("ChallengeOpened", host=cheat)
        number = opened.fields["challenge"]
        answered_at, _ = await network.until("Answered", challenge=number)
        first.kill()
        first.wait()
        killed = time.monotonic()
        stack.enter_context(challenged_host(chain.url, honest, "//Bob"))
        closed_at, closed = await network.until("ChallengeClosed", challenge=number)
        assert closed.fields["outcome"] == "Passed"
        assert closed_at - opened_at <= WITHIN_MS, (opened_at, answered_at, closed_at, time.monotonic() - killed)
        record = await GantryChain(chain.link).host(host)
        assert record is not None
        assert record.status.tag in IN_SERVICE
        assert record.devices[0].attested
        _, confirmation = await network.until("ConfirmationAwaited", challenge=against.fields["challenge"])
        assert confirmation.fields["round"] == 1, "another verifier judged the same answer"
        _, lost = await network.until("ChallengeClosed", challenge=against.fields["challenge"])
        assert lost.fields["outcome"] == "Failed"
        record = await GantryChain(chain.link).host(cheat)
        assert record is not None
        assert record.status.tag not in IN_SERVICE
        assert record.bond < record.bond_required, "it lost a part of its bond"
        assert not record.devices[0].attested


async def test_verifiers_challenge_an_unverified_host_by_the_draw(network: ChallengeNetwork) -> None:
    with contextlib.ExitStack() as stack:
        stack.enter_context(challenged_host(network.chain.url, network.folder / "host", "//Bob"))
        host = await network.online(network.folder / "host")
        start_verifiers(network, stack, "--challenge-budget=10")
        opened_at, opened = await network.until("ChallengeOpened", host=host)
        assert opened.fields["opener"] in GENESIS["verification"]["verifiers"]
        closed_at, closed = await network.until("ChallengeClosed", host=host)
        assert closed.fields["outcome"] == "Passed"
        assert closed_at - opened_at <= WITHIN_MS


async def test_one_gpu_behind_two_hosts_passes_challenges_at_different_times(network: ChallengeNetwork) -> None:
    """Not caught: a device has no identity on the chain, and each proof shows access to a GPU at its own time."""
    chain, gpu = network.chain, network.folder / "gpu"
    with contextlib.ExitStack() as stack:
        start_verifiers(network, stack)
        folders = [network.folder / name for name in ("first", "second")]
        for folder, provider in zip(folders, ("//Bob", "//Charlie"), strict=True):
            stack.enter_context(challenged_host(chain.url, folder, provider, device=gpu))
        hosts = [await network.online(folder) for folder in folders]
        for host, provider in zip(hosts, (PROVIDER, OTHER), strict=True):
            await chain.do(provider, calls.verification_open_challenge(host=host, device=0, lease=None))
            _, opened = await network.until("ChallengeOpened", host=host)
            await network.until("Answered", challenge=opened.fields["challenge"])  # the GPU is free again
        for host in hosts:
            _, closed = await network.until("ChallengeClosed", host=host)
            assert closed.fields["outcome"] == "Passed"
            record = await GantryChain(chain.link).host(host)
            assert record is not None
            assert record.devices[0].attested
    assert gpu.read_bytes() == b"proof\n" * 2, "one GPU has computed both"


async def _kill_after(event: asyncio.Task[Any], process: subprocess.Popen[bytes]) -> None:
    await event
    process.kill()
    await asyncio.to_thread(process.wait)


@pytest.mark.docker
async def test_a_host_whose_program_runs_in_a_container_is_verified(
    network: ChallengeNetwork, docker_engine: tuple[str, str, docker.APIClient]
) -> None:
    """Its agent is killed between the seed and its answer, and started again."""
    chain, folder = network.chain, network.folder / "contained"
    url, image, api = docker_engine
    container = (url, image)
    with contextlib.ExitStack() as stack:
        start_verifiers(network, stack)
        first = stack.enter_context(challenged_host(chain.url, folder, "//Bob", container=container))
        host = await network.online(folder)
        asked = asyncio.create_task(network.until_asked(host))
        opening = chain.do(PROVIDER, calls.verification_open_challenge(host=host, device=0, lease=None))
        number, *_ = await asyncio.gather(asked, _kill_after(asked, first), opening)
        opened_at, _ = await network.until("ChallengeOpened", challenge=number)
        stack.enter_context(challenged_host(chain.url, folder, "//Bob", container=container))
        closed_at, closed = await network.until("ChallengeClosed", challenge=number)
        assert closed.fields["outcome"] == "Passed"
        assert closed_at - opened_at <= WITHIN_MS, (opened_at, closed_at)
        record = await GantryChain(chain.link).host(host)
        assert record is not None
        assert record.status.tag in IN_SERVICE
        assert record.devices[0].attested
        async with asyncio.timeout(PATIENCE):
            async for _ in chain.link.best():
                log = folder.with_suffix(".log").read_text()
                if f"the host passed challenge {number}" in log:
                    break
        assert programs(api, host) == []
    assert log.count("the challenge program runs, with GPU simulated") >= 2, "each agent started a container"
