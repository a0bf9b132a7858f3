"""Who looks after what, among schedulers that never talk to each other."""

from __future__ import annotations

import subprocess
import sys

from core_builders import host, pod, task

from offchain.core.planning.desk import Desk
from offchain.core.planning.shifts import HANDOVER_MS, SHIFT_MS, Shifts
from offchain.core.values import Capacity

ALL = ("ann", "bob", "cy", "dee")
KINDS = [bytes([number]) * 16 for number in range(200)]


def crew(*accounts):
    found = {account: Shifts(account) for account in accounts}
    for shifts in found.values():
        shifts.schedulers(accounts)
    return found


def test_alone_it_is_always_ones_turn():
    shifts = Shifts("ann")
    shifts.schedulers(["ann"])
    assert all(shifts.mine(kind, now) for kind in KINDS[:5] for now in range(0, 3 * SHIFT_MS, 500))
    assert shifts.next_ms(5) is None


def test_at_any_time_at_most_one_looks_after_a_kind_and_after_the_handover_one_does():
    all_of_them = crew(*ALL)
    for now in range(0, 20 * SHIFT_MS, 500):
        for kind in KINDS[:20]:
            count = sum(shifts.mine(kind, now) for shifts in all_of_them.values())
            assert count == 1 if now % SHIFT_MS >= HANDOVER_MS else count <= 1


def test_each_has_about_its_share():
    all_of_them = crew(*ALL)
    for shifts in all_of_them.values():
        count = sum(shifts.mine(kind, SHIFT_MS - 1) for kind in KINDS)
        assert 25 <= count <= 75


def test_what_a_dead_one_does_not_do_another_does_in_later_shifts():
    alive = [shifts for account, shifts in crew(*ALL).items() if account != "dee"]
    for kind in KINDS[:50]:
        ends = range(SHIFT_MS - 1, 20 * SHIFT_MS, SHIFT_MS)
        assert any(shifts.mine(kind, now) for shifts in alive for now in ends)


def test_the_next_moment_to_look_again_is_never_late():
    shifts = crew(*ALL)["ann"]
    for kind in KINDS[:10]:
        was, now = shifts.mine(kind, 0), 0
        while now < 10 * SHIFT_MS:
            following = shifts.next_ms(now)
            assert following is not None
            assert now < following <= now + SHIFT_MS
            for between in range(now, following, 250):
                assert shifts.mine(kind, between) == was
            now, was = following, shifts.mine(kind, following)


def test_desks_share_the_work_and_none_of_it_is_done_twice():
    desks = {account: Desk(account.encode(), account=account) for account in ALL}
    tasks = [task(number, resources=pod(cpu_milli=number)) for number in range(1, 61)]
    for desk in desks.values():
        desk.schedulers(ALL)
        desk.put_hosts([host(f"h{number}", free=Capacity(64_000, 131_072, 100)) for number in range(20)])
        for one in tasks:
            desk.put_task(one)
    made = [desk.round(SHIFT_MS - 1).placements for desk in desks.values()]
    assert sorted(number for placed in made for number in placed) == [one.id for one in tasks]
    used = [{place.host for places in placed.values() for place in places} for placed in made]
    assert sum(map(len, used)) == len(set().union(*used)), "two of them use the same host"
    assert all(desk.next_ms(SHIFT_MS - 1) in (None, SHIFT_MS) for desk in desks.values())


def test_a_task_is_of_the_same_kind_in_every_process():
    code = (
        "import sys; sys.path[:0] = sys.argv[1:]\n"
        "from core_builders import pod, task, wants\n"
        "from offchain.core.fleet.want import Want\n"
        "from offchain.core.planning.shifts import kind_of\n"
        "models = (b'A100', b'H200', b'T4', b'V100')\n"
        "print(kind_of(Want.of(task(1, resources=pod(gpus=wants(models=models)))), 1, 1).hex())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code, *sys.path],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": s},
        ).stdout
        for s in ("1", "2")
    }
    assert len(found) == 1
