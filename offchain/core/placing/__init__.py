"""Where a pod goes: hosts as columns, shapes of pods, policies that score hosts, and a simulator that compares them.

docs/scheduling.md says what each policy's score is made of. Only the simulator imports this package (and with it numpy
and numba): agent and command line start without.
"""
