"""The fuzzer of the chain is locked to the crates of the released node."""

import tomllib
from typing import Final

from offchain.devnet.paths import ROOT

OWN: Final = {"chain-fuzz", "libfuzzer-sys"}
"""Packages of the fuzzer that the node does not have."""


def _locked(folder: str) -> set[tuple[str, str]]:
    packages = tomllib.loads((ROOT / folder / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    return {(package["name"], package["version"]) for package in packages}


def test_the_fuzzer_compiles_the_versions_of_the_workspace() -> None:
    assert {name for name, _ in _locked("chain/fuzz") - _locked("chain")} == OWN
