"""Kinds of devices that are asked for by whose they are: none is missed, however they came to be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from offchain.core.placing.kinds import Kinds
from offchain.core.placing.shapes import GpuKind, Shape

ACCOUNTS = ("", "alice", "bob")
steps = st.lists(st.tuples(st.sampled_from("ABCD"), st.sampled_from(ACCOUNTS)), max_size=12)


@given(steps, st.sampled_from(ACCOUNTS), st.integers(0, 14))
def test_those_from_a_number_on_are_nobodys_and_the_accounts_own(
    coming: list[tuple[str, str]], account: str, first: int
) -> None:
    kinds = Kinds()
    for model, of in coming:
        number = kinds.number(GpuKind(model))
        if of:
            kinds.shared(number, of)
    mine = [number for number, kind in enumerate(kinds.all) if kind.account in ("", account)]
    assert sorted(kinds.since(first, account)) == [number for number in mine if number >= first]
    if account:
        share = Shape(1, 1, 1, 500, account=account)
        assert [bool(one) for one in kinds.accepted(share)] == [number in mine for number in range(len(kinds.all))]
