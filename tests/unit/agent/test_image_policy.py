"""Image policy: pull references, meaning of refusals, eviction, and the inventory."""

from __future__ import annotations

import json
import logging
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from node_agent.images.policy import (
    Disk,
    Mirror,
    Platform,
    PulledImage,
    PullFailed,
    PullFault,
    PullSearch,
    engine_platform,
    fault_of,
    has_room,
    images_to_evict,
    images_to_prefetch,
    next_step,
    parse_mirror,
    pull_references,
    record_refusal,
)
from node_agent.images.store import ImageInventory
from offchain.schema.manifest.types import ImageRef

DIGEST = "sha256:" + "ab" * 32
MINUTE = 60_000
GIB = 1 << 30


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("nginx", "library/nginx"),
        ("lab/train", "lab/train"),
        ("ghcr.io/lab/train", "lab/train"),
        ("localhost/x", "x"),
        ("registry:5000/a/b/c", "a/b/c"),
    ],
)
def test_a_mirror_has_every_name_without_its_registry(name: str, path: str) -> None:
    image = ImageRef(name, DIGEST)
    assert pull_references(image, Mirror("mirror:443", "/cache")) == (
        f"mirror:443/cache/{path}@{DIGEST}",
        image.reference,
    )
    assert pull_references(image, None) == (image.reference,)


def test_an_image_named_by_its_mirror_is_asked_for_once() -> None:
    assert pull_references(ImageRef("mirror:443/x", DIGEST), Mirror("mirror:443", "")) == (f"mirror:443/x@{DIGEST}",)


@pytest.mark.parametrize(
    ("url", "mirror"),
    [
        ("https://mirror.example", Mirror("mirror.example", "")),
        ("https://mirror.example:5000/", Mirror("mirror.example:5000", "")),
        ("https://mirror.example/docker/hub/", Mirror("mirror.example", "/docker/hub")),
        ("http://127.0.0.1:5000", Mirror("127.0.0.1:5000", "", plain=True)),
        ("http://localhost:5000", Mirror("localhost:5000", "", plain=True)),
        ("https://[2001:db8::1]:5000", Mirror("[2001:db8::1]:5000", "")),
    ],
)
def test_addresses_of_mirrors(url: str, mirror: Mirror) -> None:
    assert parse_mirror(url) == mirror


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mirror.example", "is not the address of a registry"),
        ("ftp://mirror.example", "is not the address of a registry"),
        ("https://user:secret@mirror.example", "is not the address of a registry"),
        ("https://mirror.example/?x=1", "is not the address of a registry"),
        ("https://", "is not the address of a registry"),
        ("http://mirror.example", "write https://mirror.example"),
        ("https://mirror.example/Upper", "cannot stand before image names"),
    ],
)
def test_an_invalid_mirror_is_refused_with_a_sentence(url: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_mirror(url)


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("manifest for a@sha256:00 not found: manifest unknown: manifest unknown", PullFault.ABSENT),
        ("repository lab/x not found: name unknown: repository name not known to registry", PullFault.ABSENT),
        (
            "pull access denied for x, repository does not exist or may require 'docker login': denied: requested",
            PullFault.DENIED,
        ),
        ("unauthorized: authentication required", PullFault.DENIED),
        ('Get "https://nowhere.invalid/v2/": dial tcp: lookup nowhere.invalid: no such host', PullFault.PASSING),
        ("dial tcp 127.0.0.1:5000: connect: connection refused", PullFault.PASSING),
        ("received unexpected HTTP status: 503 Service Unavailable", PullFault.PASSING),
        ("toomanyrequests: You have reached your pull rate limit", PullFault.PASSING),
        ("no matching manifest for linux/amd64 in the manifest list entries", PullFault.PLATFORM),
        ("manifest verification failed for digest sha256:00", PullFault.CORRUPT),
        ("filesystem layer verification failed for digest sha256:00", PullFault.CORRUPT),
        ("what came did not match the digest", PullFault.CORRUPT),
        ("failed to register layer: write /x: no space left on device", PullFault.FULL),
        ('unsupported media type "application/vnd.example"', PullFault.UNFIT),
        ("something nobody has seen", PullFault.PASSING),
    ],
)
def test_engine_messages_are_classified(message: str, fault: PullFault) -> None:
    assert fault_of(message, f"lab/x@{DIGEST}") is fault


@pytest.mark.parametrize("name", ["lab/b818429", "lab/429", "forbidden/love", "origin:1/lab/unauthorized"])
def test_the_name_of_an_image_does_not_affect_the_fault(name: str) -> None:
    reference = f"{name}@{DIGEST}"
    for said in (f"manifest for {reference} not found: manifest unknown", f"{name}: manifest unknown"):
        assert fault_of(said, reference) is PullFault.ABSENT


def test_an_engine_runs_its_own_platform() -> None:
    mine = engine_platform("linux", "x86_64")
    assert mine == Platform("linux", "amd64")
    assert mine.runs(Platform("linux", "amd64"))
    assert mine.runs(Platform("", ""))
    assert not mine.runs(Platform("linux", "arm64"))
    assert not mine.runs(Platform("windows", "amd64"))
    assert engine_platform("linux", "riscv64") == Platform("linux", "riscv64")


