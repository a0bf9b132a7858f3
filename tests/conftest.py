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
    """Restore the umask, which commands of the agent change."""
    before = os.umask(0o022)
    os.umask(before)
    yield
    os.umask(before)
