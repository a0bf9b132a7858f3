"""Rules of docs/monitoring/alerts.yaml and queries of the API on made series, as promtool evaluates them."""

import json
import shutil
import subprocess
from types import SimpleNamespace

import pytest
import yaml

from offchain.devnet.monitoring import RULES
from offchain.gateway.api.task_usage import expressions_of

BY_NAME = {
    rule["alert"]: rule
    for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
    if "alert" in rule
}
AGENT = {"job": "agent", "instance": "a:1", "host": "5Host"}


@pytest.fixture(scope="module")
def promtool():
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("there is no promtool: scripts/test unpacks it with Prometheus")
    return found


def series(name, values, **labels):
    inside = ",".join(f'{key}="{value}"' for key, value in labels.items())
    return {"series": f"{name}{{{inside}}}", "values": values}


def gpu(device, clock, utilisation="95x120", model="H100"):
    """The series of a GPU, one value a minute for two hours."""
    labels = {**AGENT, "device": device, "uuid": f"GPU-{device}"}
    return [
        series("gantry_device_sm_clock_mhz", clock, **labels),
        series("gantry_device_utilisation_percent", utilisation, **labels),
        series("gantry_device_info", "1x120", **labels, model=model, simulated="false"),
    ]


def slow(device, value, model="H100"):
    """The alert about a GPU that is slow."""
    labels = {**AGENT, "device": device, "uuid": f"GPU-{device}", "model": model}
    summary = f"GPU {device} (GPU-{device}) of a:1 works at {value} MHz, far below its own clock or that of its model"
    return expected("GantryDeviceSlow", labels, summary)


def expected(alert, labels, summary):
    rule = BY_NAME[alert]
    notes = {"summary": summary, "runbook": rule["annotations"]["runbook"]}
    return {"exp_labels": {**rule["labels"], **labels}, "exp_annotations": notes}


def check(promtool, folder, given, *alerts):
    """Fail unless the rules raise these alerts (time, name, expected) from the series."""
    tests = [{"eval_time": time, "alertname": name, "exp_alerts": found} for time, name, found in alerts]
    evaluate(promtool, folder, {"interval": "1m", "input_series": given, "alert_rule_test": tests})


def evaluate(promtool, folder, test):
    """Fail unless the test of the rules passes."""
    file = {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [test]}
    path = folder / "test.json"
    path.write_text(json.dumps(file), encoding="utf-8")
    done = subprocess.run([promtool, "test", "rules", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_reads_all_rules(promtool):
    done = subprocess.run([promtool, "check", "rules", RULES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(BY_NAME) + 1} rules found" in done.stdout


def test_a_busy_gpu_far_below_its_own_clock_is_slow(promtool, tmp_path):
    # An hour at 1,980 MHz, then at 700 MHz.
    given = gpu("0", "1980x59 700x60")
    check(
        promtool,
        tmp_path,
        given,
        ("59m", "GantryDeviceSlow", []),
        ("70m", "GantryDeviceSlow", []),
        ("80m", "GantryDeviceSlow", [slow("0", 700)]),
    )


def test_a_gpu_that_is_idle_or_somewhat_slower_is_not(promtool, tmp_path):
    given = [*gpu("0", "1980x59 345x60", "95x59 3x60"), *gpu("1", "1980x59 1400x60")]
    check(promtool, tmp_path, given, ("100m", "GantryDeviceSlow", []))


def test_a_busy_gpu_far_below_others_of_its_model_is_slow(promtool, tmp_path):
    same = [one for device in "123" for one in gpu(device, "1900x120")]
    other = gpu("9", "1000x120", model="T4")
    check(promtool, tmp_path, [*gpu("0", "1000x120"), *same, *other], ("60m", "GantryDeviceSlow", [slow("0", 1000)]))
    # With fewer of the model there is nothing to compare with.
    check(promtool, tmp_path, [*gpu("0", "1000x120"), *same[:6]], ("60m", "GantryDeviceSlow", []))


def test_a_wrong_clock_is_told_once_and_not_as_another_problem(promtool, tmp_path):
    given = [
        series("gantry_agent_trouble", "1x20", **AGENT, subject="clock"),
        series("gantry_agent_trouble", "0x20", **AGENT, subject="disk"),
        series("gantry_worker_block_age_seconds", "-5x20", job="scheduler", instance="s:1"),
        series("gantry_worker_block_age_seconds", "4x20", job="settler", instance="s:2"),
    ]
    summary = "The clock of {} at {} differs from the chain's time"
    found = [
        expected("GantryClockSkew", {**AGENT, "subject": "clock"}, summary.format("agent", "a:1")),
        expected("GantryClockSkew", {"job": "scheduler", "instance": "s:1"}, summary.format("scheduler", "s:1")),
    ]
    check(
        promtool,
        tmp_path,
        given,
        ("1m", "GantryClockSkew", []),
        ("10m", "GantryClockSkew", found),
        ("10m", "GantryHostTrouble", []),
    )


def test_anomalies_that_the_notifier_counts_are_alerts(promtool, tmp_path):
    notifier = {"job": "notifier", "instance": "n:1"}
    given = [
        series("gantry_notifier_anomalous_hosts", "0x5 2x5", **notifier, anomaly="slow_starts"),
        series("gantry_notifier_anomalous_hosts", "0x5 1x5", **notifier, anomaly="falling_reputation"),
    ]
    slow_starts = {**notifier, "anomaly": "slow_starts"}
    falling = {**notifier, "anomaly": "falling_reputation"}
    fell = "Hosts whose reputation fell by more than ten points within a day: 1"
    check(
        promtool,
        tmp_path,
        given,
        ("4m", "GantrySlowStarts", []),
        ("8m", "GantrySlowStarts", [expected("GantrySlowStarts", slow_starts, "Hosts on which pods start slowly: 2")]),
        ("8m", "GantryReputationFalls", [expected("GantryReputationFalls", falling, fell)]),
    )


def test_an_agent_that_does_not_answer_is_an_alert_with_its_host(promtool, tmp_path):
    given = [series("up", "1x5 0x10", **AGENT)]
    found = expected("GantryTargetDown", AGENT, "agent at a:1 does not answer")
    check(promtool, tmp_path, given, ("6m", "GantryTargetDown", []), ("12m", "GantryTargetDown", [found]))


def test_the_query_for_the_usage_of_a_task_finds_its_pods_on_its_hosts_while_they_run(promtool, tmp_path):
    lease = SimpleNamespace(host="5Host")

    def place(number, tasks, cores, **changes):
        labels = {**AGENT, "place": number} | changes
        return [series("gantry_pod_task", tasks, **labels), series("gantry_pod_cpu_cores", cores, **labels)]

    given = [
        *place("0", "7 7 8 8", "0.5 0.5 4 4"),
        *place("1", "9 9 7 stale", "4 4 0.25 stale"),
        *place("0", "7 7 7 7", "6 6 6 6", host="5Liar"),
    ]
    query = expressions_of(7, [lease])["cpu_cores"]

    def at(time, **found):
        samples = [
            {
                "labels": series("gantry_pod_cpu_cores", "", **AGENT, place=name.removeprefix("at_"))["series"],
                "value": value,
            }
            for name, value in found.items()
        ]
        return {"expr": query, "eval_time": time, "exp_samples": samples}

    tests = [at("1m", at_0=0.5), at("2m", at_1=0.25), at("3m")]
    evaluate(promtool, tmp_path, {"interval": "1m", "input_series": given, "promql_expr_test": tests})
