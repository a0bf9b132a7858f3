"""Exact text of code, literals included: files, what it is, what it becomes."""

CODE: list[tuple[str, str, str]] = [
    ("fuzz/src/sequences/mod.rs", '#[path = "../../../mock/src/dice.rs"]', '#[path = "../../../mock/src/rng.rs"]'),
    ("runtime/tests/*", '#[path = "../../mock/src/dice.rs"]', '#[path = "../../mock/src/rng.rs"]'),
    ("runtime/tests/*", '#[path = "economics/world.rs"]', '#[path = "economics/setup.rs"]'),
    ("fuzz/src/sequences/mutations.rs", '.expect("the place is below the sum")', '.expect("the offset is below the sum")'),
    (
        "pallets/tasks/src/tests/random_calls.rs",
        '.expect("the place is below the sum")',
        '.expect("the offset is below the sum")',
    ),
]
