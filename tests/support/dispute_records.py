"""Records of disputes for tests of jurors, parties and hosts."""

from dataclasses import replace
from typing import Any

from offchain.schema.chain_types import _generated_chain as gen
from tests.support.chain_records import lease, zeroed
from tests.support.challenge_records import seat

__all__ = ["COMMIT_MS", "ME", "OPENER", "PROVIDER", "TENANT", "UNTIL", "dispute", "ended_lease", "params", "seat"]

ME, TENANT, PROVIDER, OPENER = "5Me", "5Tenant", "5Provider", "5Tenant"
UNTIL, COMMIT_MS = 1_000_000, 60_000
DIGEST = bytes([7] * 32)


def dispute(phase: gen.DisputePhase, *seats: gen.Seat, ballot_round: int = 0, **changes: Any) -> gen.DisputeRecord:
    """A dispute of its tenant about lease 0 of task 0, in this phase until `UNTIL`, with this jury."""
    record = gen.DisputeRecord(
        opener=OPENER,
        tenant=TENANT,
        accused=(0,),
        providers=(PROVIDER,),
        opened_at=900_000,
        phase=phase,
        until=UNTIL,
        level=0,
        retried=False,
        verdict=None,
        stakes=(gen.Stake(OPENER, 10, 0, gen.Vote.YES),),
        evidence=(gen.Evidence(OPENER, DIGEST, 0),),
        ballot=gen.Ballot(ballot_round, 5, bytes(32), seats, ()),
    )
    return replace(record, **changes)


def ended_lease(host: str, digest: bytes, **changes: Any) -> gen.Lease:
    """The lease of a pod that has reported a result with this digest."""
    result = gen.PodResult(digest, 0, gen.Usage(wall_ms=1_000, cpu_ms=1_000, memory_peak_mib=10))
    return lease(
        host, **{"state": gen.LeaseStateEnded(gen.EndReasonCompleted()), "created_at": 1, "result": result, **changes}
    )


def params(**changes: Any) -> dict[str, Any]:
    """The parameters of the verification pallet in plain form."""
    stake = 10 * 10**12
    plain: dict[str, Any] = zeroed(
        gen.VerificationParams, dispute_stake=stake, dispute_commit_ms=COMMIT_MS, verifier_bond=stake, **changes
    ).encode()
    return plain
