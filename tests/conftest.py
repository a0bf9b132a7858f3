"""Settings of every test."""

import os
import signal
from collections.abc import Iterator

import pytest

from offchain.services.kernel_cache import enable_kernel_cache
from tests.support.examples import load_profile

load_profile()
enable_kernel_cache()

# A shell has processes in the background ignore SIGINT, and every process that the tests start would ignore it too,
# although some tests interrupt a process as Ctrl-C does.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def same_umask() -> Iterator[None]:
    """The usual umask for each test; commands of the agent change it."""
    before = os.umask(0o022)
    yield
    os.umask(before)
