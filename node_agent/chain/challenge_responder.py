"""Answers challenges of this host's devices: starts the program, answers with its digest, keeps the proof to show."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, Protocol

from node_agent.chain.challenge_proofs import ChallengeProofs
from node_agent.challenge.child_process import ChildProgram, ProofComputationError
from node_agent.core.challenges import ChallengeStep, ChallengeView, HeldProof, next_step
from node_agent.telemetry.hardware import Hardware
from offchain.adapters.chain.challenge_blocks import BlocksPrunedError, answer_times
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.outbox.store import Store
from offchain.errors import BadReply, ChainUnreachable
from offchain.ports import BlockRef, ChainPort
from offchain.schema.chain_types._generated_chain import ChallengeRecord, VerificationParams, calls, storage
from offchain.schema.chain_types.values import Call
from offchain.schema.challenge.order import ChallengeCommitment, drawn_numbers, read_commitment
from offchain.schema.challenge.sizing import ChallengeTerms, terms_of
from offchain.schema.protocol.fields import WireError, canonical_json
from offchain.schema.protocol.operations import ChallengePart

log = logging.getLogger(__name__)

READY_S: Final = 60.0
"""Timeout for the program's start."""
OPEN_S: Final = 60.0
"""Timeout for the opening."""
COMPUTE_S: Final = 600
"""Most seconds that the program computes."""
RETRY_S: Final = 5.0
"""Pause after the node could not be reached or the program failed."""


class CallHost(Protocol):
    """What the responder needs of its agent."""

    async def send(self, key: str, call: Call) -> bool:
        """Submit a call of the host; return whether it took effect."""
        ...


StartProgram = Callable[[Path], Awaitable[ChildProgram]]


