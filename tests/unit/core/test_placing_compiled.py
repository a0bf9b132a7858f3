"""Where compiled loops are kept."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from offchain.core.placing.compiled import digest_of, kept_in

ROOT = Path(__file__).resolve().parents[3]


def test_a_new_digest_takes_the_place_of_the_others(tmp_path):
    first = kept_in([tmp_path], "0123456789abcdef")
    (first / "loop.nbc").write_text("old")
    (tmp_path / "another.pyc").write_text("not ours")
    second = kept_in([tmp_path], "fedcba9876543210")
    assert {file.name for file in tmp_path.iterdir()} == {second.name, "another.pyc"}
    assert kept_in([tmp_path], "fedcba9876543210") == second


def test_what_was_left_half_removed_goes_with_the_next(tmp_path):
    (tmp_path / "compiled-gone-0123456789abcdef-0000000000000000" / "deep").mkdir(parents=True)
    mine = kept_in([tmp_path], "fedcba9876543210")
    assert list(tmp_path.iterdir()) == [mine]


def test_processes_that_come_at_once_leave_one_folder(tmp_path):
    for old in range(20):
        (tmp_path / f"compiled-{old:016}" / "deep").mkdir(parents=True)
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: kept_in([tmp_path], "fedcba9876543210"), range(32)))
    assert len(found) == 1
    assert list(tmp_path.iterdir()) == list(found)


def test_where_the_first_place_may_not_be_written_it_is_the_next(tmp_path):
    (tmp_path / "file").write_text("no folder")
    assert kept_in([tmp_path / "file"], "0123456789abcdef") is None
    other = tmp_path / "cache"
    assert kept_in([tmp_path / "file", other], "0123456789abcdef") == other / "compiled-0123456789abcdef"


def test_a_change_in_any_file_is_another_digest(tmp_path):
    files = [tmp_path / "a.py", tmp_path / "b.py"]
    for file in files:
        file.write_text("x = 1\n")
    before = digest_of(files)
    assert digest_of(reversed(files)) == before
    files[1].write_text("x = 2\n")
    assert digest_of(files) != before


def test_a_place_that_the_user_names_is_used(tmp_path):
    code = "from offchain.core.placing import compiled; print(compiled._KEPT_IN)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)},
    )
    assert Path(done.stdout.strip()).parent.parent == tmp_path
