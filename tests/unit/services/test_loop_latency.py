"""A full garbage collection examines only what is new, and kernels run without the interpreter lock."""

import gc
import sys
import threading
import time
import weakref
from collections.abc import Iterator

import pytest

from offchain.core.scheduler.jit import compiled
from offchain.services.loop_latency import SWITCH_S, limit_loop_latency


@pytest.fixture(autouse=True)
def _interpreter_as_before() -> Iterator[None]:
    callbacks, interval = list(gc.callbacks), sys.getswitchinterval()
    yield
    gc.callbacks[:] = callbacks
    sys.setswitchinterval(interval)
    gc.unfreeze()


class _Node:
    other: "_Node | None" = None


def test_survivors_of_a_full_collection_are_not_examined_again() -> None:
    limit_loop_latency()
    limit_loop_latency()
    kept = [_Node() for _ in range(1_000)]
    gc.collect()
    before = gc.get_freeze_count()
    assert before > len(kept)
    later = [_Node() for _ in range(1_000)]
    gc.collect()
    assert 0 < gc.get_freeze_count() - before < 20_000
    assert len(later) == len(kept)
    assert sys.getswitchinterval() == pytest.approx(SWITCH_S)


def test_a_frozen_object_is_freed_when_nothing_refers_to_it_and_new_cycles_are_found() -> None:
    limit_loop_latency()
    frozen = _Node()
    gc.collect()
    seen = weakref.ref(frozen)
    del frozen
    assert seen() is None
    cycle = _Node()
    cycle.other = cycle
    seen = weakref.ref(cycle)
    del cycle
    gc.collect()
    assert seen() is None


@compiled
def _repeat(times: int) -> float:
    """A loop whose result the compiler cannot know."""
    value = 1.0
    for _ in range(times):
        value = value * 0.999 + 1.0
    return value


def test_other_threads_run_while_a_kernel_runs() -> None:
    _repeat(1)
    thread = threading.Thread(target=_repeat, args=(300_000_000,))
    began_s = last_s = time.perf_counter()
    thread.start()
    longest_s = 0.0
    while thread.is_alive():
        now_s = time.perf_counter()
        longest_s, last_s = max(longest_s, now_s - last_s), now_s
    longest_s = max(longest_s, time.perf_counter() - last_s)
    assert longest_s < (time.perf_counter() - began_s) / 2
