"""A challenge of every host of a large network each day: processor time of verifiers, and share of the chain."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from main_job import BenchError
from table import Figure

from offchain.adapters.chain.runtime import ChainRuntime
from offchain.devnet.paths import ROOT
from offchain.schema.chain_types import _generated_chain as gen
from trust import verify
from trust.costs import COMMITTEE

HOSTS: Final = 10_000
VERIFIERS: Final = 100
"""Verifiers among whom the work is divided."""
_DAY_S: Final = 86_400
_SLOT_S: Final = 2
_WEIGHTS: Final = ROOT / "chain" / "pallets" / "verification" / "src" / "weights.rs"
_METADATA: Final = ROOT / "chain" / "metadata" / "gantry.scale"
_WEIGHT: Final = re.compile(r"^\s*(\w+)\(\) = ([\d_]+), ([\d_]+), ([\d_]+), ([\d_]+);$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class BlockLimits:
    """Weights of the runtime, in picoseconds: of an extrinsic without its call, of all ordinary calls of a block, of a
    read and a write."""

    extrinsic: int
    block: int
    read: int
    write: int


def block_limits(metadata: Path = _METADATA) -> BlockLimits:
    """Return the limits of the runtime with this metadata."""
    runtime = ChainRuntime(metadata.read_bytes(), gen.SPEC_NAME, gen.SPEC_VERSION, gen.TRANSACTION_VERSION)
    normal = runtime.constant("System", "BlockWeights")["per_class"]["normal"]
    database = runtime.constant("System", "DbWeight")
    return BlockLimits(
        extrinsic=int(normal["base_extrinsic"]["ref_time"]),
        block=int(normal["max_total"]["ref_time"]),
        read=int(database["read"]),
        write=int(database["write"]),
    )


def call_weights(text: str, limits: BlockLimits) -> Mapping[str, int]:
    """Return the weight of each call and step in the text of a `weights.rs`, in picoseconds."""
    found = {}
    for name, *numbers in _WEIGHT.findall(text):
        time_ps, _, reads, writes = (int(number.replace("_", "")) for number in numbers)
        found[name] = time_ps + reads * limits.read + writes * limits.write
    return found


def challenge_weight(weights: Mapping[str, int], limits: BlockLimits, committee: int = COMMITTEE) -> int:
    """Return the weight of a challenge that is passed, in picoseconds.

    All reveals but the last are charged as the runtime does after their execution. Three entries of queues are out of
    date when their time comes: those of the phases that ended before.
    """
    early = weights["commit_vote"] + limits.read
    calls = weights["open_challenge"] + weights["answer"] + committee * weights["commit_vote"]
    calls += (committee - 1) * early + weights["reveal_vote"]
    extrinsics = 2 + 2 * committee
    return calls + weights["draw_seed"] + 3 * weights["stale_entry"] + extrinsics * limits.extrinsic


def measure(hosts: int) -> tuple[list[Figure], list[str]]:
    """Return processor hours of all verifiers and the share of a day's blocks, in percent."""
    limits = block_limits()
    try:
        weight = challenge_weight(call_weights(_WEIGHTS.read_text(encoding="utf-8"), limits), limits)
    except KeyError as missing:
        raise BenchError(f"{_WEIGHTS.relative_to(ROOT)} lacks the weight of {missing.args[0]}") from None
    verify_s = statistics.median(verify.samples()["verify"])
    cpu_s = hosts * COMMITTEE * verify_s
    share = 100 * hosts * weight / (limits.block * _DAY_S / _SLOT_S)
    figures = [
        Figure("trust-daily-cpu", "core hours", (round(cpu_s / 3600, 2),)),
        Figure("trust-daily-chain", "%", (round(share, 2),)),
        Figure("trust-daily-weight", "ms", (round(weight / 1e9, 2),)),
    ]
    line = (
        f"{hosts:,} challenges a day by committees of {COMMITTEE}: {cpu_s / VERIFIERS:.0f} s of a core for each of "
        f"{VERIFIERS} verifiers; {2 + 2 * COMMITTEE} extrinsics and {weight / 1e9:.2f} ms of weight each"
    )
    return figures, [line]
