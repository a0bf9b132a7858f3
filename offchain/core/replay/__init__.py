"""A trace in virtual time: pods arrive, wait, run and end, and what came of it is measured.

docs/scheduling.md says what is measured and how. Like the package of placing it needs numpy and numba, and only the
simulator imports it.
"""
