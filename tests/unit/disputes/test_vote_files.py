"""Votes on the disk: complete, private, never replaced."""

from pathlib import Path

import pytest

from offchain.core.disputes.jury_duties import JuryKey
from offchain.errors import StoreCorrupt
from offchain.schema.chain_types._generated_chain import Vote
from offchain.services.vote_files import SALT_BYTES, VoteFiles

KEY = JuryKey(7, 1)
GENESIS = bytes(32)


def test_a_vote_keeps_its_salt_over_a_restart_and_is_never_replaced(tmp_path: Path) -> None:
    first = VoteFiles(tmp_path, GENESIS, "5Me").store(KEY, Vote.YES, "it differs")
    again = VoteFiles(tmp_path, GENESIS, "5Me")
    assert again.store(KEY, Vote.NO, "another opinion") == first
    assert (first.vote, first.reason, len(first.salt)) == (Vote.YES, "it differs", SALT_BYTES)
    assert again.votes() == {KEY: first}
    again.forget(KEY)
    assert again.votes() == {}
    assert again.store(KEY, Vote.YES, "").salt != first.salt


def test_only_the_owner_reads_votes_and_nothing_else_is_left(tmp_path: Path) -> None:
    VoteFiles(tmp_path, GENESIS, "5Me").store(KEY, Vote.YES, "")
    (folder,) = tmp_path.iterdir()
    (file,) = folder.iterdir()
    assert (folder.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)


def test_other_accounts_and_chains_have_votes_of_their_own(tmp_path: Path) -> None:
    VoteFiles(tmp_path, GENESIS, "5Me").store(KEY, Vote.YES, "")
    assert VoteFiles(tmp_path, GENESIS, "5Other").votes() == {}
    assert VoteFiles(tmp_path, bytes([1] * 32), "5Me").votes() == {}


@pytest.mark.parametrize("text", ["", "{}", '{"vote": "Yes", "salt": "00", "reason": ""}', '{"vote": "Maybe"}', "\x00"])
def test_a_damaged_file_is_named_and_not_replaced(tmp_path: Path, text: str) -> None:
    votes = VoteFiles(tmp_path, GENESIS, "5Me")
    votes.store(KEY, Vote.YES, "")
    (file,) = next(tmp_path.iterdir()).iterdir()
    file.write_text(text)
    for use in (votes.votes, lambda: votes.store(KEY, Vote.NO, "")):
        with pytest.raises(StoreCorrupt, match=r"7-1\.json cannot be read"):
            use()


def test_a_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    votes = VoteFiles(tmp_path, GENESIS, "5Me")
    votes.store(KEY, Vote.YES, "")
    (file,) = next(tmp_path.iterdir()).iterdir()
    file.chmod(0o644)
    with pytest.raises(StoreCorrupt, match="may be read by others"):
        votes.votes()
