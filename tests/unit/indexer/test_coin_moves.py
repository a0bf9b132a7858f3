"""Movements of coins. Every event is encoded and decoded by the chain's types first, so that it has their form."""

import pytest
from test_derive import HOST, TENANT, after, runtime

from offchain.indexer.block_rows import read_block
from offchain.indexer.projection import Projection
from offchain.indexer.rows import AccountRow, MovementRow, TransferRow
from offchain.ports import Block, BlockRef, ChainEvent
from tests.support.history_blocks import PROVIDERS, TENANTS, History

__all__ = ["after", "runtime"]
ESCROW = {"Billing": "Escrow"}


def balances(name, **fields):
    return ("Balances", name, fields)


def moves(fold, account):
    """Return what each event changed for an account (free, held), and its totals in the end."""
    rows = [row for row in fold.appended[MovementRow] if row.account == account]
    totals = fold.state[AccountRow][account,]
    assert (rows[-1].free_total, rows[-1].held_total) == (totals.free, totals.held)
    return [(row.free_change, row.held_change) for row in rows], (totals.free, totals.held)


@pytest.mark.parametrize(
    ("event", "change"),
    [
        (balances("Deposit", who=TENANT, amount=5), (5, 0)),
        (balances("Minted", who=TENANT, amount=5), (5, 0)),
        (balances("Restored", who=TENANT, amount=5), (5, 0)),
        (balances("Withdraw", who=TENANT, amount=5), (-5, 0)),
        (balances("Burned", who=TENANT, amount=5), (-5, 0)),
        (balances("Suspended", who=TENANT, amount=5), (-5, 0)),
        (balances("DustLost", account=TENANT, amount=5), (-5, 0)),
        (balances("Endowed", account=TENANT, free_balance=5), (0, 0)),
        (balances("Held", reason=ESCROW, who=TENANT, amount=5), (-5, 5)),
        (balances("Released", reason=ESCROW, who=TENANT, amount=5), (5, -5)),
        (balances("BurnedHeld", reason=ESCROW, who=TENANT, amount=5), (0, -5)),
        (balances("Reserved", who=TENANT, amount=5), (-5, 5)),
        (balances("Unreserved", who=TENANT, amount=5), (5, -5)),
        (balances("Slashed", who=TENANT, amount=5), (None, None)),
        (balances("BalanceSet", who=TENANT, free=5), (None, None)),
        (("TransactionPayment", "TransactionFeePaid", {"who": TENANT, "actual_fee": 5, "tip": 1}), (0, 0)),
    ],
)
def test_an_event_of_one_account_changes_what_it_has(after, event, change):
    assert moves(after(event), TENANT) == ([change], change)


@pytest.mark.parametrize(
    ("event", "sender", "receiver"),
    [
        (balances("Transfer", **{"from": TENANT, "to": HOST, "amount": 7}), (-7, 0), (7, 0)),
        (balances("TransferOnHold", reason=ESCROW, source=TENANT, dest=HOST, amount=7), (0, -7), (7, 0)),
        (balances("TransferAndHold", reason=ESCROW, source=TENANT, dest=HOST, transferred=7), (-7, 0), (0, 7)),
        (
            balances("ReserveRepatriated", **{"from": TENANT, "to": HOST, "amount": 7, "destination_status": "Free"}),
            (0, -7),
            (7, 0),
        ),
        (
            balances(
                "ReserveRepatriated", **{"from": TENANT, "to": HOST, "amount": 7, "destination_status": "Reserved"}
            ),
            (0, -7),
            (0, 7),
        ),
    ],
)
def test_an_event_of_two_accounts_moves_coins_between_them(after, event, sender, receiver):
    fold = after(event)
    assert moves(fold, TENANT) == ([sender], sender)
    assert moves(fold, HOST) == ([receiver], receiver)


def test_a_transfer_to_oneself_is_one_movement_without_change(after):
    fold = after(balances("Transfer", **{"from": TENANT, "to": TENANT, "amount": 7}))
    assert moves(fold, TENANT) == ([(0, 0)], (0, 0))


def test_totals_end_where_events_do_not_tell_them(after):
    fold = after(
        balances("Deposit", who=TENANT, amount=5),
        balances("BalanceSet", who=TENANT, free=9),
        balances("Deposit", who=TENANT, amount=5),
    )
    assert moves(fold, TENANT) == ([(5, 0), (None, None), (5, 0)], (None, None))


def test_other_events_move_no_coins(after):
    fold = after(balances("Issued", amount=5), balances("Thawed", who=TENANT, amount=5))
    assert TransferRow not in fold.appended
    assert MovementRow not in fold.appended


def test_events_of_an_older_runtime_without_these_fields_are_left_out():
    events = tuple(ChainEvent("Balances", name, {}, 0) for name in ("Transfer", "Held", "Deposit", "TransferOnHold"))
    fold = Projection()
    fold.apply(read_block(Block(BlockRef(1, bytes(32)), bytes(32), 1000, events, ())).indexed)
    assert not fold.appended


def test_no_coins_appear_in_a_history():
    """What accounts have in the end is what was deposited, without what was burnt: here nothing is."""
    fold = Projection()
    for block in History(8).blocks(40):
        fold.apply(read_block(block).indexed)
    accounts = [fold.state[AccountRow].get((name,)) for name in (*TENANTS, *PROVIDERS)]
    assert len(fold.appended[MovementRow]) > len(fold.appended[TransferRow])
    assert sum(row.free + row.held for row in fold.state[AccountRow].values()) == 0
    assert any(row is not None and row.held for row in accounts)