class ChallengeResponder:
    """Follows the open challenge of one host. `folder`: where the program's archive is written."""

    def __init__(
        self,
        port: ChainPort,
        store: Store,
        folder: Path,
        host: str,
        hardware: Hardware,
        start: StartProgram = ChildProgram.start,
    ) -> None:
        self._port = port
        self._chain = GantryChain(port)
        self._proofs = ChallengeProofs(store)
        self._folder = folder
        self._host = host
        self._hardware = hardware
        self._start = start
        self._program: ChildProgram | None = None
        self._prepared_for: int | None = None
        self._computed: bytes | None = None
        self._work: asyncio.Task[None] | None = None
        self._last_step: tuple[int, ChallengeStep] | None = None
        self._send_until: dict[bytes, int] = {}
        self.state_text = ""
        """What is done about the open challenge, for people; empty without one."""

    async def run(self, agent: CallHost) -> None:
        """Answer challenges until cancelled. Returns at once if the host is registered without answers."""
        if not self._hardware.answers_challenges:
            return
        try:
            while True:
                try:
                    async for head in self._port.best():
                        await self._step(head, agent)
                except (ChainUnreachable, BadReply) as error:
                    log.debug("challenges wait for the node: %s", error)
                await asyncio.sleep(RETRY_S)
        finally:
            await self._release()

    async def document(self, challenge: int, part: ChallengePart) -> bytes | None:
        """Return a document of the answer that is on the chain; None if there is none."""
        record = await self._chain.read(storage.verification_challenges, challenge)
        if record is None or record.answer is None:
            return None
        proof = self._proofs.find(challenge, record.ballot.seed)
        if proof is None or proof.digest != record.answer.digest:
            return None
        return proof.commitment if part is ChallengePart.COMMITMENT else proof.opening

    async def _step(self, head: BlockRef, agent: CallHost) -> None:
        of_host = await self._chain.read(storage.verification_by_host, self._host, at=head.hash)
        number = None if of_host is None else of_host.open
        if number is None:
            await self._end()
            return
        record = await self._chain.read(storage.verification_challenges, number, at=head.hash)
        if record is None:
            return
        await self._proofs.keep_only(number)
        if self._work is not None and not self._work.done():
            return
        final = await self._port.finalized_head()
        at_final = await self._chain.read(storage.verification_challenges, number, at=final.hash)
        terms = self._terms(record)
        if terms is None:
            self._say(number, ChallengeStep.GIVE_UP, "the GPU's model is not in the table of models")
            return
        view = ChallengeView(
            record,
            at_final,
            self._proofs.find(number, record.ballot.seed),
            self._computed if self._program is not None and self._program.is_running else None,
            await self._chain.now_ms(head.hash),
            await self._latest_answer(record, terms, head),
        )
        step = next_step(view)
        self._say(number, step)
        if step in _WORK:
            self._work = asyncio.create_task(self._try(step, number, record, terms, final, view.proof, agent))
        elif step is ChallengeStep.SERVE:
            await self._release()

    def _terms(self, record: ChallengeRecord) -> ChallengeTerms | None:
        claim = record.claim
        return terms_of(claim.model.decode(errors="replace"), claim.vram_mib, simulated=claim.simulated)

    async def _latest_answer(self, record: ChallengeRecord, terms: ChallengeTerms, head: BlockRef) -> int:
        """Return the chain time up to which an answer is in time. The seed was drawn `answer_ms` before `until`."""
        seed = record.ballot.seed
        if seed is None:
            return 0
        if seed not in self._send_until:
            params = await self._port.query("Verification", "Params", (), head.hash)
            self._send_until = {seed: record.until - VerificationParams.decode(params).answer_ms + terms.deadline_ms}
        return self._send_until[seed]

    async def _try(
        self,
        step: ChallengeStep,
        number: int,
        record: ChallengeRecord,
        terms: ChallengeTerms,
        final: BlockRef,
        proof: HeldProof | None,
        agent: CallHost,
    ) -> None:
        try:
            await self._do(step, number, record, terms, final, proof, agent)
        except (ProofComputationError, BlocksPrunedError, WireError) as error:
            log.warning("challenge %d: %s", number, error)
            await self._release()
            await asyncio.sleep(RETRY_S)
        except (ChainUnreachable, BadReply, LookupError) as error:
            log.debug("challenge %d waits for the node: %s", number, error)

    async def _do(
        self,
        step: ChallengeStep,
        number: int,
        record: ChallengeRecord,
        terms: ChallengeTerms,
        final: BlockRef,
        proof: HeldProof | None,
        agent: CallHost,
    ) -> None:
        match step:
            case ChallengeStep.PREPARE:
                await self._prepare(number, terms)
            case ChallengeStep.COMPUTE:
                program = await self._prepare(number, terms)
                await self._compute(program, number, record, proof)
            case ChallengeStep.SEND:
                assert proof is not None  # noqa: S101  (the step follows from it)
                # The key names the proof: the outbox continues this call after a restart, and no other.
                key = f"answer-challenge:{number}:{proof.digest.hex()[:16]}"
                await agent.send(key, calls.verification_answer(challenge=number, digest=proof.digest))
            case ChallengeStep.OPEN:
                assert proof is not None  # noqa: S101  (the step follows from it)
                await self._open(number, record, terms, final, proof)

    async def _prepare(self, number: int, terms: ChallengeTerms) -> ChildProgram:
        """Return the program, prepared for the work."""
        if self._program is not None and self._program.is_running and self._prepared_for == number:
            return self._program
        await self._release()
        self._program = await self._start(self._folder)
        order = {
            "type": "prepare",
            "work": _plain_work(terms),
            "backend": "numpy",
            "device": 0,
            "time_limit_s": COMPUTE_S,
            "folder": "",
        }
        answer = await self._program.ask(order, READY_S)
        self._prepared_for = number
        log.info("challenge %d: the program is ready, device %s", number, answer["device"])
        return self._program

    async def _compute(
        self, program: ChildProgram, number: int, record: ChallengeRecord, before: HeldProof | None
    ) -> None:
        """Compute the proof, or compute it again to open the stored commitment after a restart."""
        seed = record.ballot.seed
        assert seed is not None  # noqa: S101  (the step follows from it)
        answer = await program.ask({"type": "compute", "seed": seed.hex()}, COMPUTE_S + OPEN_S)
        commitment = read_commitment(canonical_json(answer["commitment"]))
        if before is not None and not _has_same_roots(read_commitment(before.commitment), commitment):
            raise ProofComputationError("a second computation of the proof gave another result than the first")
        await self._proofs.put_commitment(number, seed, commitment.to_bytes())
        self._computed = seed
        log.info("challenge %d: the proof is computed: %s", number, answer["seconds"])

    async def _open(
        self, number: int, record: ChallengeRecord, terms: ChallengeTerms, final: BlockRef, proof: HeldProof
    ) -> None:
        times = await answer_times(self._port, number, record, final)
        if times is None or self._program is None:
            return
        work = terms.work
        order = {
            "type": "open",
            "rows": list(drawn_numbers(times.opening_seed, "rows", work.rows)),
            "chains": list(drawn_numbers(times.opening_seed, "chains", work.chains)),
        }
        answer = await self._program.ask(order, OPEN_S)
        await self._proofs.put_opening(number, proof.seed, canonical_json(answer["opening"]))
        log.info("challenge %d: the opening is ready for the committee", number)

    def _say(self, number: int, step: ChallengeStep, detail: str = "") -> None:
        self.state_text = f"challenge {number}: {_TEXTS[step]}{f': {detail}' if detail else ''}"
        if self._last_step != (number, step):
            self._last_step = (number, step)
            (log.warning if step in _TROUBLES else log.info)("%s", self.state_text)

    async def _end(self) -> None:
        """Free the device and remove the proof of a challenge that is over, once its end is final."""
        if self._last_step is None:
            return
        final = await self._port.finalized_head()
        of_host = await self._chain.read(storage.verification_by_host, self._host, at=final.hash)
        if of_host is not None and of_host.open == self._last_step[0]:
            return
        log.info("challenge %d is over", self._last_step[0])
        self._last_step, self.state_text = None, ""
        if self._work is not None:
            self._work.cancel()
            self._work = None
        await self._release()
        await self._proofs.keep_only(None)

    async def _release(self) -> None:
        """End the program, which frees the device."""
        program, self._program, self._prepared_for, self._computed = self._program, None, None, None
        if program is not None:
            await program.close()


