"""The verifier: judges answers to challenges in committees, challenges hosts within a budget, and sits on juries."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from offchain.adapters.chain.chain_identity import continued
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.chain.watcher import Watcher
from offchain.adapters.keys import ss58
from offchain.adapters.outbox.intent_values import OutboxCounts
from offchain.adapters.outbox.outbox import Outbox
from offchain.adapters.outbox.store import Store
from offchain.clock import unix_ms
from offchain.core.verifier.duties import (
    AdvanceChallenge,
    CallCommand,
    CallEnded,
    ChallengesSeen,
    CommitVote,
    Examine,
    Examined,
    Finding,
    FindingKind,
    ForgetVote,
    RevealVote,
    StoreVote,
    VerifierCommand,
    VerifierEvent,
    VerifierState,
    VoteStored,
    handle,
    vote_commitment,
)
from offchain.core.verifier.openings import BlockDraw, Opening, drawn_opening, may_be_opened
from offchain.errors import BadReply, ChainUnreachable
from offchain.ports import BlockRef, Call, ChainPort, Signer
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import calls, storage
from offchain.services.host_connections import HostConnections
from offchain.services.juror import JobExecutor, Juror
from offchain.services.log import EventLog
from offchain.services.proof_examiner import ProofExaminer
from offchain.services.submitter import PendingCalls, SubmitCall, Submitter, observe_block
from offchain.services.verifier_store import VerifierStore
from offchain.services.vote_files import VoteFiles

VOTES: Final = "votes"
"""Folder of the votes of juries, beside the worker's database."""
HOSTS_READ_MS: Final = 60_000
"""How old the list of hosts may be from which challenges are drawn; a drawn host is read again."""


