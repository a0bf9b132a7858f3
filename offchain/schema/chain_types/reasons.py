"""Reasons for which a pod ended, as sentences for people and as stable codes for programs.

The chain's reasons are variants of enums: `HostRefused(InputMissing)` has the code `input_missing`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

SENTENCES: Final[Mapping[str, str]] = {
    "ImageUnavailable": "the image could not be pulled",
    "ImageInvalid": "the image cannot be used",
    "ManifestInvalid": "the manifest cannot be run on this host",
    "ResourcesUnavailable": "the host lacked what it offered",
    "DriverError": "the host's container engine failed",
    "InputMissing": "a secret or an input was not delivered in time",
    "ImageCannotRun": "no program of the image could be started",
    "ImageTooSlow": "the image was still being pulled when the start timeout was near",
    "StartTimeout": "the host did not start the pod in time",
    "HostLost": "the host was lost",
    "Reclaimed": "the provider took its resources back",
    "GangAborted": "another pod of the task could not continue",
}
"""Sentence by name of the innermost variant."""
TENANTS_FAULTS: Final = frozenset(
    {"ImageUnavailable", "ImageInvalid", "ManifestInvalid", "InputMissing", "ImageCannotRun"}
)
"""Failures that the chain attributes to the tenant: before the start they cost the minimum charge."""


def innermost(plain: Any) -> str:
    """Return the innermost variant of an enum's value: InputMissing of {"HostRefused": "InputMissing"}."""
    while isinstance(plain, dict) and len(plain) == 1:
        ((name, payload),) = plain.items()
        if not isinstance(payload, (str, dict)):
            return str(name)
        plain = payload
    return str(plain)


def code(plain: Any) -> str:
    """Return the stable code of a reason: input_missing."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", innermost(plain)).lower()


def sentence(plain: Any) -> str:
    """Return the reason in words, without a full stop; its name if there are none."""
    name = innermost(plain)
    return SENTENCES.get(name, name)
