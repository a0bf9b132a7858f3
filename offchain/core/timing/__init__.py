"""When a pod can start: what becomes free at which time, reservations, backfill, and the wait that a tenant is told.

docs/scheduling.md, "When, and who makes room". All is pure; `now_ms` is passed in. Hosts are columns, as in
offchain.core.placing, and are named by their place there: when hosts come or go, claims and reservations are made anew.
"""
