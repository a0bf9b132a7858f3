"""`gantry simulate` prepares a policy, and tells how that goes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from offchain.cli.kit.output import progress

if TYPE_CHECKING:
    from offchain.core.placing.cluster import HostSpec
    from offchain.core.placing.rehearsal import Prepared
    from offchain.core.placing.shapes import Mix


def rehearsed(policy: str, specs: Sequence[HostSpec], mix: Mix) -> tuple[Prepared, float]:
    """The policy of this name for the pods that are expected, and how many seconds that took."""
    from offchain.core.placing.rehearsal import prepare  # noqa: PLC0415  (numba is slow to load)

    began_s = time.perf_counter()
    prepared = prepare(policy, specs, mix, lambda line: progress(f"{policy}: {line}"))
    took_s = time.perf_counter() - began_s
    if prepared.note:
        progress(f"{policy}: rehearsed in {took_s:.1f} s, {prepared.note}")
    return prepared, took_s
