"""What the events of our pallets say about coins, added up: each account's must be what the chain says it has."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from verification_roles import ANYONE

from offchain.ports import Block
from offchain.schema.chain_types._generated_chain import ChallengeOutcome, LeaseBill, MatterDispute
from tests.support import _generated_events as chain_events


@dataclass
class Ledger:
    """`gained`: what each account has more than in the beginning, held coins included. `fees`: what the author of the
    blocks gets of the fees of extrinsics, which is all but a fifth of those without their tips. The treasury gets what
    nobody else does: that follows from the rest, because no coin is made or lost."""

    jury_fee: int
    gained: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    fees: int = 0
    providers: dict[str, str] = field(default_factory=dict)
    tenants: dict[int, str] = field(default_factory=dict)
    hosts: dict[int, str] = field(default_factory=dict)
    worked_on: dict[int, list[str]] = field(default_factory=dict)
    challenges: dict[int, chain_events.VerificationChallengeOpened] = field(default_factory=dict)
    payers: dict[int, str] = field(default_factory=dict)
    """Who asked for the present jury of a dispute, by its task."""
    lost: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    """What losers of a dispute have given up for the next refund."""

    def read(self, block: Block) -> None:
        """The next block."""
        for raw in block.events:
            if (raw.pallet, raw.name) == ("TransactionPayment", "TransactionFeePaid"):
                fee, tip = raw.fields["actual_fee"], raw.fields["tip"]
                self.gained[raw.fields["who"]] -= fee
                self.fees += fee - (fee - tip) // 5
            elif (event := chain_events.decode_event(raw.pallet, raw.name, raw.fields)) is not None:
                self._note(event)
                self._move(event)

    def _note(self, event: chain_events.GantryEvent) -> None:
        match event:
            case chain_events.HostsRegistered():
                self.providers[event.host] = event.provider
            case chain_events.TasksSubmitted():
                self.tenants[event.first] = event.tenant
            case chain_events.TasksAssigned():
                self.hosts |= {lease: host for lease, host, *_ in event.leases}
                self.worked_on.setdefault(event.task, []).extend(host for _, host, *_ in event.leases)
            case chain_events.VerificationChallengeOpened():
                self.challenges[event.challenge] = event
            case chain_events.VerificationDisputeOpened() | chain_events.VerificationAppealed():
                self.payers[event.task] = event.by

    def _move(self, event: chain_events.GantryEvent) -> None:
        match event:
            case chain_events.VerificationVerifierRewarded():
                self.gained[event.who] += event.amount
            case chain_events.VerificationVerifierPenalised():
                self.gained[event.who] -= event.amount
            case chain_events.VerificationBallotClosed(matter=MatterDispute(value=task)) if event.verdict is not None:
                self.gained[self.payers[task]] -= self.jury_fee
            case chain_events.VerificationChallengeClosed():
                self._close(self.challenges.pop(event.challenge), event)
            case chain_events.VerificationStakeLost():
                self.gained[event.who] -= event.amount
                self.lost[event.task] += event.amount
            case chain_events.VerificationFeeRefunded():
                self.gained[event.who] += event.amount
                # What the losers' stakes do not cover comes from the bonds of the hosts.
                from_bonds = max(0, event.amount - self.lost.pop(event.task, 0))
                self.gained[self.providers[self.worked_on[event.task][0]]] -= from_bonds
            case chain_events.VerificationSlashShared():
                self.gained[event.who] += event.amount
            case chain_events.HostsSlashed():
                self.gained[self.providers[event.host]] -= event.amount
            case (
                chain_events.TasksSettled()
                | chain_events.TasksCancelled()
                | chain_events.TasksDisputeResolved()
                | chain_events.TasksNotVerified()
            ):
                self._pay(self.tenants[event.task], event.bills)

    def _close(
        self, opened: chain_events.VerificationChallengeOpened, closed: chain_events.VerificationChallengeClosed
    ) -> None:
        if opened.opener is None:
            return
        spent, provider = opened.fee - closed.returned, self.providers[opened.host]
        if closed.outcome == ChallengeOutcome.FAILED and opened.opener != provider:
            self.gained[provider] -= spent
        else:
            self.gained[opened.opener] -= spent

    def _pay(self, tenant: str, bills: Sequence[LeaseBill]) -> None:
        for bill in bills:
            self.gained[tenant] -= bill.paid
            self.gained[self.providers[self.hosts[bill.lease]]] += bill.paid - bill.fee
            # All jobs are placed by their tenants, and this account settles them.
            assert bill.scheduler_fee == 0
            self.gained[ANYONE.address] += bill.settler_fee
