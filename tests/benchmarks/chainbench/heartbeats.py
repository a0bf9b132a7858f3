"""Heartbeats, sustained: how many the chain takes, and which part of that 100,000 hosts need in production.

Each heartbeat is an extrinsic that its host signs. The period of the production preset is read from the runtime; an
agent sends its heartbeat before the period is over (`node_agent/core/host_presence.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from chainbench import blocks, costs, signing
from chainbench.blocks import Sustained
from chainbench.costs import Costs
from chainbench.driver import Stage
from chainbench.flood import INHERENTS, NODE_OPTIONS, FloodResult, flood, frame
from chainbench.load import AUTHORING
from chainbench.node import SLOT_SECONDS, preset_of, running
from chainbench.progress import say
from chainbench.scene import PARAMS, Scene, endowed, host
from node_agent.core.host_presence import BEAT_AT_PPM
from offchain.devnet.release import Binaries
from offchain.schema.chain_types._generated_chain import calls

EVENTS = {"heartbeat": "System.ExtrinsicSuccess"}
FLEET = 100_000
# Hosts of the measurement. Each may send in every block, because the period is 1 ms; and once in a block, because the
# chain takes one free call of a host: they are more than WINDOW.
HOSTS, SCHEDULERS = 16_384, 1
PER_SECOND, WINDOW, LANES = 3_500, 7_000, 4
_MARGIN_SLOTS = 4
_TRACED = 64


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was measured.

    `period_ms`: of the production preset. `author_us`: making a block, for each heartbeat.
    """

    sustained: Sustained
    generator: FloodResult
    costs: Costs
    period_ms: int
    author_us: float
    cpu_us: float

    @property
    def needed(self) -> float:
        """Heartbeats a second of the fleet, as agents send them."""
        return heartbeats_per_second(FLEET, self.period_ms, BEAT_AT_PPM)

    @property
    def needed_at_period(self) -> float:
        """Heartbeats a second of the fleet, if each came when the period is over."""
        return heartbeats_per_second(FLEET, self.period_ms)

    @property
    def share_of_taken(self) -> float:
        """Part of what the chain takes that the fleet needs. Free calls have a part of each block only."""
        return self.needed / self.sustained.per_second

    @property
    def share(self) -> float:
        """Part of the weight of blocks that the fleet's heartbeats take."""
        return self.needed / self.costs.most_per_second


def heartbeats_per_second(hosts: int, period_ms: int, at_ppm: int = 1_000_000) -> float:
    """Return how many heartbeats `hosts` send a second, each after this part of the period."""
    return hosts * 1000 * 1_000_000 / (period_ms * at_ppm)


def measure(binaries: Binaries, seconds: int) -> Outcome:
    """Sustain it for so long."""
    slots = seconds // int(SLOT_SECONDS)
    flooded = (slots + 2 * _MARGIN_SLOTS) * SLOT_SECONDS
    period_ms = int(preset_of(binaries, "production")["hosts"]["params"]["heartbeatPeriodMs"])
    params = {**PARAMS, "hosts": {**PARAMS["hosts"], "heartbeatPeriodMs": 1}}
    with running(binaries, endowed(schedulers=SCHEDULERS, cranks=1), params, options=NODE_OPTIONS) as node:
        scene = Scene(node, HOSTS, room=1, schedulers=SCHEDULERS)
        scene.build()
        call = node.runtime.encode_call(calls.hosts_heartbeat())
        stage = Stage("heartbeat", [(host(number), call) for number in range(_TRACED)], _TRACED)
        each = costs.of_stages(scene, [stage])[stage.kind]
        count = int(PER_SECOND * flooded)
        say(f"signs {count:,} heartbeats")
        orders = [scene.crowd.order(host(number % HOSTS), call) for number in range(count)]
        frames = [frame(signed, at // LANES) for at, signed in enumerate(signing.sign_all(node, orders))]
        scene.settle_down()
        say(f"load for {flooded:g} s, of which {slots * SLOT_SECONDS:g} s count")
        began, cpu, author = node.header(), node.cpu_seconds(), node.metrics().total(AUTHORING)
        lanes = [frames[lane::LANES] for lane in range(LANES)]
        report = flood(node.port, lanes, per_second=PER_SECOND, window=WINDOW, seconds=flooded)
        ended, cpu, author = node.header(), node.cpu_seconds() - cpu, node.metrics().total(AUTHORING) - author
        node.await_final(ended.number)
        filled = blocks.read(node, range(began.number + 1, ended.number + 1))
    # The inherent extrinsic of each block succeeds, too.
    for block in filled:
        block.events[EVENTS["heartbeat"]] -= INHERENTS
    included = max(1, sum(block.extrinsics - INHERENTS for block in filled))
    return Outcome(
        sustained=blocks.sustained(filled, began.slot + 1 + _MARGIN_SLOTS, slots, EVENTS, SLOT_SECONDS),
        generator=report,
        costs=each,
        period_ms=period_ms,
        author_us=author / included * 1e6,
        cpu_us=cpu / included * 1e6,
    )
