"""Large batches are kept otherwise than small ones, and nobody can tell from what comes out."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.fleet.want import Want
from offchain.core.planning import held, keeper
from offchain.core.planning.desk import Desk
from offchain.core.planning.placements import Batch
from tests.desk_world import MINUTE, World, gpu_host, job

MANY = 10**6
WANT = Want.of(job(0))

batches = st.tuples(st.integers(1, 30), st.integers(1, 3), st.integers(0, 2), st.lists(st.integers(0, 4), min_size=90))
steps = st.lists(batches | st.integers(0, 200) | st.none(), max_size=12)


@given(steps)
def test_a_host_knows_who_holds_something_there(of: list[tuple[int, int, int, list[int]] | int | None]):
    found = held.Held()
    model: dict[int, tuple[int, ...]] = {}
    number = 0
    with patch.object(held, "_FORGET", 8):
        for step in of:
            if isinstance(step, tuple):
                many, each, short, rows = step
                tasks = [job(number + place, pods=each) for place in range(many)]
                hosts = rows[: many * each - min(short, each - 1)]
                found.add(Batch(WANT, tasks, hosts, [0] * len(hosts)))
                for place in range(many):
                    model[number + place] = tuple(hosts[place * each : place * each + each])
                number += many
            elif step is None:
                for row in range(5):
                    assert found.ahead(row) == sorted(one for one, hosts in model.items() if row in hosts)
            else:
                batch = found.drop(step)
                assert (None if batch is None else batch.places(step).hosts) == model.pop(step, None)
    assert found.tasks == model.keys()
    for one, hosts in model.items():
        batch = found.get(one)
        assert batch is not None
        assert batch.places(one).hosts == hosts
        assert batch.pods(one) == tuple(range(len(hosts)))


jobs = st.tuples(st.integers(0, 2), st.integers(1, 4), st.integers(1, 40), st.sampled_from("ab"), st.integers(1, 24))


def story(few: int, hosts: int, of: list[tuple[int, int, int, str, int]], late_ms: int) -> tuple[object, ...]:
    """Who starts when and where, and what was promised, when batches up to `few` pods count as small."""
    with patch.object(keeper, "FEW", few):
        world = World(Desk(b"seed"))
        world.put_hosts(gpu_host(f"h{place}", 4) for place in range(hosts))
        number = 0
        for minute, (gpus, pods, minutes, tenant, many) in enumerate(of):
            for _ in range(many):
                most = pods if gpus == 2 else 1
                one = job(number, gpus, pods=min(most, hosts), minutes=minutes + number % 3, tenant=tenant)
                world.late_ms[number] = (late_ms * (number % 2), 0)
                world.submit(one)
                number += 1
            world.round(minute * MINUTE)
        now: int | None = len(of) * MINUTE
        while now is not None and now < 10**8:
            world.round(now)
            now = world.next_ms(now)
        assert len(world.started) == number
        return world.started, world.at, world.promised


@settings(max_examples=25)
@given(st.integers(1, 4), st.lists(jobs, min_size=1, max_size=6), st.integers(0, 30_000))
def test_what_is_reserved_beside_a_large_batch_is_what_is_beside_small_ones(
    hosts: int, of: list[tuple[int, int, int, str, int]], late_ms: int
):
    assert story(0, hosts, of, late_ms) == story(MANY, hosts, of, late_ms)
