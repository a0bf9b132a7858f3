"""Time from the opening of a challenge to its verdict: a real node with slots of 2 s and the product's processes."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from pathlib import Path
from typing import Final

from main_job import BenchError, say
from table import Figure

from offchain.adapters.keys.signer import from_uri
from offchain.schema.chain_types._generated_chain import calls
from tests.support.challenge_network import ChallengeNetwork, challenge_network, start_verifiers
from tests.support.challenged_host import challenged_host

HOSTS: Final = 3
"""Hosts that are challenged one after the other."""
_PROVIDER: Final = "//Bob"
_LIMIT_S: Final = 60.0


def measure(hosts: int = HOSTS) -> list[Figure]:
    """Return the seconds from the block with the opening to the block with the verdict, and to that with the answer."""
    with tempfile.TemporaryDirectory(prefix="gantry-trust-") as folder:
        found = asyncio.run(_measure(Path(folder), hosts))
    answered, closed = zip(*found, strict=True)
    return [Figure("trust-opened-answer", "s", answered), Figure("trust-opened", "s", closed, target_p95=_LIMIT_S)]


async def _measure(folder: Path, hosts: int) -> list[tuple[float, float]]:
    async with challenge_network(folder) as network:
        with contextlib.ExitStack() as stack:
            start_verifiers(network, stack)
            names = [f"host-{number}" for number in range(hosts)]
            for name in names:
                stack.enter_context(challenged_host(network.chain.url, folder / name, _PROVIDER))
            addresses = [await network.online(folder / name) for name in names]
            return [await _challenge(network, host) for host in addresses]


async def _challenge(network: ChallengeNetwork, host: str) -> tuple[float, float]:
    """Challenge a host; return the seconds to its answer and to the verdict, by the times of blocks."""
    opening = calls.verification_open_challenge(host=host, device=0, lease=None)
    await network.chain.do(from_uri(_PROVIDER), opening)
    opened_at, opened = await network.until("ChallengeOpened", host=host)
    number = opened.fields["challenge"]
    closed_at, closed = await network.until("ChallengeClosed", challenge=number)
    if closed.fields["outcome"] != "Passed":
        raise BenchError(f"challenge {number} of an honest host ended with {closed.fields['outcome']}")
    answered_at, _ = await network.until("Answered", challenge=number)
    say(f"challenge {number}: answered after {(answered_at - opened_at) / 1000:g} s, passed after "
        f"{(closed_at - opened_at) / 1000:g} s")  # fmt: skip
    return (answered_at - opened_at) / 1000, (closed_at - opened_at) / 1000
