"""Openings of a host's proof: what the blocks after the answer draw, and whether final ones draw what is shown."""

from __future__ import annotations

from node_agent.core.challenges import HeldProof
from offchain.adapters.chain.challenge_blocks import BlocksPrunedError, answer_times
from offchain.errors import BadReply
from offchain.ports import BlockRef, ChainPort
from offchain.schema.chain_types._generated_chain import ChallengeRecord
from offchain.schema.challenge.order import ChallengeWork, drawn_numbers, read_opening


def drawn_values(seed: bytes, work: ChallengeWork) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the numbers of the rows and of the chains that the seed of an opening draws."""
    return drawn_numbers(seed, "rows", work.rows), drawn_numbers(seed, "chains", work.chains)


class DrawnOpenings:
    """Compares stored openings with final blocks. The best blocks, by which they were drawn, may be replaced."""

    def __init__(self, port: ChainPort) -> None:
        self._port = port
        self._final: tuple[int, bytes] | None = None

    async def are_final(
        self, number: int, record: ChallengeRecord | None, work: ChallengeWork, head: BlockRef, proof: HeldProof | None
    ) -> bool | None:
        """Return whether final blocks up to `head` draw what the stored opening shows; None: they draw nothing yet.

        `record`: of challenge `number` at `head`. A node that has pruned the states of those blocks is taken to agree.
        """
        if proof is None or proof.opening is None or record is None or record.answer is None:
            return None
        if self._final == (number, proof.seed):
            return True
        try:
            times = await answer_times(self._port, number, record, head)
        except (BlocksPrunedError, BadReply) as error:
            if isinstance(error, BadReply) and error.code != "state_pruned":
                raise
            return True
        if times is None:
            return None
        shown = read_opening(proof.opening)
        numbers = (tuple(one.number for one in shown.rows), tuple(one.number for one in shown.chains))
        if numbers != drawn_values(times.opening_seed, work):
            return False
        self._final = (number, proof.seed)
        return True
