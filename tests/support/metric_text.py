"""Metrics as a process serves them, read with the parser of the Prometheus client library."""

import urllib.request
from typing import NamedTuple

from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families

OPENMETRICS = "application/openmetrics-text; version=1.0.0"


class Sample(NamedTuple):
    """Name and labels of a time series."""

    name: str
    labels: tuple[tuple[str, str], ...]


def samples(text: str, *, openmetrics: bool = False) -> dict[Sample, float]:
    """The values of all time series; each occurs once."""
    parse = parse_openmetrics if openmetrics else text_string_to_metric_families
    found: dict[Sample, float] = {}
    for family in parse(text):
        for one in family.samples:
            key = Sample(one.name, tuple(sorted(one.labels.items())))
            assert key not in found, key
            found[key] = one.value
    return found


def value(found: dict[Sample, float], name: str, **labels: str) -> float:
    return found[Sample(name, tuple(sorted(labels.items())))]


def label_names(found: dict[Sample, float]) -> dict[str, set[tuple[str, ...]]]:
    """The names of labels with which each metric occurs; the suffixes and `le` of histograms are removed."""
    names: dict[str, set[tuple[str, ...]]] = {}
    for name, labels in found:
        own = tuple(label for label, _ in labels if label != "le")
        names.setdefault(base_name(name), set()).add(own)
    return names


def base_name(sample: str) -> str:
    for suffix in ("_bucket", "_sum", "_count", "_created"):
        sample = sample.removesuffix(suffix)
    return sample


def scrape(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310  (a URL of this test's own process)
        return answer.read().decode()
