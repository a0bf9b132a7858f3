"""Whether the images of a manifest lie on a host's disk, as far as is known."""

from __future__ import annotations

from dataclasses import replace

from core_builders import host
from score_cases import WANT, fleet

from offchain.core.planning.scores.image import image

IMAGE = b"d" * 32


def test_where_its_manifest_ran_lately_an_image_counts_as_there():
    there = fleet(host("a"), host("b"))
    there.ran(IMAGE, "a")
    assert image(replace(WANT, manifest=IMAGE), there.facts).tolist() == [0, 1]


def test_of_a_manifest_that_ran_nowhere_all_hosts_are_alike():
    there = fleet(host("a"), host("b"))
    there.ran(IMAGE, "a")
    assert image(replace(WANT, manifest=b"other"), there.facts).tolist() == [1, 1]
    assert image(WANT, there.facts).tolist() == [0, 0]


def test_a_host_that_ran_it_and_is_no_more_helps_nobody():
    there = fleet(host("a"), host("b"))
    there.ran(IMAGE, "unheard-of")
    assert image(replace(WANT, manifest=IMAGE), there.facts).tolist() == [1, 1]
