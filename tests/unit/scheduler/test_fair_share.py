"""The order of the fair-share queue, and Jain's fairness index."""

import pytest

from offchain.core.scheduler.pod_request import NO_RESOURCES, ResourceAmount, jain_fairness
from offchain.core.scheduler.queue_definitions import AgeingPolicy, QueueDefinition, ResourceLimit
from offchain.schema.durations import HOUR_MS
from tests.support.queue_samples import (
    CORES,
    GPU,
    TOTALS,
    History,
    class_of,
    fill,
    queued,
    sample_queue,
    take,
    usage_of,
)

LAB, SHOP = QueueDefinition("lab"), QueueDefinition("shop")


def test_without_queues_accounts_take_turns():
    waiting = [queued(n, "alice") for n in range(1, 5)] + [queued(n, "bob") for n in range(5, 7)]
    assert take(sample_queue(*waiting), 6) == [1, 5, 2, 6, 3, 4]


def test_an_undefined_queue_is_the_default_queue():
    assert take(sample_queue(queued(1, queue="mine"), queued(2), queued(3, "bob", queue="yours")), 3) == [1, 3, 2]


def test_tasks_of_a_queue_with_children_wait_in_the_default_queue():
    found = sample_queue(queues=(QueueDefinition("lab/one"),))
    assert found.leaf("lab", "alice") == found.leaf("default", "alice")


def test_an_account_that_a_queue_does_not_admit_waits_in_the_default_queue():
    queues = (QueueDefinition("lab", accounts=frozenset({"alice"})), QueueDefinition("lab/one"))
    found = sample_queue(queues=queues)
    assert found.leaf("lab/one", "bob") == found.leaf("default", "bob")
    assert found.leaf("lab/one", "alice") != found.leaf("default", "alice")


def test_usage_of_running_tasks_counts():
    running = queued(9, "alice")
    assert take(sample_queue(queued(1, "alice"), queued(2, "bob"), used=[usage_of(running)]), 2) == [2, 1]


def test_in_a_queue_priority_is_first_then_age_then_number():
    waiting = [
        queued(1, queue="lab", submitted_at=5),
        queued(2, queue="lab", submitted_at=3),
        queued(3, queue="lab", submitted_at=3, amount=CORES),
        queued(4, "bob", queue="lab", submitted_at=9, priority=101),
    ]
    assert take(sample_queue(*waiting, queues=(LAB,)), 4) == [4, 2, 3, 1]


def test_a_heavier_queue_is_served_more_often():
    waiting = [queued(n, queue="lab") for n in range(1, 10)] + [queued(n, queue="shop") for n in range(11, 20)]
    placed = take(sample_queue(*waiting, queues=(QueueDefinition("lab", weight=2), SHOP)), 6)
    assert sorted(placed) == [1, 2, 3, 4, 11, 12]


def test_shares_are_compared_by_the_resource_of_which_a_queue_holds_most():
    """Ten of 100 cores are as much as one of ten GPUs."""
    waiting = [queued(n, queue="lab", amount=CORES) for n in range(1, 4)]
    waiting += [queued(n, queue="shop") for n in range(11, 14)]
    assert take(sample_queue(*waiting, queues=(LAB, SHOP)), 6) == [1, 11, 2, 12, 3, 13]


def test_an_unschedulable_class_is_passed_over_in_all_queues_for_the_cycle():
    found = sample_queue(queued(1), queued(2, "bob"), queued(3, amount=CORES), queued(4, "bob", amount=CORES))
    assert fill(found, CORES.plus(CORES)) == [3, 4]
    assert found.next() is None
    found.begin_cycle(1)
    assert fill(found, GPU) == [1]


def test_the_next_task_of_the_queue_follows_a_task_of_a_blocked_class():
    found = sample_queue(queued(1, queue="lab", priority=200), queued(2, queue="lab", amount=CORES), queues=(LAB,))
    assert found.next() == 1
    found.mark_unschedulable(found.next())
    assert found.next() == 2


def test_asking_twice_gives_the_same():
    found = sample_queue(queued(1), queued(2, "bob"))
    assert found.next() == found.next() == 1


