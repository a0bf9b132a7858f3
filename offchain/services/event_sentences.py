"""Sentences for the chain's events, by pallet and name. Braces name fields of the event, as words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_FAILED_ATTEMPT = "{reason}; failures by different providers: {failures}. {bills}"
_PAYMENT = (
    "{share} to the provider, {fee} protocol fee ({scheduler_fee} of it to the scheduler, {settler_fee} to the settler)"
)
_TASKS: Final = {
    "Submitted": "Submitted by {tenant}{together}.",
    "Assigned": "Assigned: {leases}.",
    "PodStarted": "Pod {pod} runs (lease {lease}); it is paid for until {depletes_at}.",
    "PodReported": "Pod {pod} ended with {result}.",
    "Requeued": "Lease {lease} was given up: " + _FAILED_ATTEMPT,
    "PodLost": "Pod {pod} was lost (lease {lease}): " + _FAILED_ATTEMPT,
    "PreemptionNoticed": "Will be preempted by task {wanting} of a higher priority; runs until {ends_at}.",
    "PreemptionWithdrawn": "The preemption was withdrawn: task {wanting} does not need its place, or does not fit.",
    "PreemptionFailed": "Its preemption of other tasks failed: it does not fit in their place.",
    "Preempted": "Preempted by task {wanting}. {bills}",
    "StandbyNamed": "Pod {pod} (lease {lease}) has a standby: {host}.",
    "LeaseMoved": "Pod {pod} moved to {host}, {deposit} deposited (lease {to}); lease {from} ended: {reason}. {bill}",
    "Checkpointed": "Pod {pod} (lease {lease}) has a checkpoint of {bytes} bytes, sha256 {digest}.",
    "LeaseEnded": "Lease {lease} ended: {reason}. {bills}",
    "Cancelled": "Cancelled by the tenant. {bills}",
    "Expired": "Expired: it was not assigned before its deadline.",
    "StateChanged": "State changed from {from} to {to}.",
    "Stopped": "Ended by the tenant.",
    "Scaled": "Scaled; pods now: {pods}. {bills}",
    "ResultAccepted": "The tenant accepted the result.",
    "Verified": "The results agree.",
    "NotVerified": "The results do not agree. {bills}",
    "NotRepeated": "No other host repeats the work: the result can be accepted or disputed.",
    "Disputed": "The result is disputed.",
    "DisputeResolved": "The dispute was decided; upheld: {upheld}. {bills}",
    "Settled": "Settled. {bills}",
    "Rated": "The tenant rated pod {pod} with {stars} of 5 stars.",
    "Purged": "The host deleted the data of lease {lease} (receipt {receipt}).",
    "DataLost": "The host lost the data of lease {lease}.",
    "DataMoved": "Lease {to} took over the data of lease {from}.",
    "Pruned": "Removed from the chain's storage; the digest of its page is {digest}.",
    "SchedulerPunished": "The scheduler {who} placed pod {pod} on a host of its own although host {cheaper} was "
    "cheaper: {to_tenant} of its bond went to the tenant, {to_treasury} to the treasury.",
    "ItemRefused": "A call in a batch was refused: {error}",
}
_LEASES: Final = {
    "Extended": "{amount} deposited for more time; lease {lease} is paid for until {ends_at}.",
    "ToppedUp": "{amount} deposited for lease {lease}; it lasts until {depletes_at}.",
    "Suspended": "Lease {lease} was suspended; it costs {rate_per_hour} an hour and lasts until {ends_at}.",
    "Resumed": "Lease {lease} was resumed; it costs {rate_per_hour} an hour and lasts until {ends_at}.",
    "ReclaimNoticed": "The provider reclaims the resources of lease {lease} at {reclaim_at}.",
    "Paid": "Lease {lease} was paid for up to {until}: " + _PAYMENT + ".",
    "BountyPaid": "{who} closed lease {lease}, whose deposit was used up, for a bounty of {bounty}.",
    "DataKept": "The data of lease {lease} is kept until {until}; {amount} is held for it, at {rate_per_hour} an hour.",
    "StoragePaid": "The data of lease {lease} was paid for: " + _PAYMENT + "; {refunded} refunded to the tenant.",
    "DataReleased": "The tenant released the data of lease {lease}.",
    "PurgedWithoutReceipt": "The data of lease {lease} counts as deleted; its host sent no receipt.",
}
_VERIFICATION: Final = {
    "CommitteeDrawn": "A committee was drawn: {members}.",
    "CommitteeNotDrawn": "No committee was drawn: there were not enough verifiers.",
    "VoteCommitted": "{who} committed a vote.",
    "RevealsOpened": "Votes can be revealed until {until}.",
    "VoteRevealed": "{who} voted {vote}.",
    "BallotClosed": "The votes were counted; verdict: {verdict}.",
    "VerifierPenalised": "{who} loses {amount}: {reason}.",
    "VerifierRewarded": "{who} receives {amount} for its vote.",
    "ResultCommitted": "Pod {pod} committed its result (lease {lease}).",
    "AuditDrawn": "After {valid} valid results of its host, the work of pod {pod} is repeated with a probability of "
    "{probability_ppm}: {repeated}.",
    "TagsOpened": "All results are committed; their tags can be shown until {until}.",
    "ResultTagged": "Pod {pod} showed the tag of its result.",
    "SlashShared": "{who} receives {amount} of the slash of the host of pod {pod}.",
    "ResultsOpened": "Results can be revealed until {until}.",
    "ResultRevealed": "Pod {pod} revealed its result: {result}.",
    "ReplicaRejected": "The result of pod {pod} does not count: {reason}.",
    "ExtraPodWanted": "One more host is needed; results required now: {wanted}.",
    "ResultsClosed": "The results were compared: {outcome}.",
    "DisputeOpened": "{by} disputes the result and stakes {stake}; evidence is due by {until}.",
    "EvidenceAdded": "{by} added evidence {digest}.",
    "JuryAwaited": "A jury will be drawn.",
    "JuryCommits": "Jurors can commit their votes until {until}.",
    "DisputeDecided": "The jury's verdict: {verdict}.",
    "DisputeClosed": "The dispute was closed: {outcome}.",
    "Appealed": "{by} appeals and stakes {stake}; evidence is due by {until}.",
    "StakeReturned": "{who} gets its stake of {amount} back.",
    "StakeLost": "{who} loses its stake of {amount}.",
    "FeeRefunded": "{who} gets its fee of {amount} back.",
}
_HOSTS: Final = {
    "Registered": "Registered by {provider}.",
    "StatusChanged": "State changed from {from} to {to}.",
    "EndpointChanged": "Its endpoint changed.",
    "AskChanged": "Its prices changed. Per hour: {ask}.",
    "HardwareChanged": "Its hardware was registered again (change {generation}); the required bond is {bond_required}.",
    "DeviceHealthChanged": "The host reported its unhealthy GPUs: {unhealthy}.",
    "NetworkMeasured": "The host measured its network: {down_mbps} Mbit/s to it, {up_mbps} Mbit/s from it; latency: "
    "{latency_ms}.",
    "DeviceAttested": "A challenge {attested} that GPU {device} is genuine.",
    "DeviceChallenged": "GPU under challenge, which takes no new lease until the host has answered: {device}.",
    "AbsenceReported": "{reporter} reported that the host is absent: {bounty} of its bond went to the reporter, "
    "{forfeited} to the treasury.",
    "Slashed": "Slashed: the host lost {amount} of its bond because {fault}.",
    "BondToppedUp": "{amount} added to its bond.",
    "BondWithdrawn": "The provider withdrew the bond of {amount}.",
}
_REPUTATION: Final = {
    "Scored": "Its score is {score_ppm} now.",
}
_AGREEMENTS: Final = {
    "Proposed": "{tenant} offers {provider} a lease for {duration_ms} at {rate_per_hour} an hour (offer {offer}); an "
    "answer is due by {until}.",
    "Countered": "The {by} answers offer {offer} with {rate_per_hour} an hour for {duration_ms}; an answer is due by "
    "{until}.",
    "Accepted": "Offer {offer} was accepted: the place on host {host} is reserved, {bond} is held of each side, and "
    "the tenant may begin until {start_until}.",
    "UnavailableReported": "The tenant of offer {offer} reported that host {host} could not take the pod.",
    "Begun": "The agreed lease {lease} of offer {offer} began; both sides are bound until {ends_at}.",
    "OfferClosed": "Offer {offer} is over: {outcome}; {compensation} of a bond went to the other side.",
    "TicketOpened": "The tenant of lease {lease} opened ticket {ticket} about host {host}, sha256 {digest}; an "
    "answer is due by {respond_until}.",
    "TicketAnswered": "The {by} wrote a message in ticket {ticket}, sha256 {digest}.",
    "TicketClosed": "The {by} closed ticket {ticket}.",
    "ResponseCounted": "The provider of host {host} responded to ticket {ticket} in time: {in_time}.",
    "TicketForgotten": "Ticket {ticket} was removed, and its deposit returned.",
    "AuditorBonded": "{who} may attest as an auditor, with a bond of {bond}.",
    "AuditorLeaving": "The auditor {who} attests no more; its bond is held until {until}.",
    "AuditorLeft": "The auditor {who} has its bond of {bond} back.",
    "AuditorSlashed": "The auditor {who} loses {amount} for a wrong attestation.",
    "Attested": "The auditor {auditor} attests for {subject}: {attribute} (attestation {attestation}), until "
    "{expires_at}.",
    "Contested": "{by} contests attestation {attestation}, with evidence {evidence}; it is decided by {until}.",
    "ContestRejected": "Attestation {attestation} stays after its contest; decided by governance: {decided}.",
    "Voided": "Attestation {attestation} is no longer in force: {reason}.",
    "DueFailed": "What was due for {due} could not be done and is tried again later: {error}",
    "ParamsChanged": "The parameters of agreements were changed.",
}

EVENT_SENTENCES: Final[Mapping[tuple[str, str], str]] = {
    (pallet, name): sentence
    for pallet, sentences in (
        ("Tasks", _TASKS),
        ("Leases", _LEASES),
        ("Verification", _VERIFICATION),
        ("Hosts", _HOSTS),
        ("Reputation", _REPUTATION),
        ("Agreements", _AGREEMENTS),
    )
    for name, sentence in sentences.items()
}
