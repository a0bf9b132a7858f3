"""gantry simulate --replay: its table, JSON, CSV and plots, and what it says of what cannot be."""

import csv
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from offchain.cli.main import main
from offchain.devnet.paths import ROOT
from tests.support.replay_samples import NODES_CSV, PODS_CSV

DOCS = (ROOT / "docs" / "scheduling.md").read_text(encoding="utf-8")


@pytest.fixture
def files(tmp_path):
    (tmp_path / "nodes.csv").write_text(NODES_CSV)
    (tmp_path / "pods.csv").write_text(PODS_CSV)
    return tmp_path


def replay(capsys, files, *arguments, status=0):
    given = ("--nodes", str(files / "nodes.csv"), "--pods", str(files / "pods.csv")) if files else ()
    assert main(["simulate", "--replay", "--policy", "first_fit", *given, *arguments]) == status
    return capsys.readouterr()


def test_a_trace_is_a_folder_or_a_list_of_pods_beside_one_of_nodes(capsys, files):
    asked = ("--policy", "first_fit", "--order", "drf", "--json")
    wanted = json.loads(replay(capsys, files, "--order", "drf", "--json").out)["runs"]
    shown = []
    for trace in ((files,), (files / "pods.csv",), (files / "pods.csv", "--nodes", files / "nodes.csv")):
        assert main(["simulate", *map(str, trace), *asked]) == 0
        shown.append(json.loads(capsys.readouterr().out)["runs"])
    for runs in (wanted, *shown):
        del runs[0]["seconds"]
    assert shown == [wanted] * 3


@pytest.mark.parametrize(
    ("trace", "also", "said", "hint"),
    [
        ("nowhere", {}, "nowhere cannot be read", "Check the path"),
        ("nodes.csv", {}, "nodes.csv is a list of nodes", "Give the list of pods"),
        ("", {"more.csv": PODS_CSV}, "has several lists of pods: more.csv, pods.csv", "gantry simulate "),
        ("pods.csv", {"old.csv": NODES_CSV}, "has several lists of nodes: nodes.csv, old.csv", "--nodes"),
        ("", {"nodes.csv": "a,b\n"}, "has no list of nodes; it has nodes.csv, pods.csv", "cpu_milli, gpu, memory_mib"),
        ("bare", {"bare/notes.txt": ""}, "has no list of nodes; it has no .csv file at all", "--nodes"),
    ],
)
def test_an_ambiguous_trace_is_reported_with_the_files_found(capsys, files, trace, also, said, hint):
    for name, text in also.items():
        (files / name).parent.mkdir(exist_ok=True)
        (files / name).write_text(text)
    assert main(["simulate", str(files / trace)]) != 0
    told = capsys.readouterr().err
    assert said in told
    assert hint in told


def test_a_named_list_is_chosen_among_several(capsys, files):
    (files / "more.csv").write_text(PODS_CSV)
    assert main(["simulate", str(files), "--pods", str(files / "more.csv"), "--policy", "first_fit"]) == 0
    assert "5 tasks" in capsys.readouterr().out
    assert main(["simulate", str(files / "pods.csv"), "--pods", str(files / "more.csv")]) == 2
    assert "are two lists of pods" in capsys.readouterr().err


def test_a_trace_with_too_little_load_is_noted(capsys, files):
    calm = "name,account,cpu_milli,memory_mib,num_gpu,gpu_milli,arrival_ms,duration_ms\n"
    (files / "pods.csv").write_text(calm + "a,x,1,1,1,1000,0,10\nb,x,1,1,1,1000,9000,10\n")
    assert "note: no task waited, because the trace requests" in replay(capsys, files).err


