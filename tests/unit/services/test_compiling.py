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
    monkeypatch.setattr(compiling, "enable_kernel_cache", lambda: tmp_path)
    monkeypatch.setattr(compiling, "compile_kernels", lambda: found.append((tmp_path / "all").exists()))
    return found


def test_of_several_at_once_one_compiles_and_the_others_load_what_it_made(began):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: compiling.compile_once(), range(4)))
    assert sorted(began) == [False, True, True, True]


def test_who_comes_later_waits_for_nobody(began, tmp_path):
    (tmp_path / "all").touch()
    with (tmp_path / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        compiling.compile_once()
    assert began == [True]


def test_where_nothing_is_kept_each_compiles_for_itself(began, tmp_path, monkeypatch):
    monkeypatch.setattr(compiling, "enable_kernel_cache", lambda: None)
    compiling.compile_once()
    monkeypatch.setattr(compiling, "enable_kernel_cache", lambda: tmp_path / "taken away")
    compiling.compile_once()
    assert began == [False, False]


def test_who_fails_leaves_it_to_the_next(began, tmp_path, monkeypatch):
    def fail() -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(compiling, "compile_kernels", fail)
        with pytest.raises(ZeroDivisionError):
            compiling.compile_once()
    compiling.compile_once()
    assert began == [False]
    assert (tmp_path / "all").exists()
