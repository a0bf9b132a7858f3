"""Whose turn it is."""

import pytest

from offchain.core.queues.ageing import HOUR_MS, Ageing
from offchain.core.queues.amount import NOTHING, Amount
from offchain.core.queues.tree import Most, Queue
from offchain.core.queues.turn import Memory
from tests.support.queue_samples import CORES, GPU, TOTALS, claim, fill, holding, shape_of, take, turn

LAB, SHOP = Queue("lab"), Queue("shop")


def test_without_queues_accounts_take_turns():
    waiting = [claim(n, "alice") for n in range(1, 5)] + [claim(n, "bob") for n in range(5, 7)]
    assert take(turn(*waiting), 6) == [1, 5, 2, 6, 3, 4]


def test_a_queue_that_nobody_defined_is_the_default():
    assert take(turn(claim(1, queue="mine"), claim(2), claim(3, "bob", queue="yours")), 3) == [1, 3, 2]


def test_a_queue_with_parts_takes_no_tasks_itself():
    found = turn(queues=(Queue("lab/one"),))
    assert found.part("lab", "alice") == found.part("default", "alice")


def test_who_may_not_use_a_queue_waits_in_the_default():
    queues = (Queue("lab", accounts=frozenset({"alice"})), Queue("lab/one"))
    found = turn(queues=queues)
    assert found.part("lab/one", "bob") == found.part("default", "bob")
    assert found.part("lab/one", "alice") != found.part("default", "alice")


def test_what_is_held_already_counts():
    running = claim(9, "alice")
    assert take(turn(claim(1, "alice"), claim(2, "bob"), used=[holding(running)]), 2) == [2, 1]


def test_in_a_queue_priority_is_first_then_age_then_number():
    waiting = [
        claim(1, queue="lab", submitted_at=5),
        claim(2, queue="lab", submitted_at=3),
        claim(3, queue="lab", submitted_at=3, amount=CORES),
        claim(4, "bob", queue="lab", submitted_at=9, priority=101),
    ]
    assert take(turn(*waiting, queues=(LAB,)), 4) == [4, 2, 3, 1]


def test_a_heavier_queue_is_served_more_often():
    waiting = [claim(n, queue="lab") for n in range(1, 10)] + [claim(n, queue="shop") for n in range(11, 20)]
    placed = take(turn(*waiting, queues=(Queue("lab", weight=2), SHOP)), 6)
    assert sorted(placed) == [1, 2, 3, 4, 11, 12]


def test_shares_are_compared_by_the_resource_of_which_a_queue_holds_most():
    """Ten of 100 cores are as much as one of ten GPUs."""
    waiting = [claim(n, queue="lab", amount=CORES) for n in range(1, 4)]
    waiting += [claim(n, queue="shop") for n in range(11, 14)]
    assert take(turn(*waiting, queues=(LAB, SHOP)), 6) == [1, 11, 2, 12, 3, 13]


def test_a_shape_that_fits_nowhere_is_passed_over_in_all_queues_for_this_round():
    found = turn(claim(1), claim(2, "bob"), claim(3, amount=CORES), claim(4, "bob", amount=CORES))
    assert fill(found, CORES.plus(CORES)) == [3, 4]
    assert found.next() is None
    found.begin(1)
    assert fill(found, GPU) == [1]


def test_a_task_of_a_blocked_shape_gives_way_to_the_next_in_its_queue():
    found = turn(claim(1, queue="lab", priority=200), claim(2, queue="lab", amount=CORES), queues=(LAB,))
    assert found.next() == 1
    found.blocked(found.next())
    assert found.next() == 2


def test_asking_twice_gives_the_same():
    found = turn(claim(1), claim(2, "bob"))
    assert found.next() == found.next() == 1


def test_of_equal_shares_the_one_served_longest_ago_is_next():
    found = turn(claim(1, "alice"), claim(2, "alice"), claim(3, "bob"))
    for now_ms, task in ((1, 1), (2, 3), (3, 2)):
        found.begin(now_ms)
        one = found.first()
        found.placed(one.id)
        found.release(holding(one))
        assert one.id == task


def test_cores_are_not_kept_from_a_part_because_its_sibling_holds_the_gpus():
    """Plain shares in a tree would give the shop every core: the lab looks rich in GPUs, which are all taken."""
    queues = (Queue("lab/gpus"), Queue("lab/cores"), SHOP)
    used = [holding(claim(n, queue="lab/gpus")) for n in range(8)]
    waiting = [claim(1, queue="lab/gpus")]
    waiting += [claim(n, queue="lab/cores", amount=CORES) for n in range(11, 20)]
    waiting += [claim(n, queue="shop", amount=CORES) for n in range(21, 30)]
    memory = Memory(asleep=frozenset({shape_of(GPU)}))
    assert sorted(take(turn(*waiting, queues=queues, used=used, memory=memory), 8)) == [11, 12, 13, 14, 21, 22, 23, 24]


