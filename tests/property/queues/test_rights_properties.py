"""Whatever waits and runs: rights are shared out whole, and only what is lent is taken back."""

from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.queues.amount import NOTHING
from offchain.core.queues.counted import Counted
from tests.property.queues.test_queues_properties import ACCOUNTS, AMOUNTS, NAMES, claims, trees
from tests.support.examples import examples
from tests.support.queue_samples import TOTALS, Told, holding

SAME = 1e-6


def parts_of(found):
    return sorted({found.part(queue, account) for queue in NAMES for account in ACCOUNTS})


@settings(max_examples=examples(100))
@given(queues=trees(), waiting=claims(), running=claims())
def test_rights_are_of_one_network_and_whoever_wants_its_share_has_it(queues, waiting, running):
    found = Told(queues, TOTALS, map(holding, running), waiting, 5000)
    parts = parts_of(found)
    rights = found.rights()
    assert sum(rights.right(part) for part in parts) <= 1 + SAME
    if not any(queue.most or queue.account_most or not queue.borrow for queue in queues.queues.values()):
        wanted = dict.fromkeys(parts, NOTHING)
        for one in waiting:
            part = found.part(one.queue, one.account)
            wanted[part] = wanted[part].plus(one.amount)
        for part in parts:
            demand = rights.share(part, wanted[part])
            assert rights.right(part) <= demand + SAME
            assert rights.right(part) >= min(demand, 1 / 100) - SAME, "by weight, of whatever siblings there can be"


@settings(max_examples=examples(150))
@given(queues=trees(), waiting=claims(), running=claims(most=12), data=st.data())
def test_only_what_is_lent_is_taken_or_two_change_places(queues, waiting, running, data):
    found = Told(queues, TOTALS, map(holding, running), waiting, 5000)
    parts = parts_of(found)
    asking, asks = data.draw(st.sampled_from(parts)), data.draw(st.sampled_from(AMOUNTS))
    rights = found.rights()
    ways = rights.taking(asking, asks)
    gone = [(found.part(one.queue, one.account), one.amount) for one in data.draw(st.lists(st.sampled_from(running)))]
    accounts = {found.part("default", account) for account in ACCOUNTS}
    poor = rights.share(asking) < rights.right(asking)
    for at, way in enumerate(ways):
        assert way.open(asking)
        taken = [one for one in gone if way.open(one[0])]
        if not way.allows(taken):
            continue
        assert all(way.allows(taken[:place] + taken[place + 1 :]) for place in range(len(taken))), "fewer may, too"
        for part in {part for part, _ in taken} - {asking}:
            assert poor, "who holds its right has nobody else's leave"
            lost = NOTHING
            for other, amount in taken:
                lost = lost.plus(amount) if other == part else lost
            if at == 0 and len(ways) > 1:
                assert rights.share(part) > rights.right(part)
                assert rights.left(part, lost) >= rights.right(part) - SAME, "no more than is lent"
                assert rights.share(asking, asks) <= rights.right(asking) + SAME, "no more than is missed"
            elif {part, asking} <= accounts:
                assert rights.share(asking, asks) <= rights.share(part) + SAME
                assert rights.left(part, lost) >= rights.share(asking) - SAME


@settings(max_examples=examples(150))
@given(queues=trees(), waiting=claims(), running=claims(most=12))
def test_rights_that_commands_count_are_those_of_the_scheduler(queues, waiting, running):
    found = Told(queues, TOTALS, map(holding, running), waiting, 5000)
    parts_of(found)
    rights = found.rights()
    counted = Counted(queues, TOTALS, map(holding, running), map(holding, waiting))
    for one in (*waiting, *running):
        here, there = found.part(one.queue, one.account), counted.part(one.queue, one.account)
        assert counted.rights.share(there) == rights.share(here)
        assert abs(counted.rights.right(there) - rights.right(here)) <= SAME
