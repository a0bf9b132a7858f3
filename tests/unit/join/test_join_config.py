"""The file that `join` leaves."""

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from node_agent.images.registries import parse_allowed
from node_agent.runtime import join_config as configs
from node_agent.runtime.join_config import JoinConfig, load, save
from node_agent.telemetry.probe import Reserve
from offchain.adapters.keys.signer import from_uri
from offchain.cli.provider.agent_options import AgentArguments, DefaultNetwork, resolve_settings
from offchain.cli.provider.price_options import STANDARD_ASK
from offchain.errors import OurError
from offchain.schema.chain_types._generated_chain import GpuPrice, Tier
from offchain.schema.protocol.gateway import GatewayAddress

GATEWAY = GatewayAddress(from_uri("//Gateway", "ed25519").address, "gw.example.org", 4435)
REGISTRY = parse_allowed("http://registry.lan:5000")

CONFIG = JoinConfig(
    url="ws://node:9944",
    genesis=bytes(range(32)),
    provider=from_uri("//Bob").address,
    region="eu-north",
    ask=replace(STANDARD_ASK, gpu=(GpuPrice(b"NVIDIA H100", 7),)),
    bind="0.0.0.0:4434",
    reserve=Reserve(500, 1024, 10),
    keep_gpus=(0, 3),
    share_gpus=True,
    tier=Tier.DATACENTER,
    runtime="runsc",
    network=False,
    gateways=(GATEWAY,),
    allow_registries=(REGISTRY,),
    metrics="9465",
    answer_challenges=True,
    challenge_image="sha256:" + "0" * 64,
    confidential=True,
)


def test_a_stored_configuration_is_unchanged_and_private(tmp_path):
    save(tmp_path, CONFIG)
    assert load(tmp_path) == CONFIG
    assert stat.S_IMODE((tmp_path / configs.NAME).stat().st_mode) == 0o600


def test_there_is_none_before_joining(tmp_path):
    assert load(tmp_path) is None
    (tmp_path / "file").write_text("")
    assert load(tmp_path / "file" / "below") is None


@pytest.mark.parametrize(
    ("name", "before"),
    [("gateways", ()), ("runtime", None), ("metrics", None), ("challenge_image", None), ("confidential", False)],
)
def test_a_file_of_a_release_that_did_not_have_a_field_is_read(tmp_path, name, before):
    save(tmp_path, CONFIG)
    document = json.loads((tmp_path / configs.NAME).read_text())
    del document[name]
    (tmp_path / configs.NAME).write_text(json.dumps(document))
    assert load(tmp_path) == replace(CONFIG, **{name: before})


def test_a_file_without_allowed_registries_is_one_of_earlier_releases(tmp_path):
    save(tmp_path, replace(CONFIG, allow_registries=()))
    assert "allow_registries" not in json.loads((tmp_path / configs.NAME).read_text())
    assert load(tmp_path) == replace(CONFIG, allow_registries=())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"provider": "5Nonsense"}, "5Nonsense"),
        ({"genesis": "0x12"}, "genesis"),
        ({"version": 2}, "version 2"),
        ({"colour": "red"}, "'colour'"),
        ({"keep_gpus": [-1]}, "keep_gpus"),
        ({"share_gpus": "yes"}, "share_gpus"),
        ({"region": "r" * 33}, "region"),
        ({"network": "yes"}, "network"),
        ({"reserve": {"cpu_milli": 1}}, "'memory_mib' is missing"),
        ({"tier": "Best"}, "Best"),
        ({"gateways": ["gw.example.org:4435"]}, "ACCOUNT@"),
        ({"allow_registries": ["https://registry.lan/path"]}, "is not a registry"),
        ({"challenge_image": "challenge:latest"}, "does not name an image by its digest"),
    ],
)
def test_a_field_that_is_wrong_is_named(tmp_path, change, says):
    save(tmp_path, CONFIG)
    path = tmp_path / configs.NAME
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(OurError, match=says):
        load(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", "x" * 100_000])
def test_a_file_that_is_none_of_ours(tmp_path, text):
    (tmp_path / configs.NAME).write_text(text)
    with pytest.raises(OurError, match="is not valid"):
        load(tmp_path)


def test_the_command_line_precedes_the_configuration_and_that_the_network():
    network = DefaultNetwork("ws://other:1", bytes(32))
    state = Path("/state")
    assert resolve_settings(AgentArguments(state=state), CONFIG, network).url == "ws://node:9944"
    assert resolve_settings(AgentArguments(state=state), CONFIG, network).gateways == (GATEWAY,)
    assert resolve_settings(AgentArguments(state=state), CONFIG, network).allow_registries == (REGISTRY,)
    assert resolve_settings(AgentArguments(state=state), CONFIG, network).metrics == "9465"
    assert resolve_settings(AgentArguments(state=state), CONFIG, network).challenge_image == CONFIG.challenge_image
    image = "sha256:" + "1" * 64
    newer = resolve_settings(AgentArguments(state=state, challenge_image=image), CONFIG, network)
    assert (newer.challenge_image, newer.answer_challenges) == (image, True)
    other = replace(GATEWAY, port=1)
    assert resolve_settings(AgentArguments(state=state, gateways=(other,)), CONFIG, network).gateways == (other,)
    assert resolve_settings(AgentArguments(state=state, url="ws://mine:2"), CONFIG, network).url == "ws://mine:2"
    assert resolve_settings(AgentArguments(state=state), None, network).genesis == bytes(32)
    assert resolve_settings(AgentArguments(state=state, url="ws://mine:2"), None, network).genesis is None
    kept = resolve_settings(AgentArguments(state=state, reserve_disk_gib=0), CONFIG, network)
    assert kept.reserve == Reserve(500, 1024, 0)
    assert (kept.keep_gpus, kept.tier, kept.network, kept.bind) == ((0, 3), Tier.DATACENTER, False, "0.0.0.0:4434")
