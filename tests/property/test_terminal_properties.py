"""No text of others does anything to a terminal, whichever command and whichever way of printing shows it."""

import io
import json
import logging
import sys
import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from offchain.adapters.transport.port import HostRefused, refused
from offchain.cli.kit import failures, output
from offchain.cli.kit.failures import CliError
from offchain.schema import terminal_escaping
from offchain.schema.protocol.messages import Code
from tests.support.examples import examples

UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories of control and format characters, surrogates, and separators of lines and paragraphs."""
HOSTILE = [
    "\x1b[2J",
    "\x1b]0;x\x07",
    "\r",
    "\n",
    "\t",
    "\x7f",
    "\x9b6n",
    "\u202e",
    "\u2066",
    "\u200b",
    "\u200d",
    "\ud800",
]
TEXTS = st.lists(
    st.sampled_from([*HOSTILE, "name", "ü", "😀", "\x00", "\U000e0041"]) | st.characters(), max_size=6
).map("".join)


def characters():
    return map(chr, range(sys.maxunicode + 1))


def hidden(value, allowed=""):
    return [one for one in value if unicodedata.category(one) in UNSEEN and one not in allowed]


def test_every_character_that_is_not_seen_is_written_out_in_names_and_messages():
    left = "".join(one for one in characters() if terminal_escaping.line(one) == one)
    assert hidden(left) == []
    assert hidden("".join(one for one in characters() if terminal_escaping.text(one) == one)) == ["\t", "\n"]
    # All others stay: letters, marks, symbols.
    for one in "aü日ع\u0301→😀 ":
        assert terminal_escaping.line(one) == one


def test_a_log_keeps_colours_lines_and_joiners_alone():
    shown = terminal_escaping.StreamEscaper()
    every = "".join(one for one in characters() if unicodedata.category(one) != "Cs")
    left = (shown.feed(every.encode()) + shown.end()).decode()
    assert sorted(set(hidden(left))) == ["\t", "\n", "\r", "\u200c", "\u200d"]


def test_bytes_that_are_no_text_and_halves_of_characters_are_shown_as_such():
    shown = terminal_escaping.StreamEscaper()
    data = b"\xed\xa0\x80 \xc0\x9b2J \xff\xfe \xe2\x80" + b"\xae"
    assert hidden((shown.feed(data) + shown.end()).decode()) == []


@settings(max_examples=examples(200))
@given(TEXTS)
def test_what_is_written_out_stays_as_it_is_the_second_time(value):
    for made in (terminal_escaping.line, terminal_escaping.text):
        assert made(made(value)) == made(value)
    assert (terminal_escaping.unseen(value) is None) == (terminal_escaping.line(value) == value)


PRINTERS = {
    "say": (lambda value: output.say(f"Region {value}"), 1),
    "progress": (lambda value: output.progress(f"Region {value}"), 1),
    "table": (lambda value: output.table(("HOST", "REGION"), [("5F", value), (value, "here")]), 3),
    "details": (lambda value: output.details([("Host", "5F"), ("Region", value)]), 2),
    "emit": (lambda value: output.emit({"region": value, value: [value]}), 1),
    "an error": (
        lambda value: failures.report_failure(CliError(f"{value} is no host.", f"Try {value}."), as_json=False),
        2,
    ),
    "an error as JSON": (lambda value: failures.report_failure(CliError(value, value), as_json=True), None),
    "a refusal of a host": (
        lambda value: failures.report_failure(HostRefused(refused(Code.BUSY, value, value).refusal), as_json=False),
        None,
    ),
    "an error that nobody foresaw": (lambda value: failures.report_failure(RuntimeError(value), as_json=False), None),
    "the agent's text": (lambda value: output.StepOutput(as_json=False).text("Status", f"Region {value}"), 2),
    "the agent's JSON": (lambda value: output.StepOutput(as_json=True).result({"region": value}), 1),
}


@pytest.mark.parametrize("name", PRINTERS)
@settings(
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
@given(value=TEXTS)
def test_every_way_of_printing_is_harmless_and_no_value_passes_as_a_line_of_its_own(
    name, value, capsys, tmp_path_factory
):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GANTRY_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        shown, lines = PRINTERS[name]
        shown(value)
    out, err = capsys.readouterr()
    assert hidden(out + err, "\n" if name != "the agent's error" else "\n\t") == []
    if lines is not None:
        assert (out + err).count("\n") == lines


@settings(max_examples=examples(100))
@given(value=TEXTS)
def test_a_line_of_a_log_is_one_line(value):
    record = logging.LogRecord("x", logging.INFO, "f", 1, "lease 7: %s", (value,), None)
    assert hidden(terminal_escaping.LogFormatter("%(message)s").format(record)) == []


class Terminal(io.StringIO):
    """Standard output that a person reads."""

    def isatty(self):
        return True


@settings(max_examples=examples(60), deadline=None)
@given(value=TEXTS)
def test_csv_is_harmless_on_a_terminal_and_whole_in_a_file(value):
    for kind in (Terminal, io.StringIO):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdout", kind())
            output.csv_rows(["host", "region"], [["5F", value]])
            shown = sys.stdout.getvalue()
        if kind is Terminal:
            assert (hidden(shown, "\n"), shown.count("\n")) == ([], 2)
        else:
            assert value in shown or '"' in value


def test_json_is_still_the_same_value():
    value = "".join(HOSTILE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", io.StringIO())
        output.emit({"region": value})
        assert json.loads(sys.stdout.getvalue()) == {"region": value}