def test_json_has_all_measures_of_each_order(capsys, files):
    told = json.loads(replay(capsys, files, "--order", "all", "--price", "red=2", "--json").out)
    assert (told["nodes"], told["tasks"], told["notes"]) == (1, 5, [])
    fifo, drf = told["runs"]
    assert [(run["policy"], run["order"], run["seed"]) for run in (fifo, drf)] == [
        ("first_fit", "fifo", 1),
        ("first_fit", "drf", 1),
    ]
    assert fifo["wait_s"] == {"mean": 7.6, "p50": 8.0, "p95": 13.0, "p99": 13.0, "most": 13.0}
    assert drf["wait_s"]["mean"] == 6.8
    assert (fifo["gpu_percent"], fifo["cpu_percent"], fifo["gpu_percent_until_end"]) == (100.0, 50.0, 87.5)
    assert (fifo["jain_index"], drf["jain_index"]) == (0.5, 0.876712)
    assert fifo["cost"] == pytest.approx(42 / 3600 * 2, abs=1e-6)
    assert [account["account"] for account in fifo["accounts"]] == ["alice", "bob"]


def test_tables_have_each_task_and_the_cluster_over_time(capsys, files):
    replay(capsys, files, "--csv", str(files / "deep" / "tables"))
    folder = files / "deep" / "tables"
    with (folder / "first_fit-fifo-1-tasks.csv").open(newline="") as file:
        tasks = list(csv.DictReader(file))
    assert [(task["name"], task["start_ms"], task["wait_ms"], task["hosts"]) for task in tasks] == [
        ("one", "0", "0", "a"),
        ("two", "10000", "9000", "a"),
        ("three", "10000", "8000", "a"),
        ("four", "16000", "13000", "a"),
        ("five", "20000", "8000", "a"),
    ]
    with (folder / "first_fit-fifo-1-series.csv").open(newline="") as file:
        series = list(csv.DictReader(file))
    shown = {sample["time_ms"]: (sample["gpu_percent"], sample["running"], sample["waiting"]) for sample in series}
    assert [shown[time_ms] for time_ms in ("0", "6000", "18000")] == [
        ("100.0000", "1", "0"),
        ("100.0000", "1", "3"),
        ("100.0000", "2", "1"),
    ]
    assert {path.name for path in folder.iterdir()} == {"first_fit-fifo-1-tasks.csv", "first_fit-fifo-1-series.csv"}


def test_the_tasks_of_a_table_are_a_trace_again(capsys, files):
    (files / "pods.csv").write_text(
        PODS_CSV.replace("duration_ms", "duration_ms,pods,gpu_spec", 1).replace("12000,4000", "12000,4000,3,red", 1)
    )
    first = json.loads(replay(capsys, files, "--csv", str(files), "--json").out)["runs"]
    (files / "first_fit-fifo-1-tasks.csv").replace(files / "pods.csv")
    again = json.loads(replay(capsys, files, "--json").out)["runs"]
    for run in first + again:
        del run["seconds"]
    assert first == again


def test_plots_are_made_and_the_same_each_time(capsys, files):
    for name in ("first.svg", "again.svg", "first.png"):
        replay(capsys, files, "--order", "fifo,drf", "--plot", str(files / name))
    drawn = (files / "first.svg").read_text()
    assert "<svg" in drawn
    assert drawn == (files / "again.svg").read_text()
    assert (files / "first.png").read_bytes().startswith(b"\x89PNG")


def test_generated_values_are_reported(capsys):
    told = replay(capsys, None, "--draw", "3000", "--load", "20")
    assert "400 nodes" in told.out
    assert "3000 tasks; generated from seed 1" in told.out
    assert "Generated: times are not given" in told.out
    assert "Generated: accounts are not given" in told.out


def test_the_same_seed_gives_the_same_result(capsys, files):
    drawn = ("--draw", "300", "--load", "150", "--order", "drf", "--json")
    several = json.loads(replay(capsys, files, *drawn, "--seeds", "2").out)["runs"]
    second = json.loads(replay(capsys, files, *drawn, "--first-seed", "2").out)["runs"]
    for run in several + second:
        del run["seconds"]
    assert several[1:] == second
    assert several[0]["wait_s"] != second[0]["wait_s"]


def test_a_load_is_reached_or_its_failure_is_reported(capsys, files):
    told = json.loads(replay(capsys, files, "--load", "50", "--json").out)
    assert told["load_percent"] == pytest.approx(50, abs=0.1)
    refused = replay(capsys, files, "--load", "300", status=1).err
    assert "5 pods never ask for 300 % of all GPUs while they arrive, but for 225.0 % at most" in refused
    assert "--draw 50" in refused


