"""Addresses that images may be fetched from, and manifests that are refused."""

from __future__ import annotations

import json
from ipaddress import ip_address

import pytest

from node_agent.images.manifests import parse_manifest
from node_agent.images.registries import (
    Endpoint,
    RegistryRefusedError,
    RegistryRules,
    check_login,
    parse_allowed,
    repository,
)
from offchain.schema.public_address import is_public

DIGEST = "sha256:" + "ab" * 32
OCI = "application/vnd.oci.image.manifest.v1+json"


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.1", "10.1.2.3", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1", "192.0.0.192", "192.168.1.1",
        "198.18.0.1", "224.0.0.1", "255.255.255.255", "168.63.129.16", "::", "::1", "fe80::1",
        "fd00:ec2::254", "ff02::1",
        "::ffff:127.0.0.1", "::ffff:8.8.8.8", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2001::1", "2001:db8::1",
    ],
)  # fmt: skip
def test_addresses_that_are_not_public_are_refused(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111"])
def test_public_addresses_are_not_refused(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize("name", ["127.0.0.1:5999/x/y", "localhost/x", "10.0.0.1/x", "169.254.169.254:80/x"])
def test_a_reference_to_a_private_address_is_refused(name: str) -> None:
    with pytest.raises(RegistryRefusedError, match="is not a public address"):
        repository(f"{name}@{DIGEST}", RegistryRules())


def test_an_operator_allows_one_registry_and_no_other_port_of_it() -> None:
    rules = RegistryRules(frozenset({parse_allowed("http://127.0.0.1:5000")}))
    assert repository(f"127.0.0.1:5000/lab/x@{DIGEST}", rules).registry == Endpoint("127.0.0.1", 5000, plain=True)
    with pytest.raises(RegistryRefusedError, match="is not a public address"):
        repository(f"127.0.0.1:5001/lab/x@{DIGEST}", rules)


@pytest.mark.parametrize(
    "url",
    ["http://auth.example/token", "https://127.0.0.1/token", "https://u:p@a.example/", "file:///etc/passwd", "https://[/"],
)  # fmt: skip
def test_an_address_that_a_registry_names_follows_the_same_rules(url: str) -> None:
    with pytest.raises(RegistryRefusedError):
        RegistryRules().follow(url)


def test_an_image_without_a_registry_is_asked_for_at_docker_hub() -> None:
    found = repository(f"nginx@{DIGEST}", RegistryRules())
    assert (found.registry, found.path) == (Endpoint("registry-1.docker.io", 443), "library/nginx")


@pytest.mark.parametrize("key", ["urls", "URLS", "url\u017f"])
def test_layers_at_other_addresses_are_refused_however_the_key_is_written(key: str) -> None:
    part = {"digest": DIGEST, "size": 1}
    text = json.dumps({"mediaType": OCI, "config": part, "layers": [{**part, key: ["http://169.254.169.254/"]}]})
    with pytest.raises(ValueError, match="outside its registry"):
        parse_manifest(text.encode(), "")


def test_a_manifest_names_its_blobs_and_their_sizes() -> None:
    other = "sha256:" + "cd" * 32
    body = json.dumps({"config": {"digest": DIGEST, "size": 2}, "layers": [{"digest": other, "size": 5}]}).encode()
    found = parse_manifest(body, OCI)
    assert (found.blobs, found.layers, found.size_bytes) == (((DIGEST, 2), (other, 5)), 1, 7)


def test_only_a_registry_that_the_operator_allowed_leads_to_another_one() -> None:
    allowed = parse_allowed("http://10.0.0.1:5000"), parse_allowed("http://10.0.0.2:5000")
    rules = RegistryRules(frozenset(allowed))
    url = f"{allowed[1].url}/token"
    assert rules.led_by(allowed[0]).follow(url).endpoint == allowed[1]
    with pytest.raises(RegistryRefusedError, match="is not a public address"):
        rules.led_by(Endpoint("registry.example", 443)).follow(url)


@pytest.mark.parametrize("host", ["registry.example", "localhost", "10.0.0.1"])
def test_a_login_leaves_the_machine_with_tls_only(host: str) -> None:
    check_login(Endpoint(host, 443))
    check_login(Endpoint("127.0.0.1", 80, plain=True))
    with pytest.raises(RegistryRefusedError, match="has no TLS, so no login is sent to it"):
        check_login(Endpoint(host, 80, plain=True))
