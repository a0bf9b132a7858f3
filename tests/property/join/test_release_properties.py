"""Whoever starts, confirms or gives up a release, in whatever order, killed whenever."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from node_agent.install.releases import INSTALLED, MAX_STARTS, Releases
from tests.support.examples import examples

NAMES = [letter * 64 for letter in "abc"]
STEP = st.one_of(
    st.tuples(st.just("begin"), st.sampled_from(NAMES)),
    st.tuples(st.just("start"), st.integers(0, 400)),
    st.tuples(st.just("confirm"), st.sampled_from(NAMES)),
    st.tuples(st.just("give up"), st.sampled_from(NAMES)),
    st.tuples(st.just("half a file"), st.just("")),
)


@settings(max_examples=examples(150))
@given(st.lists(STEP, max_size=25))
def test_only_confirmed_or_tried_releases_start_and_every_trial_ends(steps):
    with tempfile.TemporaryDirectory() as folder:
        releases = Releases(Path(folder))
        now_ms, ready, tried = 0, {INSTALLED}, ""
        starts = 0
        for what, value in steps:
            match what:
                case "begin" if releases.trial() is None:
                    releases.begin_trial(value, now_ms + 1000)
                    tried, starts = value, 0
                case "start":
                    now_ms += value
                    choice = releases.decide(now_ms)
                    assert choice.release in ready or choice.release == tried
                    if choice.trial is not None:
                        starts += 1
                        assert starts <= MAX_STARTS
                        assert now_ms < choice.trial.until_ms
                    else:
                        assert choice.release == releases.current()
                        tried = ""
                case "confirm":
                    if releases.confirm(value):
                        ready.add(value)
                        assert releases.current() == value
                case "give up":
                    if releases.give_up(value):
                        assert releases.current() in ready
                case "half a file":
                    # What a power cut leaves of a write that was not finished.
                    releases.folder.mkdir(exist_ok=True)
                    (releases.folder / ".trial.json.part").write_text("{")
            assert releases.current() in ready