def test_production_has_queues_of_its_own_and_baselines_an_order(capsys, files):
    (files / "queues.yaml").write_text("queues: {big: {weight: 3}}\n")
    asked = ("--policy", "production,fgd", "--order", "drf", "--queues", str(files / "queues.yaml"), "--gangs", "50")
    told = replay(capsys, files, *asked, "--csv", str(files)).out
    assert "Generated: 50 % of the tasks with GPUs are gangs" in told
    assert re.search("^production +queues .*\n^fgd +drf ", told, re.MULTILINE)
    assert (files / "production-queues-1-tasks.csv").exists()


def test_errors_in_a_file_of_queues_name_the_line(capsys, files):
    (files / "queues.yaml").write_text("queues:\n  big: {weight: much}\n")
    told = replay(capsys, files, "--policy", "production", "--queues", str(files / "queues.yaml"), status=1).err
    assert "queues.yaml:2: " in told
    assert "examples/queues.yaml" in told


@pytest.mark.parametrize(
    ("old", "new", "said", "hint"),
    [
        ("0,10000", "0,soon", "line 2, column 31: duration_ms is 'soon'", "a whole number from 1 to"),
        (",arrival_ms", ",came", "has duration_ms but no column arrival_ms", "Add arrival_ms"),
        ("four,bob", "four,", "line 5, column 6: account is missing", "leave the column out"),
    ],
)
def test_errors_in_a_trace_name_line_column_field_and_hint(capsys, files, old, new, said, hint):
    (files / "pods.csv").write_text(PODS_CSV.replace(old, new, 1))
    told = replay(capsys, files, status=1)
    assert said in told.err
    assert hint in told.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--replay", "--order", "chance"), '--order: there is no order "chance"'),
        (("--replay", "--price", "red"), '--price: "red" is not a model and price'),
        (("--replay", "--price", "red=-1"), '"red=-1" is not a model and price'),
        (("--replay", "--plot", "x.pdf"), "x.pdf does not end with .svg or .png"),
        (("--replay", "--plot", "nowhere/x.svg"), "mkdir -p nowhere"),
        (("--order", "fifo"), "--order is for replays"),
        (("--csv", "x"), "--csv is for replays"),
        (("--replay", "--order", "fifo"), "--order is for policies other than production"),
        (("--gangs", "5"), "--gangs is for replays"),
        (("--replay", "--policy", "fgd", "--queues", "x.yaml"), "--queues is for the policy production"),
        (("--replay", "--nodes", "x.csv"), "--pods is missing"),
    ],
)
def test_wrong_options_are_reported(capsys, arguments, said):
    assert main(["simulate", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_an_unwritable_folder_is_reported(capsys, files):
    told = replay(capsys, files, "--csv", str(files / "nodes.csv" / "below"), status=1)
    assert "cannot be written" in told.err


@pytest.mark.parametrize(
    ("package", "arguments"),
    [("numba", []), ("matplotlib", ["--replay", "--plot", "x.svg"])],
)
def test_a_missing_package_is_reported_with_the_command_to_run(package, arguments):
    code = f"""
import sys
sys.modules[{package!r}] = None
from offchain.cli.main import main
sys.exit(main(["simulate", *{arguments!r}]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 1
    assert f"needs {package}, which this Python does not have" in done.stderr
    assert "scripts/setup --scheduling" in done.stderr
    assert f"the extra gantry[scheduling], or run: {sys.executable} -m pip install {package}" in done.stderr


def test_the_example_of_the_docs_prints_what_the_docs_say(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    section = DOCS.split("## Simulating", 1)[1].split("\n## ", 1)[0]
    for name, text in re.findall(r"^`(\w+\.csv)`:\n\n```csv\n(.*?)^```$", section, re.MULTILINE | re.DOTALL):
        Path(name).write_text(text)
    (shown,) = re.findall(r"^```console\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    command, _, printed = shown.partition("\n")
    words = shlex.split(command.removeprefix("$ "))
    assert words[:2] == ["gantry", "simulate"]
    assert main(words[1:]) == 0
    assert capsys.readouterr().out == printed
    assert Path("waits.svg").exists()
