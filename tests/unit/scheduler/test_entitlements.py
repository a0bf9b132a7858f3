"""Entitlements of queues and accounts, and whose spot tasks may be preempted for a task."""

from collections.abc import Mapping

import pytest

from offchain.core.scheduler.pod_request import NO_RESOURCES, ResourceAmount, ResourceUsage
from offchain.core.scheduler.queue_definitions import QueueDefinition, ResourceLimit
from tests.support.queue_samples import TOTALS, SampleQueue, queued, sample_queue

EVEN = (QueueDefinition("lab"), QueueDefinition("shop"), QueueDefinition("night"))
LABS = (QueueDefinition("lab/vision"), QueueDefinition("lab/speech"), QueueDefinition("shop"))


BORROWED, EXCHANGED = -2, -1
"""Policies by which resources are reclaimed."""


def gpus(count: float) -> ResourceAmount:
    return ResourceAmount(0, 0, int(1000 * count))


class Queues:
    """Of 10 GPUs: what each queue holds, and how many it waits for, one by one. In `default`: each account."""

    def __init__(
        self,
        queues: tuple[QueueDefinition, ...],
        holds: Mapping[str, float],
        waits: Mapping[str, int],
        totals: ResourceAmount = TOTALS,
    ) -> None:
        self._names = {queue.name for queue in queues}
        used = [ResourceUsage(*self._who(name), gpus(count)) for name, count in holds.items()]
        numbers = iter(range(1000))
        waiting = [
            queued(next(numbers), account, queue=queue, amount=gpus(1))
            for name, count in waits.items()
            for queue, account in [self._who(name)]
            for _ in range(count)
        ]
        self._queue: SampleQueue = sample_queue(*waiting, queues=queues, used=used, totals=totals)
        self.entitlements = self._queue.entitlements()

    def leaf(self, name: str) -> int:
        return self._queue.leaf(*self._who(name))

    def entitlement(self, name: str) -> float:
        return 10 * self.entitlements.entitlement(self.leaf(name))

    def policy(self, name: str, asks: float, **taken: float) -> int | None:
        """The policy by which a task of this node may take this much: BORROWED, EXCHANGED, or None."""
        ways = self.entitlements.reclaim_policies(self.leaf(name), gpus(asks))
        gone = [(self.leaf(other.replace("_", "/")), gpus(count)) for other, count in taken.items()]
        for at, taking in enumerate(ways):
            if all(taking.is_open(part) for part, _ in gone) and taking.allows(gone):
                return at - len(ways)
        return None

    def _who(self, name: str) -> tuple[str, str]:
        return (name, "anybody") if name in self._names else ("default", name)


def test_a_queue_with_little_demand_is_entitled_to_it_and_the_others_to_the_rest():
    found = Queues(EVEN, {"lab": 8, "shop": 1}, {"shop": 1, "night": 9, "lab": 1})
    assert [found.entitlement(name) for name in ("shop", "night", "lab")] == pytest.approx([2, 4, 4])


def test_entitlements_follow_weights_from_the_root_down():
    queues = (
        QueueDefinition("lab", weight=3),
        QueueDefinition("lab/vision", weight=2),
        QueueDefinition("lab/speech"),
        QueueDefinition("shop", weight=2),
    )
    found = Queues(queues, {"lab/vision": 10}, {"lab/vision": 9, "lab/speech": 9, "shop": 9})
    assert [found.entitlement(name) for name in ("lab/vision", "lab/speech", "shop")] == pytest.approx([4, 2, 4])


def test_accounts_in_the_default_queue_have_equal_entitlements():
    found = Queues((), {"alice": 10}, {"bob": 8, "carol": 2})
    assert [found.entitlement(name) for name in ("alice", "bob", "carol")] == pytest.approx([4, 4, 2])


