"""Fixtures of this folder: the chain that new providers join, a fresh machine, a provider with coins."""

import os
import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from fresh_machine import Machine, machine

from offchain.adapters.keys.signer import from_uri
from offchain.devnet.release import binaries
from offchain.ports import Call, Signer
from tests.support.development_node import DevelopmentNode
from tests.support.fast_chain import fast
from tests.support.real_chain import Chain, connect

ALICE = from_uri("//Alice")
# A bond is free as soon as its host has retired. Nothing is paid before the tenant accepts it.
PATCH = {"hosts": {"params": {"unbondingMs": 1}}, "tasks": {"params": {"disputeWindowMs": 3_600_000}}}

NEEDS_NAMESPACES = [
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
    pytest.mark.skipif(shutil.which("ip") is None, reason="the program ip is not installed (package iproute2)"),
]
"""Marks of the modules of this folder."""


async def provider_with(chain: Chain, name: str, coins: int) -> Signer:
    """A provider whose key only its owner has, and who got some coins."""
    account = from_uri(f"//{name}")
    await chain.do(ALICE, Call("Balances", "transfer_allow_death", {"dest": {"Id": account.address}, "value": coins}))
    return account


# A test module binds the fixtures that it uses.


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevelopmentNode]:
    folder = tmp_path_factory.mktemp("node")
    with DevelopmentNode(binaries(), folder, "--unsafe-rpc-external", "--rpc-cors=all", patch=fast(PATCH)) as running:
        yield running


@pytest.fixture
async def chain(node: DevelopmentNode) -> AsyncIterator[Chain]:
    made = Chain(node.port, await connect(node.url))
    try:
        yield made
    finally:
        await made.link.close()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Machine]:
    with machine(tmp_path / "m", 1) as made:
        try:
            yield made
        except BaseException:
            sys.stderr.write(made.log())
            raise
