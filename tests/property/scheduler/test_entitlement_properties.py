"""Properties of entitlements: they divide the network, and only borrowing is reclaimed."""

from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.scheduler.pod_request import NO_RESOURCES
from tests.property.scheduler.test_fair_share_properties import ACCOUNTS, AMOUNTS, NAMES, queued_tasks, trees
from tests.support.examples import examples
from tests.support.queue_samples import TOTALS, SampleQueue, usage_of

SAME = 1e-6


def parts_of(found):
    return sorted({found.leaf(queue, account) for queue in NAMES for account in ACCOUNTS})


@settings(max_examples=examples(100))
@given(queues=trees(), waiting=queued_tasks(), running=queued_tasks())
def test_entitlements_divide_the_network_and_cover_demand_up_to_a_fair_share(queues, waiting, running):
    found = SampleQueue(queues, TOTALS, map(usage_of, running), waiting, 5000)
    parts = parts_of(found)
    entitlements = found.entitlements()
    assert sum(entitlements.entitlement(part) for part in parts) <= 1 + SAME
    if not any(queue.limit or queue.account_limit or not queue.borrow for queue in queues.queues.values()):
        wanted = dict.fromkeys(parts, NO_RESOURCES)
        for one in waiting:
            part = found.leaf(one.queue, one.account)
            wanted[part] = wanted[part].plus(one.amount)
        for part in parts:
            demand = entitlements.share(part, wanted[part])
            assert entitlements.entitlement(part) <= demand + SAME
            assert entitlements.entitlement(part) >= min(demand, 1 / 100) - SAME, (
                "by weight, of whatever siblings there can be"
            )


@settings(max_examples=examples(150))
@given(queues=trees(), waiting=queued_tasks(), running=queued_tasks(most=12), data=st.data())
def test_reclaim_takes_only_borrowing_or_exchanges_two_positions(queues, waiting, running, data):
    found = SampleQueue(queues, TOTALS, map(usage_of, running), waiting, 5000)
    parts = parts_of(found)
    asking, asks = data.draw(st.sampled_from(parts)), data.draw(st.sampled_from(AMOUNTS))
    entitlements = found.entitlements()
    ways = entitlements.reclaim_policies(asking, asks)
    gone = [(found.leaf(one.queue, one.account), one.amount) for one in data.draw(st.lists(st.sampled_from(running)))]
    accounts = {found.leaf("default", account) for account in ACCOUNTS}
    poor = entitlements.share(asking) < entitlements.entitlement(asking)
    for at, way in enumerate(ways):
        assert way.is_open(asking)
        taken = [one for one in gone if way.is_open(one[0])]
        if not way.allows(taken):
            continue
        assert all(way.allows(taken[:place] + taken[place + 1 :]) for place in range(len(taken))), "fewer may, too"
        for part in {part for part, _ in taken} - {asking}:
            assert poor, "who holds its right has nobody else's leave"
            lost = NO_RESOURCES
            for other, amount in taken:
                lost = lost.plus(amount) if other == part else lost
            if at == 0 and len(ways) > 1:
                assert entitlements.share(part) > entitlements.entitlement(part)
                assert entitlements.share_without(part, lost) >= entitlements.entitlement(part) - SAME, (
                    "no more than is lent"
                )
                assert entitlements.share(asking, asks) <= entitlements.entitlement(asking) + SAME, (
                    "no more than is missed"
                )
            elif {part, asking} <= accounts:
                assert entitlements.share(asking, asks) <= entitlements.share(part) + SAME
                assert entitlements.share_without(part, lost) >= entitlements.share(asking) - SAME
