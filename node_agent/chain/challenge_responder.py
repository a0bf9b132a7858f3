"""Answers challenges of this host's devices: starts the program, answers with its digest, keeps the proof to show."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Final, Protocol

from node_agent.chain.challenge_openings import DrawnOpenings, drawn_values
from node_agent.chain.challenge_proofs import ChallengeProofs
from node_agent.challenge.program_port import ProgramSource, ProofComputationError
from node_agent.challenge.proof_session import ProofSession
from node_agent.core.challenges import ChallengeStep, ChallengeView, HeldProof, next_step
from node_agent.core.states import AgentState
from node_agent.drivers.port import Driver, DriverError
from node_agent.telemetry.hardware import Hardware, HostDevice
from offchain.adapters.chain.block_search import first_block_where
from offchain.adapters.chain.challenge_blocks import BlocksPrunedError, answer_times
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.outbox.store import Store
from offchain.adapters.periodic_jobs import PeriodicJobs
from offchain.errors import BadReply, ChainUnreachable
from offchain.ports import BlockRef, ChainPort
from offchain.schema.chain_types._generated_chain import (
    ChallengeOutcome,
    ChallengeRecord,
    VerificationParams,
    calls,
    storage,
)
from offchain.schema.chain_types.values import Call
from offchain.schema.challenge.failures import remedy_for, report_of
from offchain.schema.challenge.order import ChallengeCommitment, read_commitment
from offchain.schema.challenge.sizing import ChallengeTerms, terms_of
from offchain.schema.protocol.fields import WireError
from offchain.schema.protocol.operations import ChallengePart

log = logging.getLogger(__name__)

RETRY_S: Final = 5.0
"""Pause after the node could not be reached or the program failed."""
CHECK_S: Final = 600.0
"""Time between checks whether the program could be started."""


class CallHost(Protocol):
    """What the responder needs of its agent."""

    @property
    def state(self) -> AgentState:
        """The present pods."""
        ...

    async def send(self, key: str, call: Call) -> bool:
        """Submit a call of the host; return whether it took effect."""
        ...


class ChallengeResponder:
    """Follows the open challenge of one host. `programs`: starts the program; `driver`: knows which pods run."""

    def __init__(
        self, port: ChainPort, store: Store, programs: ProgramSource, driver: Driver, host: str, hardware: Hardware
    ) -> None:
        self._port = port
        self._chain = GantryChain(port)
        self._proofs = ChallengeProofs(store)
        self._programs = programs
        self._session = ProofSession(programs)
        self._openings = DrawnOpenings(port)
        self._driver = driver
        self._host = host
        self._hardware = hardware
        self._best: BlockRef | None = None
        self._news = asyncio.Event()
        self._work: asyncio.Task[None] | None = None
        self._last_step: tuple[int, ChallengeStep] | None = None
        self._open_in: int | None = None
        self._has_new_result = False
        self._fault = ("", "")
        self._not_after: dict[bytes, int] = {}
        self._step_text = ""
        self.trouble = ""
        """Why the program could not be started now, and what to do; empty if it could."""

    @property
    def state_text(self) -> str:
        """What is done about the open challenge, for people; empty without one."""
        cause, remedy = self._fault
        return f"{self._step_text}; {cause}. {remedy}" if self._step_text and cause else self._step_text

    @property
    def last_text(self) -> str:
        """How the last challenge ended, for people, with cause and remedy if it failed; empty if there was none."""
        report = self._proofs.report()
        return "" if report is None else report.text

    def add_jobs(self, _agent: CallHost, jobs: PeriodicJobs) -> None:
        """Check now and then whether the program can be started."""
        if self._hardware.answers_challenges:
            jobs.add("challenge program", self.check, CHECK_S)

    async def run(self, agent: CallHost) -> None:
        """Answer challenges until cancelled. Returns at once if the host is registered without answers."""
        if not self._hardware.answers_challenges:
            return
        # Without an engine nothing is left of an earlier program, or it is removed before the next one is started.
        with contextlib.suppress(ProofComputationError):
            await self._programs.clear()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._take_steps(agent))
                while True:
                    try:
                        async for head in self._port.best():
                            self._best = head
                            self._news.set()
                    except (ChainUnreachable, BadReply) as error:
                        log.debug("challenges wait for the node: %s", error)
                    await asyncio.sleep(RETRY_S)
        finally:
            await self._stop()

    async def _take_steps(self, agent: CallHost) -> None:
        """Take the next step at each best block, and as soon as something was prepared or computed."""
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                if self._best is not None:
                    await self._step(self._best, agent)
            except (ChainUnreachable, BadReply, LookupError) as error:
                log.debug("challenges wait for the node: %s", error)

    async def document(self, challenge: int, part: ChallengePart) -> bytes | None:
        """Return a document of the answer that is on the chain; None if there is none."""
        record = await self._chain.read(storage.verification_challenges, challenge)
        if record is None or record.answer is None:
            return None
        proof = self._proofs.find(challenge, record.ballot.seed)
        if proof is None or proof.digest != record.answer.digest:
            return None
        return proof.commitment if part is ChallengePart.COMMITMENT else proof.opening

    async def check(self) -> None:
        try:
            await self._programs.check()
        except ProofComputationError as error:
            trouble = f"the challenge program cannot be started: {error}. {error.remedy}"
            if trouble != self.trouble:
                log.warning("%s", trouble)
            self.trouble = trouble
        else:
            self.trouble = ""

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
        if self._last_step is None or self._last_step[0] != number:
            self._fault, self._open_in = ("", ""), None
        if at_final is not None:
            self._open_in = final.number
        terms, device = self._terms(record), self._device(record)
        if terms is None or device is None:
            missing = "the table of models does not have its model" if terms is None else "it is not in this machine"
            self._note(
                f"GPU {record.device} cannot be proven: {missing}",
                "Register it as it is: gantry agent change-hardware.",
            )
            self._say(number, ChallengeStep.GIVE_UP)
            return
        proof = self._proofs.find(number, record.ballot.seed)
        is_drawn_finally = await self._openings.are_final(number, at_final, terms.work, final, proof)
        if proof is not None and is_drawn_finally is False:
            log.info("challenge %d: other blocks draw the opening than those that were the best", number)
            proof = replace(proof, opening=None)
        view = ChallengeView(
            record,
            at_final,
            proof,
            self._session.computed,
            await self._chain.now_ms(head.hash),
            await self._latest_answer(record, terms, head),
            await self._holder(record, agent),
            bool(is_drawn_finally),
        )
        step = next_step(view)
        self._note_step(step, view)
        self._say(number, step)
        if step in _WORK:
            work = partial(self._do, step, number, view, terms, device, head, agent)
            self._work = asyncio.create_task(self._try(number, work))
            self._work.add_done_callback(self._note_end)
        elif step is ChallengeStep.SERVE:
            await self._session.release()

    def _terms(self, record: ChallengeRecord) -> ChallengeTerms | None:
        claim = record.claim
        return terms_of(claim.model.decode(errors="replace"), claim.vram_mib, simulated=claim.simulated)

    def _device(self, record: ChallengeRecord) -> HostDevice | None:
        """Return the challenged device; None if this machine has another one in its place."""
        devices = self._hardware.devices
        device = devices[record.device] if record.device < len(devices) else None
        return device if device is not None and device.simulated == record.claim.simulated else None

    async def _holder(self, record: ChallengeRecord, agent: CallHost) -> int | None:
        """Return the lease whose pod runs on the challenged device; None if none does, or its tenant challenges it."""
        for number, pod in agent.state.pods.items():
            if record.device not in pod.lease.devices or record.opener == pod.lease.tenant:
                continue
            try:
                if any(found.running for found in await self._driver.recover(number)):
                    return number
            except DriverError as error:
                log.debug("it is unknown whether the pod of lease %d runs: %s", number, error)
        return None

    async def _latest_answer(self, record: ChallengeRecord, terms: ChallengeTerms, head: BlockRef) -> int:
        """Return the chain time up to which an answer is in time. The seed was drawn `answer_ms` before `until`."""
        seed = record.ballot.seed
        if seed is None:
            return 0
        if seed not in self._not_after:
            params = await self._port.query("Verification", "Params", (), head.hash)
            self._not_after = {seed: record.until - VerificationParams.decode(params).answer_ms + terms.deadline_ms}
        return self._not_after[seed]

    async def _try(self, number: int, work: Callable[[], Awaitable[None]]) -> None:
        self._has_new_result = False
        try:
            await work()
        except (ProofComputationError, BlocksPrunedError, WireError) as error:
            remedy = error.remedy if isinstance(error, ProofComputationError) else remedy_for(str(error))
            self._note(str(error), remedy)
            log.warning("challenge %d: %s. %s", number, error, remedy)
            await self._session.release()
            await asyncio.sleep(RETRY_S)
        except (ChainUnreachable, BadReply, LookupError) as error:
            log.debug("challenge %d waits for the node: %s", number, error)

    def _note_end(self, _work: asyncio.Task[None]) -> None:
        if self._has_new_result:
            self._news.set()

    async def _do(
        self,
        step: ChallengeStep,
        number: int,
        view: ChallengeView,
        terms: ChallengeTerms,
        device: HostDevice,
        head: BlockRef,
        agent: CallHost,
    ) -> None:
        record, proof = view.best, view.proof
        match step:
            case ChallengeStep.PREPARE:
                await self._prepare(number, terms, device)
            case ChallengeStep.COMPUTE:
                await self._prepare(number, terms, device)
                await self._compute(number, record, proof)
            case ChallengeStep.SEND:
                assert proof is not None  # noqa: S101  (the step follows from it)
                # The key names the proof: the outbox continues this call after a restart, and no other.
                key = f"answer-challenge:{number}:{proof.digest.hex()[:16]}"
                await agent.send(
                    key, calls.verification_answer(challenge=number, digest=proof.digest, not_after=view.not_after)
                )
            case ChallengeStep.OPEN:
                assert proof is not None  # noqa: S101  (the step follows from it)
                await self._open(number, record, terms, head, proof)

    async def _prepare(self, number: int, terms: ChallengeTerms, device: HostDevice) -> None:
        started = await self._session.prepare(number, device, terms.work)
        if started is not None:
            self._has_new_result = True
            log.info("challenge %d: the program is ready, device %s", number, started)

    async def _compute(self, number: int, record: ChallengeRecord, before: HeldProof | None) -> None:
        """Compute the proof, or compute it again to open the stored commitment after a restart."""
        seed = record.ballot.seed
        assert seed is not None  # noqa: S101  (the step follows from it)
        commitment, seconds = await self._session.compute(seed)
        if before is not None and not _has_same_roots(read_commitment(before.commitment), commitment):
            raise ProofComputationError("a second computation of the proof gave another result than the first")
        await self._proofs.put_commitment(number, seed, commitment.to_bytes())
        self._session.keep(seed)
        self._has_new_result = True
        self._fault = ("", "")
        log.info("challenge %d: the proof is computed: %s", number, dict(seconds))

    async def _open(
        self, number: int, record: ChallengeRecord, terms: ChallengeTerms, head: BlockRef, proof: HeldProof
    ) -> None:
        times = await answer_times(self._port, number, record, head)
        if times is None:
            return
        opening = await self._session.open(*drawn_values(times.opening_seed, terms.work))
        await self._proofs.put_opening(number, proof.seed, opening)
        log.info("challenge %d: the opening is ready for the committee", number)

    def _note(self, cause: str, remedy: str) -> None:
        self._fault = (cause, remedy)

    def _note_step(self, step: ChallengeStep, view: ChallengeView) -> None:
        """Note why a step cannot lead to an answer, unless a cause is known."""
        if step is ChallengeStep.AWAIT_POD:
            cause = f"the pod of lease {view.held_by} has GPU {view.best.device}"
            self._note(cause, "Pods are not disturbed for a challenge; the program starts when that pod has ended.")
        elif step is ChallengeStep.GIVE_UP and not self._fault[0]:
            cause = "the answer would be late"
            self._note(cause, remedy_for(cause))
        elif step is ChallengeStep.LOST:
            self._note("the answer on the chain is not from this agent's folder", "Run one agent for each host key.")

    def _say(self, number: int, step: ChallengeStep) -> None:
        self._step_text = f"challenge {number}: {_TEXTS[step]}"
        if self._last_step != (number, step):
            self._last_step = (number, step)
            (log.warning if step in _TROUBLES else log.info)("%s", self.state_text)

    async def _end(self) -> None:
        """Free the device and remove the proof of a challenge that is over, once its end is final."""
        if self._last_step is None:
            return
        number, final = self._last_step[0], await self._port.finalized_head()
        of_host = await self._chain.read(storage.verification_by_host, self._host, at=final.hash)
        if of_host is not None and of_host.open == number:
            return
        outcome = await self._outcome(number, final)
        await self._stop()
        if outcome is not None:
            report = report_of(number, outcome, *self._fault)
            await self._proofs.put_report(report)
            (log.warning if report.is_failure else log.info)("%s", report.text)
        self._last_step, self._step_text, self._fault = None, "", ("", "")
        await self._proofs.keep_only(None)

    async def _stop(self) -> None:
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait((self._work,))
            self._work = None
        await self._session.release()

    async def _outcome(self, number: int, final: BlockRef) -> ChallengeOutcome | None:
        """Return how a challenge ended, from the final block in which it did; None if that is not known."""
        if self._open_in is None:
            return None

        async def is_over(at: bytes) -> bool:
            of_host = await self._chain.read(storage.verification_by_host, self._host, at=at)
            return of_host is None or of_host.open != number

        try:
            block = await self._port.block(await first_block_where(self._port, self._open_in, final.number, is_over))
        except BadReply as error:
            if error.code == "state_pruned":  # the agent was without its node for long
                return None
            raise
        for event in block.events:
            if (event.pallet, event.name, event.fields.get("challenge")) == ("Verification", "ChallengeClosed", number):
                return ChallengeOutcome.decode(event.fields["outcome"])
        return None


_WORK: Final = frozenset({ChallengeStep.PREPARE, ChallengeStep.COMPUTE, ChallengeStep.SEND, ChallengeStep.OPEN})
_TROUBLES: Final = frozenset({ChallengeStep.GIVE_UP, ChallengeStep.LOST, ChallengeStep.AWAIT_POD})
_TEXTS: Final = {
    ChallengeStep.NOTHING: "waiting for the next block",
    ChallengeStep.AWAIT_POD: "waiting for the end of a pod",
    ChallengeStep.PREPARE: "the program is being prepared, the seed is not drawn yet",
    ChallengeStep.COMPUTE: "the proof is being computed",
    ChallengeStep.SEND: "the answer is being sent",
    ChallengeStep.OPEN: "waiting for the blocks that draw the opening",
    ChallengeStep.HOLD: "answered, the committee can fetch the proof",
    ChallengeStep.SERVE: "answered, the committee can fetch the proof",
    ChallengeStep.GIVE_UP: "not answered",
    ChallengeStep.LOST: "answered, but the proof cannot be shown",
}


def _has_same_roots(one: ChallengeCommitment, other: ChallengeCommitment) -> bool:
    return (one.rows_root, one.chains_root) == (other.rows_root, other.chains_root)
