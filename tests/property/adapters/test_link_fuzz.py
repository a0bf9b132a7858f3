"""A bounded run of the fuzzer for the access protocol; `scripts/fuzz link` runs it for longer."""

import pytest

from tests.support.examples import examples
from tests.support.link_fuzz import run_round


@pytest.mark.parametrize("seed", range(examples(20)))
def test_random_peers_leave_nothing_behind_and_keep_nobody_waiting(seed):
    run_round(seed, 200)
