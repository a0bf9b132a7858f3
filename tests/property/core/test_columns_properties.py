"""Kinds of devices that are asked for by whose they are: none is missed, however they came to be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from offchain.core.scheduler.columns import DeviceClasses
from offchain.core.scheduler.pod_request import DeviceClass, PodShape

ACCOUNTS = ("", "alice", "bob")
steps = st.lists(st.tuples(st.sampled_from("ABCD"), st.sampled_from(ACCOUNTS)), max_size=12)


@given(steps, st.sampled_from(ACCOUNTS), st.integers(0, 14))
def test_since_returns_unshared_classes_and_those_of_the_account(
    coming: list[tuple[str, str]], account: str, first: int
) -> None:
    kinds = DeviceClasses()
    for model, of in coming:
        number = kinds.number(DeviceClass(model))
        if of:
            kinds.shared_class(number, of)
    mine = [number for number, kind in enumerate(kinds.all) if kind.account in ("", account)]
    assert sorted(kinds.since(first, account)) == [number for number in mine if number >= first]
    if account:
        share = PodShape(1, 1, 1, 500, account=account)
        assert [bool(one) for one in kinds.accepted(share)] == [number in mine for number in range(len(kinds.all))]
