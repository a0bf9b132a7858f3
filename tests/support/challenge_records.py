"""Records of challenges for tests of verifiers and agents."""

from dataclasses import replace
from typing import Any

from offchain.schema.chain_types import _generated_chain as gen

SEED = bytes([1] * 32)
ME, ANOTHER, HOST = "5Me", "5Other", "5Host"
DRAWN_AT, ANSWERED_AT, COMMIT_MS = 100_000, 110_000, 60_000
ANSWER = gen.ChallengeAnswer(bytes([2] * 32), ANSWERED_AT)
CLAIM = gen.DeviceSpec(gen.Vendor.NVIDIA, b"SIM-1", 24_576, simulated=True)


def seat(who: str, commitment: bytes | None = None, vote: gen.Vote | None = None) -> gen.Seat:
    return gen.Seat(who, commitment, vote)


def challenge(
    phase: gen.ChallengePhase, *seats: gen.Seat, ballot_round: int = 0, **changes: Any
) -> gen.ChallengeRecord:
    """A challenge of `HOST`; answered, with this committee."""
    record = gen.ChallengeRecord(
        host=HOST,
        provider="5Provider",
        device=0,
        claim=CLAIM,
        opener=None,
        fee=0,
        phase=phase,
        until=ANSWERED_AT + COMMIT_MS,
        opened_at=90_000,
        answer=ANSWER,
        role=gen.CommitteeRoleFirst(),
        ballot=gen.Ballot(ballot_round, 5, SEED, seats, ()),
    )
    return replace(record, **changes)
