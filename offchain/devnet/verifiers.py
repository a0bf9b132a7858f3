"""The verifiers of a local network, which challenge the host's GPUs and judge its proofs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

VERIFIERS: Final[Mapping[str, str]] = {
    "//Alice//stash": "5GNJqTPyNqANBkUVMN1LPPrxXnFouWXoe2wNSmmEoLctxiZY",
    "//Bob//stash": "5HpG9w8EBLe5XCrbczpwq5TSXvedjrBGCwqxK1iQ7qUsSWFc",
    "//Charlie//stash": "5Ck5SLSHYac6WFt5UZRSsdJjwmpSZq85fd5TRNAdZQVzEAPT",
}
"""Accounts of the development preset that are verifiers, with their addresses."""
GENESIS: Final[Mapping[str, Any]] = {
    "verification": {
        "verifiers": list(VERIFIERS.values()),
        "params": {
            # The chain requires more verifiers than two committees have seats, so that another committee can confirm.
            "committeeSize": 1,
            "minVerifiers": len(VERIFIERS),
            # The preset's times are for tests of the chain: too short for the blocks that draw the opening to be final.
            "answerMs": 120_000,
            "challengeCommitMs": 60_000,
            "challengeRevealMs": 30_000,
        },
    }
}
"""Patch over the development preset for a network with these verifiers."""
_BUDGET_GTY: Final = 10
"""Held in 24 h at most by each verifier for challenges that it opens."""


def verifier_commands(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield name and command of each verifier; their state is below `folder`."""
    for number, account in enumerate(VERIFIERS, 1):
        name = f"verifier-{number}"
        command = [sys.executable, "-m", "offchain.cli", "worker", "verifier", f"--account={account}"]
        yield name, [*command, f"--state-dir={folder / name}", f"--challenge-budget={_BUDGET_GTY}"]