def test_once_its_shape_fits_again_what_a_part_holds_counts_again():
    queues = (Queue("lab/gpus"), Queue("lab/cores"), SHOP)
    used = [holding(claim(n, queue="lab/gpus")) for n in range(4)]
    waiting = [claim(1, queue="lab/gpus"), claim(2, "bob", queue="lab/cores", amount=CORES)]
    waiting += [claim(n, queue="shop", amount=CORES) for n in range(21, 30)]
    found = turn(*waiting, queues=queues, used=used, memory=Memory(asleep=frozenset({shape_of(GPU)})))
    assert take(found, 2) == [21, 2]
    woken = turn(*waiting, queues=queues, used=used)
    assert take(woken, 4) == [21, 22, 23, 24]


def test_a_limit_on_an_account_is_told_and_others_go_on():
    queues = (Queue("lab", account_most=Most(gpu_milli=2000)),)
    waiting = [claim(n, "alice", queue="lab") for n in (1, 2, 3)] + [claim(4, "bob", queue="lab")]
    found = turn(*waiting, queues=queues)
    assert take(found, 9) == [1, 2, 4]
    assert str(found.held(waiting[2].id)) == "account alice holds 2 of at most 2 GPUs of queue lab; the task asks for 1"
    found.release(holding(waiting[0]))
    assert found.held(waiting[2].id) is None
    assert take(found, 9) == [3]


def test_an_account_limit_counts_in_all_parts_of_a_queue():
    queues = (Queue("lab", account_most=Most(gpu_milli=1000)), Queue("lab/one"), Queue("lab/two"))
    found = turn(claim(1, queue="lab/one"), claim(2, queue="lab/two"), queues=queues)
    assert take(found, 9) == [1]


def test_a_limit_on_a_queue_is_told_and_smaller_tasks_go_on():
    queues = (Queue("lab", most=Most(part=0.2)),)
    small = claim(4, queue="lab", amount=Amount(1000, 1000, 0), priority=1)
    waiting = [claim(n, queue="lab") for n in (1, 2, 3)] + [small]
    found = turn(*waiting, queues=queues)
    assert take(found, 9) == [1, 2, 4]
    assert str(found.held(waiting[2].id)) == "queue lab holds 2 of at most 2 GPUs; the task asks for 1"


def test_a_limit_on_the_default_holds_all_of_its_accounts():
    queues = (Queue("default", most=Most(gpu_milli=2000)),)
    found = turn(*(claim(n, f"account {n}") for n in range(1, 6)), queues=queues)
    assert len(take(found, 9)) == 2


def test_a_queue_that_may_not_borrow_stays_within_its_share():
    queues = (Queue("lab", borrow=False), Queue("shop", weight=3))
    waiting = [claim(n, queue="lab") for n in range(1, 9)]
    found = turn(*waiting, queues=queues)
    assert take(found, 9) == [1, 2]
    assert str(found.held(waiting[4].id)) == (
        "queue lab holds 2 of at most 2 GPUs, its share, and may not borrow; the task asks for 1"
    )


def test_what_asks_for_more_than_the_limit_is_told_so():
    asks = claim(1, queue="lab", amount=Amount(1000, 1000, 8000))
    found = turn(asks, queues=(Queue("lab", account_most=Most(gpu_milli=4000)),))
    assert found.next() is None
    told = str(found.held(asks.id))
    assert told == "the task asks for 8 of at most 4 GPUs of queue lab that account alice may ever hold"


def test_a_limit_in_parts_follows_the_network():
    found = turn(claim(1, queue="lab"), claim(2, queue="lab"), queues=(Queue("lab", most=Most(part=0.1)),))
    assert take(found, 9) == [1]
    found.begin(1, TOTALS.plus(TOTALS))
    assert take(found, 9) == [2]


def test_a_limit_on_accounts_in_parts_follows_the_network():
    found = turn(claim(1, queue="lab"), claim(2, queue="lab"), queues=(Queue("lab", account_most=Most(part=0.1)),))
    assert take(found, 9) == [1]
    found.begin(1, TOTALS.plus(TOTALS))
    assert take(found, 9) == [2]


def test_an_old_task_overtakes_a_more_important_one():
    queues = (Queue("lab", ageing=Ageing(per_hour=10, up_to=120)),)
    old, new = claim(1, queue="lab", submitted_at=0), claim(2, queue="lab", priority=115, submitted_at=HOUR_MS)
    found = turn(old, new, queues=queues, now_ms=HOUR_MS)
    assert found.first() == new
    newer = claim(3, queue="lab", priority=115, submitted_at=3 * HOUR_MS)
    found.remove(2)
    found.add(newer)
    found.begin(3 * HOUR_MS)
    assert found.first() == old


def test_those_that_came_up_to_the_bound_go_by_age_behind_those_above_it():
    queues = (Queue("lab", ageing=Ageing(per_hour=10, up_to=120)),)
    waiting = [
        claim(1, queue="lab", priority=119, submitted_at=HOUR_MS),
        claim(2, queue="lab", priority=0, submitted_at=0),
        claim(3, queue="lab", priority=121, submitted_at=13 * HOUR_MS),
    ]
    found = turn(*waiting, queues=queues, now_ms=11 * HOUR_MS)
    assert found.next() == 3
    found.remove(3)
    assert found.next() == 1
    found.begin(12 * HOUR_MS)
    assert found.next() == 2


