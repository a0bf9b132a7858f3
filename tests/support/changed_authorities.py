"""A node whose validator has replaced its keys, so that the authorities of GRANDPA have changed.

`python -m tests.support.changed_authorities` records the proof of tests/vectors/proof.bin from such a node.
"""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from offchain.adapters.chain.proof_chain import ProofChain
from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import from_uri
from offchain.core.proofs.subject import ProofSubject, SubjectKind
from offchain.core.proofs.verification import verify_proof
from offchain.devnet import node_rpc
from offchain.ports import Call
from offchain.services.audit_facts import read_facts
from offchain.services.audit_prover import build_proof
from tests.support.real_chain import Chain, chain_of

EPOCHS: Final = {"validators": {"epochSlots": 10}}
"""Genesis patch: sessions of ten slots, so that changed keys are in force soon."""
CHANGES: Final = 2
ALICE: Final = from_uri("//Alice")
ACCOUNT: Final = ProofSubject(SubjectKind.ACCOUNT, key=ss58.decode(ALICE.address))
VECTORS: Final = Path(__file__).parents[1] / "vectors"


@asynccontextmanager
async def chain_with_changes(folder: Path) -> AsyncIterator[Chain]:
    """A chain whose authorities have changed twice, and some final blocks after that."""
    async with chain_of(folder, EPOCHS) as chain:
        for number in range(1, CHANGES + 1):
            await _replace_keys(chain)

            async def is_in_force(wanted: int = number) -> bool:
                head = await chain.link.finalized_head()
                return int(await chain.link.query("Grandpa", "CurrentSetId", (), head.hash) or 0) >= wanted

            await chain.until(is_in_force, f"authority set {number}")
        head = await chain.link.finalized_head()
        await chain.block_with(head.number + 2)
        yield chain


async def _replace_keys(chain: Chain) -> None:
    made = node_rpc.ask(chain.port, "author_rotateKeysWithOwner", f"0x{ALICE.public_key.hex()}")
    assert made is not None
    keys, proof = (bytes.fromhex(made[name][2:]) for name in ("keys", "proof"))
    call = Call("Session", "set_keys", {"keys": {"babe": keys[:32], "grandpa": keys[32:]}, "proof": proof})
    await chain.do(ALICE, call)


async def record() -> None:
    """Write a proof without its metadata, and the values that it proves."""
    with tempfile.TemporaryDirectory(prefix="gantry-proof-") as folder:
        async with chain_with_changes(Path(folder) / "node") as chain:
            source = ProofChain(chain.url)
            await source.connect()
            genesis = await source.genesis_hash()
            proof = replace(await build_proof(source, ACCOUNT), metadata=b"")
            verified = verify_proof(proof, genesis, None)
            with source.noted_values() as values:
                await read_facts(source, await source.runtime(), ACCOUNT, verified.header.hash, genesis)
            read = {key: verified.state.read(key) for key in sorted(values)}
            await source.close()
    plain = {
        "genesis_hash": genesis.hex(),
        "block": verified.header.number,
        "block_hash": verified.header.hash.hex(),
        "set_id": verified.finalised_by.set_id,
        "values": {key.hex(): None if value is None else value.hex() for key, value in read.items()},
    }
    (VECTORS / "proof.bin").write_bytes(proof.encode())
    (VECTORS / "proof.json").write_text(json.dumps(plain, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(record())
