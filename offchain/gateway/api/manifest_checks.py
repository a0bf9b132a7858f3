"""The check of a manifest without its submission: errors by line, price, placement and start."""

from __future__ import annotations

from offchain.gateway.api import manifest_models as made
from offchain.gateway.api.chain_access import ChainAccess, SigningChain, final_block
from offchain.gateway.api.models import BlockReference
from offchain.gateway.api.planner import PlacementPlanner, PlannedTask, ReadManifest
from offchain.gateway.api.problems import errors_of
from offchain.gateway.api.wallet_models import RefusalResource
from offchain.schema.manifest.types import ManifestError
from offchain.services.feasibility import reasons_text, start_text, start_window

_NO_TIME = "The planner had no time: try again in a minute."


class ManifestChecks:
    """Checks of manifests."""

    def __init__(self, access: ChainAccess[SigningChain], planner: PlacementPlanner) -> None:
        self._access = access
        self._planner = planner

    async def check(self, asked: made.ManifestBody) -> made.ManifestCheckResource:
        """Return what is wrong with a manifest, or what would become of it."""
        try:
            task = await self._planner.read(asked.manifest, asked.variables)
        except ManifestError as error:
            return _invalid(await self._present(), error)
        found = await self._planner.check(task, asked.account, forecast=True)
        if found is None:
            return _valid(await self._present(), task, None)
        at = BlockReference(number=found.at.number, hash=f"0x{found.at.hash.hex()}", time_ms=found.now_ms)
        return _valid(at, task, found)

    async def _present(self) -> BlockReference:
        async with self._access.use() as chain:
            _, as_of = await final_block(chain)
            return as_of


def _invalid(as_of: BlockReference, error: ManifestError) -> made.ManifestCheckResource:
    return made.ManifestCheckResource(
        as_of=as_of,
        valid=False,
        errors=errors_of(error),
        price=None,
        expected_start_ms=None,
        earliest_start_ms=None,
        start="The manifest is not valid.",
        placement="The manifest is not valid.",
        refusals=[],
    )


def _valid(as_of: BlockReference, task: ReadManifest, found: PlannedTask | None) -> made.ManifestCheckResource:
    report = None if found is None else found.report
    rates = [] if report is None else [offer.rate_per_hour for offer in report.forecast.offers]
    earliest, latest = (None, None) if report is None else start_window(report)
    placement = _NO_TIME
    if report is not None:
        excluded = reasons_text(report.forecast.now)
        placement = f"{len(report.forecast.offers)} of {report.forecast.hosts} hosts can run it now"
        placement += f"; the others: {excluded}." if excluded else "."
    return made.ManifestCheckResource(
        as_of=as_of,
        valid=True,
        errors=[],
        price=made.TaskPriceResource(
            lowest_per_hour=min(rates, default=None),
            highest_per_hour=max(rates, default=None),
            deposit=task.deposit,
        ),
        expected_start_ms=latest,
        earliest_start_ms=earliest,
        start=_NO_TIME if report is None else start_text(report),
        placement=placement,
        refusals=[
            RefusalResource(code=one.code, message=one.message, hint=one.hint)
            for one in (() if found is None else found.refusals)
        ],
    )
