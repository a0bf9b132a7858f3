"""Where the same manifest ran lately its images lie on the disk, most likely: a guess, for hosts do not tell."""

from __future__ import annotations

import numpy as np

from offchain.core.fleet.facts import Facts
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Floats


def image(want: Want, facts: Facts) -> Floats:
    """0 where it ran lately, else 1; nowhere a difference where nothing is known of its manifest."""
    if want.manifest is None:
        return np.zeros(len(facts))
    apart: Floats = np.where(facts.hosts.among(facts.ran.hosts(want.manifest), facts.host), 0.0, 1.0)
    return apart
