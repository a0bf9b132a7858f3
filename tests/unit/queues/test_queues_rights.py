"""What each part of the queues has a right to, and whose spot tasks may leave for whom."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from offchain.core.queues.amount import NOTHING, Amount
from offchain.core.queues.claim import Holding
from offchain.core.queues.tree import Most, Queue
from tests.support.queue_samples import TOTALS, Told, claim, turn

EVEN = (Queue("lab"), Queue("shop"), Queue("night"))
LABS = (Queue("lab/vision"), Queue("lab/speech"), Queue("shop"))


LENT, CHANGED = -2, -1
"""Ways to take back."""


def gpus(count: float) -> Amount:
    return Amount(0, 0, int(1000 * count))


class Queues:
    """Of 10 GPUs: what each queue holds, and how many it waits for, one by one. In `default`: each account."""

    def __init__(
        self, queues: tuple[Queue, ...], holds: Mapping[str, float], waits: Mapping[str, int], totals: Amount = TOTALS
    ) -> None:
        self._names = {queue.name for queue in queues}
        used = [Holding(*self._who(name), gpus(count)) for name, count in holds.items()]
        numbers = iter(range(1000))
        waiting = [
            claim(next(numbers), account, queue=queue, amount=gpus(1))
            for name, count in waits.items()
            for queue, account in [self._who(name)]
            for _ in range(count)
        ]
        self._turn: Told = turn(*waiting, queues=queues, used=used, totals=totals)
        self.rights = self._turn.rights()

    def part(self, name: str) -> int:
        return self._turn.part(*self._who(name))

    def right(self, name: str) -> float:
        """In GPUs."""
        return 10 * self.rights.right(self.part(name))

    def way(self, name: str, asks: float, **taken: float) -> int | None:
        """How a task of this one may have so much leave: LENT or else CHANGED; None: not at all."""
        ways = self.rights.taking(self.part(name), gpus(asks))
        gone = [(self.part(other.replace("_", "/")), gpus(count)) for other, count in taken.items()]
        for at, taking in enumerate(ways):
            if all(taking.open(part) for part, _ in gone) and taking.allows(gone):
                return at - len(ways)
        return None

    def _who(self, name: str) -> tuple[str, str]:
        return (name, "anybody") if name in self._names else ("default", name)


def test_who_wants_little_has_a_right_to_it_and_the_others_to_what_it_leaves():
    found = Queues(EVEN, {"lab": 8, "shop": 1}, {"shop": 1, "night": 9, "lab": 1})
    assert [found.right(name) for name in ("shop", "night", "lab")] == pytest.approx([2, 4, 4])


def test_rights_are_by_weight_and_from_the_root_down():
    queues = Queue("lab", weight=3), Queue("lab/vision", weight=2), Queue("lab/speech"), Queue("shop", weight=2)
    found = Queues(queues, {"lab/vision": 10}, {"lab/vision": 9, "lab/speech": 9, "shop": 9})
    assert [found.right(name) for name in ("lab/vision", "lab/speech", "shop")] == pytest.approx([4, 2, 4])


def test_accounts_of_the_default_have_equal_rights():
    found = Queues((), {"alice": 10}, {"bob": 8, "carol": 2})
    assert [found.right(name) for name in ("alice", "bob", "carol")] == pytest.approx([4, 4, 2])


def test_a_queue_that_may_not_borrow_has_no_right_to_more_than_its_share():
    found = Queues((Queue("lab"), Queue("shop", borrow=False)), {"lab": 10}, {"shop": 9})
    assert [found.right(name) for name in ("lab", "shop")] == pytest.approx([10 - 10 / 3, 10 / 3], abs=1e-3)


def test_what_a_limit_keeps_waiting_gives_no_right():
    found = Queues((Queue("lab"), Queue("shop", account_most=Most(gpu_milli=500))), {"lab": 10}, {"shop": 9})
    assert (found.right("lab"), found.right("shop")) == (10, 0)


def test_who_is_below_its_right_gets_back_what_was_lent_and_no_more():
    found = Queues(EVEN[:2], {"lab": 9, "shop": 1}, {"shop": 9, "lab": 1})
    assert found.right("lab") == 5
    assert found.way("shop", 4, lab=4) == LENT
    assert found.way("shop", 1, lab=5) == CHANGED, "of one task that cannot be divided"
    assert found.way("shop", 4, lab=9) is None


def test_who_holds_its_right_has_only_its_own_leave():
    found = Queues(EVEN[:2], {"lab": 5, "shop": 5}, {"shop": 9, "lab": 9})
    assert found.way("shop", 1, lab=1) is None
    assert found.way("shop", 1, shop=1) is not None


def test_nobody_else_leaves_as_long_as_what_was_lent_is_enough():
    found = Queues(EVEN, {"lab": 8, "night": 2}, {"shop": 9, "night": 9})
    assert found.way("shop", 3, lab=3) == LENT
    assert found.way("shop", 1, night=1) == CHANGED
    assert found.way("shop", 3, night=2) is None, "it would have more than night had"


@pytest.mark.parametrize(
    ("had", "asks", "way"), [(0, 8, CHANGED), (0, 9, None), (1, 7, None), (1, 3, LENT), (1, 5, None)]
)
def test_parts_change_places_where_a_task_cannot_be_divided(had, asks, way):
    found = Queues((), {"alice": 8, "bob": had}, {"bob": 9, "alice": 1})
    assert found.way("bob", asks, alice=8 if asks > 4 else asks) == way


def test_in_a_network_that_is_not_full_the_poorer_one_may_have_the_richer_one_leave():
    """Where all find their right elsewhere, nothing is lent; yet one kind of host may be all taken."""
    found = Queues((), {"alice": 2, "bob": 1}, {"bob": 1})
    assert found.way("bob", 1, alice=1) == CHANGED
    found = Queues((), {"alice": 2, "bob": 3}, {"bob": 1})
    assert found.way("bob", 1, alice=1) is None


def test_queues_are_compared_where_they_are_beside_each_other():
    found = Queues(LABS, {"lab/vision": 6, "shop": 4}, {"lab/speech": 2})
    assert found.way("lab/speech", 2, lab_vision=2) == LENT
    assert found.way("lab/speech", 2, shop=2) is None, "all of lab holds more than shop"


def test_what_is_on_its_way_counts_as_if_it_had_come():
    found = Queues((), {"alice": 10}, {"bob": 9})
    found.rights.goes(found.part("alice"), gpus(4))
    found.rights.comes(found.part("bob"), gpus(4))
    assert found.way("bob", 1, alice=1) == LENT
    found.rights.goes(found.part("alice"), gpus(1))
    found.rights.comes(found.part("bob"), gpus(1))
    assert found.way("bob", 1, alice=1) is None


def test_in_a_network_without_hosts_nobody_has_others_leave():
    found = Queues((), {"alice": 1}, {"bob": 1}, totals=NOTHING)
    assert found.way("bob", 1, alice=1) is None
