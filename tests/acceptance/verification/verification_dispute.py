"""A dispute is opened."""

from verification_network import Job, Network

from offchain.ports import Signer
from offchain.schema.chain_types._generated_chain import MatterDispute, calls
from tests.support._generated_events import VerificationDisputeOpened

LOG = bytes([21] * 32)
"""SHA-256 of the first piece of evidence."""


async def disputed(net: Network, who: Signer, job: Job) -> MatterDispute:
    call = calls.verification_open_dispute(task=job.task, accused=list(job.leases), evidence=LOG)
    said = (await net.client.do(who, call)).one(VerificationDisputeOpened)
    stake = net.params.dispute_stake
    assert (said.task, said.by, said.stake, said.evidence) == (job.task, who.address, stake, LOG)
    assert await net.state_of(job.task) == "Disputed"
    return MatterDispute(job.task)
