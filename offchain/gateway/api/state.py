"""The state of a final block: stored values, and their proof as a file for auditors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from urllib.parse import urlencode

from offchain.adapters.chain.json_calls import json_value, keys_from_json
from offchain.adapters.chain.proof_chain import ProofChain
from offchain.adapters.chain.storage_queries import StoredValue
from offchain.adapters.keys import ss58
from offchain.core.proofs.header import decode_header
from offchain.core.proofs.subject import ProofSubject, SubjectKind, leases_subject, task_subject
from offchain.errors import BadReply
from offchain.gateway.api.action import FileAnswer
from offchain.gateway.api.answers import NotFound
from offchain.gateway.api.chain_access import ChainAccess, final_block
from offchain.gateway.api.history import exact
from offchain.gateway.api.models import BlockReference, ResourceAnswer
from offchain.gateway.api.state_models import StateChoice, StateResource, StoredValueResource, keys_of
from offchain.ports import BlockRef
from offchain.services.audit_facts import subject_of_storage
from offchain.services.audit_prover import AuthorityHistory, build_proof
from offchain.services.block_state import StateTooLarge, read_state

PROOF_PATH: Final = "/v1/state/proof"
MOST_PROOF_BYTES: Final = 4 << 20
PROOF_LIMIT_S: Final = 30.0
"""A node of a chain whose validators never changed has a proof of finality only with the next final block."""


class StateApi:
    """Reads the state of blocks at a node. Proofs are made one at a time."""

    def __init__(self, open_chain: Callable[[], ProofChain]) -> None:
        self._chain = open_chain()
        self._reads = ChainAccess(self._chain)
        self._proofs = ChainAccess(self._chain, at_once=1, limit_s=PROOF_LIMIT_S)
        self._history = AuthorityHistory()

    async def close(self) -> None:
        """Close the connection."""
        await self._chain.close()

    async def state(self, asked: StateChoice) -> ResourceAnswer[StateResource]:
        """Return stored values. Raises NotFound for a block that is not final."""
        async with self._reads.use() as chain:
            _, as_of = await final_block(chain)
            subject, block = await _subject(chain, asked), await _block(chain, asked.block)
            found = await read_state(chain, subject, block)
        place = BlockReference(number=block.number, hash=f"0x{block.hash.hex()}", time_ms=found.time_ms)
        choice = asked.model_dump(exclude_none=True) | {"block": str(block.number)}
        data = StateResource(
            block=place,
            parent_hash=f"0x{found.header.parent_hash.hex()}",
            state_root=f"0x{found.header.state_root.hex()}",
            values=[_resource(value) for value in found.values],
            proof=f"{PROOF_PATH}?{urlencode(choice)}",
        )
        return ResourceAnswer[StateResource](as_of=as_of, data=data)

    async def proof(self, asked: StateChoice) -> FileAnswer:
        """Return the proof of the same values from genesis. Raises NotFound, and StateTooLarge for a long history."""
        async with self._proofs.use() as chain:
            subject, block = await _subject(chain, asked), await _block(chain, asked.block)
            data = (await build_proof(chain, subject, block.number, history=self._history)).encode()
        if len(data) > MOST_PROOF_BYTES:
            raise StateTooLarge(
                f"The proof has {len(data)} bytes; the API serves at most {MOST_PROOF_BYTES}.",
                "Make it at a node, from a checkpoint: gantry audit prove --checkpoint FILE.",
            )
        return FileAnswer(f"{subject.kind.name.lower()}-{block.number}.proof", data)


async def _subject(chain: ProofChain, asked: StateChoice) -> ProofSubject:
    if asked.task is not None:
        return task_subject(asked.task)
    if asked.lease is not None:
        return leases_subject({asked.lease})
    if asked.account is not None:
        return ProofSubject(SubjectKind.ACCOUNT, key=ss58.decode(asked.account))
    if asked.host is not None:
        return ProofSubject(SubjectKind.HOST, key=ss58.decode(asked.host))
    runtime = await chain.runtime()
    pallet, item = asked.pallet or "", asked.item or ""
    keys = keys_from_json(runtime, runtime.entry(pallet, item), keys_of(asked.keys or "[]"))
    return subject_of_storage(runtime, pallet, item, keys)


async def _block(chain: ProofChain, name: str | None) -> BlockRef:
    """Return a final block by number or hash. Raises NotFound."""
    if name is None:
        return await chain.finalized_head()
    try:
        if not name.startswith("0x"):
            return await chain.block_ref(int(name))
        wanted = bytes.fromhex(name[2:])
        found = await chain.block_ref(decode_header(await chain.header(wanted), "The header of the block").number)
        if found.hash == wanted:
            return found
    except LookupError:
        pass
    except BadReply as error:
        if error.code != "unknown_block":
            raise
    raise NotFound(
        f"The gateway's node has no final block {name}.", "Check it, or wait some seconds until the block is final."
    )


def _resource(value: StoredValue) -> StoredValueResource:
    return StoredValueResource(
        pallet=value.pallet,
        item=value.item,
        keys=exact(json_value(value.keys)),
        storage_key=f"0x{value.storage_key.hex()}",
        raw=None if value.raw is None else f"0x{value.raw.hex()}",
        value=exact(json_value(value.value)),
    )
