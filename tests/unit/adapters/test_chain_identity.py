from __future__ import annotations

from pathlib import Path

import pytest

from offchain.adapters.chain.chain_identity import expected_genesis, pin_genesis
from offchain.adapters.outbox.store import Store
from offchain.errors import WrongChain

ONE, OTHER = bytes([1] * 32), bytes([2] * 32)


def test_a_database_belongs_to_the_chain_of_its_first_contact_for_ever(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.db")
    assert expected_genesis(store, None) is None
    pin_genesis(store, ONE)
    store.close()
    again = Store(tmp_path / "a.db")
    assert expected_genesis(again, None) == ONE
    pin_genesis(again, ONE)
    with pytest.raises(WrongChain) as caught:
        pin_genesis(again, OTHER)
    assert ONE.hex() in caught.value.message
    assert OTHER.hex() in caught.value.message
    assert expected_genesis(again, None) == ONE
    again.close()


def test_a_given_chain_must_be_the_one_that_is_kept() -> None:
    store = Store(":memory:")
    assert expected_genesis(store, ONE) == ONE
    assert expected_genesis(store, None) is None
    pin_genesis(store, ONE)
    with pytest.raises(WrongChain):
        expected_genesis(store, OTHER)
    store.close()
