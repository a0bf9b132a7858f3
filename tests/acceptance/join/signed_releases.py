"""A publisher of releases, and an agent that has to tell its releases from others."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from fresh_machine import Machine

from node_agent.core.release_statement import ReleaseStatement, parse_version, sign_statement
from node_agent.install.make_release import load_key, make, new_key
from offchain.adapters.keys.signer import Ed25519Signer


@dataclass
class Publisher:
    """Makes releases as scripts/release-agent does. `second` replaces `first`; `stranger` is nobody's key."""

    folder: Path
    first: Ed25519Signer = field(init=False)
    second: Ed25519Signer = field(init=False)
    stranger: Ed25519Signer = field(init=False)

    def __post_init__(self) -> None:
        for name in ("first", "second", "stranger"):
            new_key(self.folder / name)
            setattr(self, name, load_key(self.folder / name))

    def release(self, version: str, key: Ed25519Signer, next_keys: tuple[str, ...] = ()) -> tuple[Path, str]:
        """Write a bundle and its statement; gives the bundle and its SHA-256."""
        path = self.folder / f"agent-{version}.tar.gz"
        return path, make(path, version, [key], next_keys, datetime.now(UTC))

    def statement(self, name: str, version: str, digest: str, key: Ed25519Signer) -> Path:
        """Write another statement for a bundle."""
        path = self.folder / name
        made = ReleaseStatement(parse_version(version), digest, "2026-01-31T12:00:00Z")
        path.write_bytes(sign_statement(made, [key]))
        return path


def takes_only_signed_releases(agent: Machine, publisher: Publisher) -> None:
    """Update an agent that keeps the publisher's first key: signed releases run, all others change nothing."""
    second = publisher.second.public_key.hex()
    new, digest = publisher.release("0.2.0", publisher.first, (second,))
    by_stranger = publisher.statement("stranger", "0.2.0", digest, publisher.stranger)
    altered = publisher.folder / "altered"
    altered.write_bytes(Path(f"{new}.statement").read_bytes().replace(b'"0.2.0"', b'"0.9.0"'))
    _refused(agent, "runs only releases with a statement", str(new), "--digest", digest, "--statement", "nowhere")
    _refused(agent, "this agent keeps", str(new), "--digest", digest, "--statement", str(by_stranger))
    _refused(agent, "it was altered", str(new), "--statement", str(altered))
    other_bytes = publisher.folder / "other.tar.gz"
    other_bytes.write_bytes(new.read_bytes() + b"\0")
    _refused(agent, f"not {digest}", str(other_bytes), "--statement", f"{new}.statement")

    # A release that names the next key is in use, and that key is the kept one from then on.
    updated = agent.agent("update", str(new), "--json")
    assert updated.code == 0, updated.out + updated.err
    assert updated.last["signed_by"] == publisher.first.public_key.hex()
    _runs(agent, "0.2.0", digest, second)
    old, _ = publisher.release("0.1.9", publisher.second)
    _refused(agent, "version 0.2.0 is in use, and the release is older", str(old))
    newer, digest = publisher.release("0.3.0", publisher.second)
    by_first = publisher.statement("first-key", "0.3.0", digest, publisher.first)
    _refused(agent, f"this agent keeps {second}", str(newer), "--statement", str(by_first))
    updated = agent.agent("update", str(newer), "--json")
    assert updated.code == 0, updated.out + updated.err
    _runs(agent, "0.3.0", digest, second)


def _runs(agent: Machine, version: str, digest: str, key: str) -> None:
    found = agent.status()
    assert (found["version"], found["release"], found["release_keys"]) == (version, digest, [key])


def _refused(agent: Machine, why: str, *arguments: str) -> None:
    before, pid = _files(agent), agent.status()["agent"]["pid"]
    refused = agent.agent("update", *arguments, "--json")
    assert refused.code == 1, refused.out + refused.err
    assert why in refused.last["error"]["message"]
    assert "Nothing was changed" in refused.last["error"]["hint"]
    assert _files(agent) == before
    assert agent.status()["agent"]["pid"] == pid


def _files(agent: Machine) -> dict[str, tuple[int, int]]:
    """All that an update may change, with time and size."""
    places = [agent.state / "release-keys.json", *sorted((agent.state / "releases").rglob("*"))]
    kept = [path for path in places if "__pycache__" not in path.parts and path.is_file()]
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in kept}
