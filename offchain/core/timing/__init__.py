"""When a pod can start: what becomes free at which time, reservations, backfill, and the wait that a tenant is told.

docs/scheduling.md, "When, and who makes room". All is pure; `now_ms` is passed in. Hosts are columns, as in
offchain.core.scheduler, and are named by their row: when hosts come or go, claims and reservations are made anew.

A planning round: a ``Profile`` of the cluster, leases and windows; ``heads`` of the queue, and ``reserve`` for them;
whose reservation begins now is placed there; then a ``Backfill`` of the profile, and its mask over the hosts (or its
choice of devices) for each task that is placed now, which it is told of by ``placed``. A gang may be backfilled where
``earliest`` says now; it is then added to the profile. tests/support/timing_samples.py does just that.
"""
