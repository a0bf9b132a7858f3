"""What a verifier remembers in its database."""

from contextlib import closing
from pathlib import Path

from offchain.adapters.outbox.store import Store
from offchain.core.verifier.duties import DutyKey
from offchain.schema.chain_types._generated_chain import Vote
from offchain.schema.durations import DAY_MS
from offchain.services.verifier_store import SALT_BYTES, VerifierStore

KEY = DutyKey(7, 1)


async def test_a_vote_keeps_its_salt_over_a_restart_and_is_never_replaced(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "worker.db", defers_sync=True)) as store:
        first = await VerifierStore(store).store_vote(KEY, Vote.YES, "right")
        assert await VerifierStore(store).store_vote(KEY, Vote.NO, "wrong") == first
        assert (first.vote, first.reason, len(first.salt)) == (Vote.YES, "right", SALT_BYTES)
    with closing(Store(tmp_path / "worker.db", defers_sync=True)) as store:
        kept = VerifierStore(store)
        assert kept.votes() == {KEY: first}
        await kept.forget_vote(KEY)
        assert kept.votes() == {}


async def test_fees_of_a_day_are_summed(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "worker.db")) as store:
        kept = VerifierStore(store)
        await kept.note_opening(1_000, "5A", 2)
        await kept.note_opening(2_000, "5B", 3)
        assert kept.spent(2_000) == 5
        assert kept.spent(1_000 + DAY_MS) == 3
        await kept.forget_opening(2_000, "5B")
        assert kept.spent(2_000) == 2
