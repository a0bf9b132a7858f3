"""The chain port with the in-memory chain behind it and with a node: what its contract runs on."""

import asyncio
import os
from contextlib import aclosing
from dataclasses import replace

import pytest

from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.keys.signer import from_uri
from offchain.ports import Call, DispatchFailure, ItemDocumentation
from tests.support.fake_chain import FakeChain

RICH = from_uri("//Alice//stash")
POOR = from_uri(f"//Nobody//{os.getpid()}", "ed25519")
NO_SUCH_TASK = Call("Tasks", "settle", {"task": 2**40})


def node_url():
    """Return the URL of the contract tests' node; skip the test where there is none."""
    if "GANTRY_TEST_URL" not in os.environ:
        pytest.skip("no chain node runs (GANTRY_TEST_URL is not set, and none could be started)")
    return os.environ["GANTRY_TEST_URL"]


def remark(text):
    return Call("System", "remark_with_event", {"remark": text})


class FakeNode:
    def __init__(self):
        self.chain = FakeChain()
        self.chain.unpayable = lambda _call, account: account == POOR.address
        self.chain.verdicts = self._verdict
        failed = ItemDocumentation("System", "event", "ExtrinsicFailed", "An extrinsic failed.", {"dispatch_error": ""})
        self.chain.docs = [failed, replace(failed, name="NewAccount", text="A new account was created.", fields={})]
        self._task = None

    @staticmethod
    def _verdict(call, _account):
        return DispatchFailure("Tasks", "NoSuchTask", "No such task.") if call == NO_SUCH_TASK else None

    async def __aenter__(self):
        await self.chain.produce(2)
        return self

    async def __aexit__(self, *_):
        await self.stop()

    async def advance(self):
        """Let blocks come until one more is final."""
        await self.chain.produce()

    def go(self):
        """Let blocks come by themselves from now on."""

        async def clock():
            while True:
                for _ in range(20):
                    await asyncio.sleep(0)
                await self.chain.produce()

        self._task = asyncio.ensure_future(clock())

    async def stop(self):
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


class RealNode:
    def __init__(self):
        self.chain = SubstrateChain(node_url(), timeout=20, reads_callers=True)

    async def __aenter__(self):
        await self.chain.connect()
        return self

    async def __aexit__(self, *_):
        await self.chain.close()

    async def advance(self):
        async with aclosing(self.chain.finalized()) as heads:
            first = await anext(heads)
            async for head in heads:
                if head.number > first.number:
                    return

    def go(self):
        """A node makes blocks unasked."""


@pytest.fixture(params=["fake", pytest.param("node", marks=pytest.mark.network)])
async def node(request):
    async with (FakeNode if request.param == "fake" else RealNode)() as made:
        yield made
