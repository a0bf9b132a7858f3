"""Settings of every test."""

import signal

from offchain.services.kernel_cache import enable_kernel_cache
from tests.support.examples import load_profile

load_profile()
enable_kernel_cache()

# A shell has processes in the background ignore SIGINT, and every process that the tests start would ignore it too,
# although some tests interrupt a process as Ctrl-C does.
signal.signal(signal.SIGINT, signal.default_int_handler)