class Verifier:
    """One verifier.

    `budget`: base units that may be held for challenges in 24 h; 0: it opens none.
    """

    def __init__(
        self,
        chain: GantryChain,
        submit: SubmitCall,
        examiner: ProofExaminer,
        store: VerifierStore,
        account: Signer,
        budget: int,
    ) -> None:
        self._chain = chain
        self._submit = submit
        self._examiner = examiner
        self._store = store
        self._account = account
        self._budget = budget
        self._state = VerifierState(account.address, store.votes())
        self._best: BlockRef | None = None
        self._now = 0
        self._commit_ms = 0
        self._final_records: dict[int, gen.ChallengeRecord] = {}
        self._best_records: dict[int, gen.ChallengeRecord] = {}
        self._is_on_duty = False
        self._hosts: dict[str, gen.HostRecord] = {}
        self._scores: dict[str, gen.HostScore] = {}
        self._of_hosts: dict[str, gen.HostChallenges] = {}
        self._hosts_read_at: int | None = None
        self._drawn_by: bytes | None = None
        self._opening: set[str] = set()
        self._is_bonded: bool | None = None
        self._log = EventLog("verifier")
        self.running = PendingCalls(lambda: None)

    async def step(self, head: BlockRef) -> tuple[gen.VerifierRecord | None, gen.VerificationParams]:
        """Do what a new final block asks for; return the account's record as a verifier and the parameters there."""
        self.running.check()
        before = self._now
        self._now = await self._chain.now_ms(head.hash)
        own = await self._chain.read(storage.verification_verifiers, self._account.address, at=head.hash)
        self._note_bond(own)
        params = gen.VerificationParams.decode(await self._chain.port.query("Verification", "Params", (), head.hash))
        self._is_on_duty = bool(self._state.votes) or (own is not None and own.duties > 0)
        self._commit_ms = params.challenge_commit_ms
        if self._is_on_duty:
            self._final_records = await self._own_challenges(head)
            self._take_seen()
        else:
            self._final_records, self._best_records = {}, {}
        if self._budget and own is not None and isinstance(own.status, gen.VerifierStatusActive):
            await self._draw(head, params, self._now - before if before else 0)
        return own, params

    async def see_best(self, head: BlockRef) -> None:
        """Examine answers and commit votes by a new best block."""
        if self._is_on_duty:
            self._best, self._best_records = head, await self._own_challenges(head)
            self._take_seen()

    def _take_seen(self) -> None:
        self._take(ChallengesSeen(self._final_records, self._commit_ms, self._best_records))

    async def _own_challenges(self, head: BlockRef) -> dict[int, gen.ChallengeRecord]:
        found = await self._chain.read_map(storage.verification_challenges, at=head.hash)
        voted = {key.challenge for key in self._state.votes}
        me = self._account.address
        return {
            number: record
            for number, record in found.items()
            if number in voted or any(seat.who == me for seat in record.ballot.seats)
        }

    def _note_bond(self, own: gen.VerifierRecord | None) -> None:
        is_bonded = own is not None and isinstance(own.status, gen.VerifierStatusActive)
        if is_bonded != self._is_bonded:
            self._is_bonded = is_bonded
            if is_bonded:
                self._log.info("bonded", account=self._account.address)
            else:
                self._log.warning("not_bonded", account=self._account.address, hint="gantry verifier bond")

    # --- duties -----------------------------------------------------------------------------------------------------

    def _take(self, event: VerifierEvent) -> None:
        self._state, commands = handle(self._state, event, self._now)
        for command in commands:
            self.running.spawn(self._carry_out(command))

    async def _carry_out(self, command: VerifierCommand) -> None:
        match command:
            case Examine():
                self._take(Examined(command.key, await self._examine(command)))
            case StoreVote(key, vote, reason):
                stored = await self._store.store_vote(key, vote, reason)
                self._log.info("votes", challenge=key.challenge, round=key.round, vote=vote.value, reason=reason)
                self._take(VoteStored(key, stored))
            case ForgetVote(key):
                await self._store.forget_vote(key)
            case CommitVote() | RevealVote() | AdvanceChallenge():
                name, call = self._call_of(command)
                outcome = await self._submit(name, call)
                self._log.info("done" if outcome.done else "refused", act=name, reason=outcome.refusal)
                self._take(CallEnded(command, not outcome.done))

    async def _examine(self, command: Examine) -> Finding:
        try:
            head = self._best or await self._chain.port.best_head()
            found = await self._examiner.examine(command.key.challenge, command.record, head)
        except (ChainUnreachable, BadReply, LookupError) as error:
            found = Finding(FindingKind.NOT_YET, str(error))
        if found.kind in (FindingKind.NOT_SHOWN, FindingKind.NOT_YET):
            self._log.info("examines", challenge=command.key.challenge, host=command.record.host, reason=found.reason)
        return found

    def _call_of(self, command: CallCommand) -> tuple[str, Call]:
        key, matter = command.key, command.key.matter
        match command:
            case CommitVote(_, stored):
                digest = vote_commitment(matter, key.round, stored.vote, stored.salt, self._account.public_key)
                call = calls.verification_commit_vote(matter=matter, commitment=digest)
                return f"commit-vote:{key.challenge}:{key.round}", call
            case RevealVote(_, stored):
                call = calls.verification_reveal_vote(matter=matter, vote=stored.vote, salt=stored.salt)
                return f"reveal-vote:{key.challenge}:{key.round}", call
            case AdvanceChallenge(_, until):
                return f"advance:{key.challenge}:{until}", calls.verification_advance(matter=matter)

    # --- openings ---------------------------------------------------------------------------------------------------

    async def _draw(self, head: BlockRef, params: gen.VerificationParams, block_ms: int) -> None:
        """Open the challenges that this block's draw assigns to this verifier, as far as the budget allows."""
        randomness = await self._chain.port.query("Babe", "AuthorVrfRandomness", (), head.hash)
        if randomness is None or randomness == self._drawn_by:
            return
        self._drawn_by = bytes(randomness)
        if self._hosts_read_at is None or self._now >= self._hosts_read_at + HOSTS_READ_MS:
            found = await self._chain.hosts(at=head.hash)
            self._hosts = {name: record for name, record in found.items() if record.answers_challenges}
            self._scores = await self._chain.host_scores_named(self._hosts, at=head.hash)
            self._of_hosts = await self._chain.read_map(storage.verification_by_host, at=head.hash)
            self._hosts_read_at = self._now
        if not self._hosts:
            return
        listed = await self._chain.read(storage.verification_verifier_list, at=head.hash) or ()
        verifiers = {one.who: ss58.decode(one.who) for one in listed}
        draw = BlockDraw(self._drawn_by, self._now, block_ms, params.challenge_rest_ms, verifiers)
        for host, record in self._hosts.items():
            known = self._scores.get(host), self._of_hosts.get(host)
            opening = drawn_opening(self._account.address, host, ss58.decode(host), record, *known, draw)
            if opening is not None and host not in self._opening and await self._is_due(opening, draw, head):
                await self._begin(opening, 2 * params.challenge_fee)

    async def _is_due(self, opening: Opening, draw: BlockDraw, head: BlockRef) -> bool:
        record = await self._chain.host(opening.host, at=head.hash)
        of_host = await self._chain.read(storage.verification_by_host, opening.host, at=head.hash)
        absence_ms = (await self._chain.params("Hosts", head.hash)).absence_limit_ms
        return record is not None and may_be_opened(record, of_host, draw, absence_ms)

    async def _begin(self, opening: Opening, fee: int) -> None:
        if self._store.spent(self._now) + fee > self._budget:
            self._log.info("budget_spent", host=opening.host, budget=self._budget)
            return
        await self._store.note_opening(self._now, opening.host, fee)
        self._opening.add(opening.host)
        self.running.spawn(self._open(opening, self._now))

    async def _open(self, opening: Opening, now: int) -> None:
        call = calls.verification_open_challenge(host=opening.host, device=opening.device, lease=None)
        name = f"open-challenge:{opening.host}:{opening.device}:{now}"
        try:
            outcome = await self._submit(name, call)
        finally:
            self._opening.discard(opening.host)
        if not outcome.done:
            await self._store.forget_opening(now, opening.host)
        self._log.info("done" if outcome.done else "refused", act=name, reason=outcome.refusal)


