"""A Docker engine that was killed while it removed a network starts again, and keeps its other networks."""

import json
import os
import re
import subprocess
from pathlib import Path

import docker
import pytest

from offchain.devnet import engine
from offchain.devnet.engine_store import half_removed
from offchain.devnet.paths import DevnetPaths
from offchain.supervisor import Child

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="starting a Docker engine needs root")
MENDED = (23, 0, 5)
"""Engines from here on forget a network in one step."""


def forget_addresses(store: Path, name: str) -> None:
    """Leave a network's record as such an engine does that is killed just before it forgets the network."""
    data = store.read_bytes()
    for found in list(re.finditer(rb'\{"addrSpace":', data)):
        record, length = json.JSONDecoder().raw_decode(data[found.start() :].decode("latin-1"))
        if record["name"] == name:
            here = data[found.start() : found.start() + length]
            half = here.replace(b'"inDelete":false', b'"inDelete":true ').replace(b'"ipamV4Info"', b'"ipamV4None"')
            assert half != here
            data = data.replace(here, half)
    store.write_bytes(data)


@pytest.fixture
def private(tmp_path):
    places = DevnetPaths(tmp_path)
    child, url = engine.private_child(places, dict(os.environ))
    try:
        yield places, child, url
    finally:
        child.stop()
        engine.remove_private_engine(places)


def up(child, url):
    child.start()
    engine.wait_for(child, url)
    return docker.APIClient(base_url=url, version="auto", timeout=60)


def kill(child):
    child.process.kill()
    child.reap()


def test_an_engine_that_was_killed_while_it_removed_a_network_starts_again(private):
    places, child, url = private
    api = up(child, url)
    version = tuple(int(part) for part in re.findall(r"\d+", api.version()["Version"])[:3])
    ids = {name: api.create_network(name, labels={"gantry.test": name})["Id"] for name in ("whole", "half")}
    api.close()
    kill(child)
    # It takes the bridge away before the record.
    subprocess.run(["ip", "link", "delete", f"br-{ids['half'][:12]}"], check=True)
    forget_addresses(places.engine / "network" / "files" / "local-kv.db", "half")
    assert half_removed(places.engine) == ["half"]
    if version < MENDED:
        (places.sockets / "exec" / "containerd" / "containerd.pid").unlink()
        Child.start(child)
        assert child.process.wait(60) != 0
        assert "reservePools" in child.log_path.read_text(errors="replace")
    api = up(child, url)
    try:
        own = {"label": ["gantry.test"]}
        assert [network["Name"] for network in api.networks(filters=own)] == ["whole"]
        assert "the network half" in child.log_path.read_text(errors="replace")
        api.create_network("half", labels={"gantry.test": "half"})
        for network in api.networks(filters=own):
            api.remove_network(network["Id"])
    finally:
        api.close()
