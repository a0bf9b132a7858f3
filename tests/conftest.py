"""What holds for every test."""

from hypothesis import settings

# Speed is measured by scripts/bench: a busy machine is no failure of what is tested.
settings.register_profile("gantry", deadline=None)
settings.load_profile("gantry")
