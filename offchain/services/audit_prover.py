"""Proofs for auditors, made from what a node serves: the way from genesis to a final block, and a part of its state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from offchain.adapters.chain.block_search import first_block_where
from offchain.adapters.chain.proof_chain import ProofChain
from offchain.core.proofs.checkpoint import Checkpoint
from offchain.core.proofs.grandpa import FinalityVotes, Justification, VoterSet, decode_justification
from offchain.core.proofs.header import AuthorityList, BlockHeader, decode_header, scheduled_change
from offchain.core.proofs.proof_file import MOST_DESCENDANTS, AuditProof, AuthorityLink, GenesisPart, link_name
from offchain.core.proofs.reader import ProofReader
from offchain.core.proofs.subject import ProofSubject
from offchain.core.proofs.verification import AUTHORITIES_KEY, genesis_authorities
from offchain.errors import BadReply, BadValue, ProofRefused
from offchain.ports import BlockRef
from offchain.services.audit_facts import read_facts

_STORED_EVERY: Final = 512
"""Nodes keep the justification of the first block that becomes final at or after each multiple of this number."""
_NEAR: Final = 1_024
"""Blocks up to the newest final one for which a node is asked for the finality of a block itself, with all headers."""
_WAIT_S: Final = 60.0
_FINALITY: Final = "The finality of the block"
_ARCHIVE: Final = "Use a node with --state-pruning archive, or start from a newer checkpoint (--checkpoint)."

ReportProgress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Finalised:
    """A block, the headers after it up to a block with a justification, and this."""

    header: BlockHeader
    descendants: tuple[BlockHeader, ...]
    justification: Justification

    @property
    def last(self) -> BlockHeader:
        return self.descendants[-1] if self.descendants else self.header


@dataclass(slots=True)
class AuthorityHistory:
    """The changes of the authorities since genesis as far as proofs have needed them. They never change."""

    genesis: GenesisPart | None = None
    links: list[tuple[AuthorityLink, AuthorityList]] = field(default_factory=list)


async def build_proof(
    chain: ProofChain,
    subject: ProofSubject,
    at: int | None = None,
    checkpoint: Checkpoint | None = None,
    notify: ReportProgress = lambda _: None,
    history: AuthorityHistory | None = None,
) -> AuditProof:
    """Return the proof of the facts about a subject in the state of a final block.

    `at`: the number of the block; None: the newest final one. `checkpoint`: start from it instead of genesis. `notify`
    receives what is done now, for people who wait. `history`: of proofs from genesis that were made before; it is
    extended. Raises BadValue for a block that is not final, BadReply for what the node does not serve, ProofRefused for
    a state that this program cannot read.
    """
    history = AuthorityHistory() if history is None or checkpoint is not None else history
    block = await final_block(chain, at)
    notify(f"Reading the state of block {block.number}.")
    genesis_hash = await chain.genesis_hash()
    with chain.noted_values() as values:
        await read_facts(chain, await chain.runtime(), subject, block.hash, genesis_hash)
    nodes = await chain.read_proof(sorted(values), block.hash)
    notify(f"Reading the finality of block {block.number}.")
    finalised = await _finality(chain, block)
    if checkpoint is None and history.genesis is None:
        history.genesis = await _genesis(chain)
    genesis = history.genesis
    start = checkpoint or _from_genesis(genesis)
    voters, links = await _links(chain, start, finalised.last, history.links, notify)
    return AuditProof(
        subject=subject,
        genesis=genesis,
        first_set=start.voters.set_id,
        links=links,
        header=finalised.header,
        descendants=finalised.descendants,
        votes=_votes(finalised, voters),
        nodes=tuple(sorted(nodes)),
        metadata=await chain.raw_metadata(block.hash),
    )


async def final_block(chain: ProofChain, at: int | None) -> BlockRef:
    """Return a final block, the newest one if `at` is None. Raises BadValue if it is not final."""
    head = await chain.finalized_head()
    if at is None or at == head.number:
        return head
    if not 1 <= at < head.number:
        raise BadValue(f"Block {at} is not final: the newest final block is {head.number}.", "Give an earlier block.")
    return await chain.block_ref(at)


async def _genesis(chain: ProofChain) -> GenesisPart:
    digest = await chain.genesis_hash()
    header = decode_header(await chain.header(digest), "The genesis block")
    try:
        nodes = await chain.read_proof([AUTHORITIES_KEY], digest)
    except BadReply as error:
        if error.code == "state_pruned":
            raise BadReply(
                "The chain node does not keep the state of block 0.", _ARCHIVE, code="state_pruned"
            ) from None
        raise
    return GenesisPart(header, tuple(sorted(nodes)))


def _from_genesis(genesis: GenesisPart | None) -> Checkpoint:
    assert genesis is not None  # noqa: S101 - there is one without a checkpoint
    digest = genesis.header.hash
    return Checkpoint(digest, 0, digest, genesis_authorities(genesis))


# --- finality -------------------------------------------------------------------------------------------------------


async def _finality(chain: ProofChain, block: BlockRef) -> _Finalised:
    header = decode_header(await chain.header(block.hash), "The header of the block")
    justification = await _justification(chain, block.number)
    last = justification.target_number
    if last - block.number > MOST_DESCENDANTS:
        raise _no_justification(block.number)
    descendants = await chain.headers(block.number + 1, last)
    return _Finalised(header, tuple(decode_header(raw, _FINALITY) for raw in descendants), justification)


async def _justification(chain: ProofChain, number: int) -> Justification:
    """Return a justification for a block or a later one that is not far away."""
    head = await chain.finalized_head()
    if head.number - number > _NEAR:
        # The node would answer with the headers up to the end of the block's authority set.
        return await _stored_justification(chain, number, head.number)
    raw = await chain.finality_proof(number)
    found = None if raw is None else _of_finality_proof(raw)
    while found is None or found.target_number < number:
        following = await chain.next_justification(_WAIT_S)
        if following is None:
            raise BadReply(
                f"The chain node has no justification for block {number}, and none came in {_WAIT_S:.0f} s.",
                "Check that the chain becomes final, and that the node is synced.",
            )
        found = decode_justification(following, _FINALITY)
    return found


def _of_finality_proof(raw: bytes) -> Justification:
    """Return the justification in an encoded `FinalityProof`; its headers are read one by one, as for other blocks."""
    reader = ProofReader(raw, _FINALITY)
    reader.take(32)
    return decode_justification(reader.sized(len(raw), "the justification"), _FINALITY)


async def _stored_justification(chain: ProofChain, number: int, head: int) -> Justification:
    first = -(-number // _STORED_EVERY) * _STORED_EVERY
    for later in range(first, min(number + MOST_DESCENDANTS, head) + 1):
        raw = await chain.stored_justification(later)
        if raw is not None:
            return decode_justification(raw, _FINALITY)
    raise _no_justification(number)


def _no_justification(number: int) -> BadReply:
    return BadReply(
        f"The chain node keeps no justification for the {MOST_DESCENDANTS} blocks after block {number}.",
        "Use another node: validators keep one for every 512 blocks.",
    )


def _votes(finalised: _Finalised, voters: VoterSet) -> FinalityVotes:
    try:
        return finalised.justification.quorum(finalised.last, voters, _FINALITY)
    except ProofRefused as error:
        raise _inconsistent(error) from None


# --- links ----------------------------------------------------------------------------------------------------------


async def _links(
    chain: ProofChain,
    start: Checkpoint,
    last: BlockHeader,
    known: list[tuple[AuthorityLink, AuthorityList]],
    notify: ReportProgress,
) -> tuple[VoterSet, tuple[AuthorityLink, ...]]:
    """Return the authorities that finalise `last`, and the changes that lead from the start to them.

    `known`: the first changes after the start, to which the others are added.
    """
    voters, number = start.voters, start.block
    wanted = await _set_of(chain, last.parent_hash)
    if wanted < voters.set_id or last.number <= number:
        raise BadValue(
            f"Block {last.number} was finalised before the checkpoint, which is of block {number}.",
            "Give an earlier checkpoint, or none.",
        )
    links: list[AuthorityLink] = []
    while voters.set_id < wanted:
        if len(links) == len(known):
            notify(f"Reading change {voters.set_id + 1} of the authorities; {wanted} lead to the block.")
            where = link_name(len(links), voters.set_id)
            known.append(await _link(chain, voters, number + 1, last.number - 1, where))
        link, authorities = known[len(links)]
        links.append(link)
        voters, number = voters.next(authorities), link.header.number
    return voters, tuple(links)


async def _link(
    chain: ProofChain, voters: VoterSet, first: int, last: int, where: str
) -> tuple[AuthorityLink, AuthorityList]:
    """Return the change from this set to the next, which is in the blocks from `first` to `last`."""

    async def changed(at: bytes) -> bool:
        return await _set_of(chain, at) > voters.set_id

    block = await chain.block_ref(await first_block_where(chain, first, last, changed))
    header = decode_header(await chain.header(block.hash), where)
    authorities = scheduled_change(header, where)
    if authorities is None:
        # The search counts blocks without state as earlier than the change.
        raise BadReply(
            f"The chain node does not keep the state of the blocks from {first} on, where the authorities changed.",
            _ARCHIVE,
            code="state_pruned",
        )
    raw = await chain.finality_proof(block.number)
    if raw is None:
        raise BadReply(f"The chain node has no justification for block {block.number}.", "Use another node.")
    try:
        votes = _of_finality_proof(raw).quorum(header, voters, where)
    except ProofRefused as error:
        raise _inconsistent(error) from None
    return AuthorityLink(header, votes), authorities


async def _set_of(chain: ProofChain, at: bytes) -> int:
    """Return the number of the authority set after a block."""
    return int(await chain.query("Grandpa", "CurrentSetId", (), at) or 0)


def _inconsistent(error: ProofRefused) -> BadReply:
    return BadReply(
        f"The chain node serves a justification that proves nothing. {error.where}: {error.reason}.",
        "Use another node.",
    )