async def work(
    chain: ChainPort,
    store: Store,
    account: Signer,
    budget: int,
    counts: OutboxCounts | None = None,
    gateways: Sequence[str] = (),
    executor: JobExecutor | None = None,
) -> None:
    """Run until cancelled. Raises as the chain's port does; the outbox continues at the next start.

    The chain draws committees and juries from one list, so one worker does all duties of its account.

    `budget`: base units held for challenges in 24 h at most. `counts`: of the outbox, kept up to date. `executor`: runs
    disputed jobs for juries; None: persons decide. Votes of juries are in the folder `votes` beside the database.
    """
    outbox = Outbox(chain, store, account, now_ms=unix_ms, waits_for_coins=True, counts=counts)
    watcher = Watcher(chain, store, "verifier", start="finalized")

    async with (
        continued(chain, lambda: watcher.cursor, store.path),
        contextlib.AsyncExitStack() as stack,
        asyncio.TaskGroup() as group,
    ):
        genesis = await chain.genesis_hash()
        ways = HostConnections(stack, genesis, account, gateways)
        examiner = ProofExaminer(GantryChain(chain), ways.to, ways.apart)
        verifier = Verifier(GantryChain(chain), Submitter(outbox), examiner, VerifierStore(store), account, budget)
        stack.push_async_callback(verifier.running.stop)
        votes = VoteFiles(Path(store.path).parent / VOTES, genesis, account.address)
        juror = Juror(GantryChain(chain), Submitter(outbox), account, votes, executor)
        stack.push_async_callback(juror.running.stop)
        group.create_task(outbox.run())
        group.create_task(watcher.run(partial(observe_block, outbox)))
        group.create_task(_follow(chain, verifier, juror))
        group.create_task(_follow_best(chain, verifier))


async def _follow(chain: ChainPort, verifier: Verifier, juror: Juror) -> None:
    async for head in chain.finalized():
        await juror.step(head, *await verifier.step(head))


async def _follow_best(chain: ChainPort, verifier: Verifier) -> None:
    async for head in chain.best():
        await verifier.see_best(head)
