"""Rules for jobs that are executed more than once: results are compared, or jurors execute the job again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from offchain.schema.manifest.rules import ParsedService, gpu_count
from offchain.schema.manifest.x_gantry import GantrySection
from offchain.schema.manifest.yaml_reader import Problems

_OR_REMOVE: Final = "Remove it, or verification"


def check_deterministic(gantry: GantrySection, services: Sequence[ParsedService], problems: Problems) -> None:
    """Check what a job cannot have that jurors are to execute again: they have the manifest and the images only."""
    if gantry.verification != "deterministic":
        return
    at = gantry.place("verification")
    if len(services) > 1:
        message = f"a deterministic job has one service, and there are {len(services)}"
        problems.add(at, message, "Put the work into one service, or remove verification")
    if gantry.result is not None and "seal_to" in gantry.result.written:
        hint = "Remove it: no two sealed boxes are the same, so a sealed result cannot be compared with another one"
        problems.add(gantry.result.place("seal_to"), "the result of a deterministic job cannot be sealed", hint)
    if gantry.registry_login is not None or any(service.spec.files for service in services):
        message = "a deterministic job has no delivered files: jurors do not get them"
        problems.add(at, message, "Put the data into the image, or remove verification")
    if gantry.checkpoint is not None:
        hint = "Remove it, or verification: jurors execute the whole job"
        problems.add(gantry.checkpoint.place(), "a deterministic job has no checkpoints", hint)


def check_compared(gantry: GantrySection, services: Sequence[ParsedService], problems: Problems) -> None:
    """Check that honest hosts compute the same from a job whose results are compared: equal files and equal GPUs.

    It applies to replicas and to audited jobs alike: a host whose honest result differs from another's is slashed.
    """
    if not gantry.is_compared:
        return
    at, models = gantry.place("verification"), gantry.placement.models if gantry.placement is not None else ()
    checkpoint, result = gantry.checkpoint, gantry.result
    if gantry.spot is not None:
        message = "a job whose results are compared cannot be spot"
        problems.add(gantry.place("spot"), message, _OR_REMOVE)
    if gantry.survival != "restart":
        message = "the pods of a job whose results are compared stay where they are"
        problems.add(gantry.place("survival"), message, _OR_REMOVE)
    if checkpoint is not None:
        problems.add(checkpoint.place(), "a job whose results are compared has no checkpoints", _OR_REMOVE)
    if result is not None and "seal_to" in result.written:
        hint = "Remove it: no two sealed boxes are the same, so sealed results cannot be compared"
        problems.add(result.place("seal_to"), "compared results cannot be sealed", hint)
    if any(file.digest is None for service in services for file in service.spec.files):
        message = "a job whose results are compared has no secrets: each host could get another one"
        problems.add(at, message, "Use inputs, which have a digest, or remove verification")
    if gpu_count(services) and len(models) != 1:
        message = "GPUs of different models may give different results, which are then called wrong"
        problems.add(at, message, "Name one model: x-gantry.placement.models: [H100]; gantry host list shows models")
