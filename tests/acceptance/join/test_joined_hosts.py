"""Hosts after they joined: the releases that an agent runs, and a GPU that fails. A real chain and real containers."""

import contextlib
from pathlib import Path

import join_fixtures
import pytest
from fresh_machine import Machine, machine
from join_fixtures import provider_with
from signed_releases import Publisher, takes_only_signed_releases

from offchain.adapters.chain.typed import GantryChain
from tests.gpu_stub.build import Machine as Gpus
from tests.gpu_stub.build import build as build_stub
from tests.gpu_stub.build import compiler, eight
from tests.support.development_node import DevelopmentNode
from tests.support.real_chain import GTY, Chain

pytestmark = join_fixtures.NEEDS_NAMESPACES
node, chain, fresh = join_fixtures.node, join_fixtures.chain, join_fixtures.fresh


async def test_only_signed_releases_are_run(
    chain: Chain, node: DevelopmentNode, fresh: Machine, tmp_path: Path
) -> None:
    await provider_with(chain, "Signer", 10_000 * GTY)
    publisher = Publisher(tmp_path)
    join = ("join", "--url", f"ws://{fresh.outside}:{node.port}", "--simulate", "rtx4090", "--json")
    keys = ("--provider-uri-env", "SIGNER", "--release-key", publisher.first.public_key.hex())
    joined = fresh.agent(*join, *keys, env={"SIGNER": "//Signer"})
    assert joined.code == 0, joined.out + joined.err
    takes_only_signed_releases(fresh, publisher)


async def test_a_gpu_that_fails_is_out_of_order_on_the_chain(
    chain: Chain, node: DevelopmentNode, tmp_path: Path
) -> None:
    if compiler() is None:
        pytest.skip("a C compiler is needed to build a stand-in for NVIDIA's library: install gcc")
    provider = await provider_with(chain, "GpuOwner", 100_000 * GTY)
    (tmp_path / "lib").mkdir()
    build_stub(tmp_path / "lib")
    gpus = Gpus(tmp_path / "gpus", eight())
    extra = {"LD_LIBRARY_PATH": str(tmp_path / "lib"), "GANTRY_NVML_STUB": str(gpus.path), "OWNER": "//GpuOwner"}
    with machine(tmp_path / "m", 2, extra) as here:
        url = f"ws://{here.outside}:{node.port}"
        # This engine cannot give GPUs to containers, and join says so; the agent is run by hand.
        look = here.agent("join", "--check", "--url", url, "--json")
        assert look.code == 1
        access = {check["check"]: check["verdict"] for check in look.last["checks"]}
        assert (access["GPUs"], access["GPU access"]) == ("pass", "fail")
        here.options = ("--url", url)
        options = (*here.options, "--keep-gpu", "0")
        registered = here.agent("register", "--provider-uri-env", "OWNER", "--json", *options)
        assert registered.code == 0, registered.out + registered.err
        assert len(registered.last["devices"]) == 7
        host = registered.last["host"]
        here.start_agent("run", *options)

        async def healthy(wanted: list[bool]) -> None:
            async with contextlib.aclosing(chain.link.best()) as heads:
                async for _ in heads:
                    record = await GantryChain(chain.link).host(host)
                    assert record is not None
                    if [device.healthy for device in record.devices] == wanted:
                        return

        here.until(lambda found: found["status"] == "Online", "the host to be online")
        await healthy([True] * 7)
        gpus.xid(gpus.gpus[3].uuid, 79)  # the third that is offered
        await healthy([True, True, False, True, True, True, True])
        found = here.until(lambda found: found["devices"][2]["trouble"], "the trouble to be shown")
        assert "fallen off the bus" in found["devices"][2]["trouble"]
        assert not any(device["trouble"] for device in found["devices"][:2])
    assert provider.address
