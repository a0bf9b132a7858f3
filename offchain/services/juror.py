"""The juror: judges disputes by executing the accused jobs again, and reveals the votes that persons have stored."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from offchain.adapters.chain.typed import GantryChain, LeaseOfTask
from offchain.core.disputes.judgement import (
    Comparison,
    Judgement,
    JudgementKind,
    LeaseComparison,
    ResultValue,
    compared,
    execution_problem,
    judgement,
)
from offchain.core.disputes.jury_duties import (
    AdvanceDispute,
    CommitJuryVote,
    DisputesSeen,
    ExecuteAccused,
    ForgetJuryVote,
    Judged,
    JuryCall,
    JuryCallEnded,
    JuryCommand,
    JuryEvent,
    JuryState,
    JuryVoteStored,
    RevealJuryVote,
    StoreJuryVote,
    WarnJuror,
    handle_jury,
)
from offchain.core.disputes.rules import seat_of
from offchain.core.verifier.duties import vote_commitment
from offchain.errors import BadReply, ChainUnreachable, ExecutionFailed
from offchain.ports import BlockRef, Call, ExecutedResult, Signer
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import calls, storage
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.types import Manifest, ManifestError
from offchain.services.event_text import time_text
from offchain.services.log import EventLog
from offchain.services.submitter import PendingCalls, SubmitCall
from offchain.services.vote_files import VoteFiles

EXECUTE_S: Final = 1_800.0
"""Timeout for one execution, the pull of its image included."""


class JobExecutor(Protocol):
    """Executes jobs on this machine."""

    async def execute(self, lease: LeaseOfTask, manifest: Manifest) -> ExecutedResult:
        """Execute the pod of a lease from its start to its end. Raises ExecutionFailed. Cancellation ends the pod."""
        ...


class Juror:
    """One juror. `executor` None: it executes nothing, warns about its duties, and reveals votes of persons."""

    def __init__(
        self,
        chain: GantryChain,
        submit: SubmitCall,
        account: Signer,
        votes: VoteFiles,
        executor: JobExecutor | None = None,
    ) -> None:
        self._chain = chain
        self._submit = submit
        self._account = account
        self._votes = votes
        self._executor = executor
        self._state = JuryState(account.address, can_execute=executor is not None)
        self._now = 0
        self._log = EventLog("juror")
        self._turn = asyncio.Lock()
        """One execution at a time."""
        self.running = PendingCalls(lambda: None)

    async def step(self, head: BlockRef, own: gen.VerifierRecord | None, params: gen.VerificationParams) -> None:
        """Do what a new final block asks for. `own`: the account's record as a verifier at this block."""
        self.running.check()
        self._now = await self._chain.now_ms(head.hash)
        votes = await asyncio.to_thread(self._votes.votes)
        if not votes and (own is None or not own.duties):
            return
        found = await self._chain.read_map(storage.verification_disputes, at=head.hash)
        me, voted = self._account.address, {key.task for key in votes}
        records = {task: record for task, record in found.items() if task in voted or seat_of(record, me) is not None}
        self._take(DisputesSeen(records, votes, params.dispute_commit_ms))

    def _take(self, event: JuryEvent) -> None:
        self._state, commands = handle_jury(self._state, event, self._now)
        for command in commands:
            self.running.spawn(self._carry_out(command))

    async def _carry_out(self, command: JuryCommand) -> None:
        match command:
            case ExecuteAccused(key, record):
                found = await self._judge(record, key.task)
                self._log.info("judged", task=key.task, round=key.round, outcome=found.kind.value, reason=found.reason)
                self._take(Judged(key, found))
            case StoreJuryVote(key, vote, reason):
                stored = await asyncio.to_thread(self._votes.store, key, vote, reason)
                self._log.info("votes", task=key.task, round=key.round, vote=stored.vote.value, reason=stored.reason)
                self._take(JuryVoteStored(key, stored))
            case ForgetJuryVote(key):
                await asyncio.to_thread(self._votes.forget, key)
            case WarnJuror(key, until, reason):
                self._log.warning(
                    "juror_decides",
                    task=key.task,
                    until=time_text(until),
                    reason=reason,
                    hint=f"gantry dispute show {key.task}, then gantry dispute vote {key.task} yes|no",
                )
            case CommitJuryVote() | RevealJuryVote() | AdvanceDispute():
                name, call = call_of(command, self._account.public_key)
                outcome = await self._submit(name, call)
                self._log.info("done" if outcome.done else "refused", act=name, reason=outcome.refusal)
                self._take(JuryCallEnded(command, not outcome.done))

    async def _judge(self, record: gen.DisputeRecord, task: int) -> Judgement:
        try:
            found = await self._chain.task(task)
            text = await self._chain.manifest(task)
        except (ChainUnreachable, BadReply) as error:
            return Judgement(JudgementKind.NOT_YET, str(error))
        if found is None or text is None:
            return Judgement(JudgementKind.PERSON, f"the chain has no manifest of task {task}")
        try:
            manifest = await asyncio.to_thread(parse_manifest, text)
        except ManifestError as error:
            return Judgement(JudgementKind.PERSON, f"the manifest of task {task} is not valid: {error}")
        comparisons = []
        for number in record.accused:
            lease = found.lease(number)
            if lease is None:
                missing = f"lease {number} is not on the chain"
                comparisons.append(LeaseComparison(number, Comparison.IMPOSSIBLE, missing))
            else:
                comparisons.append(await self._compare(lease, manifest))
            if comparisons[-1].outcome is Comparison.SAME:
                break  # the complaint is wrong as a whole
        return judgement(comparisons, record.level)

    async def _compare(self, lease: LeaseOfTask, manifest: Manifest) -> LeaseComparison:
        assert self._executor is not None  # noqa: S101  (a juror without one gets no such command)
        result = lease.record.result
        problem = execution_problem(manifest, result)
        if problem or result is None:
            return LeaseComparison(lease.id, Comparison.IMPOSSIBLE, f"lease {lease.id} is not executed: {problem}")
        reported, executions = ResultValue(result.digest, result.exit_code), list[ResultValue]()
        while (outcome := compared(lease.id, reported, executions)) is None:
            try:
                async with self._turn, asyncio.timeout(EXECUTE_S):
                    one = await self._executor.execute(lease, manifest)
            except TimeoutError:
                text = f"the execution of lease {lease.id} took more than {EXECUTE_S:g} s"
                return LeaseComparison(lease.id, Comparison.IMPOSSIBLE, text)
            except ExecutionFailed as error:
                kind = Comparison.NOT_YET if error.transient else Comparison.IMPOSSIBLE
                return LeaseComparison(lease.id, kind, f"lease {lease.id} could not be executed: {error.message}")
            executions.append(ResultValue(one.digest, one.exit_code))
        return outcome


def call_of(command: JuryCall, voter: bytes) -> tuple[str, Call]:
    """Return the name in the outbox and the call of a command. `voter`: public key of the juror's account."""
    key, matter = command.key, command.key.matter
    match command:
        case CommitJuryVote(_, stored):
            digest = vote_commitment(matter, key.round, stored.vote, stored.salt, voter)
            call = calls.verification_commit_vote(matter=matter, commitment=digest)
            return f"commit-jury-vote:{key.task}:{key.round}", call
        case RevealJuryVote(_, stored):
            call = calls.verification_reveal_vote(matter=matter, vote=stored.vote, salt=stored.salt)
            return f"reveal-jury-vote:{key.task}:{key.round}", call
        case AdvanceDispute(_, until):
            return f"advance-dispute:{key.task}:{until}", calls.verification_advance(matter=matter)
