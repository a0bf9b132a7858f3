"""What the chain hashes to draw committees and to bind votes and results, computed again from docs/verification.md."""

from collections.abc import Callable, Collection, Iterable

from offchain.adapters.keys import ss58
from offchain.schema.chain_types._generated_chain import ListedVerifier, Matter, PodResult, Vote
from tests.support.committee_draw import blake2_256, drawn_members


def vote_commitment(matter: Matter, turn: int, vote: Vote, salt: bytes, voter: str) -> bytes:
    """What binds a member to its vote. `turn`: how many committees the matter had before."""
    return blake2_256(b"gantry/vote/v1" + matter.scale() + bytes([turn]) + vote.scale() + salt + ss58.decode(voter))


def result_commitment(result: PodResult, salt: bytes, host: str) -> bytes:
    """What binds a host to its result."""
    return blake2_256(b"gantry/result/v1" + result.scale() + salt + ss58.decode(host))


def result_tag(task: int, result: PodResult) -> bytes:
    """What equal results of a task have in common."""
    code = result.exit_code.to_bytes(4, "little", signed=True)
    return blake2_256(b"gantry/tag/v1" + task.to_bytes(8, "little") + result.digest + code)


def drawn(
    seed: bytes,
    listed: Iterable[ListedVerifier],
    size: int,
    asked_in: int,
    excluded: Collection[str],
    is_involved: Callable[[str], bool] = lambda _who: False,
) -> tuple[str, ...]:
    """Who sits: the lowest tickets of those who were on the list before they were asked for, and are no party."""
    may_sit = {ss58.decode(one.who): one.who for one in listed if one.since < asked_in and one.who not in excluded}
    members = drawn_members(seed, may_sit, size, lambda key: is_involved(may_sit[key]))
    return tuple(may_sit[key] for key in members)