_WORK: Final = frozenset({ChallengeStep.PREPARE, ChallengeStep.COMPUTE, ChallengeStep.SEND, ChallengeStep.OPEN})
_TROUBLES: Final = frozenset({ChallengeStep.GIVE_UP, ChallengeStep.LOST})
_TEXTS: Final = {
    ChallengeStep.NOTHING: "waiting for the next block",
    ChallengeStep.PREPARE: "the program is being prepared, the seed is not drawn yet",
    ChallengeStep.COMPUTE: "the proof is being computed",
    ChallengeStep.SEND: "the answer is being sent",
    ChallengeStep.OPEN: "waiting for the blocks that draw the opening",
    ChallengeStep.SERVE: "answered, the committee can fetch the proof",
    ChallengeStep.GIVE_UP: "not answered, because the answer would be late or wrong",
    ChallengeStep.LOST: "the answer on the chain is not from this agent's folder, so its proof cannot be shown",
}


def _has_same_roots(one: ChallengeCommitment, other: ChallengeCommitment) -> bool:
    return (one.rows_root, one.chains_root) == (other.rows_root, other.chains_root)


def _plain_work(terms: ChallengeTerms) -> dict[str, Any]:
    names = ("dimension", "products", "pages", "page_words", "layers", "chains", "chain_reads")
    return {name: getattr(terms.work, name) for name in names}
