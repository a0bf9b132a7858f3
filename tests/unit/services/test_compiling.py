"""One process compiles, the others wait for it."""

from __future__ import annotations

import fcntl
from concurrent.futures import ThreadPoolExecutor

import pytest

from offchain.services import compiling


@pytest.fixture
def began(tmp_path, monkeypatch):
    """Whether all was there already, each time that somebody compiled or loaded."""
    found: list[bool] = []
    monkeypatch.setattr(compiling, "KEPT_IN", tmp_path)
    monkeypatch.setattr(compiling, "warm", lambda: found.append((tmp_path / "all").exists()))
    return found


def test_one_of_several_processes_compiles_and_the_others_load(began):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: compiling.compile_once(), range(4)))
    assert sorted(began) == [False, True, True, True]


def test_a_later_process_does_not_wait(began, tmp_path):
    (tmp_path / "all").touch()
    with (tmp_path / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        compiling.compile_once()
    assert began == [True]


def test_without_a_cache_each_process_compiles(began, tmp_path, monkeypatch):
    monkeypatch.setattr(compiling, "KEPT_IN", None)
    compiling.compile_once()
    monkeypatch.setattr(compiling, "KEPT_IN", tmp_path / "taken away")
    compiling.compile_once()
    assert began == [False, False]


def test_after_a_failure_the_next_process_compiles(began, tmp_path, monkeypatch):
    def fail() -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(compiling, "warm", fail)
        with pytest.raises(ZeroDivisionError):
            compiling.compile_once()
    compiling.compile_once()
    assert began == [False]
    assert (tmp_path / "all").exists()
