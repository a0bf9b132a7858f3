"""The tables of docs/monitoring.md, and the definitions that they are made of."""

import importlib
import re

from offchain.adapters.metrics.definitions import MetricDefinition
from offchain.devnet.paths import ROOT

PAGE = ROOT / "docs" / "monitoring.md"
MODULES = (
    "offchain.adapters.metrics.server",
    "offchain.adapters.metrics.chain",
    "offchain.services.worker_metrics",
    "offchain.services.indexer",
    "offchain.services.notifications.service",
    "offchain.gateway.metrics",
    "node_agent.runtime.agent_metrics",
    "node_agent.metering.pod_metrics",
    "node_agent.telemetry.device_metrics",
)
"""The modules whose METRICS the page lists, in its order."""
NODE_METRICS = "substrate"


def definitions_of(module: str) -> tuple[MetricDefinition, ...]:
    found: tuple[MetricDefinition, ...] = importlib.import_module(module).METRICS
    return found


def definitions() -> list[MetricDefinition]:
    return [one for module in MODULES for one in definitions_of(module)]


def table_of(module: str) -> str:
    """The table of a module's metrics as the page has it."""
    lines = ["| metric | type | labels | meaning |", "|---|---|---|---|"]
    for one in definitions_of(module):
        labels = ", ".join(f"`{label}`" for label in one.labels)
        lines.append(f"| `{one.name}` | {one.kind} | {labels} | {one.meaning} |".replace("|  |", "| |"))
    return "\n".join(lines)


def listed(prefix: str) -> list[str]:
    """The metrics with this prefix that the page names."""
    return re.findall(rf"`({prefix}_\w+)`", PAGE.read_text(encoding="utf-8"))
