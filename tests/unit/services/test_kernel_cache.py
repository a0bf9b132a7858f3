"""The cache of compiled kernels."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from offchain.devnet.paths import ROOT
from offchain.services.kernel_cache import cache_folder, digest_of, kernel_sources


def used(place: Path, digest: str, when_s: int) -> Path:
    """What was compiled for other sources, and was used then."""
    folder = cache_folder([place], digest)
    assert folder is not None
    (folder / "loop.nbc").write_text("old")
    os.utime(folder / "used", (when_s, when_s))
    return folder


def test_a_new_digest_replaces_the_least_recently_used_folder(tmp_path):
    others = [used(tmp_path, f"{number:016}", 100 - number) for number in range(6)]
    (tmp_path / "another.pyc").write_text("not ours")
    mine = cache_folder([tmp_path], "fedcba9876543210")
    assert {file.name for file in tmp_path.iterdir()} == {mine.name, "another.pyc", *(one.name for one in others[:-1])}
    assert cache_folder([tmp_path], "fedcba9876543210") == mine


def test_a_partly_removed_folder_is_removed_first(tmp_path):
    left = tmp_path / "compiled-gone-0123456789abcdef-0000000000000000"
    (left / "deep").mkdir(parents=True)
    others = [used(tmp_path, f"{number:016}", 100) for number in range(5)]
    mine = cache_folder([tmp_path], "fedcba9876543210")
    assert set(tmp_path.iterdir()) == {mine, *others}


def test_concurrent_processes_keep_as_many_folders_as_one(tmp_path):
    for old in range(20):
        (tmp_path / f"compiled-{old:016}" / "deep").mkdir(parents=True)
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: cache_folder([tmp_path], "fedcba9876543210"), range(32)))
    assert len(found) == 1
    assert found <= set(tmp_path.iterdir())
    assert len(list(tmp_path.iterdir())) <= 6


def test_the_next_parent_is_used_if_the_first_is_not_writable(tmp_path):
    (tmp_path / "file").write_text("no folder")
    assert cache_folder([tmp_path / "file"], "0123456789abcdef") is None
    other = tmp_path / "cache"
    assert cache_folder([tmp_path / "file", other], "0123456789abcdef") == other / "compiled-0123456789abcdef"


def test_a_change_in_any_file_changes_the_digest(tmp_path):
    files = [tmp_path / "a.py", tmp_path / "b.py"]
    for file in files:
        file.write_text("x = 1\n")
    before = digest_of(files)
    assert digest_of(reversed(files)) == before
    files[1].write_text("x = 2\n")
    assert digest_of(files) != before


def test_imports_of_compiled_files_are_part_of_the_sources(tmp_path):
    core = tmp_path / "offchain" / "core"
    core.mkdir(parents=True)
    (core / "loops.py").write_text("from offchain.core.numbers import (\n    MANY,\n)\n\n@inner\ndef loop(): ...\n")
    (core / "numbers.py").write_text("from offchain.core.more import MORE\nMANY = MORE\n")
    (core / "more.py").write_text("import os\nMORE = 1\n")
    (core / "other.py").write_text("from offchain.core.loops import loop\nOTHER = 2\n")
    assert {file.name for file in kernel_sources([core])} == {"loops.py", "numbers.py", "more.py"}


def test_a_clone_with_equal_sources_shares_the_cache(tmp_path):
    code = """
import numpy as np
from offchain.core.scheduler.cluster import Cluster, HostSpec
from offchain.core.scheduler.device_choice import KernelRequest, choose_devices
from offchain.core.scheduler.pod_request import PodShape
from offchain.services.kernel_cache import enable_kernel_cache
enable_kernel_cache()
cluster, found = Cluster.of([HostSpec("a", 1000, 1024, 2, "any")]), np.zeros(1, dtype=np.int64)
request = KernelRequest.of(PodShape(100, 100, 1, 500), cluster)
choose_devices(np.zeros(1, dtype=np.int64), cluster.free, request, found)
print(found[0], sum(choose_devices.stats.cache_hits.values()))
"""
    said = []
    for name in ("one", "two"):
        shutil.copytree(ROOT / "offchain", tmp_path / name / "offchain", ignore=shutil.ignore_patterns("__pycache__"))
        env = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path / name)}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path, env=env
        )
        said.append(done.stdout.split())
    assert said == [["1", "0"], ["1", "1"]]


def test_numba_cache_dir_is_used(tmp_path):
    code = "from offchain.services.kernel_cache import enable_kernel_cache; print(enable_kernel_cache())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)},
    )
    assert Path(done.stdout.strip()).parent == tmp_path
