"""What a scheduler's account does on the chain before it assigns: its bond, and the digest of its queue definitions."""

from __future__ import annotations

from offchain.adapters.chain.typed import GantryChain
from offchain.errors import OurError
from offchain.schema.chain_types._generated_chain import calls
from offchain.services import log
from offchain.services.submitter import Submitter

_OUT = log.EventLog("scheduler")


class WorkerError(OurError):
    """A worker cannot be started with these options."""

    code = "worker"


async def prepare_account(submit: Submitter, chain: GantryChain, account: str, queues: bytes) -> None:
    """Bond the account as a scheduler and publish the digest of its queue definitions, where either is not done yet.

    `queues`: SHA-256 of the definitions (:meth:`QueueTree.digest`). Schedulers with other definitions are logged.
    Raises WorkerError if the account cannot become a scheduler.
    """
    if account not in await chain.schedulers():
        # The first call of this account, so that no assignment goes out ahead of it.
        await _bond(submit, chain, account)
    published = await chain.queue_digests()
    for other, digest in sorted(published.items()):
        if other != account and digest != queues:
            _OUT.warning("other-queues", scheduler=other, digest=digest.hex(), own=queues.hex())
    if published.get(account) == queues:
        return
    name = f"publish-queues:{account}"
    await submit.forget(name)
    outcome = await submit(name, calls.tasks_publish_queues(digest=queues))
    if not outcome.done:
        _OUT.warning("queues-not-published", reason=outcome.refusal)


async def _bond(submit: Submitter, chain: GantryChain, account: str) -> None:
    name = f"bond-scheduler:{account}"
    await submit.forget(name)
    outcome = await submit(name, calls.tasks_bond_scheduler())
    if outcome.done:
        _OUT.info("bonded", account=account)
        return
    if account in await chain.schedulers():
        return
    raise WorkerError(
        f"The account {account} cannot become a scheduler: {outcome.refusal}",
        "Give it coins for the bond (gantry account show prints its balance), then start the worker again.",
    )
