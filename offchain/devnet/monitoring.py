"""Prometheus and Alertmanager of a local network: their configuration and command lines (scripts/up --monitoring)."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from offchain.devnet.paths import ROOT, DevnetError
from offchain.files import replace_file

RULES = ROOT / "docs" / "monitoring" / "alerts.yaml"
_RETENTION = "2d"
_INTERVAL = "5s"
_HINT = "Install the packages prometheus and prometheus-alertmanager, or leave out --monitoring"


@dataclass(frozen=True)
class MonitoringPrograms:
    """Paths of both programs."""

    prometheus: str
    alertmanager: str

    @classmethod
    def find(cls) -> MonitoringPrograms:
        """Return the programs in PATH. Raises DevnetError."""
        prometheus = shutil.which("prometheus")
        alertmanager = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
        if prometheus is None or alertmanager is None:
            missing = "Prometheus" if prometheus is None else "Alertmanager"
            raise DevnetError(f"there is no {missing} on this machine", _HINT)
        return cls(prometheus, alertmanager)


@dataclass(frozen=True)
class MonitoringFolder:
    """Files of Prometheus and Alertmanager in a folder, and their addresses, each `127.0.0.1:PORT`."""

    folder: Path
    prometheus: str
    alertmanager: str
    notifier: str

    @property
    def prometheus_url(self) -> str:
        return f"http://{self.prometheus}"

    @property
    def token_file(self) -> Path:
        """The token with which Alertmanager identifies itself to the notifier."""
        return self.folder / "alerts-token"

    @property
    def targets_file(self) -> Path:
        return self.folder / "targets.json"

    def write(self, interval: str = _INTERVAL, rules: Path = RULES, group_wait: str = "1s") -> None:
        """Write the configuration of both, which is JSON, a subset of YAML. `interval`: of scrapes and rules."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(self.token_file, secrets.token_hex(32) + "\n")
        _write(
            self.folder / "prometheus.json",
            {
                "global": {"scrape_interval": interval, "scrape_timeout": interval, "evaluation_interval": interval},
                "rule_files": [str(rules)],
                "alerting": {"alertmanagers": [{"static_configs": [{"targets": [self.alertmanager]}]}]},
                "scrape_configs": [
                    {"job_name": "local", "file_sd_configs": [{"files": [str(self.targets_file)]}]},
                ],
            },
        )
        hook = {
            "url": f"http://{self.notifier}/alerts",
            "http_config": {"authorization": {"credentials_file": str(self.token_file)}},
        }
        route = {"receiver": "notifier", "group_by": ["alertname", "instance"]}
        route |= {"group_wait": group_wait, "group_interval": interval}
        _write(
            self.folder / "alertmanager.json",
            {"route": route, "receivers": [{"name": "notifier", "webhook_configs": [hook]}]},
        )

    def set_targets(self, targets: Mapping[str, str], hosts: Mapping[str, str]) -> None:
        """Write what is scraped: addresses by the name of their job, and hosts by the address of their agents."""
        found = []
        for job, address in targets.items():
            labels = {"job": job} | ({"host": hosts[address]} if address in hosts else {})
            found.append({"targets": [address], "labels": labels})
        _write(self.targets_file, found)

    def prometheus_command(self, programs: MonitoringPrograms) -> list[str]:
        return [
            programs.prometheus,
            f"--config.file={self.folder / 'prometheus.json'}",
            f"--storage.tsdb.path={self.folder / 'prometheus'}",
            f"--storage.tsdb.retention.time={_RETENTION}",
            f"--web.listen-address={self.prometheus}",
            "--log.level=warn",
        ]

    def alertmanager_command(self, programs: MonitoringPrograms) -> list[str]:
        return [
            programs.alertmanager,
            f"--config.file={self.folder / 'alertmanager.json'}",
            f"--storage.path={self.folder / 'alertmanager'}",
            f"--web.listen-address={self.alertmanager}",
            "--cluster.listen-address=",
            "--log.level=warn",
        ]


def _write(path: Path, value: Any) -> None:
    replace_file(path, json.dumps(value, indent=1) + "\n")
