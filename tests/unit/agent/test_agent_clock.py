"""The chain's time on a machine whose clock is wrong or is set, and the silence of a chain."""

import asyncio

import pytest

from node_agent.chain.clock import LONG_SILENCE_MS, ChainClock, ChainSilence
from offchain.schema.durations import HOUR_MS

START_MS = 1_790_000_000_000


class Machine:
    """A machine's clock beside true time."""

    def __init__(self, off_ms=0):
        self.passed_ms = 0
        self.off_ms = off_ms
        self.clock = ChainClock(lambda: START_MS + self.passed_ms + self.off_ms, lambda: 77 + self.passed_ms)

    @property
    def true_ms(self):
        return START_MS + self.passed_ms

    def block(self, age_ms=5_000):
        """A block arrives that is so old."""
        self.clock.compare(self.true_ms - age_ms)

    def error_ms(self):
        return abs(self.clock.now_ms() - self.true_ms)


@pytest.mark.parametrize("off_ms", [0, HOUR_MS, -HOUR_MS])
def test_chain_time_counts_whatever_the_clock_says(off_ms):
    machine = Machine(off_ms)
    for _ in range(100):
        machine.block()
        machine.passed_ms += 2_000
        assert machine.error_ms() <= 5_000
    assert bool(machine.clock.trouble) == bool(off_ms)


def test_a_clock_that_agrees_with_the_chain_is_used():
    machine = Machine()
    machine.block(age_ms=9_000)
    assert machine.error_ms() == 0


@pytest.mark.parametrize("jump_ms", [HOUR_MS, -HOUR_MS])
def test_setting_the_clock_moves_no_time(jump_ms):
    machine = Machine()
    machine.block()
    machine.off_ms += jump_ms
    machine.passed_ms += 1_000
    assert machine.error_ms() == 0
    machine.block()
    assert machine.error_ms() == 0
    assert "3600 s" in machine.clock.trouble
    machine.off_ms = 0
    machine.block()
    assert machine.clock.trouble == ""


def test_blocks_that_were_missed_do_not_turn_time_back():
    machine = Machine()
    machine.block()
    machine.passed_ms += HOUR_MS
    for age_ms in range(HOUR_MS, 0, -60_000):
        machine.block(age_ms)
        assert machine.error_ms() == 0
        assert machine.clock.trouble == ""


def test_a_chain_that_stood_still_is_followed_when_it_continues():
    machine = Machine()
    machine.block(age_ms=HOUR_MS)  # the first that was seen: nobody can tell which of both is right
    assert machine.error_ms() == HOUR_MS
    machine.passed_ms += 2_000
    machine.block()
    assert machine.error_ms() == 0
    assert machine.clock.trouble == ""


async def test_who_waits_for_the_end_of_a_long_silence_goes_on_with_the_next_block():
    now = [0]
    silence = ChainSilence(lambda: now[0])
    await silence.wait_until_over()
    now[0] = LONG_SILENCE_MS + 1
    assert silence.is_long
    waiting = asyncio.create_task(silence.wait_until_over())
    await asyncio.sleep(0)
    assert not waiting.done()
    silence.note_block()
    await waiting
    assert not silence.is_long
