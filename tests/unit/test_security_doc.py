"""docs/security.md names a test for each attack: each of them has to be there."""

import re

from offchain.devnet.paths import ROOT

NAMED = re.compile(r"\b(tests/[\w/]+\.py)::(\w+)")


def test_every_test_that_the_threat_model_names_is_there():
    named = NAMED.findall((ROOT / "docs" / "security.md").read_text(encoding="utf-8"))
    assert len(named) > 50
    gone = [
        f"{file}::{name}"
        for file, name in named
        if not (ROOT / file).is_file()
        or not re.search(rf"^(async )?def {name}\b", (ROOT / file).read_text(), re.MULTILINE)
    ]
    assert gone == []
