"""Functions as tasks: what goes into the manifest, and what it does in a container."""

from __future__ import annotations

import json
import subprocess
import sys

import gantry
import pytest
from gantry.functions import RESULT_FILE, BadFunction

from offchain.schema.manifest.parse import parse_manifest

IMAGE = "registry.example/python@sha256:" + "0" * 64


@gantry.function(image=IMAGE, max_per_hour="1 GTY", cpus=2, memory="1G", gpus=1)
def joined(first, *rest, sign="$"):
    """Text with quotes ' and " and a dollar: $HOME."""
    import string  # noqa: PLC0415 - what a sent function needs, it imports itself

    return {"text": sign.join([first, *rest]), "digits": string.digits}


def run_here(manifest: bytes, tmp_path, **changes) -> object:
    """Run the command of a manifest's container on this machine."""
    parsed = parse_manifest(manifest)
    (service,) = parsed.services
    path = tmp_path / "result.json"
    program = [part.replace(RESULT_FILE, str(path)) for part in service.entrypoint]
    environment = dict(service.environment) | changes
    subprocess.run([sys.executable, *program[1:]], env=environment, check=True)
    return gantry.RemoteFunction.returned(path.read_bytes())


def test_a_function_runs_from_its_manifest_as_it_runs_here(tmp_path):
    assert run_here(joined.manifest("a", "b", sign="$"), tmp_path) == joined("a", "b", sign="$")


def test_the_manifest_is_valid_and_says_what_was_asked_for():
    manifest = parse_manifest(joined.manifest("a"))
    (service,) = manifest.services
    assert (manifest.kind, str(service.image.name)) == ("job", IMAGE.partition("@")[0])
    assert service.gpu_count == 1


def test_arguments_that_do_not_fit_are_refused_here():
    with pytest.raises(BadFunction, match="missing a required argument"):
        joined.manifest()
    with pytest.raises(BadFunction, match="not JSON serializable"):
        joined.manifest(object())


def test_a_function_that_needs_its_surroundings_is_refused():
    outer = 3

    def uses_outer():
        return outer

    decorate = gantry.function(image=IMAGE, max_per_hour="1 GTY")
    with pytest.raises(BadFunction, match="uses outer of the function around it"):
        decorate(uses_outer)
    with pytest.raises(BadFunction, match="is not a plain function"):
        decorate(lambda: 1)
    with pytest.raises(BadFunction, match="cannot be found"):
        decorate(print)


def test_results_are_values_of_json():
    assert gantry.RemoteFunction.returned(json.dumps([1, None]).encode()) == [1, None]
