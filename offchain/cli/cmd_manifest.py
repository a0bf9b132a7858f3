"""gantry manifest."""

from __future__ import annotations

import sys

import click

from offchain.cli import options
from offchain.cli.cmd_submit import load
from offchain.cli.output import details, emit
from offchain.core.rate import deposit
from offchain.schema.manifest_task import manifest_digest
from offchain.schema.manifest_values import format_amount


@click.group()
def manifest() -> None:
    """Check a manifest, or show it as it goes on the chain. Needs no network.

    \b
    Examples:
      gantry manifest check task.yaml
      gantry manifest resolve task.yaml > resolved.yaml
    """


@manifest.command()
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@options.as_json
def check(file: str, as_json: bool) -> None:
    """Say everything that is wrong with a manifest, or what it asks for.

    \b
    Example:
      gantry manifest check task.yaml
    """
    text, found = load(file)
    held = deposit(found.max_rate_per_hour, found.duration_ms) * found.pods
    facts: list[tuple[str, object]] = [
        ("kind", found.kind),
        ("digest", manifest_digest(text).hex()),
        ("bytes", len(text)),
        ("image", found.services[0].image.reference),
        ("pods", found.pods),
        ("cpu_milli", found.cpu_milli),
        ("memory_mib", found.memory_mib),
        ("disk_gib", found.disk_gib),
        ("gpus", found.gpus.count),
        ("duration_ms", found.duration_ms),
        ("max_rate_per_hour", found.max_rate_per_hour),
        ("held_at_most", held),
    ]
    if as_json:
        emit(dict(facts))
        return
    details([*facts[:-2], ("price limit", f"{format_amount(found.max_rate_per_hour)} an hour and pod")])
    click.echo(
        f"The manifest is good. At most {format_amount(held)} are held while it runs; what is not used comes back."
    )


@manifest.command()
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
def resolve(file: str) -> None:
    """Print a manifest with its variables put in: the bytes whose sha256 goes on the chain.

    \b
    Example, for other clients of the chain:
      gantry manifest resolve task.yaml > resolved.yaml; sha256sum resolved.yaml
    """
    text, _ = load(file)
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()
