"""What others wrote does nothing to a terminal."""

import logging
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.schema.terminal_escaping import LogFormatter, StreamEscaper, text

ATTACKS = {
    "clear the screen": "\x1b[2J\x1b[H",
    "another title": "\x1b]0;root@bank\x07",
    "a question that the terminal types the answer to": "\x1b[6n\x1b]10;?\x1b\\",
    "the clipboard": "\x1b]52;c;cm0gLXJmIH4=\x07",
    "hidden text": "\x1b[8mrm -rf ~\x1b[28;0H",
    "the same in one character": "\x9b2J",
    "a printer": "\x1b[5i",
    "backspaces over what was said": "refused\x08\x08\x08\x08\x08\x08\x08accepted",
    "text in another order": "\u202egnp.exe",
}
SAFE = re.compile(r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]*")
COLOUR = re.compile(r"\x1b\[[0-9;:]*m")


def shown(*pieces):
    stream = StreamEscaper()
    return b"".join([*(stream.feed(piece) for piece in pieces), stream.end()])


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_control_sequence_is_written_out(attack):
    assert SAFE.fullmatch(text(f"a{attack}b"))
    assert SAFE.fullmatch(COLOUR.sub("", shown(f"a{attack}b".encode()).decode()))
    assert text(f"a{attack}b") != f"a{attack}b"


def test_plain_text_stays_as_it_is():
    said = "Größe\t1\n日本語 → ✓\n"
    assert text(said) == said
    assert shown(said.encode()) == said.encode()


def test_a_log_keeps_its_colours_and_progress_and_leaves_none_behind():
    assert shown(b"\x1b[1;31mred\x1b[0m 10 %\r20 %\n") == b"\x1b[1;31mred\x1b[0m 10 %\r20 %\n\x1b[0m"
    assert text("\x1b[31mred\r") == "\\x1b[31mred\\r"


def test_bytes_that_are_no_text_are_escaped_differently():
    assert shown(b"\xff\x9b2J") == "\ufffd\ufffd2J".encode()


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([b"\x1b", b"[", b"3", b";", b"1", b"m", b"J", b"\xc2", b"\x9b", b"x", b"\r\n", b"\x07"]))
)
def test_the_output_does_not_depend_on_the_pieces_and_is_escaped(pieces):
    whole = b"".join(pieces)
    assert shown(*pieces) == shown(whole)
    assert SAFE.fullmatch(COLOUR.sub("", shown(whole).decode()))


def test_all_output_of_commands_is_escaped_in_one_place():
    """Whoever adds a command need not think of terminals, but must print through output.py."""
    root = Path(__file__).resolve().parents[3]
    ways = re.compile(r"\bs?echo\(|\bprint\(|std(out|err)\.(buffer|write)|csv\.writer\(sys")
    found = {
        str(path.relative_to(root)): len(ways.findall(path.read_text()))
        for path in (root / "offchain/cli").rglob("*.py")
        if path.name not in {"output.py", "agent_output.py"}
    }
    assert len(found) > 40
    assert {name: count for name, count in found.items() if count} == {
        "offchain/cli/provider/agent.py": 1,  # the word "stopped"
        "offchain/cli/provider/agent_process.py": 1,  # lines of the agent's log, each of them escaped
        "offchain/cli/tenant/exec.py": 1,  # in raw mode; made harmless there
        "offchain/cli/kit/terminal.py": 2,  # exec and shell: what the program writes is passed on as it is
    }


def test_a_log_line_is_one_line_whatever_is_in_it():
    def fail():
        raise ValueError("\x1b[2Jno such file\x07")

    try:
        fail()
    except ValueError:
        found = sys.exc_info()
    record = logging.LogRecord("x", logging.INFO, "f", 1, "lease 7: %s", ("a\n12:00 INFO all is well\x1b[2J",), None)
    assert LogFormatter("%(message)s").format(record) == "lease 7: a\\n12:00 INFO all is well\\x1b[2J"
    record = logging.LogRecord("x", logging.INFO, "f", 1, "it failed", (), found)
    assert SAFE.fullmatch(LogFormatter("%(message)s").format(record))
