"""Errors that are shown to people, by whose fault they are.

Workers and the CLI print `message` and `hint`; `code` is stable and meant for programs.

- :class:`OurError`: this machine or its operator has to change something.
- :class:`TheirError`: the other side is away, or is not the expected one.
- :class:`RefusedError`: the chain refused a valid request.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal, Protocol


class _BlockRef(Protocol):
    """A block by number and hash."""

    @property
    def number(self) -> int: ...

    @property
    def hash(self) -> bytes: ...


class GantryError(Exception):
    """Base of all errors that are shown to people.

    `message`: what happened, with which value. `hint`: what to do next. `code`: stable, for programs.
    """

    code: str = "error"

    def __init__(self, message: str, hint: str = "", *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class OurError(GantryError):
    """An error on this side: a key, a file, an argument."""

    code = "ours"


class TheirError(GantryError):
    """An error on the other side of a connection."""

    code = "theirs"


class CheckFailed(GantryError):  # noqa: N818
    """A value, or a state of the chain, with which a request cannot succeed; nothing was sent.

    `facts`: further fields for programs.
    """

    code = "failed"

    def __init__(
        self, message: str, hint: str, *, code: str = "failed", facts: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message, hint, code=code)
        self.facts = dict(facts or {})


class RefusedError(GantryError):
    """A refusal by the chain."""

    code = "refused"


class BadKey(OurError):  # noqa: N818
    """An unusable key, key file, address or password."""

    code = "bad_key"


class BadValue(OurError):  # noqa: N818
    """A value that is not of its type on the chain. The message names the field."""

    code = "bad_value"


class ExecutionFailed(OurError):  # noqa: N818
    """A job could not be executed on this machine. `transient`: a later attempt may succeed."""

    code = "execution_failed"

    def __init__(self, message: str, hint: str = "", *, transient: bool) -> None:
        super().__init__(message, hint)
        self.transient = transient


class StoreCorrupt(OurError):  # noqa: N818
    """The local database is damaged or unusable."""

    code = "store_corrupt"


class StoreStuck(OurError):  # noqa: N818
    """The local database cannot be written now: the disk is full, or another program holds the file.

    The database is unchanged. Callers wait and try again.
    """

    code = "store_stuck"


class ChainUnreachable(TheirError):  # noqa: N818
    """No node answered at the address in the time given."""

    code = "chain_unreachable"

    def __init__(self, url: str, detail: str = "") -> None:
        because = f" ({detail})" if detail else ""
        super().__init__(
            f"No chain node answers at {url}{because}.",
            "Check the address, and that the node is running and listens there.",
        )
        self.url = url


class BadReply(TheirError):  # noqa: N818
    """An answer that a node of this chain does not give."""

    code = "bad_reply"


class ProofRefused(TheirError):  # noqa: N818
    """A proof that does not prove what it states. `where`: the part of the proof; `reason`: what is wrong with it."""

    code = "proof_refused"

    def __init__(self, where: str, reason: str, hint: str = "") -> None:
        super().__init__(
            f"The proof is refused. {where}: {reason}.",
            hint or "Do not rely on this file: it is damaged, was altered, or is a proof for another chain.",
        )
        self.where = where
        self.reason = reason


class ChainBehind(ChainUnreachable):
    """The node has fewer final blocks than were processed: it syncs, is behind, or its database was removed.

    Callers wait as for a node that is away. `kept_in`: the database with the processed block.
    """

    code = "chain_behind"

    def __init__(self, head: int, last: int, kept_in: str) -> None:
        super().__init__("")
        self.message = (
            f"The chain node has final blocks up to {head}, and block {last} was processed before: it is not synced "
            "yet, or its database was removed."
        )
        self.hint = f"Nothing is sent or answered until it has block {last}. {_started_anew(kept_in)}"
        self.args = (self.message,)


class Reorganised(TheirError):  # noqa: N818
    """A final block differs from the one that was processed at its height: another chain, or one started anew."""

    code = "reorganised"

    def __init__(self, found: _BlockRef, last: _BlockRef, kept_in: str) -> None:
        super().__init__(
            f"The chain node serves another chain: block {found.number} is 0x{found.hash.hex()} there, and what was "
            f"processed before is block {last.number}, 0x{last.hash.hex()}.",
            f"Connect to a node of the chain that was processed. {_started_anew(kept_in)}",
        )


def _started_anew(kept_in: str) -> str:
    if kept_in in ("", ":memory:"):
        return "If the chain was started anew on purpose, start this program again."
    return f"If the chain was started anew on purpose, stop this program and move {kept_in} away."


class WrongChain(TheirError):  # noqa: N818
    """The chain is not the one that this program was made for; nothing has been signed."""

    code = "wrong_chain"

    def __init__(self, expected: str, actual: str, what: Literal["genesis", "metadata", "spec"]) -> None:
        described = {
            "genesis": (
                "Its genesis block is",
                "Connect to the right network, or correct the expected hash; a state folder belongs to one chain.",
            ),
            "metadata": ("Its metadata hash is", "Use the Gantry release that belongs to this runtime."),
            "spec": ("Its runtime is", "Use the Gantry release that belongs to this runtime."),
        }
        subject, hint = described[what]
        super().__init__(f"This is not the expected chain. {subject} {actual}, expected {expected}.", hint)
        self.expected = expected
        self.actual = actual
        self.what = what


class SubmitRefusal(StrEnum):
    """Why the pool of a node refused an extrinsic."""

    STALE_NONCE = "stale_nonce"
    FUTURE_NONCE = "future_nonce"
    CANNOT_PAY = "cannot_pay"
    POOL_FULL = "pool_full"
    PRIORITY_TOO_LOW = "priority_too_low"
    BAD_PROOF = "bad_proof"
    EXPIRED = "expired"
    BANNED = "banned"
    INVALID = "invalid"


_REFUSALS: dict[SubmitRefusal, tuple[str, str]] = {
    SubmitRefusal.STALE_NONCE: ("its number was used already", "Another program may be using the same account."),
    SubmitRefusal.FUTURE_NONCE: ("an earlier extrinsic of the account is missing", "It is sent again by itself."),
    SubmitRefusal.CANNOT_PAY: (
        "the account cannot pay the fee, or a free call is not due now",
        "Give the account coins, or wait until the call is due.",
    ),
    SubmitRefusal.POOL_FULL: ("the node's queue is full", "It is sent again by itself."),
    SubmitRefusal.PRIORITY_TOO_LOW: (
        "another extrinsic with the same number waits in the node's queue",
        "Another program may be using the same account.",
    ),
    SubmitRefusal.BAD_PROOF: (
        "its signature does not fit",
        "Check that this Gantry release belongs to the runtime of the chain.",
    ),
    SubmitRefusal.EXPIRED: ("it came too late", "It is signed and sent again by itself."),
    SubmitRefusal.BANNED: ("the node has banned it for a while", "It is sent again by itself."),
    SubmitRefusal.INVALID: ("it is not valid in the present state", "See the detail for the rule that it breaks."),
}


class SubmitRefused(RefusedError):  # noqa: N818
    """The pool of a node refused an extrinsic. `kind`: typed reason; `detail`: text of the node.

    `certain` is False where an earlier attempt got no answer and may have been accepted.
    """

    code = "submit_refused"

    def __init__(self, kind: SubmitRefusal, detail: str = "", *, certain: bool = True) -> None:
        because, hint = _REFUSALS[kind]
        said = f" The node says: {detail}." if detail else ""
        super().__init__(f"The chain node refused the extrinsic: {because}.{said}", hint)
        self.kind = kind
        self.detail = detail
        self.certain = certain


class CallFailed(RefusedError):  # noqa: N818
    """A call that was included without effect, because the pallet refused it."""

    code = "call_failed"

    def __init__(self, pallet: str, name: str, doc: str) -> None:
        super().__init__(f"The chain refused the call: {pallet}.{name}. {doc}".strip(), "")
        self.pallet = pallet
        self.name = name
        self.doc = doc


class GaveUp(RefusedError):  # noqa: N818
    """The outbox has given up a call."""

    code = "gave_up"
