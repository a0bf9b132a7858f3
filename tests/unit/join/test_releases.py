"""Which release is started, whatever happens to those who start it."""

import pytest

from node_agent.install.releases import INSTALLED, MAX_STARTS, LaunchChoice, Releases, ReleaseTrial, choose

NEW, OLD = "a" * 64, "b" * 64


@pytest.fixture
def releases(tmp_path):
    return Releases(tmp_path)


def test_the_installed_one_runs_until_another_was_tried(releases):
    assert releases.decide(0) == LaunchChoice(INSTALLED, None)


def test_a_new_one_is_tried_and_confirmed(releases):
    releases.begin_trial(NEW, until_ms=100)
    assert releases.decide(1).release == NEW
    assert releases.current() == INSTALLED
    assert releases.confirm(NEW)
    assert not releases.confirm(NEW)
    assert releases.decide(10_000) == LaunchChoice(NEW, None)


def test_a_release_that_ends_repeatedly_is_given_up(releases):
    releases.begin_trial(NEW, until_ms=1_000)
    assert [releases.decide(now).release for now in range(MAX_STARTS)] == [NEW] * MAX_STARTS
    assert releases.decide(5) == LaunchChoice(INSTALLED, None, failed=NEW)
    assert releases.decide(6) == LaunchChoice(INSTALLED, None)


def test_a_release_that_takes_too_long_is_given_up(releases):
    releases.begin_trial(OLD, until_ms=100)
    releases.decide(0)
    releases.confirm(OLD)
    releases.begin_trial(NEW, until_ms=1_000)
    assert releases.decide(1_000) == LaunchChoice(OLD, None, failed=NEW)
    assert releases.current() == OLD
    assert not releases.confirm(NEW)


def test_the_updater_gives_up_once(releases):
    releases.begin_trial(NEW, until_ms=100)
    assert not releases.give_up(OLD)
    assert releases.give_up(NEW)
    assert not releases.give_up(NEW)
    assert releases.decide(0) == LaunchChoice(INSTALLED, None)


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"release": 1}'])
def test_damaged_files_lead_to_the_installed_release(releases, text):
    releases.begin_trial(NEW, until_ms=100)
    (releases.folder / "trial.json").write_text(text)
    (releases.folder / "current").write_text("../../etc")
    assert releases.decide(0) == LaunchChoice(INSTALLED, None)


def test_only_complete_releases_are_found(releases, tmp_path):
    home = releases.folder / NEW
    home.mkdir(parents=True)
    assert releases.find(NEW) is None
    python = tmp_path / "python"
    python.write_text("")
    releases.complete(NEW, str(python))
    assert releases.find(NEW) is None
    python.chmod(0o700)
    assert releases.find(NEW).path == str(home / "app")
    assert releases.find("../" + NEW) is None


def test_choosing_changes_nothing_but_the_count():
    trial = ReleaseTrial(NEW, OLD, 0, 100)
    assert choose(OLD, trial, 0) == LaunchChoice(NEW, ReleaseTrial(NEW, OLD, 1, 100))
