"""Four real validators in network namespaces: what they survive, and how one joins and leaves. Needs root."""

import asyncio
import json
import os
import subprocess
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.chain.rpc import RpcClient, RpcRefused
from offchain.adapters.keys.signer import from_uri
from offchain.devnet.paths import ROOT
from offchain.ports import BlockRef, Call, Signer

# A session of 20 s, so that a change of the list is in force within a minute; a council of one, who carries alone.
EPOCH_SLOTS = 10
ALICE = from_uri("//Alice")
# The owner of the fifth validator's keys. It has coins from genesis, and no validator is run by it.
OWNER = from_uri("//Eve")
PRE_RUNTIME, BABE_ENGINE = 6, b"BABE"
# Blocks without finality before it is said to have stalled: far more than GRANDPA is ever behind on one machine.
STALLED_BLOCKS = 8
STEP_SECONDS = 150.0


@dataclass
class Validators:
    env: dict[str, str]

    def run(self, *words: str) -> dict[str, Any]:
        command = [str(ROOT / "scripts" / "validators"), *words, "--json"]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, check=False, timeout=STEP_SECONDS)
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def url(self, number: int) -> str:
        rows = {row["number"]: row for row in self.run("status")["validators"]}
        return str(rows[number]["url"])

    def chain(self, number: int) -> SubstrateChain:
        return SubstrateChain(self.url(number), check_metadata=False, timeout=60)


@pytest.fixture(scope="module")
def validators() -> Iterator[Validators]:
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    with tempfile.TemporaryDirectory(prefix="gantry-v-") as folder:
        found = Validators({**os.environ, "GANTRY_STATE": folder})
        patch = Path(folder) / "council.json"
        patch.write_text(json.dumps({"council": {"members": [ALICE.address]}}), encoding="utf-8")
        try:
            found.run("up", "--epoch-slots", str(EPOCH_SLOTS), "--patch", str(patch))
            yield found
        finally:
            found.run("down")


async def within(doing: Awaitable[Any]) -> Any:
    return await asyncio.wait_for(doing, STEP_SECONDS)


async def head(chain: SubstrateChain, *, final: bool, when: Callable[[BlockRef], bool]) -> BlockRef:
    """The first final, or best, block of which this holds."""
    async with aclosing(chain.finalized() if final else chain.best()) as heads:
        async for ref in heads:
            if when(ref):
                return ref
    raise AssertionError("the heads ended")


async def finalized_past(chain: SubstrateChain, number: int) -> BlockRef:
    ref: BlockRef = await within(head(chain, final=True, when=lambda ref: ref.number > number))
    return ref


async def carried(chain: SubstrateChain, call: Call, signer: Signer) -> None:
    """A call that is in a final block and succeeded."""

    async def wait() -> None:
        extrinsic = await chain.sign(call, signer, await chain.next_nonce(signer.address))
        start = (await chain.finalized_head()).number
        await chain.broadcast(extrinsic)
        while True:
            ref = await finalized_past(chain, start)
            for number in range(start + 1, ref.number + 1):
                block = await chain.block(number)
                for inclusion in block.inclusions:
                    if inclusion.extrinsic_hash == extrinsic.hash:
                        assert inclusion.failure is None, inclusion.failure
                        results = [event.fields["result"] for event in block.events if event.name == "Executed"]
                        assert all(result == "Ok" or "Ok" in result for result in results), results
                        return
            start = ref.number

    await within(wait())


def by_council(pallet: str, name: str, **arguments: Any) -> Call:
    """What the council of one carries at once."""
    return Call("Council", "propose", {"threshold": 1, "proposal": {pallet: {name: arguments}}, "length_bound": 1_000})


async def author(chain: SubstrateChain, rpc: RpcClient, ref: BlockRef) -> str:
    """Who made a block: the digest's claim names a place among the session's validators."""
    header = await rpc.call("chain_getHeader", ["0x" + ref.hash.hex()])
    logs = [bytes.fromhex(log[2:]) for log in header["digest"]["logs"]]
    # Variant PreRuntime, four bytes of engine, the claim with its length; the claim's variant, then the place.
    log = next(log for log in logs if log[0] == PRE_RUNTIME and log[1:5] == BABE_ENGINE)
    claim = log[7:] if log[5] & 3 == 1 else log[6:]
    validators = await chain.query("Session", "Validators", at=ref.hash)
    assert validators is not None
    return str(validators[int.from_bytes(claim[1:5], "little")])