def test_of_equal_shares_the_one_served_longest_ago_is_next():
    found = sample_queue(queued(1, "alice"), queued(2, "alice"), queued(3, "bob"))
    for now_ms, task in ((1, 1), (2, 3), (3, 2)):
        found.begin_cycle(now_ms)
        one = found.first()
        found.commit(one.id)
        found.release(usage_of(one))
        assert one.id == task


def test_a_child_queue_gets_cores_although_its_sibling_uses_the_gpus():
    """Plain shares in a tree would give the shop every core: the lab looks rich in GPUs, which are all taken."""
    queues = (QueueDefinition("lab/gpus"), QueueDefinition("lab/cores"), SHOP)
    used = [usage_of(queued(n, queue="lab/gpus")) for n in range(8)]
    waiting = [queued(1, queue="lab/gpus")]
    waiting += [queued(n, queue="lab/cores", amount=CORES) for n in range(11, 20)]
    waiting += [queued(n, queue="shop", amount=CORES) for n in range(21, 30)]
    history = History(unschedulable=frozenset({class_of(GPU)}))
    assert sorted(take(sample_queue(*waiting, queues=queues, used=used, history=history), 8)) == [
        11,
        12,
        13,
        14,
        21,
        22,
        23,
        24,
    ]


def test_usage_of_a_child_queue_counts_again_once_its_class_is_schedulable():
    queues = (QueueDefinition("lab/gpus"), QueueDefinition("lab/cores"), SHOP)
    used = [usage_of(queued(n, queue="lab/gpus")) for n in range(4)]
    waiting = [queued(1, queue="lab/gpus"), queued(2, "bob", queue="lab/cores", amount=CORES)]
    waiting += [queued(n, queue="shop", amount=CORES) for n in range(21, 30)]
    found = sample_queue(*waiting, queues=queues, used=used, history=History(unschedulable=frozenset({class_of(GPU)})))
    assert take(found, 2) == [21, 2]
    woken = sample_queue(*waiting, queues=queues, used=used)
    assert take(woken, 4) == [21, 22, 23, 24]


def test_an_exceeded_account_limit_is_reported_and_other_accounts_continue():
    queues = (QueueDefinition("lab", account_limit=ResourceLimit(gpu_milli=2000)),)
    waiting = [queued(n, "alice", queue="lab") for n in (1, 2, 3)] + [queued(4, "bob", queue="lab")]
    found = sample_queue(*waiting, queues=queues)
    assert take(found, 9) == [1, 2, 4]
    assert (
        str(found.quota_exceeded(waiting[2].id))
        == "account alice holds 2 of at most 2 GPUs of queue lab; the task asks for 1"
    )
    found.release(usage_of(waiting[0]))
    assert found.quota_exceeded(waiting[2].id) is None
    assert take(found, 9) == [3]


def test_an_account_limit_spans_all_children_of_a_queue():
    queues = (
        QueueDefinition("lab", account_limit=ResourceLimit(gpu_milli=1000)),
        QueueDefinition("lab/one"),
        QueueDefinition("lab/two"),
    )
    found = sample_queue(queued(1, queue="lab/one"), queued(2, queue="lab/two"), queues=queues)
    assert take(found, 9) == [1]


def test_an_exceeded_queue_limit_is_reported_and_smaller_tasks_continue():
    queues = (QueueDefinition("lab", limit=ResourceLimit(fraction=0.2)),)
    small = queued(4, queue="lab", amount=ResourceAmount(1000, 1000, 0), priority=1)
    waiting = [queued(n, queue="lab") for n in (1, 2, 3)] + [small]
    found = sample_queue(*waiting, queues=queues)
    assert take(found, 9) == [1, 2, 4]
    assert str(found.quota_exceeded(waiting[2].id)) == "queue lab holds 2 of at most 2 GPUs; the task asks for 1"


def test_a_limit_on_the_default_queue_spans_all_accounts():
    queues = (QueueDefinition("default", limit=ResourceLimit(gpu_milli=2000)),)
    found = sample_queue(*(queued(n, f"account {n}") for n in range(1, 6)), queues=queues)
    assert len(take(found, 9)) == 2


def test_a_queue_that_may_not_borrow_stays_within_its_share():
    queues = (QueueDefinition("lab", borrow=False), QueueDefinition("shop", weight=3))
    waiting = [queued(n, queue="lab") for n in range(1, 9)]
    found = sample_queue(*waiting, queues=queues)
    assert take(found, 9) == [1, 2]
    assert str(found.quota_exceeded(waiting[4].id)) == (
        "queue lab holds 2 of at most 2 GPUs, its share, and may not borrow; the task asks for 1"
    )


