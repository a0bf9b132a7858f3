"""Logins of tenants at registries: for which account an image is wanted, and with which login. No IO, no clock."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass, field

from node_agent.images.policy import PulledImage
from offchain.schema.manifest.types import ImageRef

MAX_LOGIN_BYTES = 4096
MAX_CLAIMS = 65_536
"""Blobs that :class:`BlobClaims` remembers; the oldest are forgotten first."""


@dataclass(frozen=True, slots=True)
class Login:
    """A tenant's user and password at one registry, HOST or HOST:PORT. Its text form has neither of the two."""

    registry: str
    user: str = field(repr=False)
    password: str = field(repr=False)

    @property
    def header(self) -> str:
        """The value of the Authorization header (RFC 7617, UTF-8)."""
        return f"Basic {base64.b64encode(f'{self.user}:{self.password}'.encode()).decode()}"


@dataclass(frozen=True, slots=True)
class ImageAccess:
    """For whom an image is wanted. `account`: who pays for the pod; "" where that is not known."""

    account: str = ""
    login: Login | None = None

    def to(self, image: ImageRef) -> ImageAccess:
        """The access to this image: without the login where the image is at another registry."""
        if self.login is None or self.login.registry == image.registry:
            return self
        return ImageAccess(self.account)


NOBODY = ImageAccess()
"""The access of pulls that all accounts share: no account, and no login."""


def parse_login(data: bytes, registry: str) -> Login:
    """Return the login in the content of a secret: USER:PASSWORD in one line, perhaps with its end of line.

    Raises ValueError with a sentence for the tenant, which has nothing of the content.
    """
    refusal = f"it is not USER:PASSWORD in one line of at most {MAX_LOGIN_BYTES} bytes"
    if len(data) > MAX_LOGIN_BYTES:
        raise ValueError(refusal)
    try:
        text = data.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise ValueError(refusal) from None
    user, colon, password = text.partition(":")
    if not (user and colon and password and text.isprintable()):
        raise ValueError(refusal)
    return Login(registry, user, password)


class BlobClaims:
    """Blobs that were offered to the engine in pulls with a login: by which accounts, and of which image names."""

    def __init__(self) -> None:
        self._of: dict[str, set[tuple[str, str]]] = {}

    def add(self, digests: Iterable[str], account: str, name: str) -> None:
        """Note the blobs of one pull with a login."""
        for digest in digests:
            self._of.setdefault(digest, set()).add((account, name))
        while len(self._of) > MAX_CLAIMS:
            del self._of[next(iter(self._of))]

    def of_others(self, digest: str, account: str, name: str) -> bool:
        """Whether the blob was pulled with logins only by other accounts, and only from other repositories."""
        claims = self._of.get(digest, set())
        return bool(claims) and not any((mine and mine == account) or from_ == name for mine, from_ in claims)


def unproven(
    digests: Iterable[str], held: Iterable[PulledImage], claims: BlobClaims, account: str, name: str
) -> tuple[str, ...]:
    """Return the blobs of an image that the engine may have of other accounts' logins only.

    The engine does not ask for a blob that it has. Whoever knows the digest of another account's layer could name it in
    an image of its own, so its registry has to give these blobs. A repository (`name`) that gave a manifest has the
    right to say who may read its blobs.
    """
    free: set[str] = set()
    closed: set[str] = set()
    for image in held:
        is_mine = not image.accounts or (account and account in image.accounts)
        is_free = is_mine or image.reference.partition("@")[0] == name
        (free if is_free else closed).update(image.blobs)
    return tuple(
        digest
        for digest in digests
        if digest not in free and (digest in closed or claims.of_others(digest, account, name))
    )
