"""gantry manifest."""

from __future__ import annotations

import click

from offchain.cli.kit import options
from offchain.cli.kit.output import Screen, details, emit, say
from offchain.cli.tenant.manifest_text import deposit_text, manifest_lines, plain_manifest, service_lines
from offchain.cli.tenant.submit import load
from offchain.schema.manifest.task_spec import manifest_digest


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
    if as_json:
        emit({"digest": manifest_digest(text).hex(), "bytes": len(text)} | plain_manifest(found))
        return
    details([("digest", manifest_digest(text).hex()), ("bytes", len(text)), *manifest_lines(found)])
    for service in found.services:
        say()
        say(f"service {service.name}")
        details(service_lines(service))
    say()
    say(f"The manifest is good. {deposit_text(found)}")


@manifest.command()
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
def resolve(file: str) -> None:
    """Print a manifest with its variables put in: the bytes whose sha256 goes on the chain.

    \b
    Example, for other clients of the chain:
      gantry manifest resolve task.yaml > resolved.yaml; sha256sum resolved.yaml
    """
    text, _ = load(file)
    screen = Screen()
    screen.show(text)
    screen.end()