def test_a_request_above_the_limit_is_reported_as_such():
    asks = queued(1, queue="lab", amount=ResourceAmount(1000, 1000, 8000))
    found = sample_queue(asks, queues=(QueueDefinition("lab", account_limit=ResourceLimit(gpu_milli=4000)),))
    assert found.next() is None
    told = str(found.quota_exceeded(asks.id))
    assert told == "the task asks for 8 of at most 4 GPUs of queue lab that account alice may ever hold"


def test_a_fractional_limit_follows_the_size_of_the_network():
    found = sample_queue(
        queued(1, queue="lab"),
        queued(2, queue="lab"),
        queues=(QueueDefinition("lab", limit=ResourceLimit(fraction=0.1)),),
    )
    assert take(found, 9) == [1]
    found.begin_cycle(1, TOTALS.plus(TOTALS))
    assert take(found, 9) == [2]


def test_a_fractional_account_limit_follows_the_size_of_the_network():
    found = sample_queue(
        queued(1, queue="lab"),
        queued(2, queue="lab"),
        queues=(QueueDefinition("lab", account_limit=ResourceLimit(fraction=0.1)),),
    )
    assert take(found, 9) == [1]
    found.begin_cycle(1, TOTALS.plus(TOTALS))
    assert take(found, 9) == [2]


def test_an_old_task_overtakes_a_task_of_higher_priority():
    queues = (QueueDefinition("lab", ageing=AgeingPolicy(per_hour=10, up_to=120)),)
    old, new = queued(1, queue="lab", submitted_at=0), queued(2, queue="lab", priority=115, submitted_at=HOUR_MS)
    found = sample_queue(old, new, queues=queues, now_ms=HOUR_MS)
    assert found.first() == new
    newer = queued(3, queue="lab", priority=115, submitted_at=3 * HOUR_MS)
    found.remove(2)
    found.add(newer)
    found.begin_cycle(3 * HOUR_MS)
    assert found.first() == old


def test_tasks_at_the_ageing_ceiling_are_ordered_by_age_behind_tasks_above_it():
    queues = (QueueDefinition("lab", ageing=AgeingPolicy(per_hour=10, up_to=120)),)
    waiting = [
        queued(1, queue="lab", priority=119, submitted_at=HOUR_MS),
        queued(2, queue="lab", priority=0, submitted_at=0),
        queued(3, queue="lab", priority=121, submitted_at=13 * HOUR_MS),
    ]
    found = sample_queue(*waiting, queues=queues, now_ms=11 * HOUR_MS)
    assert found.next() == 3
    found.remove(3)
    assert found.next() == 1
    found.begin_cycle(12 * HOUR_MS)
    assert found.next() == 2


def test_without_ageing_priority_alone_counts():
    queues = (QueueDefinition("lab", ageing=AgeingPolicy(per_hour=0)),)
    found = sample_queue(queued(1, queue="lab"), queued(2, queue="lab", priority=101), queues=queues, now_ms=10**12)
    assert take(found, 2) == [2, 1]


def test_the_effective_priority_grows_up_to_the_ceiling():
    assert AgeingPolicy(per_hour=10, up_to=120).effective_priority(100, 0, HOUR_MS) == 110
    assert AgeingPolicy(per_hour=10, up_to=120).effective_priority(100, 0, 9 * HOUR_MS) == 120
    assert AgeingPolicy(per_hour=10, up_to=120).effective_priority(130, 0, 9 * HOUR_MS) == 130


def test_tasks_may_arrive_and_leave_during_a_cycle():
    found = sample_queue(queued(1))
    assert take(found, 2) == [1]
    found.add(queued(2))
    found.add(queued(3, "bob"))
    found.remove(2)
    assert take(found, 2) == [3]
    assert len(found) == 0


def test_removed_tasks_leave_nothing_behind():
    found = sample_queue(queued(0))
    for number in range(1, 200):
        found.add(queued(number))
        found.remove(number)
    assert take(found, 2) == [0]
    assert len(found) == 0


