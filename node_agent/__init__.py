"""The agent of a Gantry host."""

VERSION = "0.1.0"
"""Version of the code that this is, as MAJOR.MINOR.PATCH."""
