"""With which secret hosts log in at a registry: what a manifest may say of it."""

import pytest
from manifest_builders import DIGEST, Change, gantry, parse, refused, service, together, top

from offchain.schema.manifest.types import ImageRef, RegistryLogin

REGISTRY = "registry.example:5000"
SECRET = top(secrets={"lab": {"external": True}, "other": {"external": True}})
SAID = {"registry": REGISTRY, "secret": "lab"}


def test_the_secret_of_a_login_is_delivered_and_mounted_nowhere() -> None:
    found = parse(together(SECRET, service(secrets=["other"]), gantry(registry_login=SAID)))
    assert found.registry_login == RegistryLogin(REGISTRY, "lab")
    assert found.deliveries == ("other", "lab")
    assert [file.name for file in found.main.files] == ["other"]


def test_without_a_login_nothing_is_delivered_for_it() -> None:
    found = parse(SECRET)
    assert (found.registry_login, found.deliveries) == (None, ())


def test_an_image_without_a_registry_is_at_docker_hub() -> None:
    login = {"registry": "docker.io", "secret": "lab"}
    found = parse(together(SECRET, service(image=f"lab/train@{DIGEST}"), gantry(registry_login=login)))
    assert found.registry_login == RegistryLogin("docker.io", "lab")


@pytest.mark.parametrize(
    ("name", "registry"),
    [("nginx", "docker.io"), ("lab/x", "docker.io"), ("localhost/x", "localhost"), ("ghcr.io/lab/x", "ghcr.io"),
     ("a:5000/x", "a:5000")],
)  # fmt: skip
def test_the_registry_of_an_image_is_what_its_name_begins_with(name: str, registry: str) -> None:
    assert ImageRef(name, DIGEST).registry == registry


@pytest.mark.parametrize(
    ("change", "path", "message", "hint"),
    [
        (gantry(registry_login=SAID), ".secret", 'there is no secret "lab"', "Add secrets: {lab: {external: true}}"),
        (
            together(SECRET, gantry(registry_login={**SAID, "registry": "registry.example"})),
            ".registry",
            'no image is at the registry "registry.example"',
            f"Write {REGISTRY}",
        ),
        (together(SECRET, gantry(registry_login={"secret": "lab"})), "", "registry is missing", "{registry: ghcr.io"),
        (together(SECRET, gantry(registry_login={"registry": REGISTRY})), "", "secret is missing", "secret: NAME}"),
        (together(SECRET, gantry(registry_login={**SAID, "password": "x"})), ".password", 'unknown key "password"', ""),
        (
            together(SECRET, service(secrets=["lab"]), gantry(registry_login=SAID)),
            None,
            '"lab" is the login at a registry',
            "Remove it from the secrets of train",
        ),
    ],
)
def test_a_login_that_cannot_be_used_is_refused(change: Change, path: str | None, message: str, hint: str) -> None:
    found_path, found_message, found_hint = refused(change)
    assert found_path == ("services.train.secrets" if path is None else f"x-gantry.registry_login{path}")
    assert message in found_message
    assert hint in found_hint