def held(name: str, used_min: int, size: int = GIB) -> PulledImage:
    return PulledImage(name, f"id-{name}", size, used_min * MINUTE)


OLD, MIDDLE, NEW = held("old", 0), held("middle", 10), held("new", 60)
NOW = 65 * MINUTE


def test_the_longest_unused_go_first_and_only_as_many_as_needed() -> None:
    assert images_to_evict([NEW, OLD, MIDDLE], frozenset(), NOW, 3 * GIB) == ()
    assert images_to_evict([NEW, OLD, MIDDLE], frozenset(), NOW, 2 * GIB) == (OLD,)
    assert images_to_evict([NEW, OLD, MIDDLE], frozenset(), NOW, 3 * GIB - 1) == (OLD,)


def test_images_in_use_or_recently_requested_stay() -> None:
    assert images_to_evict([NEW, OLD, MIDDLE], frozenset({"id-old"}), NOW, 0) == (MIDDLE,)
    assert images_to_evict([NEW], frozenset(), NOW, 0) == ()
    assert images_to_evict([NEW], frozenset(), 70 * MINUTE, 0) == (NEW,)


def test_a_full_disk_evicts_all_idle_images() -> None:
    assert images_to_evict([NEW, OLD, MIDDLE], frozenset(), NOW, 100 * GIB, all_idle=True) == (OLD, MIDDLE)


def test_a_pull_stops_at_the_quota_and_before_the_disk_is_full() -> None:
    plenty, scarce = Disk(1000 * GIB, 100 * GIB), Disk(1000 * GIB, GIB)
    assert has_room(GIB, GIB, plenty)
    assert not has_room(GIB + 1, GIB, plenty)
    assert not has_room(0, GIB, scarce)
    assert has_room(0, GIB, None)
    assert has_room(0, GIB, Disk(10 * GIB, GIB))


def test_prefetching_starts_each_image_once_within_the_limit() -> None:
    one, two, three = (ImageRef(name, DIGEST) for name in "abc")
    assert images_to_prefetch([one, two, one, three], [], 3) == (one, two, three)
    assert images_to_prefetch([one, two, three], [one.reference], 3) == (two, three)
    assert images_to_prefetch([two, three], [one.reference, "x"], 3) == (two,)
    assert images_to_prefetch([three], ["x", "y", "z", "w"], 3) == ()


def test_a_registry_that_is_not_allowed_is_not_asked_again() -> None:
    search = record_refusal(PullSearch(("mirror/x", "origin/x")), "origin/x", PullFault.FORBIDDEN, "no public address")
    search = record_refusal(search, "mirror/x", PullFault.ABSENT, "not found")
    end = next_step(search)
    assert isinstance(end, PullFailed)
    assert end.fault is PullFault.FORBIDDEN


def test_every_fault_has_a_weight() -> None:
    for fault in PullFault:
        search = record_refusal(record_refusal(PullSearch(("a", "b")), "a", fault, ""), "b", PullFault.ABSENT, "")
        step = next_step(replace(search, open=()))
        assert isinstance(step, PullFailed)
        assert step.fault is fault


# --- the inventory ----------------------------------------------------------------------------------------------------


def test_the_inventory_is_stored_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "images.json"
    inventory = ImageInventory(path)
    inventory.add(OLD)
    inventory.add(NEW)
    inventory.touch("id-old", 99)
    inventory.touch("id-of-the-machine", 99)
    inventory.drop("new")
    assert ImageInventory(path).images == (PulledImage("old", "id-old", GIB, 99),)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["images.json"]


def test_an_image_is_removed_by_the_name_that_the_engine_has_for_it(tmp_path: Path) -> None:
    path = tmp_path / "images.json"
    ImageInventory(path).add(replace(OLD, local_name="127.0.0.1:1/gantry/aa@sha256:00"))
    (held,) = ImageInventory(path).images
    assert held.removed_by == "127.0.0.1:1/gantry/aa@sha256:00"
    entry = json.loads(path.read_text())[0]
    del entry["local_name"]  # as earlier releases wrote it
    path.write_text(json.dumps([entry]))
    (held,) = ImageInventory(path).images
    assert held.removed_by == "old"


@pytest.mark.parametrize("text", ["", "{", "[1]", '[{"reference": "a"}]', "null", "\udcff"])
def test_an_invalid_inventory_is_logged_and_replaced(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "images.json"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with caplog.at_level(logging.WARNING):
        inventory = ImageInventory(path)
    assert inventory.images == ()
    assert "images.json cannot be read" in caplog.text
    inventory.add(OLD)
    assert [entry["reference"] for entry in json.loads(path.read_text())] == ["old"]


def test_an_inventory_that_cannot_be_written_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    inventory = ImageInventory(tmp_path / "away" / "images.json")
    inventory.add(OLD)
    assert inventory.images == (OLD,)
    assert "cannot be written" in caplog.text
