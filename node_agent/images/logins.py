"""Logins of tenants at registries, and the right of accounts to use pulled blobs. No IO, no clock."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass, field

from node_agent.images.policy import PulledImage
from offchain.schema.manifest.types import ImageRef

MAX_LOGIN_BYTES = 4096
MAX_CLAIMS = 65_536
"""Most blobs that :class:`BlobClaims` stores; the oldest are removed first."""


@dataclass(frozen=True, slots=True)
class Login:
    """A tenant's user and password at one registry, HOST or HOST:PORT. Its repr contains neither of the two."""

    registry: str
    user: str = field(repr=False)
    password: str = field(repr=False)

    @property
    def header(self) -> str:
        """The value of the Authorization header (RFC 7617, UTF-8)."""
        return f"Basic {base64.b64encode(f'{self.user}:{self.password}'.encode()).decode()}"


@dataclass(frozen=True, slots=True)
class ImageAccess:
    """The account that needs an image, and its login. `account`: the payer of the pod; "" if unknown."""

    account: str = ""
    login: Login | None = None

    def to(self, image: ImageRef) -> ImageAccess:
        """Return the access to this image: without the login if the image is at another registry."""
        if self.login is None or self.login.registry == image.registry:
            return self
        return ImageAccess(self.account)


NOBODY = ImageAccess()
"""The access of pulls that all accounts share: no account, and no login."""


def parse_login(data: bytes, registry: str) -> Login:
    """Return the login in the content of a secret: USER:PASSWORD in one line, with or without a line end.

    Raises ValueError with a sentence for the tenant that contains nothing of the secret.
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
    """Accounts and image names that pulled each blob with a login."""

    def __init__(self) -> None:
        self._of: dict[str, set[tuple[str, str]]] = {}

    def add(self, digests: Iterable[str], account: str, name: str) -> None:
        """Record the blobs of one pull with a login."""
        for digest in digests:
            self._of.setdefault(digest, set()).add((account, name))
        while len(self._of) > MAX_CLAIMS:
            del self._of[next(iter(self._of))]

    def of_others(self, digest: str, account: str, name: str) -> bool:
        """Return whether the blob was pulled with logins only by other accounts, and only from other repositories."""
        claims = self._of.get(digest, set())
        return bool(claims) and not any((owner and owner == account) or from_ == name for owner, from_ in claims)


def unproven(
    digests: Iterable[str], pulled: Iterable[PulledImage], claims: BlobClaims, account: str, name: str
) -> tuple[str, ...]:
    """Return the blobs of an image that the engine may have only from other accounts' logins.

    The engine does not request a blob that it has. A tenant who knows the digest of another account's layer could name
    it in an image of its own, so its registry has to deliver these blobs. A repository (`name`) that delivered a
    manifest decides who may read its blobs.
    """
    free: set[str] = set()
    closed: set[str] = set()
    for image in pulled:
        is_mine = not image.accounts or (account and account in image.accounts)
        is_free = is_mine or image.reference.partition("@")[0] == name
        (free if is_free else closed).update(image.blobs)
    return tuple(
        digest
        for digest in digests
        if digest not in free and (digest in closed or claims.of_others(digest, account, name))
    )
