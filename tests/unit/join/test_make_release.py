"""The tool that makes and signs releases: its keys are secret, and nothing is made of what it refuses."""

import stat

import pytest
from click.testing import CliRunner

from node_agent.core.release_statement import check_signature, parse_statement
from node_agent.install import make_release
from node_agent.install.bundle import sha256_of


@pytest.fixture
def run(tmp_path, monkeypatch):
    sources = tmp_path / "sources"
    (sources / "node_agent").mkdir(parents=True)
    (sources / "node_agent/__init__.py").touch()
    (sources / "requirements.lock").touch()

    def build(target, **options):
        return real(target, sources, **options)

    real = make_release.build
    monkeypatch.setattr(make_release, "build", build)
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(make_release.main, arguments)


def test_a_release_is_signed_with_a_key_from_a_file(run, tmp_path):
    public = run("--new-key", "key").stdout.strip()
    secret = (tmp_path / "key").read_text().strip()
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    made = run("--key", "key", "--version", "1.2.3", "--next-key", "ab" * 32, "agent.tar.gz")
    assert made.exit_code == 0, made.output
    signed = parse_statement((tmp_path / "agent.tar.gz.statement").read_bytes())
    assert check_signature(signed, [public]) == public
    assert str(signed.statement.version) == "1.2.3"
    assert signed.statement.next_keys == ("ab" * 32,)
    assert signed.statement.sha256 == sha256_of(tmp_path / "agent.tar.gz") == made.stdout.strip()
    assert secret not in made.output


def test_without_a_key_only_the_bundle_is_made(run, tmp_path):
    (tmp_path / "agent.tar.gz.statement").write_text("of an earlier bundle")
    assert run("agent.tar.gz").stdout.strip() == sha256_of(tmp_path / "agent.tar.gz")
    assert not (tmp_path / "agent.tar.gz.statement").exists()


def test_a_key_that_others_may_read_is_refused(run, tmp_path):
    run("--new-key", "key")
    (tmp_path / "key").chmod(0o640)
    refused = run("--key", "key", "agent.tar.gz")
    assert refused.exit_code == 1
    assert "chmod 600 key" in refused.stderr
    assert not (tmp_path / "agent.tar.gz").exists()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "Give either"),
        (("--new-key", "new", "agent.tar.gz"), "Give either"),
        (("--next-key", "ab" * 32, "agent.tar.gz"), "give --key, too"),
        (("--key", "missing", "agent.tar.gz"), "cannot be read"),
        (("--key", "bad", "agent.tar.gz"), "is not a release key"),
        (("--key", "key", "--key", "key", "agent.tar.gz"), "listed twice"),
        (("--key", "key", "--next-key", "ab", "agent.tar.gz"), "64 hex digits"),
        (("--key", "key", "--version", "1.2", "agent.tar.gz"), "not a version"),
        (("--new-key", "key"), "exists already"),
    ],
)
def test_what_it_cannot_do_leaves_nothing(run, tmp_path, arguments, why):
    run("--new-key", "key")
    (tmp_path / "bad").write_text("bad")
    (tmp_path / "bad").chmod(0o600)
    refused = run(*arguments)
    assert refused.exit_code != 0
    assert why in refused.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad", "key", "sources"]
