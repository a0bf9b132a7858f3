"""Which known vulnerabilities a host has: versions, branches, a distribution's fixes, and what is said of them."""

import gzip
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_join_checks import GOOD, found

from node_agent.install.bundle import _sources
from offchain.cli.provider import advisories as looking
from offchain.cli.provider.advisories import (
    TOOLKIT,
    Component,
    component_advisories,
    engine_components,
    fixes_of,
    installed_toolkit,
    is_affected,
    known_advisories,
    parse_version,
    upgrade_hints,
    with_packages,
)
from offchain.cli.provider.machine_checks import CheckVerdict, check_machine, failed
from offchain.devnet.paths import ROOT

BY_ID = {one.id: one for one in known_advisories()}


def ids(advisories):
    return {one.id for one in advisories}


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("1.1.12", (1, 1, 12, 1, 0)),
        ("1.1.5+ds1", (1, 1, 5, 1, 0)),
        ("v2.1.0", (2, 1, 0, 1, 0)),
        ("1.6.20~ds1", (1, 6, 20, 1, 0)),
        ("1.4.0-rc.3", (1, 4, 0, 0, 3)),
        ("1.0.0~rc93+ds1", (1, 0, 0, 0, 93)),
        ("28.1", (28, 1, 0, 1, 0)),
        ("dev", None),
        ("", None),
    ],
)
def test_versions_are_read(text, version):
    assert parse_version(text) == version


@pytest.mark.parametrize(
    ("name", "version", "affected"),
    [
        ("CVE-2024-21626", "1.1.11", True),
        ("CVE-2024-21626", "1.1.12", False),
        ("CVE-2024-21626", "1.2.0-rc.1", False),
        ("CVE-2025-31133", "1.1.15", True),
        ("CVE-2025-31133", "1.2.7", True),
        ("CVE-2025-31133", "1.2.8", False),
        ("CVE-2025-31133", "1.3.2", True),
        ("CVE-2025-31133", "1.3.3", False),
        ("CVE-2025-31133", "1.4.0-rc.2", True),
        ("CVE-2025-31133", "1.4.0-rc.3", False),
        ("CVE-2025-31133", "1.4.0", False),
        ("CVE-2025-31133", "1.5.0", False),
        ("CVE-2025-47290", "2.0.9", False),
        ("CVE-2025-47290", "2.1.0", True),
        ("CVE-2025-47290", "2.1.1", False),
        ("CVE-2025-54410", "20.10.24", True),
        ("CVE-2025-54410", "25.0.13", False),
        ("CVE-2025-54410", "27.5.1", True),
        ("CVE-2025-54410", "28.0.0", False),
    ],
)
def test_a_version_is_compared_with_the_fix_of_its_branch(name, version, affected):
    assert is_affected(BY_ID[name], parse_version(version)) is affected


@given(st.sampled_from(known_advisories()), st.tuples(*[st.integers(0, 40)] * 3))
def test_a_later_patch_of_a_branch_never_brings_a_vulnerability_back(advisory, numbers):
    version, later = (*numbers, 1, 0), (*numbers[:2], numbers[2] + 1, 1, 0)
    if advisory.since is None or version >= advisory.since:
        assert is_affected(advisory, version) or not is_affected(advisory, later)


def test_the_advisories_are_complete():
    assert len(BY_ID) == len(known_advisories())
    for one in known_advisories():
        assert one.component in upgrade_hints()
        assert one.severity in ("low", "medium", "high", "critical")
        assert one.about


def test_the_data_is_part_of_a_release():
    assert (ROOT / "offchain/cli/provider/advisories.json") in set(_sources(ROOT))


def test_a_package_has_fixed_what_its_changelog_names():
    package = Component("runc", "1.1.5+ds1", "1.1.5+ds1-1+deb12u1", frozenset({"CVE-2024-21626"}))
    state = component_advisories(package, known_advisories())
    assert not state.open
    assert ids(state.unclear) == {"CVE-2025-31133", "CVE-2025-52565", "CVE-2025-52881"}
    assert "CVE-2024-21626" in ids(
        component_advisories(replace(package, package_fixes=None), known_advisories()).unclear
    )
    assert "CVE-2024-21626" in ids(component_advisories(Component("runc", "1.1.5"), known_advisories()).open)


