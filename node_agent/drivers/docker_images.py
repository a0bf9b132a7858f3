"""Images by their digest: found on the engine, or pulled."""

from __future__ import annotations

import contextlib
from typing import Any

import docker

from node_agent.drivers.docker_engine import Engine
from node_agent.ports import DriverError, EngineUnreachable, ImageUnavailable
from offchain.schema.manifest_types import ImageRef


class EngineImages:
    """The images of one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def ensure(self, image: ImageRef) -> str:
        """The engine's own id of the image with this digest; pulled where it is not here."""
        found = await self._engine.call(lambda: self._find(image))
        if found is not None:
            return found
        try:
            await self._engine.call(lambda: self._pull(image))
            found = await self._engine.call(lambda: self._find(image))
        except EngineUnreachable:
            raise
        except DriverError as error:
            raise ImageUnavailable(f"the image {image.reference} cannot be pulled: {error}") from None
        if found is None:
            raise ImageUnavailable(f"the image {image.reference} was pulled, but the engine does not have that digest")
        return found

    async def user(self, image: str) -> str:
        """The user that the image itself says its programs run as; "" for root."""
        found: dict[str, Any] = await self._engine.call(lambda: self._engine.api.inspect_image(image))
        return str((found.get("Config") or {}).get("User") or "")

    def _find(self, image: ImageRef) -> str | None:
        api = self._engine.api
        with contextlib.suppress(docker.errors.NotFound):
            found: str = api.inspect_image(image.digest)["Id"]
            return found
        for candidate in api.images(all=False):
            digests = candidate.get("RepoDigests") or []
            if any(digest.rpartition("@")[2] == image.digest for digest in digests):
                return str(candidate["Id"])
        return None

    def _pull(self, image: ImageRef) -> None:
        for step in self._engine.api.pull(image.reference, stream=True, decode=True):
            if "error" in step:
                raise DriverError(str(step["error"]))
