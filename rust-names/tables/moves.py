"""Files that get another name, and references to them outside of chain/."""

_TASKS = "pallets/tasks/src/"
_TASK_FILES = {
    "apart": "anti_affinity",
    "assigning": "assignment",
    "endings": "termination",
    "evidence": "self_assignment",
    "judging": "verdicts",
    "keeping": "lease_store",
    "preempting": "preemption",
    "reporting": "reports",
    "settling": "settlement",
    "submitting": "submission",
    "surviving": "migration",
}
_TASK_TESTS = {
    "assigning": "assignment",
    "endings": "termination",
    "evidence": "self_assignment",
    "judging": "verdicts",
    "layouts": "anti_affinity",
    "preempting": "preemption",
    "submitting": "submission",
    "surviving": "migration",
}
_LEASE_TESTS = {
    "ending": "termination",
    "lengthening": "extension",
    "retaining": "retention",
    "suspending": "suspension",
}
_HOST_TESTS = {"leaving": "retirement", "registering": "registration"}

MOVES = [
    (f"{_TASKS}desk.rs", f"{_TASKS}changes.rs"),
    (f"{_TASKS}desk/hosting.rs", f"{_TASKS}changes/host_entries.rs"),
    *((f"{_TASKS}{old}.rs", f"{_TASKS}{new}.rs") for old, new in _TASK_FILES.items()),
    *((f"{_TASKS}tests/{old}.rs", f"{_TASKS}tests/{new}.rs") for old, new in _TASK_TESTS.items()),
    ("pallets/leases/src/keeper.rs", "pallets/leases/src/lease_store.rs"),
    ("pallets/leases/src/lists.rs", "pallets/leases/src/host_leases.rs"),
    ("pallets/leases/src/due.rs", "pallets/leases/src/due_leases.rs"),
    *((f"pallets/leases/src/tests/{old}.rs", f"pallets/leases/src/tests/{new}.rs") for old, new in _LEASE_TESTS.items()),
    *((f"pallets/hosts/src/tests/{old}.rs", f"pallets/hosts/src/tests/{new}.rs") for old, new in _HOST_TESTS.items()),
    ("pallets/verification/src/voting.rs", "pallets/verification/src/committees.rs"),
    ("pallets/verification/src/deadlines.rs", "pallets/verification/src/queues.rs"),
    ("pallets/verification/src/tests/deadlines.rs", "pallets/verification/src/tests/queues.rs"),
    ("pallets/verification/src/mock/world.rs", "pallets/verification/src/mock/network.rs"),
    ("runtime/tests/economics/world.rs", "runtime/tests/economics/setup.rs"),
    ("mock/src/dice.rs", "mock/src/rng.rs"),
    ("fuzz/src/sequences/world.rs", "fuzz/src/sequences/chain.rs"),
]

# Text in documents, scripts and tests of Python: what it is, what it becomes.
OUTSIDE = [
    ("chain/pallets/verification/src/tests/deadlines.rs", "chain/pallets/verification/src/tests/queues.rs"),
    ("into a *desk*, changed there and written once", "into a cache of changes (`TaskChanges`), changed there and written once"),
]
