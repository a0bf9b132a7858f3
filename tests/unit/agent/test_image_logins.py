"""A tenant's login at a registry: format, scope and secrecy."""

from __future__ import annotations

import dataclasses

import pytest
from agent_builders import a_service, a_spec

from node_agent.core.values import PodSpec
from node_agent.images import logins
from node_agent.images.logins import MAX_LOGIN_BYTES, BlobClaims, ImageAccess, Login, parse_login, unproven
from node_agent.images.policy import MAX_ACCOUNTS, PulledImage, accounts_after, may_use
from node_agent.runtime.codec import dumps, loads
from node_agent.runtime.delivered_files import FileStore
from offchain.schema.manifest.types import DeliveredFile, ImageRef, RegistryLogin

DIGEST = "sha256:" + "ab" * 32
LOGIN = Login("ghcr.io", "anna", "pass:word")
SPEC = a_spec(
    1,
    a_service(files=(DeliveredFile("token", "/run/secrets/token", None),)),
    account="A",
    registry_login=RegistryLogin("ghcr.io", "lab"),
)


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_a_login_is_one_line(end: bytes) -> None:
    found = parse_login(b"anna:pass:word" + end, "ghcr.io")
    assert found == LOGIN
    assert found.header == "Basic YW5uYTpwYXNzOndvcmQ="


@pytest.mark.parametrize(
    "data",
    [b"", b"secret", b":secret", b"secret:", b"secret:a\nb", b"secret:a\n\n", b"secret:\x00", b"secret:\xff",
     b"secret:" + b"a" * MAX_LOGIN_BYTES],
)  # fmt: skip
def test_an_invalid_login_is_refused_without_its_content(data: bytes) -> None:
    with pytest.raises(ValueError, match="it is not USER:PASSWORD in one line of at most 4096 bytes") as caught:
        parse_login(data, "ghcr.io")
    assert "secret" not in str(caught.value)


def test_a_login_is_not_in_the_text_of_anything_that_has_it() -> None:
    for text in (repr(LOGIN), str(LOGIN), repr(ImageAccess("A", LOGIN)), f"{LOGIN!s}"):
        assert "anna" not in text
        assert "pass" not in text


def test_a_login_is_for_the_images_at_its_registry() -> None:
    access = ImageAccess("A", LOGIN)
    assert access.to(ImageRef("ghcr.io/lab/x", DIGEST)) == access
    for name in ("lab/x", "ghcr.io:443/lab/x", "ghcr.io.example/lab/x", "a.ghcr.io/lab/x", "ghcr/io/x"):
        assert access.to(ImageRef(name, DIGEST)) == ImageAccess("A")


def test_the_login_of_a_pod_is_delivered_and_read_by_nobody_else(tmp_path) -> None:
    (tmp_path / "memory").mkdir()
    store = FileStore(tmp_path / "agent", tmp_path / "memory")
    assert SPEC.files == {"token", "lab"}
    with pytest.raises(ValueError, match=r'"lab" is the login at ghcr\.io, but it is not USER:PASSWORD') as caught:
        store.put(SPEC, "lab", b"hidden")
    assert "hidden" not in str(caught.value)
    store.put(SPEC, "lab", b"anna:secret")
    path = store.path(1, "lab")
    assert path.is_relative_to(tmp_path / "memory")
    assert path.stat().st_mode & 0o777 == 0o600
    assert store.names(SPEC) == ("lab",)


def test_a_pod_with_a_login_is_kept_and_read_again() -> None:
    assert loads(PodSpec, dumps(SPEC)) == SPEC
    assert loads(PodSpec, dumps(a_spec(2))).registry_login is None


# --- whose images they are ------------------------------------------------------------------------------------------


def held(
    reference: str = "ghcr.io/lab/x@1", accounts: tuple[str, ...] = ("A",), blobs: tuple[str, ...] = ()
) -> PulledImage:
    return PulledImage(reference, "id", 1, 0, "name", accounts, blobs)


@pytest.mark.parametrize(
    ("images", "may"),
    [
        ([], set()),  # of another agent, or of a pull that is not complete
        ([held()], {"A"}),
        ([held(accounts=("",))], set()),
        ([held(accounts=())], {"A", "B", ""}),
        ([held(), held("public/x@1", ())], {"A", "B", ""}),  # who pulled it without a login showed that it is public
        ([dataclasses.replace(held(), id="other")], set()),
    ],
)
def test_a_pulled_image_is_available_to_its_accounts(images: list[PulledImage], may: set[str]) -> None:
    assert {account for account in ("A", "B", "") if may_use(images, "id", account, by_agent=True)} == may


def test_the_machines_own_images_are_available_to_everybody() -> None:
    assert may_use([], "id", "A", by_agent=False)
    assert not may_use([held()], "id", "B", by_agent=False)


def test_accounts_come_together_and_the_earliest_are_forgotten() -> None:
    assert accounts_after(None, "id", "A", with_login=True) == ("A",)
    assert accounts_after(held(accounts=("A", "B")), "id", "A", with_login=True) == ("B", "A")
    assert accounts_after(held(), "other", "B", with_login=True) == ("B",)
    assert accounts_after(held(), "id", "B", with_login=False) == ()
    many = held(accounts=tuple(map(str, range(MAX_ACCOUNTS))))
    assert accounts_after(many, "id", "A", with_login=True) == (*map(str, range(1, MAX_ACCOUNTS)), "A")


@pytest.mark.parametrize(
    ("images", "account", "name", "found"),
    [
        ([held(blobs=("1", "2"))], "B", "evil.example/x", ("1", "2")),
        ([held(blobs=("1", "2"))], "", "evil.example/x", ("1", "2")),
        ([held(blobs=("1", "2"))], "A", "evil.example/x", ()),
        ([held(blobs=("1", "2"))], "B", "ghcr.io/lab/x", ()),  # the same repository let it in
        ([held(blobs=("1", "2")), held("public/x@1", (), ("2",))], "B", "evil.example/x", ("1",)),
        ([held(blobs=("4",))], "B", "evil.example/x", ()),
    ],
)
def test_blobs_from_other_accounts_logins_must_be_proven(
    images: list[PulledImage], account: str, name: str, found: tuple[str, ...]
) -> None:
    assert unproven(("1", "2", "3"), images, BlobClaims(), account, name) == found


def test_blobs_of_pulls_in_progress_must_be_proven_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logins, "MAX_CLAIMS", 2)
    claims = BlobClaims()
    claims.add(["1", "2"], "A", "ghcr.io/lab/x")
    assert unproven(("1", "2", "3"), (), claims, "B", "evil.example/x") == ("1", "2")
    assert unproven(("1", "2", "3"), (), claims, "A", "evil.example/x") == ()
    assert unproven(("1", "2", "3"), (), claims, "B", "ghcr.io/lab/x") == ()
    claims.add(["3"], "", "ghcr.io/lab/y")
    assert unproven(("1", "2", "3"), (), claims, "", "evil.example/x") == ("2", "3")
