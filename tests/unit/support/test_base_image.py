"""scripts/base-image: packages of other versions or content than its lock names are refused, and nothing is made."""

import os
import re
import shutil
import subprocess

import pytest
import yaml

from offchain.devnet.paths import ROOT

SCRIPT, LOCK = ROOT / "scripts" / "base-image", ROOT / "scripts" / "base-image.lock"
LINE = re.compile(r"[a-z0-9][a-z0-9+.-]+ [0-9][A-Za-z0-9.+:~-]* (all|[a-z0-9]+) [0-9a-f]{64}")


def test_the_lock_names_version_and_content_of_each_package():
    title, *lines = LOCK.read_text(encoding="utf-8").splitlines()
    assert re.fullmatch(r"# Packages of gantry-base:bookworm for \w+\. Written by: scripts/base-image --refresh", title)
    assert all(LINE.fullmatch(line) for line in lines)
    assert lines == sorted(lines)


OPERATORS = {"prometheus", "prometheus-alertmanager", "postgresql"}
"""Packages that only images for operators need, in the versions of the day (docs/monitoring.md, docs/operations.md)."""


def test_all_that_the_dockerfile_installs_is_in_the_base():
    named = {line.split()[0] for line in LOCK.read_text(encoding="utf-8").splitlines()}
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    installed = {word for line in re.findall(r"--no-install-recommends ([^\\\n]*)", text) for word in line.split()}
    assert installed
    assert installed - OPERATORS <= named
    assert text.count("apt-get update") == text.count("|| { apt-get update")  # only where the base lacks them


def test_images_are_made_from_the_pinned_base():
    assert "ARG BASE=gantry-base:bookworm\n" in (ROOT / "Dockerfile").read_text(encoding="utf-8")
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    assert compose["x-worker"]["build"]["args"]["BASE"] == "${BASE:-gantry-base:bookworm}"


class ScriptCopy:
    """A copy of the script beside programs that stand for debootstrap, which copies packages, and docker."""

    def __init__(self, folder):
        self.folder = folder
        self.debs, bin_folder = folder / "debs", folder / "bin"
        (folder / "scripts").mkdir()
        self.debs.mkdir()
        bin_folder.mkdir()
        for name in ("base-image", "lib.sh"):
            shutil.copy(ROOT / "scripts" / name, folder / "scripts")
        programs = {
            "debootstrap": 'for at; do :; done; mkdir -p "$at/var/cache/apt/archives"; '
            f'cp {self.debs}/*.deb "$at/var/cache/apt/archives"',
            "docker": f'cat >/dev/null; echo "$*" >>{folder}/docker',
            "chroot": "exit 0",
        }
        for name, text in programs.items():
            (bin_folder / name).write_text(f"#!/bin/sh\n{text}\n")
            (bin_folder / name).chmod(0o755)
        self.env = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}"}

    def package(self, name, version, content="one"):
        root = self.folder / name
        (root / "DEBIAN").mkdir(parents=True, exist_ok=True)
        control = (
            f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: nobody\nDescription: {content}\n"
        )
        (root / "DEBIAN" / "control").write_text(control)
        subprocess.run(
            ["dpkg-deb", "--build", "-z1", str(root), str(self.debs / f"{name}.deb")], check=True, capture_output=True
        )

    def run(self, *words):
        command = [str(self.folder / "scripts" / "base-image"), *words]
        return subprocess.run(command, env=self.env, capture_output=True, text=True, check=False)

    @property
    def images(self):
        return (self.folder / "docker").read_text() if (self.folder / "docker").exists() else ""


@pytest.fixture
def copy(tmp_path):
    if os.geteuid() != 0 or shutil.which("dpkg-deb") is None:
        pytest.skip("building a base image needs root and dpkg-deb")
    made = ScriptCopy(tmp_path)
    made.package("alpha", "1.0-1")
    made.package("beta", "1:2.0-1")
    done = made.run("--refresh")
    assert done.returncode == 0, done.stderr
    assert made.images == ""
    return made


def test_packages_of_the_lock_become_an_image(copy):
    done = copy.run()
    assert done.returncode == 0, done.stderr
    assert copy.images.startswith("import - gantry-base:bookworm")


def changed_version(copy):
    copy.package("beta", "1:2.0-2")


def changed_content(copy):
    copy.package("beta", "1:2.0-1", "another content under the same version")


def added(copy):
    copy.package("gamma", "1")


def removed(copy):
    (copy.debs / "beta.deb").unlink()


@pytest.mark.parametrize("change", [changed_version, changed_content, added, removed])
def test_other_packages_are_refused_and_no_image_is_made(copy, change):
    change(copy)
    done = copy.run()
    assert done.returncode == 1
    assert "are not those of scripts/base-image.lock" in done.stderr
    assert "scripts/base-image --refresh" in done.stderr
    assert "the distribution has  " in done.stderr or "the lock names        beta 1:2.0-1" in done.stderr
    assert copy.images == ""
