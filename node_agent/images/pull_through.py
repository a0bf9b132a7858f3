"""A registry on loopback through which the engine pulls: it serves only what the agent fetches and checks.

The engine gets a name at this registry instead of the tenant's, so it connects to no address of a tenant's choice. See
docs/adr/0041-images-through-the-agent.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator

from aiohttp import web

from node_agent.images.logins import NOBODY, BlobClaims, ImageAccess, unproven
from node_agent.images.manifests import ImageManifest
from node_agent.images.policy import PulledImage, PullFault
from node_agent.images.ports import PullRefused
from node_agent.images.registry_client import ImageSource, RegistryClient

MAX_MANIFESTS = 16
"""Most manifests that are fetched for one pull: those of an index that an engine examines."""
_TOKEN_BYTES = 16
_NAME = re.compile(rf"127\.0\.0\.1:\d+/gantry/[0-9a-f]{{{2 * _TOKEN_BYTES}}}@sha256:[0-9a-f]{{64}}", re.ASCII)


def is_pull_through_name(name: str) -> bool:
    """Return whether this is an engine's name of an image from a pull through an agent."""
    return _NAME.fullmatch(name) is not None


class OfferedImage:
    """One image at the registry on loopback, until it is withdrawn.

    `fits`: called with the size of an image in bytes, before its first layer is fetched. `lists`: called with the
    digests of an image's blobs before the engine gets them.
    """

    def __init__(
        self,
        source: ImageSource,
        address: str,
        digest: str,
        fits: Callable[[int], bool],
        lists: Callable[[Iterable[str]], None],
    ) -> None:
        self.token = secrets.token_hex(_TOKEN_BYTES)
        self.repository = f"{address}/gantry/{self.token}"
        self.name = f"{self.repository}@{digest}"
        """The name that the engine pulls."""
        self.requests = 0
        self.refused: PullRefused | None = None
        """The reason of a refusal, once known."""
        self.fetched: set[str] = set()
        """Blobs that were fetched from the image's registry and match their digests."""
        self._source = source
        self._fits = fits
        self._lists = lists
        self._manifests: dict[str, ImageManifest] = {}
        self._reachable = {digest}
        self._blobs: dict[str, int] = {}
        self._tasks: set[asyncio.Task[object]] = set()
        self._lock = asyncio.Lock()

    async def manifest(self, digest: str) -> ImageManifest:
        async with self._lock:
            found = self._manifests.get(digest)
            if found is not None:
                return found
            if digest not in self._reachable:
                raise PullRefused("the engine asked for a manifest that is not of this image", PullFault.UNFIT)
            if len(self._manifests) >= MAX_MANIFESTS:
                raise PullRefused(f"an index with more than {MAX_MANIFESTS} manifests to look at", PullFault.UNFIT)
            found = await self._source.manifest(digest)
            if not self._fits(found.size_bytes):
                raise PullRefused(f"its layers have {found.size_bytes >> 20} MiB, which do not fit", PullFault.FULL)
            self._lists(dict(found.blobs))
            self._manifests[digest] = found
            self._reachable.update(found.manifests)
            self._blobs.update(found.blobs)
            return found

    @property
    def blobs(self) -> tuple[str, ...]:
        """Blobs of the images whose manifests were served."""
        return tuple(self._blobs)

    def has_served(self, image_id: str) -> bool:
        """Return whether the image with this id on the engine is one whose manifest was served.

        The id is the digest of the configuration, or in engines with containerd's image store that of a manifest.
        """
        given = {*self._manifests, *(manifest.config for manifest in self._manifests.values())}
        return image_id in given and bool(self._blobs)

    def size_of(self, digest: str) -> int:
        """Return the size of a blob in bytes. Raises PullRefused if no served manifest lists it."""
        try:
            return self._blobs[digest]
        except KeyError:
            raise PullRefused("the engine asked for a blob that is not of this image", PullFault.UNFIT) from None

    async def blob(self, digest: str) -> AsyncGenerator[bytes, None]:
        """Yield the pieces of a blob. Raises PullRefused."""
        async with contextlib.aclosing(self._source.blob(digest, self.size_of(digest))) as pieces:
            async for piece in pieces:
                yield piece
        self.fetched.add(digest)

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Track a request of the engine: count it, cancel it at withdrawal, and record the reason of a refusal."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  (in a coroutine)
        self.requests += 1
        self._tasks.add(task)
        try:
            if self.refused is not None:
                raise self.refused
            yield
        except PullRefused as error:
            self.refused = self.refused or error
            raise
        finally:
            self._tasks.discard(task)

    def withdraw(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()


class PullThrough:
    """The registry on loopback. Used in one event loop."""

    def __init__(self, client: RegistryClient) -> None:
        self._client = client
        self._claims = BlobClaims()
        self._offers: dict[str, OfferedImage] = {}
        self._runner: web.AppRunner | None = None
        self._address = ""
        self._opening = asyncio.Lock()

    async def offer(self, reference: str, fits: Callable[[int], bool], access: ImageAccess = NOBODY) -> OfferedImage:
        """Offer the image `name@digest` to the engine, until :meth:`withdraw`.

        Its manifest is fetched at once. Raises PullRefused.
        """
        source = self._client.source(reference, access.login)
        await self._open()
        name, _, digest = reference.partition("@")

        def claim(digests: Iterable[str]) -> None:
            if access.login is not None:
                self._claims.add(digests, access.account, name)

        offer = OfferedImage(source, self._address, digest, fits, claim)
        await offer.manifest(digest)
        self._offers[offer.token] = offer
        return offer

    async def prove(
        self, offer: OfferedImage, reference: str, access: ImageAccess, pulled: tuple[PulledImage, ...]
    ) -> None:
        """After the engine's pull, fetch the blobs that it had from other accounts' logins.

        `pulled`: the images of earlier pulls. Raises PullRefused if the image's registry does not deliver one of them.
        """
        name = reference.partition("@")[0]
        for digest in unproven(offer.blobs, pulled, self._claims, access.account, name):
            if digest not in offer.fetched:
                async for _ in offer.blob(digest):
                    pass

    def withdraw(self, offer: OfferedImage) -> None:
        self._offers.pop(offer.token, None)
        offer.withdraw()

    async def close(self) -> None:
        for offer in tuple(self._offers.values()):
            self.withdraw(offer)
        if self._runner is not None:
            await self._runner.cleanup()
        await self._client.close()

    async def _open(self) -> None:
        async with self._opening:
            if self._runner is not None:
                return
            application = web.Application()
            application.add_routes(
                [
                    web.get("/v2/", _version),
                    web.get("/v2/gantry/{token}/manifests/{digest}", self._manifest),
                    web.get("/v2/gantry/{token}/blobs/{digest}", self._blob),
                ]
            )
            runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=1)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            host, port = runner.addresses[0][:2]
            self._runner, self._address = runner, f"{host}:{port}"

    async def _manifest(self, request: web.Request) -> web.StreamResponse:
        digest = request.match_info["digest"]
        offer = self._offers.get(request.match_info["token"])
        if offer is None:
            return _error(404, "NAME_UNKNOWN", "there is no pull under this name")
        try:
            with offer.working():
                manifest = await offer.manifest(digest)
        except PullRefused as error:
            return _error(403, "DENIED", str(error))
        headers = {"Content-Type": manifest.media_type, "Docker-Content-Digest": digest}
        return web.Response(body=manifest.body, headers=headers)

    async def _blob(self, request: web.Request) -> web.StreamResponse:
        digest = request.match_info["digest"]
        offer = self._offers.get(request.match_info["token"])
        if offer is None:
            return _error(404, "NAME_UNKNOWN", "there is no pull under this name")
        response = web.StreamResponse(
            headers={"Content-Type": "application/octet-stream", "Docker-Content-Digest": digest}
        )
        try:
            with offer.working():
                response.content_length = offer.size_of(digest)
                if request.method == "HEAD":
                    return response
                async with contextlib.aclosing(offer.blob(digest)) as pieces:
                    async for piece in pieces:
                        if not response.prepared:
                            await response.prepare(request)
                        await response.write(piece)
        except PullRefused as error:
            if not response.prepared:
                return _error(403, "DENIED", str(error))
            # The engine treats a short body as a broken download; its next request gets the reason.
            if request.transport is not None:
                request.transport.abort()
        except ConnectionResetError:
            pass  # the engine has ended its download
        return response


async def _version(_: web.Request) -> web.StreamResponse:
    return web.json_response({}, headers={"Docker-Distribution-Api-Version": "registry/2.0"})


def _error(status: int, code: str, message: str) -> web.StreamResponse:
    return web.json_response({"errors": [{"code": code, "message": message}]}, status=status)
