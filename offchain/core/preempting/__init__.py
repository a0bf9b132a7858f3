"""Who makes room: which spot tasks are ended for a task of higher priority, and when not.

docs/scheduling.md, "When, and who makes room". Pure; `now_ms` is passed in.
"""
