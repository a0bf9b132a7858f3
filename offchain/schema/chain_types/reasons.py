"""Why a pod was given up, for people and for programs.

The chain names reasons by the variants of its enums, `HostRefused(InputMissing)`. People read a sentence, programs a
code that stays the same: `input_missing`.
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
    "GangAborted": "another pod of the task could not go on",
}
"""By the name of the innermost variant."""
TENANTS_FAULTS: Final = frozenset(
    {"ImageUnavailable", "ImageInvalid", "ManifestInvalid", "InputMissing", "ImageCannotRun"}
)
"""Failures that the chain takes for the tenant's: before the start they cost the minimum charge."""


def innermost(plain: Any) -> str:
    """The name that says most in an enum's value: InputMissing of {"HostRefused": "InputMissing"}."""
    while isinstance(plain, dict) and len(plain) == 1:
        ((name, payload),) = plain.items()
        if not isinstance(payload, (str, dict)):
            return str(name)
        plain = payload
    return str(plain)


def code(plain: Any) -> str:
    """The stable code of a reason: input_missing."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", innermost(plain)).lower()


def sentence(plain: Any) -> str:
    """The reason in words, without a full stop; its name where there are none."""
    name = innermost(plain)
    return SENTENCES.get(name, name)
