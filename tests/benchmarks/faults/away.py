"""How long the chain holds a host to have been away while a lease ran: its records at the start and at the result."""

from __future__ import annotations

from faults.verdict import Expected, Ledger, Moment, away_ms
from offchain.link.substrate import SubstrateChain


async def absences(chain: SubstrateChain, ledger: Ledger, expected: Expected) -> dict[int, int]:
    """[lease]: milliseconds, for results that nobody was paid for. The node must keep the states of old blocks."""
    found = {}
    for lease, (host, began, ended) in ledger.unpaid(expected).items():
        found[lease] = await _downtime_ms(chain, host, ended) - await _downtime_ms(chain, host, began)
    return found


async def _downtime_ms(chain: SubstrateChain, host: str, moment: Moment) -> int:
    params = await chain.query("Hosts", "Params", at=moment.hash)
    record = await chain.query("Hosts", "Hosts", [host], at=moment.hash)
    return away_ms(record or {}, moment.time_ms, int((params or {})["absence_limit_ms"]))
