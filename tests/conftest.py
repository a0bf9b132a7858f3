"""What holds for every test."""

import signal

from hypothesis import settings

# Speed is measured by scripts/bench: a busy machine is no failure of what is tested.
settings.register_profile("gantry", deadline=None)
settings.load_profile("gantry")

# Where the tests themselves run in the background, a shell has them ignore SIGINT, and so would everything that they
# start, although some tests interrupt it as a person would.
signal.signal(signal.SIGINT, signal.default_int_handler)
