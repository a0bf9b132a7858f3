"""How the pods of tasks are to lie to each other: told by their manifests, which the chain keeps while they live."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Final

from offchain.core.values import Layout
from offchain.link.typed import GantryChain, TaskAndSpec
from offchain.schema.manifest import parse_manifest
from offchain.schema.manifest_types import ManifestError, PlacementSpec

MOST: Final = 4096
"""Manifests of which it is remembered."""

_WORDS: Final = (b"spread", b"pack")


class Layouts:
    """Reads manifests of tasks with several pods, each once."""

    def __init__(self, chain: GantryChain) -> None:
        self._chain = chain
        self._known: OrderedDict[bytes, Layout] = OrderedDict()

    async def of(self, tasks: Iterable[TaskAndSpec], at: bytes) -> Mapping[int, Layout]:
        """The layouts of those that have one, as of this block."""
        several = [task for task in tasks if task.spec.pods_max > 1]
        new = {task.spec.manifest_digest: task.record.first for task in several} if several else {}
        new = {digest: first for digest, first in new.items() if digest not in self._known}
        texts = await self._chain.manifests(new.values(), at) if new else {}
        for digest, first in new.items():
            # The manifests of final tasks are gone.
            if first in texts:
                self._known[digest] = layout_in(texts[first])
        found = {task.id: self._known.get(task.spec.manifest_digest, Layout.ANY) for task in several}
        while len(self._known) > MOST:
            self._known.popitem(last=False)
        return {number: layout for number, layout in found.items() if layout is not Layout.ANY}


def layout_in(text: bytes) -> Layout:
    """What a manifest says. One that cannot be read says nothing: hosts do not take it either."""
    if not any(word in text for word in _WORDS):
        return Layout.ANY
    try:
        return layout_of(parse_manifest(text).placement)
    except ManifestError:
        return Layout.ANY


def layout_of(placement: PlacementSpec) -> Layout:
    """What a manifest's placement says."""
    if placement.spread is not None:
        return Layout.HOSTS if placement.spread == "hosts" else Layout.PROVIDERS
    return Layout.PACKED if placement.pack else Layout.ANY