def test_charges_and_releases_of_others_count():
    found = sample_queue(queued(1), queued(2, "bob"))
    found.charge(usage_of(queued(9, "alice")))
    alice = found.leaf("default", "alice")
    assert found.entitlements().share(alice) == pytest.approx(1 / 10)
    assert found.next() == 2
    found.release(usage_of(queued(9, "alice")))
    assert found.entitlements().share(alice) == 0
    assert found.next() == 1


def test_operations_on_unknown_or_known_tasks_are_rejected():
    found = sample_queue(queued(1))
    with pytest.raises(ValueError, match="task 1 waits already"):
        found.add(queued(1))
    with pytest.raises(ValueError, match="task 2 does not wait"):
        found.remove(2)
    with pytest.raises(ValueError, match="task 2 does not wait"):
        found.commit(2)
    with pytest.raises(ValueError, match="task 2 does not wait"):
        found.mark_unschedulable(2)
    with pytest.raises(ValueError, match="does not hold"):
        found.release(usage_of(queued(1)))
    with pytest.raises(ValueError, match="others of its class"):
        found.add(queued(2, amount=CORES, class_id=class_of(GPU)))
    with pytest.raises(ValueError, match="task 1 waits already"):
        sample_queue(queued(1), queued(1))


def test_tasks_have_an_order_in_a_network_without_hosts():
    assert take(sample_queue(queued(1), queued(2, "bob"), queued(3), totals=NO_RESOURCES), 3) == [1, 2, 3]


def test_quota_freed_during_a_cycle_is_used_in_it():
    waiting = [queued(n, queue="lab") for n in (1, 2, 3)]
    found = sample_queue(*waiting, queues=(QueueDefinition("lab", limit=ResourceLimit(gpu_milli=2000)),))
    assert take(found, 9) == [1, 2]
    found.release(usage_of(waiting[0]))
    assert take(found, 9) == [3]


def test_a_task_added_to_an_exhausted_queue_is_next_in_the_same_cycle():
    closed = queued(2, queue="shop", amount=CORES)
    found = sample_queue(
        queued(1, queue="lab"), closed, queues=(LAB, QueueDefinition("shop", limit=ResourceLimit(fraction=0)))
    )
    found.mark_unschedulable(found.next())
    assert found.next() is None
    found.add(queued(3, queue="lab", amount=ResourceAmount(1, 1, 0)))
    assert found.next() == 3


def test_entitlements_ignore_tasks_that_left():
    found = sample_queue(queued(0), queued(1), queued(2))
    found.remove(1)
    alice = found.leaf("default", "alice")
    assert found.entitlements().entitlement(alice) == pytest.approx(2 / 10)
    assert take(found, 1) == [0]
    assert found.entitlements().entitlement(alice) == pytest.approx(2 / 10), "of it one half is held now"


def test_a_class_is_unschedulable_until_one_of_its_tasks_is_placed():
    found = sample_queue(queued(1), queued(2))
    found.mark_unschedulable(found.next())
    assert found.history.unschedulable == {class_of(GPU)}
    found.begin_cycle(1)
    assert found.history.unschedulable == {class_of(GPU)}
    assert take(found, 1) == [1]
    assert found.history.unschedulable == frozenset()


def test_classes_blocked_by_other_queues_do_not_change_the_order():
    """As many are blocked as can go: here all that can go are compared, elsewhere the blocked are passed one by one."""
    one, two, three, four = (ResourceAmount(1000, 1000, gpus) for gpus in (4000, 3000, 2000, 1000))
    waiting = [queued(1, queue="shop", amount=one), queued(2, queue="shop", amount=two)]
    waiting += [queued(3, queue="lab", amount=one, priority=200), queued(4, queue="lab", amount=two, priority=200)]
    waiting += [queued(5, queue="lab", amount=four, priority=110), queued(6, queue="lab", amount=three, priority=120)]
    found = sample_queue(*waiting, queues=(LAB, SHOP), used=[usage_of(queued(9, queue="lab"))])
    for task in (1, 2):
        assert found.next() == task
        found.mark_unschedulable(found.next())
    assert take(found, 9) == [6, 5]


def test_jains_index_is_one_for_equal_values_and_one_nth_if_one_has_everything():
    assert jain_fairness([0.3, 0.3, 0.3]) == pytest.approx(1)
    assert jain_fairness([1, 0, 0, 0]) == pytest.approx(1 / 4)
    assert jain_fairness([]) == jain_fairness([0, 0]) == 1
