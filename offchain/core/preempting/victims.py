"""The cheapest tasks whose end makes room for another."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from offchain.core.preempting import who
from offchain.core.preempting.rules import Past, Preemption, Rules, Running, Wanting
from offchain.core.preempting.search import Search
from offchain.core.preempting.sets import Victim
from offchain.core.queues.rights import Taking
from offchain.core.scheduler.cluster import Cluster
from offchain.core.scheduler.columns import Bools, Ints


class Refused(Enum):
    """Why nobody is made to leave."""

    FITS = "there is room without"
    VICTIM = "it was made to leave itself, and waits for room"
    TOO_OFTEN = "its account has made others leave too often; it may again later"
    NOBODY = "no spot tasks of lower priority hold enough"
    SHARES = who.SHARES


def preempt(
    wanting: Wanting,
    running: Iterable[Running],
    cluster: Cluster,
    now_ms: int,
    rules: Rules,
    past: Past,
    takings: Iterable[Taking],
    closed: Bools | None = None,
    apart: Ints | None = None,
) -> Preemption | Refused:
    """Who leaves for `wanting`, where all of its pods then have room; on hosts that are not `closed`.

    Closed are those of which something is reserved for others (``Backfill.reserved``). Nobody is told to leave who is
    not needed: without any one of the victims there would be no room. `apart`: [host], of hosts with the same number
    only one takes a pod, and no more than one; None: pods may lie beside each other. `takings`: the ways in which the
    queues let it have others leave; the first by which it finds room counts.
    """
    if wanting.task in past.leaving:
        return Refused.VICTIM
    search = Search(wanting.shape, wanting.pods, cluster, closed, apart)
    if search.spare >= wanting.pods:
        return Refused.FITS
    if past.too_often(wanting.account, now_ms, rules):
        return Refused.TOO_OFTEN
    eligible = [Victim(rules.cost(one, now_ms), one) for one in running if past.may_leave(one, wanting, now_ms, rules)]
    if not search.enough(eligible):
        return Refused.NOBODY
    for taking in takings:
        may = [one for one in eligible if taking.open(one.running.part)]
        search = Search(wanting.shape, wanting.pods, cluster, closed, apart)
        chosen = search.find(may, taking)
        if chosen is not None:
            cost = sum(victim.cost for victim in chosen)
            victims = tuple(victim.running for victim in chosen)
            return Preemption(wanting, victims, search.places(), now_ms + rules.notice_ms, cost)
    return Refused.SHARES
