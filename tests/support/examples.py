"""How many examples property tests try: fewer by default, many more at the level `long` of `scripts/test`."""

import os
from typing import Final

from hypothesis import HealthCheck, settings

from tests.support.suites import LEVEL

IS_LONG: Final = os.environ.get(LEVEL) == "long"
_FACTOR: Final = 2.0 if IS_LONG else 0.4
_LEAST: Final = 10


def examples(count: int) -> int:
    """Return how many examples a test tries at the present level that is worth `count` of them."""
    return max(_LEAST, round(count * _FACTOR))


def load_profile() -> None:
    """Use the profile of the present level. No example has a deadline, because other suites use the processors too."""
    settings.register_profile(
        "gantry", deadline=None, max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("gantry")
