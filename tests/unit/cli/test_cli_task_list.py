"""The names of tasks, and the columns of gantry task list."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_world import CHARLIE, MANIFEST, Pallets, World

from offchain.schema.chain_types.ids import task_key
from tests.support.chain_records import Tasks, task_spec


@pytest.fixture
def submitted(world: World, manifest: Path) -> World:
    """Task 0, whose manifest has no name."""
    world.chain.effects = Pallets(world.chain, ends="Queued", path=()).effects
    world.json("submit", manifest, "--account", "//Charlie")
    world.put("Tasks", "Manifests", task_key(0), MANIFEST.encode())
    return world


def named(name: str) -> bytes:
    return f"name: {name}\n{MANIFEST}".encode()


def test_a_task_is_listed_and_shown_with_the_name_of_its_manifest(submitted: World) -> None:
    assert submitted.json("task", "list")["name"] is None
    assert submitted.json("task", "show", "0")["name"] is None
    assert "Name" not in submitted.run("task", "show", "0")[1]
    submitted.put("Tasks", "Manifests", task_key(0), named("primes"))
    header, row = submitted.run("task", "list")[1].splitlines()
    assert header.split() == ["TASK", "NAME", "KIND", "STATE", "EXIT", "SUBMITTED", "PAID"]
    assert row.split()[:3] == ["0", "primes", "job"]
    assert submitted.json("task", "list")["name"] == "primes"
    assert "\nName             primes\n" in submitted.run("task", "show", "0")[1]
    assert submitted.json("task", "show", "0")["name"] == "primes"


def test_the_tasks_of_a_group_have_one_manifest(submitted: World) -> None:
    Tasks(submitted.chain).submit(CHARLIE, task_spec(), 2, manifest=named("pair"))
    listed = [json.loads(one) for one in submitted.run("task", "list", "--json")[1].splitlines()]
    assert [(one["task"], one["name"]) for one in listed] == [(2, "pair"), (1, "pair"), (0, None)]


@pytest.mark.parametrize("text", [None, b"\xff", b"name: [a]\n"])
def test_a_manifest_that_is_gone_or_cannot_be_read_has_no_name(submitted: World, text: bytes | None) -> None:
    table = submitted.chain.storage["Tasks", "Manifests"]
    if text is None:
        del table[task_key(0),]
    else:
        table[task_key(0),] = text
    assert submitted.json("task", "list")["name"] is None
    assert submitted.run("task", "list")[1].splitlines()[1].split()[:2] == ["0", "job"]


def test_tenant_and_attempt_are_shown_on_request(submitted: World) -> None:
    assert CHARLIE not in submitted.run("task", "list")[1]
    header, row = submitted.run("task", "list", "--wide")[1].splitlines()
    assert header.split()[-2:] == ["TENANT", "ATTEMPT"]
    assert row.split()[-2:] == [CHARLIE, "1"]