@pytest.mark.parametrize(
    ("component", "verdict", "says"),
    [
        (Component("runc", "1.3.3"), "pass", "none of the"),
        (Component("runc", "1.1.11"), "warn", "CVE-2024-21626 (high)"),
        (Component("runc", "1.1.5", "1.1.5-1", frozenset()), "warn", "its changelog does not name them"),
        (Component("runc", "1.1.5", "1.1.5-1"), "warn", "its changelog is not here"),
        (Component("containerd", "built by hand"), "warn", "is not a version"),
        (Component(TOOLKIT, "1.17.7"), "fail", "CVE-2025-23266 (critical)"),
        (Component(TOOLKIT, "1.17.8"), "pass", "none of the"),
    ],
)
def test_what_join_says_of_a_component(component, verdict, says):
    facts = replace(GOOD, components=(component,))
    finding = found(facts, f"vulnerabilities of {component.name}")
    assert (finding.verdict, says in finding.found) == (verdict, True), finding
    assert bool(finding.hint) == (verdict != "pass")
    assert (finding in failed(check_machine(facts))) == (verdict == "fail")
    assert finding.verdict is not CheckVerdict.PASS or "CVE" not in finding.found


def test_what_the_engine_says_of_itself_is_read():
    answer = {
        "Components": [
            {"Name": "Engine", "Version": "28.2.2"},
            {"Name": "containerd", "Version": "1.7.27"},
            {"Name": "runc", "Version": "1.2.5"},
            {"Name": "docker-init", "Version": "0.19.0"},
        ]
    }
    assert [(one.name, one.version) for one in engine_components(answer)] == [
        ("Docker", "28.2.2"),
        ("containerd", "1.7.27"),
        ("runc", "1.2.5"),
    ]
    assert engine_components({}) == ()


def program(folder, name, script):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_packages_of_the_machine_are_found(tmp_path, monkeypatch):
    """With programs that answer as Debian's do; a package of another version is not the component."""
    monkeypatch.setenv("PATH", str(tmp_path))
    program(tmp_path, "dpkg-query", '[ "$3" = runc ] && echo "1.1.5+ds1-1+deb12u1" && exit 0; exit 1')
    (tmp_path / "runc").mkdir()
    with gzip.open(tmp_path / "runc" / "changelog.Debian.gz", "wt") as file:
        file.write("runc (1.1.5+ds1-1+deb12u1)\n  * CVE-2024-21626: several container breakouts\n")
    same, other, unknown = with_packages(
        [Component("runc", "1.1.5+ds1"), Component("runc", "1.3.0"), Component("containerd", "1.7.0")], tmp_path
    )
    assert (same.package, same.package_fixes) == ("1.1.5+ds1-1+deb12u1", frozenset({"CVE-2024-21626"}))
    assert other.package == unknown.package == ""


def test_the_toolkit_says_its_version(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert installed_toolkit() is None
    program(tmp_path, "nvidia-ctk", "echo 'NVIDIA Container Toolkit CLI version 1.17.4'; echo 'commit: 9b69590'")
    assert installed_toolkit() == Component(TOOLKIT, "1.17.4")
    program(tmp_path, "nvidia-ctk", "exit 1")
    assert installed_toolkit() is None


def test_a_changelog_that_is_not_here_or_not_compressed_names_nothing(tmp_path):
    assert fixes_of(tmp_path / "none") is None
    (tmp_path / "text").write_text("CVE-2024-21626")
    assert fixes_of(tmp_path / "text") is None


def test_a_program_that_hangs_is_not_waited_for(monkeypatch):
    def hangs(*_args, **options):
        raise subprocess.TimeoutExpired("nvidia-ctk", options["timeout"])

    monkeypatch.setattr(looking.subprocess, "run", hangs)
    assert installed_toolkit() is None
