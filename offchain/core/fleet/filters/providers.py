"""Providers that the tenant allows, where it names any, and none that it denies."""

from __future__ import annotations

from offchain.core.fit import Misfit
from offchain.core.fleet.facts import Facts
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Bools


class ProviderNotWanted:
    """Source: the chain's rule of the same name, docs/protocol.md."""

    misfit = Misfit.PROVIDER_NOT_WANTED

    def allows(self, want: Want, facts: Facts) -> Bools | None:
        """For each host, whether it may be there."""
        allowed, denied = want.placement.providers_allowed, want.placement.providers_denied
        if not allowed and not denied:
            return None
        fine = ~facts.providers.among(denied, facts.provider)
        return fine & facts.providers.among(allowed, facts.provider) if allowed else fine
