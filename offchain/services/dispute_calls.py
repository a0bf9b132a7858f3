"""Calls about disputes, for the command line, the SDK and the HTTP API.

Every function checks before it returns, and raises CheckFailed if the chain would refuse the call.
"""

from __future__ import annotations

from collections.abc import Iterable

from offchain.adapters.chain.typed import GantryChain, TaskAndSpec
from offchain.core.disputes import rules
from offchain.core.disputes.jury_duties import CommitJuryVote, JuryKey, RevealJuryVote
from offchain.core.verifier.duties import StoredVote
from offchain.errors import CheckFailed
from offchain.ports import Call, ChainPort, Signer
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import calls, storage
from offchain.services.juror import call_of
from offchain.services.record_views import TaskView
from offchain.services.tenant_calls import check_free, check_reported, leases_of
from offchain.services.vote_files import VoteFiles


async def read_dispute(chain: ChainPort, task: int, at: bytes | None = None) -> gen.DisputeRecord:
    """Return the open dispute about a task. Raises CheckFailed if there is none."""
    record = await GantryChain(chain).read(storage.verification_disputes, task, at=at)
    if record is None:
        raise CheckFailed(
            f"task {task} is not in dispute.",
            f"gantry chain inspect task {task} shows earlier disputes; gantry dispute open {task} opens one.",
            code="no_such_dispute",
        )
    return record


async def opening(chain: ChainPort, view: TaskView, account: str, evidence: bytes, pod: int | None) -> list[Call]:
    """Dispute the results of a task. `evidence`: the SHA-256 of what shows the fault; `pod` None: all pods."""
    if view.state == "Disputed":
        raise CheckFailed(
            f"task {view.id} is in dispute already, and has one dispute at a time.",
            f"gantry dispute show {view.id} shows it.",
            code="already_disputed",
        )
    check_reported(view, "dispute")
    accused = [lease.id for lease in leases_of(view, pod)]
    typed = GantryChain(chain)
    await _check_window(typed, view)
    if account != view.tenant:
        await _check_verifier(typed, view, account)
    params = await chain.query("Verification", "Params") or {}
    await _check_stake(typed, account, int(params["dispute_stake"]), "a dispute")
    return [calls.verification_open_dispute(task=view.id, accused=accused, evidence=evidence)]


async def appeal(chain: ChainPort, task: int, account: str) -> list[Call]:
    """Ask for another jury, with twice the last stake."""
    typed = GantryChain(chain)
    record = await read_dispute(chain, task)
    stake = rules.check_appeal(task, record, account, await typed.now_ms())
    await _check_stake(typed, account, stake, "this appeal")
    return [calls.verification_appeal(task=task)]


async def add_evidence(chain: ChainPort, task: int, account: str, digest: bytes) -> list[Call]:
    """Name evidence by its SHA-256 in a hearing."""
    record = await read_dispute(chain, task)
    rules.check_evidence(task, record, account, await GantryChain(chain).now_ms())
    return [calls.verification_add_evidence(task=task, digest=digest)]


async def vote(chain: ChainPort, task: int, juror: Signer, files: VoteFiles, wanted: gen.Vote, reason: str) -> Call:
    """Store a vote with its salt, and return the commitment to it. `wanted`: YES if the complaint is right.

    Raises CheckFailed if another vote is stored in this ballot: a second commitment could not be revealed.
    """
    record = await read_dispute(chain, task)
    rules.check_commit(task, record, juror.address, await GantryChain(chain).now_ms())
    key = JuryKey(task, record.ballot.round)
    stored = files.store(key, wanted, reason)
    if stored.vote is not wanted:
        raise CheckFailed(
            f"the vote {_word(stored.vote)} about task {task} is stored for this ballot ({stored.reason}), and may "
            "have been sent.",
            f"gantry dispute vote {task} {_word(stored.vote)} sends that vote.",
            code="already_voted",
        )
    return call_of(CommitJuryVote(key, stored), juror.public_key)[1]


async def reveal(chain: ChainPort, task: int, juror: Signer, files: VoteFiles) -> tuple[Call, StoredVote]:
    """Return the call that reveals the stored vote, and the vote."""
    record = await read_dispute(chain, task)
    rules.check_reveal(task, record, juror.address, await GantryChain(chain).now_ms())
    key = JuryKey(task, record.ballot.round)
    stored = files.votes().get(key)
    if stored is None:
        raise CheckFailed(
            f"the vote of {juror.address} about task {task} is not in this folder.",
            "Give the --state-dir from which it was committed: its salt is only there.",
            code="no_salt",
        )
    return call_of(RevealJuryVote(key, stored), juror.public_key)[1], stored


def accused_leases(task: TaskAndSpec, accused: Iterable[int]) -> dict[int, gen.Lease]:
    """Return the records of accused leases by number, without those that the chain no longer has."""
    found = {number: task.lease(number) for number in accused}
    return {number: lease.record for number, lease in found.items() if lease is not None}


async def _check_window(chain: GantryChain, view: TaskView) -> None:
    task, now = await chain.task(view.id), await chain.now_ms()
    window_ms = (await chain.params("Tasks")).dispute_window_ms
    late_ms = 0 if task is None else now - task.record.changed_at - window_ms
    if task is not None and late_ms >= 0:
        raise CheckFailed(
            f"the dispute window of task {view.id} ended {late_ms / 1000:.0f} s ago: it is {window_ms / 1000:g} s "
            "long, from the report.",
            "The result stands. Rate the host after the settlement: gantry task rate.",
            code="window_closed",
        )


async def _check_verifier(chain: GantryChain, view: TaskView, account: str) -> None:
    record = await chain.read(storage.verification_verifiers, account)
    if record is None or not isinstance(record.status, gen.VerifierStatusActive):
        raise CheckFailed(
            f"task {view.id} belongs to {view.tenant}, and {account} is no verifier.",
            "Its tenant and bonded verifiers may dispute a task. Use the tenant's account, or gantry verifier bond.",
            code="not_yours",
        )
    if account in {lease.provider for lease in view.leases}:
        raise CheckFailed(
            f"{account} is the provider of a host that worked on task {view.id}, and cannot dispute it.",
            "Another verifier, or the tenant, may.",
            code="is_party",
        )


async def _check_stake(chain: GantryChain, account: str, stake: int, what: str) -> None:
    hint = "Transfer coins to it: gantry account transfer."
    await check_free(chain, account, stake, f"the stake of {what} is", hint, code="no_coins")


def _word(vote: gen.Vote) -> str:
    return vote.value.lower()
