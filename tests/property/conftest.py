"""How property tests run: how long an example takes says nothing, since other work may share the machine."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("gantry", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("gantry")
