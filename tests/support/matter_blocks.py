"""Blocks with challenges, disputes and schedulers: stories of events, and the blocks that have them after a history."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from offchain.ports import Block, BlockRef, ChainEvent, Inclusion
from offchain.schema.chain_types import _generated_chain as gen
from tests.support.history_blocks import BLOCK_MS, GENESIS, History, address

Told = tuple[str, str, dict[str, Any]]
"""Pallet, name and fields of an event."""
MEMBERS = [address(300 + number) for number in range(6)]
SCHEDULER = address(400)
SEED, COMMITMENT, PROOF, EVIDENCE, MORE_EVIDENCE, QUEUES = (bytes([number]) * 32 for number in range(11, 17))
CLAIM = gen.DeviceSpec(gen.Vendor.NVIDIA, b"SIM-1", 24_576, simulated=True)
FEE, STAKE, SHARE, PENALTY, BOND = 4 * 10**12, 10 * 10**12, 10**11, 2 * 10**12, 50 * 10**12
UNTIL = 2**41


def told(name: str, **fields: Any) -> Told:
    """Return an event of the verification pallet."""
    return "Verification", name, fields


def drawn(matter: dict[str, int], members: Sequence[str], round_: int = 0) -> Told:
    return told("CommitteeDrawn", matter=matter, round=round_, seed=SEED, block=5, members=list(members))


def voted(matter: dict[str, int], votes: dict[str, str | None]) -> list[Told]:
    """Return the events of members who commit, and reveal what `votes` says; None: they do not reveal."""
    committed = [told("VoteCommitted", matter=matter, who=who, commitment=COMMITMENT) for who in votes]
    shown = [told("VoteRevealed", matter=matter, who=who, vote=vote) for who, vote in votes.items() if vote]
    return [*committed, told("RevealsOpened", matter=matter, until=UNTIL), *shown]


def closed(matter: dict[str, int], votes: dict[str, str | None], verdict: str | None, round_: int = 0) -> list[Told]:
    """Return the events at the end of a ballot: absentees lose, the majority is paid."""
    lost = [
        told("VerifierPenalised", matter=matter, who=who, reason="Absent", amount=PENALTY)
        for who, vote in votes.items()
        if vote is None
    ]
    won = [told("VerifierRewarded", matter=matter, who=who, amount=SHARE) for who, vote in votes.items() if vote]
    return [*lost, *won, told("BallotClosed", matter=matter, round=round_, verdict=verdict)]


def opened_challenge(challenge: int, host: str, opener: str | None, device: int = 0) -> list[Told]:
    claim = CLAIM.encode()
    about = {"host": host, "device": device, "claim": claim, "opener": opener, "fee": FEE}
    return [told("ChallengeOpened", challenge=challenge, **about)]


def drawn_challenge(challenge: int) -> list[Told]:
    return [drawn({"Challenge": challenge}, MEMBERS[:3]), told("AnswerAwaited", challenge=challenge, until=UNTIL)]


def closed_challenge(challenge: int, host: str, outcome: str, device: int = 0) -> Told:
    about = {"host": host, "device": device, "outcome": outcome, "returned": FEE // 2}
    return told("ChallengeClosed", challenge=challenge, **about)


def passed(challenge: int, host: str, opener: str) -> list[list[Told]]:
    """Return a challenge that the host passes, by blocks: the third member reveals nothing."""
    matter, votes = {"Challenge": challenge}, dict(zip(MEMBERS[:3], ("Yes", "Yes", None), strict=True))
    return [
        opened_challenge(challenge, host, opener),
        drawn_challenge(challenge),
        [told("Answered", challenge=challenge, digest=PROOF, until=UNTIL)],
        voted(matter, votes),
        [*closed(matter, votes, "Yes"), closed_challenge(challenge, host, "Passed")],
    ]


def failed(challenge: int, host: str, opener: str) -> list[list[Told]]:
    """Return a challenge that two committees find against the host, by blocks."""
    matter = {"Challenge": challenge}
    first, second = dict.fromkeys(MEMBERS[:3], "No"), dict.fromkeys(MEMBERS[3:], "No")
    asked = {"challenge": challenge, "round": 1, "members": MEMBERS[3:], "until": UNTIL}
    return [
        opened_challenge(challenge, host, opener),
        drawn_challenge(challenge),
        [told("Answered", challenge=challenge, digest=PROOF, until=UNTIL)],
        voted(matter, first),
        [*closed(matter, first, "No"), told("ConfirmationAwaited", **asked)],
        voted(matter, second),
        [*closed(matter, second, "No", 1), closed_challenge(challenge, host, "Failed")],
    ]


def opened_dispute(task: int, lease: int, opener: str) -> list[Told]:
    about = {"by": opener, "accused": [lease], "stake": STAKE, "evidence": EVIDENCE, "until": UNTIL}
    return [("Tasks", "Disputed", {"task": task}), told("DisputeOpened", task=task, **about)]


def appealed(task: int, lease: int, opener: str, provider: str) -> list[list[Told]]:
    """Return a dispute that is upheld and rejected on appeal of the provider, by blocks."""
    matter = {"Dispute": task}
    first, second = dict.fromkeys(MEMBERS[:3], "Yes"), dict.fromkeys(MEMBERS[3:], "No")
    appeal = {"by": provider, "stake": 2 * STAKE, "level": 1, "until": UNTIL}
    return [
        opened_dispute(task, lease, opener),
        [told("EvidenceAdded", task=task, by=provider, digest=MORE_EVIDENCE)],
        [told("JuryAwaited", task=task, level=0)],
        [drawn(matter, MEMBERS[:3]), told("JuryCommits", task=task, until=UNTIL)],
        voted(matter, first),
        [
            *closed(matter, first, "Yes"),
            told("DisputeDecided", task=task, level=0, verdict="Yes", appeal_until=UNTIL),
        ],
        [told("Appealed", task=task, **appeal)],
        [told("JuryAwaited", task=task, level=1)],
        [drawn(matter, MEMBERS[3:], 1), told("JuryCommits", task=task, until=UNTIL)],
        voted(matter, second),
        [
            *closed(matter, second, "No", 1),
            told("DisputeDecided", task=task, level=1, verdict="No", appeal_until=UNTIL),
        ],
        [
            told("StakeLost", task=task, who=opener, amount=STAKE),
            told("FeeRefunded", task=task, who=provider, amount=SHARE),
            told("StakeReturned", task=task, who=provider, amount=2 * STAKE),
            ("Tasks", "DisputeResolved", {"task": task, "upheld": False, "bills": [], "state": "Verified"}),
            told("DisputeClosed", task=task, outcome="Rejected"),
        ],
    ]


def bonded(account: str = SCHEDULER) -> list[Told]:
    """Return the events of a scheduler that bonds and publishes its queues."""
    held = {"reason": {"Tasks": "SchedulerBond"}, "who": account, "amount": BOND}
    return [
        ("Balances", "Held", held),
        ("Tasks", "SchedulerBonded", {"who": account}),
        ("Tasks", "QueuesPublished", {"who": account, "digest": QUEUES}),
    ]


def punished(lease: int, cheaper: str, tenant: str, account: str = SCHEDULER) -> list[Told]:
    """Return the events of a scheduler that loses a part of its bond to a tenant."""
    moved = {"reason": {"Tasks": "SchedulerBond"}, "source": account, "dest": tenant, "amount": PENALTY}
    about = {"lease": lease, "cheaper": cheaper, "to_tenant": PENALTY, "to_treasury": 0}
    return [("Balances", "TransferOnHold", moved), ("Tasks", "SchedulerPunished", {"who": account, **about})]


def block_after(history: History, events: Sequence[Told], signer: str | None = None) -> Block:
    """Return the next block of a history with these events; an extrinsic caused them if it has a signer."""
    number = history.number
    hash_ = GENESIS if number == 0 else hashlib.sha256(history.parent + number.to_bytes(4, "big")).digest()
    cause = None if signer is None else 0
    found = tuple(ChainEvent(pallet, name, fields, cause) for pallet, name, fields in events)
    sent = () if signer is None else (Inclusion(0, hashlib.sha256(hash_).digest(), None, call="X.y", signer=signer),)
    made = Block(BlockRef(number, hash_), history.parent, number * BLOCK_MS, found, sent)
    history.parent, history.number = hash_, number + 1
    return made


def blocks_after(history: History, *stories: Sequence[Sequence[Told]]) -> Iterator[Block]:
    """Yield the next blocks of a history, one for each part of each story."""
    for story in stories:
        for events in story:
            yield block_after(history, events)
