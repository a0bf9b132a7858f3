"""docs/monitoring.md lists the metrics that the code has; the alerts use them, and lead to sections of the runbook."""

import re

import pytest
import yaml

from offchain.devnet.paths import ROOT
from tests.support.metric_text import base_name
from tests.support.metrics_page import MODULES, NODE_METRICS, PAGE, definitions, listed, table_of

TEXT = PAGE.read_text(encoding="utf-8")
FOLDER = ROOT / "docs" / "monitoring"
_ALL_RULES = [
    rule
    for group in yaml.safe_load((FOLDER / "alerts.yaml").read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
]
RULES = [rule for rule in _ALL_RULES if "alert" in rule]
RECORDED = {rule["record"]: rule["expr"] for rule in _ALL_RULES if "record" in rule}
"""Names of recorded expressions."""
SERVICES = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]
OPERATOR = yaml.safe_load((ROOT / "docker-compose.operator.yml").read_text(encoding="utf-8"))["services"]
"""Services of an operator's network; some change one of SERVICES."""
ADDED_BY_PROMETHEUS = {"up", "job", "instance"}
QUERY_WORDS = {
    *("sum", "min", "max", "rate", "increase", "histogram_quantile", "by", "on", "and", "or", "le"),
    *("count", "quantile", "max_over_time", "group_left"),
    *ADDED_BY_PROMETHEUS,
}


@pytest.mark.parametrize("module", MODULES)
def test_the_table_of_the_page_is_that_of_the_code(module):
    section = TEXT.split(f"<!-- metrics: {module} -->\n", 1)[1].split("\n\n", 1)[0]
    assert section == table_of(module)


def test_every_metric_is_defined_once_and_its_name_shows_type_and_unit():
    names = [one.name for one in definitions()]
    assert len(names) == len(set(names))
    for one in definitions():
        assert re.fullmatch(r"gantry_[a-z0-9_]+[a-z0-9]", one.name)
        assert one.name.endswith("_total") == (one.kind == "counter"), one
        assert one.kind != "histogram" or one.name.endswith("_seconds")
        assert one.meaning.endswith(".")
        assert "|" not in one.meaning


def test_no_metric_is_registered_that_the_page_does_not_list():
    """Each definition of the code belongs to METRICS of its module."""
    sources = [*(ROOT / "offchain").rglob("*.py"), *(ROOT / "node_agent").rglob("*.py")]
    written = {
        name
        for path in sources
        for name in re.findall(r'MetricDefinition\(\s*"(\w+)"', path.read_text(encoding="utf-8"))
    }
    assert written
    assert written <= {one.name for one in definitions()}


@pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])
def test_an_alert_uses_known_metrics_and_leads_to_its_section(rule):
    known = {one.name: set(one.labels) for one in definitions()}
    known |= {name: {"status"} if name == "substrate_block_height" else set() for name in listed(NODE_METRICS)}
    known |= {name: set() for name in listed("process")}
    expression = rule["expr"]
    for name, recorded in RECORDED.items():
        expression = expression.replace(name, f"({recorded})")
    named = re.findall(r"\b(?:gantry|substrate|process)_\w+", expression)
    used = {name if name in known else base_name(name) for name in named}
    assert used <= known.keys()
    assert used or "up" in expression
    labels = set().union(*(known[name] for name in used)) | ADDED_BY_PROMETHEUS | {"le"}
    words = set(re.findall(r"(?<!\w)[A-Za-z_]\w*", re.sub(r'"[^"]*"', "", expression)))
    assert words - {*named} <= QUERY_WORDS | labels
    assert set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])) <= labels
    assert rule["labels"]["severity"] in {"page", "ticket"}
    path, _, anchor = rule["annotations"]["runbook"].partition("#")
    assert anchor == rule["alert"].lower()
    headings = re.findall(r"^##+ (\w+)$", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    assert headings.count(rule["alert"]) == 1


def test_alerts_have_one_name_each_and_the_runbook_has_no_others():
    names = [rule["alert"] for rule in RULES]
    assert len(names) == len(set(names))
    pages = (ROOT / "docs" / "runbook").glob("*.md")
    headings = {
        heading
        for page in pages
        for heading in re.findall(r"^##+ (Gantry\w+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert headings == set(names)


def test_prometheus_scrapes_the_services_of_docker_compose():
    config = yaml.safe_load((FOLDER / "prometheus.yaml").read_text(encoding="utf-8"))
    targets = {
        target
        for job in config["scrape_configs"]
        for static in job.get("static_configs", ())
        for target in static["targets"]
    }
    measured = {name for name, service in SERVICES.items() if "--metrics=0.0.0.0:9464" in service.get("command", ())}
    workers = {name for name in measured if "profiles" not in SERVICES[name]}
    assert workers == {"scheduler", "settler", "indexer", "gateway"}
    assert targets == {"node:9615", *(f"{name}:9464" for name in workers)}
    named = {name for job in config["scrape_configs"] for dns in job.get("dns_sd_configs", ()) for name in dns["names"]}
    second = {name for name, service in OPERATOR.items() if "--metrics=0.0.0.0:9464" in service.get("command", ())}
    assert second == {"scheduler-2", "settler-2", "gateway-2"}
    assert named == second | (measured - workers) | {name for name in SERVICES if re.fullmatch(r"validator-\d", name)}
    assert "--prometheus-external" in SERVICES["validator-1"]["entrypoint"]
    node = (ROOT / "scripts" / "lib-node-container").read_text(encoding="utf-8")
    assert "--prometheus-external" in node
    for alertmanager in config["alerting"]["alertmanagers"]:
        assert alertmanager["static_configs"] == [{"targets": ["alertmanager:9093"]}]


def test_metrics_of_containers_are_not_published():
    for name, service in SERVICES.items():
        inside = {str(port).removesuffix("/tcp").rpartition(":")[2] for port in service.get("ports", ())}
        assert not inside & {"9464", "9615"}, name
