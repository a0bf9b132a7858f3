"""Every defence that scripts/removed-defences removes is in the code, and its tests exist."""

from __future__ import annotations

import re

import pytest

from offchain.devnet.paths import ROOT
from tests.support.defences import DEFENCES, Defence

FOLDERS = {"attacks": "acceptance/attacks", "contract": "contract", "unit": "unit"}


@pytest.mark.parametrize("defence", DEFENCES, ids=lambda one: f"{one.finding}: {one.about}")
def test_a_defence_can_be_removed(defence: Defence) -> None:
    text = (ROOT / defence.file).read_text(encoding="utf-8")
    assert text.count(defence.text) == 1
    compile(text.replace(defence.text, defence.replacement), defence.file, "exec")
    files = (ROOT / "tests" / FOLDERS[defence.suite]).rglob("test_*.py")
    defined = {name for file in files for name in re.findall(r"def (test_\w+)\(", file.read_text(encoding="utf-8"))}
    assert defined >= set(defence.tests)
