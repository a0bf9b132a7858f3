"""Checkpoints: an authority set that an auditor has verified once, from which later proofs start."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from offchain.core.proofs.grandpa import VoterSet
from offchain.core.proofs.header import MOST_AUTHORITIES
from offchain.errors import BadValue

MOST_CHECKPOINT_BYTES: Final = 256 * 1024
_FORMAT: Final = "gantry-checkpoint-1"
_FIELDS: Final = frozenset({"format", "genesis_hash", "block", "block_hash", "set_id", "authorities"})
_HINT: Final = "Give a file that gantry audit verify --save-checkpoint has written."


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The authorities that finalise the blocks after a final block."""

    genesis_hash: bytes
    block: int
    block_hash: bytes
    voters: VoterSet

    def encode(self) -> str:
        """Return the JSON text of the file."""
        plain = {
            "format": _FORMAT,
            "genesis_hash": _hex(self.genesis_hash),
            "block": self.block,
            "block_hash": _hex(self.block_hash),
            "set_id": self.voters.set_id,
            "authorities": [[_hex(key), weight] for key, weight in self.voters.authorities],
        }
        return json.dumps(plain, indent=2) + "\n"


def decode_checkpoint(text: str, source: str) -> Checkpoint:
    """Return the checkpoint in a file with this name. Raises BadValue."""
    try:
        return _checkpoint(json.loads(text))
    except (ValueError, TypeError, RecursionError) as error:
        raise BadValue(f"{source} is not a checkpoint: {error}.", _HINT) from None


def _checkpoint(plain: Any) -> Checkpoint:
    """Return the checkpoint in a JSON value. Raises ValueError, TypeError."""
    if not isinstance(plain, dict) or set(plain) != _FIELDS or plain["format"] != _FORMAT:
        raise ValueError(f"its fields are not those of {_FORMAT}")
    authorities = tuple((_bytes32(key), _number(weight, 64)) for key, weight in plain["authorities"])
    if not 1 <= len(authorities) <= MOST_AUTHORITIES:
        raise ValueError(f"it has {len(authorities)} authorities, and 1 to {MOST_AUTHORITIES} are allowed")
    return Checkpoint(
        _bytes32(plain["genesis_hash"]),
        _number(plain["block"], 32),
        _bytes32(plain["block_hash"]),
        VoterSet(_number(plain["set_id"], 64), authorities),
    )


def _hex(data: bytes) -> str:
    return f"0x{data.hex()}"


def _bytes32(text: Any) -> bytes:
    if not isinstance(text, str) or not text.startswith("0x") or len(text) != 66:
        raise ValueError(f"{text!r} is not 0x with 64 hex digits")
    return bytes.fromhex(text[2:])


def _number(value: Any, bits: int) -> int:
    if type(value) is not int or not 0 <= value < 1 << bits:
        raise ValueError(f"{value!r} is not a number of {bits} bits")
    return value
