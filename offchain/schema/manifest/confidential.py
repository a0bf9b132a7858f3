"""The key `confidential` of the `x-gantry` section: what a host has to prove before secrets are sent to it."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import ValidationInfo

from offchain.schema.attestation.document import EvidenceKind
from offchain.schema.attestation.policy import (
    MAX_MEASUREMENTS,
    AttestationPolicy,
    SnpTcb,
    parse_measurement,
    parse_snp_tcb,
)
from offchain.schema.manifest.section import Items, Notation, Section, Word, problems_of
from offchain.schema.manifest.yaml_reader import InvalidValueError, Problems, YamlValue

_HINT: Final = "Write confidential: required, or confidential: {measurements: [what gantry host attest prints]}"
_MEASUREMENT_HINT: Final = "Write what gantry host attest prints as measurement"


class ConfidentialSection(Section):
    """The kinds of machines, their software, the age of their firmware, and the GPUs that are accepted."""

    kinds: Annotated[tuple[Annotated[str, Word(*(kind.value for kind in EvidenceKind))], ...], Items(4, "kinds")] = ()
    measurements: Annotated[
        tuple[Annotated[bytes, Notation(parse_measurement, _MEASUREMENT_HINT)], ...],
        Items(MAX_MEASUREMENTS, "measurements"),
    ] = ()
    min_snp_tcb: Annotated[
        SnpTcb, Notation(parse_snp_tcb, "Write for example min_snp_tcb: bootloader=4,snp=22,microcode=213")
    ] = SnpTcb()

    gpus: Annotated[Literal["genuine"] | None, Word("genuine")] = None

    def check(self, problems: Problems) -> None:
        for name in ("kinds", "measurements"):
            place = self.place(name)
            if name in self.written and place.is_list and not place.items():
                problems.add(place, f"{name} has no entry", "Remove it, or name one")

    def spec(self) -> AttestationPolicy:
        return AttestationPolicy(
            kinds=tuple(map(EvidenceKind, self.kinds)) or tuple(EvidenceKind),
            measurements=self.measurements,
            min_snp_tcb=self.min_snp_tcb,
            genuine_gpus=self.gpus is not None,
        )


def read_confidential(value: YamlValue, info: ValidationInfo) -> AttestationPolicy:
    """Return the policy for hosts that get secrets."""
    if value.is_mapping:
        return ConfidentialSection.model_validate(value, context=problems_of(info)).spec()
    if value.raw == "required":
        return AttestationPolicy()
    found = f'"{value.raw}"' if value.raw else value.shape
    raise InvalidValueError(f"{found} is not a requirement", _HINT, value)