def test_without_ageing_priority_alone_counts():
    queues = (Queue("lab", ageing=Ageing(per_hour=0)),)
    found = turn(claim(1, queue="lab"), claim(2, queue="lab", priority=101), queues=queues, now_ms=10**12)
    assert take(found, 2) == [2, 1]


def test_the_effective_priority_can_be_told():
    assert Ageing(per_hour=10, up_to=120).effective(100, 0, HOUR_MS) == 110
    assert Ageing(per_hour=10, up_to=120).effective(100, 0, 9 * HOUR_MS) == 120
    assert Ageing(per_hour=10, up_to=120).effective(130, 0, 9 * HOUR_MS) == 130


def test_what_comes_during_a_round_is_seen_and_what_goes_is_not():
    found = turn(claim(1))
    assert take(found, 2) == [1]
    found.add(claim(2))
    found.add(claim(3, "bob"))
    found.remove(2)
    assert take(found, 2) == [3]
    assert len(found) == 0


def test_nothing_is_left_of_tasks_that_were_cancelled_behind_an_older_one():
    found = turn(claim(0))
    for number in range(1, 200):
        found.add(claim(number))
        found.remove(number)
    assert take(found, 2) == [0]
    assert len(found) == 0


def test_charges_and_releases_of_others_count():
    found = turn(claim(1), claim(2, "bob"))
    found.charge(holding(claim(9, "alice")))
    alice = found.part("default", "alice")
    assert found.rights().share(alice) == pytest.approx(1 / 10)
    assert found.next() == 2
    found.release(holding(claim(9, "alice")))
    assert found.rights().share(alice) == 0
    assert found.next() == 1


def test_what_is_not_there_is_refused():
    found = turn(claim(1))
    with pytest.raises(ValueError, match="task 1 waits already"):
        found.add(claim(1))
    with pytest.raises(ValueError, match="task 2 does not wait"):
        found.remove(2)
    with pytest.raises(ValueError, match="task 2 does not wait"):
        found.placed(2)
    with pytest.raises(ValueError, match="task 2 does not wait"):
        found.blocked(2)
    with pytest.raises(ValueError, match="does not hold"):
        found.release(holding(claim(1)))
    with pytest.raises(ValueError, match="others of its shape"):
        found.add(claim(2, amount=CORES, shape=shape_of(GPU)))
    with pytest.raises(ValueError, match="task 1 waits already"):
        turn(claim(1), claim(1))


def test_a_network_without_hosts_gives_an_order_too():
    assert take(turn(claim(1), claim(2, "bob"), claim(3), totals=NOTHING), 3) == [1, 2, 3]


def test_room_under_a_limit_is_used_in_the_same_round():
    waiting = [claim(n, queue="lab") for n in (1, 2, 3)]
    found = turn(*waiting, queues=(Queue("lab", most=Most(gpu_milli=2000)),))
    assert take(found, 9) == [1, 2]
    found.release(holding(waiting[0]))
    assert take(found, 9) == [3]


def test_what_comes_to_a_queue_that_had_nothing_to_give_is_seen_in_the_same_round():
    closed = claim(2, queue="shop", amount=CORES)
    found = turn(claim(1, queue="lab"), closed, queues=(LAB, Queue("shop", most=Most(part=0))))
    found.blocked(found.next())
    assert found.next() is None
    found.add(claim(3, queue="lab", amount=Amount(1, 1, 0)))
    assert found.next() == 3


def test_what_is_wanted_is_counted_without_those_that_left():
    found = turn(claim(0), claim(1), claim(2))
    found.remove(1)
    alice = found.part("default", "alice")
    assert found.rights().right(alice) == pytest.approx(2 / 10)
    assert take(found, 1) == [0]
    assert found.rights().right(alice) == pytest.approx(2 / 10), "of it one half is held now"


def test_a_shape_sleeps_until_one_of_it_is_placed():
    found = turn(claim(1), claim(2))
    found.blocked(found.next())
    assert found.memory.asleep == {shape_of(GPU)}
    found.begin(1)
    assert found.memory.asleep == {shape_of(GPU)}
    assert take(found, 1) == [1]
    assert found.memory.asleep == frozenset()


def test_behind_shapes_that_others_found_blocked_the_order_is_the_same():
    """As many are blocked as can go: here all that can go are compared, elsewhere the blocked are passed one by one."""
    one, two, three, four = (Amount(1000, 1000, gpus) for gpus in (4000, 3000, 2000, 1000))
    waiting = [claim(1, queue="shop", amount=one), claim(2, queue="shop", amount=two)]
    waiting += [claim(3, queue="lab", amount=one, priority=200), claim(4, queue="lab", amount=two, priority=200)]
    waiting += [claim(5, queue="lab", amount=four, priority=110), claim(6, queue="lab", amount=three, priority=120)]
    found = turn(*waiting, queues=(LAB, SHOP), used=[holding(claim(9, queue="lab"))])
    for task in (1, 2):
        assert found.next() == task
        found.blocked(found.next())
    assert take(found, 9) == [6, 5]