def test_a_queue_that_may_not_borrow_is_entitled_to_its_nominal_share_at_most():
    found = Queues((QueueDefinition("lab"), QueueDefinition("shop", borrow=False)), {"lab": 10}, {"shop": 9})
    assert [found.entitlement(name) for name in ("lab", "shop")] == pytest.approx([10 - 10 / 3, 10 / 3], abs=1e-3)


def test_demand_above_a_limit_gives_no_entitlement():
    found = Queues(
        (QueueDefinition("lab"), QueueDefinition("shop", account_limit=ResourceLimit(gpu_milli=500))),
        {"lab": 10},
        {"shop": 9},
    )
    assert (found.entitlement("lab"), found.entitlement("shop")) == (10, 0)


def test_a_queue_below_its_entitlement_reclaims_what_was_borrowed_and_no_more():
    found = Queues(EVEN[:2], {"lab": 9, "shop": 1}, {"shop": 9, "lab": 1})
    assert found.entitlement("lab") == 5
    assert found.policy("shop", 4, lab=4) == BORROWED
    assert found.policy("shop", 1, lab=5) == EXCHANGED, "of one task that cannot be divided"
    assert found.policy("shop", 4, lab=9) is None


def test_a_queue_at_its_entitlement_preempts_only_its_own_tasks():
    found = Queues(EVEN[:2], {"lab": 5, "shop": 5}, {"shop": 9, "lab": 9})
    assert found.policy("shop", 1, lab=1) is None
    assert found.policy("shop", 1, shop=1) is not None


def test_queues_within_their_entitlement_keep_their_tasks_if_reclaiming_suffices():
    found = Queues(EVEN, {"lab": 8, "night": 2}, {"shop": 9, "night": 9})
    assert found.policy("shop", 3, lab=3) == BORROWED
    assert found.policy("shop", 1, night=1) == EXCHANGED
    assert found.policy("shop", 3, night=2) is None, "it would have more than night had"


@pytest.mark.parametrize(
    ("had", "asks", "way"), [(0, 8, EXCHANGED), (0, 9, None), (1, 7, None), (1, 3, BORROWED), (1, 5, None)]
)
def test_two_nodes_exchange_positions_where_a_task_cannot_be_divided(had, asks, way):
    found = Queues((), {"alice": 8, "bob": had}, {"bob": 9, "alice": 1})
    assert found.policy("bob", asks, alice=8 if asks > 4 else asks) == way


def test_in_a_network_that_is_not_full_the_poorer_account_may_preempt_the_richer_one():
    """Where all find their right elsewhere, nothing is lent; yet one kind of host may be all taken."""
    found = Queues((), {"alice": 2, "bob": 1}, {"bob": 1})
    assert found.policy("bob", 1, alice=1) == EXCHANGED
    found = Queues((), {"alice": 2, "bob": 3}, {"bob": 1})
    assert found.policy("bob", 1, alice=1) is None


def test_queues_are_compared_below_their_lowest_common_ancestor():
    found = Queues(LABS, {"lab/vision": 6, "shop": 4}, {"lab/speech": 2})
    assert found.policy("lab/speech", 2, lab_vision=2) == BORROWED
    assert found.policy("lab/speech", 2, shop=2) is None, "all of lab holds more than shop"


def test_pending_changes_of_usage_count():
    found = Queues((), {"alice": 10}, {"bob": 9})
    found.entitlements.remove_usage(found.leaf("alice"), gpus(4))
    found.entitlements.add_usage(found.leaf("bob"), gpus(4))
    assert found.policy("bob", 1, alice=1) == BORROWED
    found.entitlements.remove_usage(found.leaf("alice"), gpus(1))
    found.entitlements.add_usage(found.leaf("bob"), gpus(1))
    assert found.policy("bob", 1, alice=1) is None


def test_no_task_is_preempted_in_a_network_without_hosts():
    found = Queues((), {"alice": 1}, {"bob": 1}, totals=NO_RESOURCES)
    assert found.policy("bob", 1, alice=1) is None
