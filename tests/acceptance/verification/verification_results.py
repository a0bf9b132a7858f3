"""Results of replicas: commitments, tags and reveals of hosts."""

import asyncio
from hashlib import sha256

from verification_client import Done
from verification_hashes import result_commitment, result_tag
from verification_network import Job, Network
from verification_roles import Roles

from offchain.ports import Call
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import calls, storage


def salt_of(host: str) -> bytes:
    return sha256(b"salt of " + host.encode()).digest()


async def commit(net: Network, roles: Roles, job: Job, place: int, what: gen.PodResult) -> Done:
    host = roles.hosts[place]
    bound = result_commitment(what, salt_of(host.address), host.address)
    done = await net.client.do(host, calls.verification_commit_result(lease=job.leases[place], commitment=bound))
    assert done.was_free
    return done


def tags(job: Job, place: int, what: gen.PodResult) -> Call:
    return calls.verification_tag_result(lease=job.leases[place], tag=result_tag(job.task, what))


async def tag(net: Network, roles: Roles, job: Job, place: int, what: gen.PodResult) -> Done:
    done = await net.client.do(roles.hosts[place], tags(job, place, what))
    assert done.was_free
    return done


def shows(roles: Roles, job: Job, place: int, what: gen.PodResult) -> Call:
    salt = salt_of(roles.hosts[place].address)
    return calls.verification_reveal_result(lease=job.leases[place], result=what, salt=salt)


async def reveal(net: Network, roles: Roles, job: Job, place: int, what: gen.PodResult) -> Done:
    done = await net.client.do(roles.hosts[place], shows(roles, job, place, what))
    assert done.was_free
    return done


async def all_commit_and_tag(net: Network, roles: Roles, job: Job, *what: gen.PodResult) -> None:
    """The hosts commit these results, and show their tags."""
    await asyncio.gather(*(commit(net, roles, job, place, one) for place, one in enumerate(what)))
    record = await net.client.must(storage.verification_results, job.task)
    assert (record.phase, record.wanted, len(record.replicas)) == (gen.ResultsPhase.TAGGING, len(what), len(what))
    await asyncio.gather(*(tag(net, roles, job, place, one) for place, one in enumerate(what)))


async def all_reveal(net: Network, roles: Roles, job: Job, *what: gen.PodResult) -> None:
    """The hosts reveal these results, whose tags agree."""
    record = await net.client.must(storage.verification_results, job.task)
    assert record.phase is gen.ResultsPhase.REVEALING
    await asyncio.gather(*(reveal(net, roles, job, place, one) for place, one in enumerate(what)))
