"""gantry simulate: what it tells, and what it says of broken files."""

import json
import subprocess
import sys

import pytest

from offchain.cli.main import main
from tests.support.placing_samples import NODES_CSV, PODS_CSV


@pytest.fixture
def files(tmp_path):
    (tmp_path / "nodes.csv").write_text(NODES_CSV)
    (tmp_path / "pods.csv").write_text(PODS_CSV)
    return tmp_path


def simulate(capsys, files, *arguments, status=0):
    given = ("--nodes", str(files / "nodes.csv"), "--pods", str(files / "pods.csv")) if files else ()
    assert main(["simulate", *given, *arguments]) == status
    return capsys.readouterr()


def test_json_has_allocation_spread_seeds_and_pace(capsys, files):
    told = json.loads(
        simulate(capsys, files, "--seeds", "3", "--first-seed", "7", "--policy", "fgd,production", "--json").out
    )
    assert [one["policy"] for one in told["policies"]] == ["fgd", "production"]
    assert told["allocation_percent"] == told["policies"][0]["allocation_percent"]
    runs = told["policies"][1]["runs"]
    assert [run["seed"] for run in runs] == [7, 8, 9]
    mean = sum(run["allocation_percent"] for run in runs) / 3
    assert told["policies"][1]["allocation_percent"] == pytest.approx(mean, abs=1e-3)
    assert set(told["allocation_percent_at_load"]) == {"100", "110", "120", "130"}
    assert told["decisions_per_second"] > 0
    assert (told["nodes"], told["pods"]) == (4, 4)


def test_people_get_a_table_and_progress_apart_from_it(capsys, files):
    told = simulate(capsys, files, "--seeds", "2", "--policy", "first_fit")
    assert "4 nodes, 14 GPUs; 4 pods" in told.out
    assert "policy     allocated %  spread" in told.out
    assert told.err.count("first_fit, seed") == 2


def test_the_same_seed_gives_the_same_result(capsys, files):
    runs = [json.loads(simulate(capsys, files, "--seeds", "2", "--json").out)["runs"] for _ in range(2)]
    assert runs[0] == runs[1]


def test_without_files_the_cluster_is_reported_as_generated(capsys):
    told = json.loads(simulate(capsys, None, "--seeds", "1", "--load", "5", "--json").out)
    assert told["source"] == "generated from seed 1, like no particular cluster"


@pytest.mark.parametrize(
    ("file", "old", "new", "said", "hint"),
    [
        (
            "pods.csv",
            "4000,8192,1,1000",
            "4000,8192,1,1001",
            "line 2, column 17: gpu_milli is '1001'",
            "from 1 to 1000",
        ),
        (
            "pods.csv",
            "4000,8192,1",
            "4000,much,1",
            "line 2, column 10: memory_mib is 'much'",
            "a whole number from 0 to 1000000000000",
        ),
        ("pods.csv", "two,2000", "two,-1", "line 3, column 5: cpu_milli is '-1'", "from 0 to"),
        ("pods.csv", "two,2000", "two,", "line 3, column 5: cpu_milli is missing", "from 0 to"),
        ("pods.csv", "two,2000", "two," + "9" * 5000, "line 3, column 5: cpu_milli is '9999", "from 0 to"),
        ("pods.csv", "two,2000", "two,NaN", "line 3, column 5: cpu_milli is 'NaN'", "from 0 to"),
        ("pods.csv", "two,2000", '"t,\nw",2000.5', "line 4, column 4: cpu_milli is '2000.5'", "from 0 to"),
        ("pods.csv", "memory_mib", "cpu_milli", "line 1, column 16: the header has cpu_milli twice", "Leave one"),
        (
            "pods.csv",
            "num_gpu",
            "gpus",
            "line 1, column 54: the header has no column num_gpu",
            "The first line names the columns",
        ),
        ("pods.csv", "LS", "LS,more", "line 2, column 26: 8 values for 7 columns", "double quotes"),
        ("pods.csv", "one,", '"one,', "line 2, column 1: unexpected end of data", "quotes in pairs"),
        ("nodes.csv", "\nb,", "\na,", "line 3, column 1: sn is 'a'", "a name of its own"),
        ("nodes.csv", "131072,4,red", "131072,17,red", "line 2, column 16: gpu is '17'", "from 0 to 16"),
        ("nodes.csv", "131072,4,red", "131072,4,", "line 2, column 18: model is missing", "Name the model"),
        ("nodes.csv", NODES_CSV, "", "nodes.csv is empty", "The first line names the columns"),
        ("nodes.csv", NODES_CSV.split("\n", 1)[1], "", "no node has a GPU", "gpu is above 0"),
        ("pods.csv", PODS_CSV.split("\n", 1)[1], "", "no pod asks for a GPU", "num_gpu is above 0"),
    ],
)
def test_errors_in_a_file_name_line_column_field_and_hint(capsys, files, file, old, new, said, hint):
    path = files / file
    path.write_text(path.read_text().replace(old, new, 1))
    told = simulate(capsys, files, status=1)
    assert said in told.err
    assert hint in told.err


def test_a_missing_or_binary_file_is_reported(capsys, files):
    (files / "pods.csv").write_bytes(b"\xef\xbb\xbfname\r\na\xff")
    assert "pods.csv, line 2, column 2: byte 0xff is not UTF-8" in simulate(capsys, files, status=1).err
    (files / "nodes.csv").unlink()
    assert "nodes.csv cannot be read: No such file" in simulate(capsys, files, status=1).err


def test_a_file_may_be_written_in_other_ways(capsys, files):
    wanted = json.loads(simulate(capsys, files, "--seeds", "1", "--policy", "fgd", "--json").out)["runs"]
    heads, *rows = (line.split(",") for line in (files / "pods.csv").read_text().splitlines())
    turned = [heads[::-1], *([f'"{cell}.0"' if cell.isdigit() else cell for cell in row[::-1]] for row in rows)]
    text = "\r\n".join(",".join([*row, "more"] if row is turned[0] else [*row, '"a, ""b"""']) for row in turned)
    (files / "pods.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert json.loads(simulate(capsys, files, "--seeds", "1", "--policy", "fgd", "--json").out)["runs"] == wanted


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--policy", "magic"), 'no policy "magic"'),
        (("--nodes", "x.csv"), "--pods is missing"),
        (("--seeds", "0"), "--seeds"),
        (("--load", "0"), "--load"),
        (("--load", "nan"), "--load"),
        (("--replay", "--gangs", "nan"), "--gangs"),
    ],
)
def test_wrong_options_are_reported(capsys, arguments, said):
    assert main(["simulate", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_help_is_printed_without_modules_that_are_slow_to_load():
    code = """
import sys
from offchain.cli.main import main
main(["--help"])
slow = {"asyncio", "pydantic"} & set(sys.modules)
main(["simulate", "--help"])
sys.exit(bool(slow | {"numpy", "rich"} & set(sys.modules)))
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0
