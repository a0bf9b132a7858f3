"""Votes of jurors with their salts, one file each, readable by their owner only.

The worker of a juror and `gantry dispute vote` share a folder. A file is complete as soon as it exists, survives a
power cut, and is never replaced: so a juror commits to one vote only, and can reveal it after a restart.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
from pathlib import Path
from typing import Any, Final

from offchain.adapters.keys import secret_file
from offchain.core.disputes.jury_duties import JuryKey
from offchain.core.verifier.duties import StoredVote
from offchain.errors import OurError, StoreCorrupt, StoreStuck
from offchain.files import sync_folder
from offchain.schema.chain_types._generated_chain import Vote

SALT_BYTES: Final = 32
_LARGEST: Final = 65_536
_MOST_REASON: Final = 2_000
_NAME: Final = re.compile(r"(\d{1,20})-(\d{1,3})\.json", re.ASCII)


class VoteFiles:
    """Votes of one account on one chain, in a folder of their own below `folder`."""

    def __init__(self, folder: Path, genesis_hash: bytes, account: str) -> None:
        self._folder = folder / f"{genesis_hash.hex()[:16]}-{account}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise OurError(
                f"The folder of votes {self._folder} cannot be used: {error.strerror}.", "Choose another --state-dir."
            ) from None

    def votes(self) -> dict[JuryKey, StoredVote]:
        """Return the votes of ballots that may not be over. Raises StoreCorrupt for a file that cannot be read."""
        found = {}
        for path in self._folder.iterdir():
            named = _NAME.fullmatch(path.name)
            if named is not None:
                with contextlib.suppress(FileNotFoundError):  # the other program has just removed it
                    found[JuryKey(int(named[1]), int(named[2]))] = _read(path)
        return found

    def store(self, key: JuryKey, vote: Vote, reason: str) -> StoredVote:
        """Store a vote with a new salt, and return the stored one: an earlier vote in this ballot is not replaced.

        The vote is on the disk when this returns. Blocks. Raises StoreStuck where it cannot be written, StoreCorrupt.
        """
        made = StoredVote(vote, secrets.token_bytes(SALT_BYTES), reason[:_MOST_REASON])
        text = json.dumps({"v": 1, "vote": made.vote.value, "salt": made.salt.hex(), "reason": made.reason})
        part = self._folder / f".{secrets.token_hex(8)}.part"
        try:
            secret_file.write_new(part, text)
            try:
                # Unlike a rename, a link does not replace a file that the other program has just created.
                os.link(part, self._path(key))
            except FileExistsError:
                return _read(self._path(key))
            finally:
                part.unlink(missing_ok=True)
            sync_folder(self._folder)
        except OSError as error:
            raise StoreStuck(
                f"The vote about task {key.task} cannot be stored in {self._folder}: {error.strerror}.",
                "Free some disk. Nothing was sent.",
            ) from None
        return made

    def forget(self, key: JuryKey) -> None:
        """Remove the vote of a ballot that is over."""
        self._path(key).unlink(missing_ok=True)

    def _path(self, key: JuryKey) -> Path:
        return self._folder / f"{key.task}-{key.round}.json"


def _read(path: Path) -> StoredVote:
    try:
        fields: Any = json.loads(secret_file.read(path, _LARGEST))
        return StoredVote(Vote(fields["vote"]), _salt(fields["salt"]), str(fields["reason"]))
    except FileNotFoundError:
        raise
    except secret_file.OthersMayReadError:
        raise StoreCorrupt(f"The vote {path} may be read by others.", f"Run: chmod 600 {path}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreCorrupt(
            f"The vote {path} cannot be read: {error}.",
            "Move the file away. A vote that was committed with its salt cannot be revealed then.",
        ) from None


def _salt(text: str) -> bytes:
    salt = bytes.fromhex(text)
    if len(salt) != SALT_BYTES:
        raise ValueError(f"a salt of {len(salt)} bytes, and it needs {SALT_BYTES}")
    return salt
