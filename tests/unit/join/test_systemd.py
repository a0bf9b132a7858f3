"""The unit, and what systemctl is asked to do; tests have no systemd, so a program notes the requests."""

from pathlib import Path

import pytest

from node_agent.install import service as systemd
from node_agent.install.service import SystemdService, unit_name, unit_text
from offchain.errors import OurError

DEFAULT = Path("/var/lib/gantry")
NOTES = """#!/bin/sh
echo "$@" >> "$NOTES"
[ "$1" != "$FAILS" ] || { echo 'Unit is masked.' >&2; exit 1; }
[ "$1" != is-active ] || [ -e "$ACTIVE" ]
"""


@pytest.fixture
def systemctl(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/systemctl"
    program.write_text(NOTES)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("NOTES", str(tmp_path / "notes"))
    monkeypatch.setenv("ACTIVE", str(tmp_path / "active"))
    monkeypatch.setenv("FAILS", "")
    return lambda: (tmp_path / "notes").read_text().splitlines() if (tmp_path / "notes").exists() else []


@pytest.fixture
def service(systemctl, tmp_path):
    del systemctl
    (tmp_path / "units").mkdir()
    return SystemdService(DEFAULT, "gantry-agent.service", units=tmp_path / "units")


def test_install_start_restart_remove(service, systemctl, tmp_path):
    unit = tmp_path / "units/gantry-agent.service"
    service.install()
    assert unit.read_text() == unit_text(DEFAULT)
    service.start()
    service.restart()
    service.remove()
    assert not unit.exists()
    assert systemctl() == [
        "daemon-reload",
        "enable --quiet gantry-agent.service",
        "start gantry-agent.service",
        "restart gantry-agent.service",
        "disable --quiet --now gantry-agent.service",
        "daemon-reload",
    ]
    service.remove()
    assert len(systemctl()) == 6


def test_whether_it_runs(service, tmp_path):
    assert not service.running()
    (tmp_path / "active").touch()
    assert service.running()


def test_what_systemd_says_is_told(service, monkeypatch):
    monkeypatch.setenv("FAILS", "start")
    with pytest.raises(OurError, match=r"Unit is masked\..*systemctl status gantry-agent"):
        service.start()


def test_each_folder_has_a_unit_of_its_own():
    assert unit_name(DEFAULT, DEFAULT) == "gantry-agent.service"
    other = unit_name(Path("/srv/b"), DEFAULT)
    assert other.startswith("gantry-agent-")
    assert other != unit_name(Path("/srv/c"), DEFAULT)


def test_odd_characters_reach_the_program_as_they_are():
    text = unit_text(Path('/srv/my "100%" $HOME'), python="/usr/bin/python3", root=Path("/opt/g"))
    assert r'"/srv/my \"100%%\" $$HOME"' in text
    assert 'Environment="PYTHONPATH=/opt/g"' in text
    assert "Restart=always" in text


def test_no_systemctl_is_one_message(service, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(OurError, match="systemctl"):
        service.start()


def test_where_systemd_runs(monkeypatch, tmp_path, systemctl):
    del systemctl
    monkeypatch.setattr(systemd, "BOOTED", tmp_path / "none")
    assert not systemd.has_systemd()
    monkeypatch.setattr(systemd, "BOOTED", tmp_path)
    assert systemd.has_systemd()