async def test_finality_advances_on_every_validator(validators: Validators) -> None:
    for number in range(1, 5):
        chain = validators.chain(number)
        await finalized_past(chain, 3)
        await chain.close()


async def test_with_two_of_four_killed_blocks_go_on_finality_waits_and_resumes(validators: Validators) -> None:
    chain = validators.chain(1)
    validators.run("kill", "3")
    validators.run("kill", "4")
    # Votes that were under way may still be counted.
    best = await chain.best_head()
    await within(head(chain, final=False, when=lambda ref: ref.number >= best.number + 2))
    stalled = (await chain.finalized_head()).number
    await within(head(chain, final=False, when=lambda ref: ref.number >= stalled + STALLED_BLOCKS))
    assert (await chain.finalized_head()).number == stalled
    validators.run("start", "3")
    validators.run("start", "4")
    resumed = await finalized_past(chain, stalled + STALLED_BLOCKS)
    other = validators.chain(4)
    await finalized_past(other, resumed.number)
    assert (await other.block(resumed.number)).ref == (await chain.block(resumed.number)).ref
    await chain.close()
    await other.close()


async def test_a_wiped_validator_comes_back_to_the_same_chain(validators: Validators) -> None:
    chain = validators.chain(1)
    validators.run("kill", "2")
    validators.run("wipe", "2")
    known = await chain.finalized_head()
    validators.run("start", "2")
    wiped = validators.chain(2)
    await finalized_past(wiped, known.number)
    rpc = RpcClient(validators.url(2), 30)
    assert await rpc.call("chain_getBlockHash", [known.number]) == "0x" + known.hash.hex()
    for closing in (chain, wiped, rpc):
        await closing.close()


async def test_methods_that_change_a_validator_are_refused_on_the_bridge(validators: Validators) -> None:
    rpc = RpcClient(validators.url(1), 30)
    for method, parameters in (
        ("author_rotateKeys", []),
        ("author_rotateKeysWithOwner", ["0x" + OWNER.public_key.hex()]),
        ("author_insertKey", ["babe", "//Eve", "0x" + OWNER.public_key.hex()]),
        ("system_addReservedPeer", ["/ip4/127.0.0.1/tcp/1"]),
    ):
        with pytest.raises(RpcRefused, match="unsafe"):
            await rpc.call(method, parameters)
    await rpc.close()


async def test_a_fifth_validator_joins_makes_blocks_and_leaves(validators: Validators) -> None:
    validators.run("start", "5")
    chain, fifth = validators.chain(1), validators.chain(5)
    rpc = RpcClient(validators.url(5), 30)
    made = validators.run("keys", "5", "0x" + OWNER.public_key.hex())
    keys, proof = (bytes.fromhex(made[name][2:]) for name in ("keys", "proof"))
    set_keys = Call("Session", "set_keys", {"keys": {"babe": keys[:32], "grandpa": keys[32:]}, "proof": proof})
    await carried(chain, set_keys, OWNER)
    await carried(chain, by_council("Validators", "add", who=OWNER.address), ALICE)

    async def made_by_the_fifth() -> BlockRef:
        async with aclosing(chain.finalized()) as heads:
            async for ref in heads:
                if await author(chain, rpc, ref) == OWNER.address:
                    return ref
        raise AssertionError("the heads ended")

    block = await within(made_by_the_fifth())
    # It came to the others, was finalized with five voters, and the fifth knows the same.
    await finalized_past(fifth, block.number)

    await carried(chain, by_council("Validators", "remove", who=OWNER.address), ALICE)

    async def left() -> None:
        async with aclosing(chain.finalized()) as heads:
            async for ref in heads:
                if OWNER.address not in await chain.query("Session", "Validators", at=ref.hash):
                    return
        raise AssertionError("the heads ended")

    await within(left())
    gone = (await chain.finalized_head()).number
    await finalized_past(chain, gone + 3)
    for closing in (chain, fifth, rpc):
        await closing.close()
