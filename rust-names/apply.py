#!/usr/bin/env python3
"""Rename the Rust code of chain/ into the terms of FRAME and of the field, and rewrite its comments.

    python3 apply.py CHECKOUT [--node] [--metadata-docs] [--no-format] [--report FILE]

The script changes the working tree of CHECKOUT and commits nothing. It does, in this order: `git mv` of files, renames of
identifiers, replacements of lines of code, replacements of comments, `rustfmt`.

--node           also chain/node and chain/pace: their sources are hashed into the release of the node's binary
--metadata-docs  also the documentation that the runtime's metadata carries (events, errors, calls, storage)
--no-format      leave out rustfmt

What was not found, and names that would not be new in their scope, are printed; the exit status is then 1. The tables
are in tables/: moves.py, names.py (files, then identifiers), code.py (lines), comments.py, node.py, metadata_docs.py.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

HERE = Path(__file__).resolve().parent
WIDTH = 120

_TOKEN = re.compile(
    r"""(?P<line>//[^\n]*)
      | (?P<block>/\*.*?\*/)
      | (?P<raw>b?r(?P<hashes>\#*)".*?"(?P=hashes))
      | (?P<string>b?"(?:\\.|[^"\\])*")
      | (?P<char>b?'(?:\\(?:x[0-9a-fA-F]{2}|u\{[0-9a-fA-F_]+\}|.)|[^\\'])')""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Rename:
    """One identifier, or a pattern of code, and what it becomes.

    `old` is a whole word, unless `regex`. `globs` are paths below chain/ after the moves. `fns`: only within the
    functions of these names. `local`: a local variable or parameter: not after a dot, and not before `(`, `!` or `::`.
    `known`: the new name occurs in the scope already, with the same meaning, or where it cannot be confused.
    """

    old: str
    new: str
    globs: str
    why: str = ""
    fns: str = ""
    regex: bool = False
    local: bool = False
    known: bool = False

    def pattern(self) -> re.Pattern[str]:
        if self.regex:
            return re.compile(self.old)
        before = r"(?<![\w$'])(?<!\.)" if self.local else r"(?<![\w$'])"
        if self.local:
            # A range (`..place`) is no field.
            before = r"(?:(?<![\w$'.])|(?<=\.\.))"
        after = r"(?!\w)(?!\s*(?:\(|!(?!=)|::))" if self.local else r"(?!\w)"
        return re.compile(before + re.escape(self.old) + after)


@dataclass
class Report:
    missing: list[str] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, number: int = 1) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + number


def mask(text: str) -> tuple[str, list[tuple[int, int, str]]]:
    """Return the code of a Rust file with comments and literals blanked, and where those are, with their kinds."""
    out: list[str] = []
    spans: list[tuple[int, int, str]] = []
    at = 0
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup if match.lastgroup != "hashes" else "raw"
        begin, end = match.span()
        out.append(text[at:begin])
        out.append(re.sub(r"[^\n]", "\x00", text[begin:end]))
        spans.append((begin, end, "comment" if kind in {"line", "block"} else "string"))
        at = end
    out.append(text[at:])
    return "".join(out), spans


def function_spans(masked: str, names: Sequence[str]) -> list[tuple[int, int]]:
    """Return where the functions of these names are, from `fn` to their last brace."""
    spans = []
    for match in re.finditer(rf"\bfn\s+(?:{'|'.join(map(re.escape, names))})\b", masked):
        at = match.end()
        depth = 0
        while at < len(masked) and not (depth == 0 and masked[at] in "{;"):
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(masked[at], 0)
            at += 1
        if at >= len(masked) or masked[at] == ";":
            spans.append((match.start(), at))
            continue
        begin, level = at, 0
        while at < len(masked):
            level += {"{": 1, "}": -1}.get(masked[at], 0)
            at += 1
            if level == 0:
                break
        assert begin < at
        spans.append((match.start(), at))
    return spans


def within(at: int, spans: Sequence[tuple[int, int]] | None) -> bool:
    return spans is None or any(begin <= at < end for begin, end in spans)


def rename_in(text: str, rule: Rename) -> tuple[str, int]:
    """Apply a rename to the code of a file, to `code spans` of its comments and to {captures} of its format strings."""
    masked, literals = mask(text)
    pattern = rule.pattern()
    names = rule.fns.split()
    scope = function_spans(masked, names) if names else None
    edits: list[tuple[int, int, str]] = []
    for match in pattern.finditer(masked):
        if within(match.start(), scope):
            edits.append((*match.span(), match.expand(rule.new) if rule.regex else rule.new))
    for begin, end, kind in literals:
        if not within(begin, scope):
            continue
        piece = text[begin:end]
        if kind == "comment":
            for span in re.finditer(r"`[^`\n]+`", piece):
                for match in pattern.finditer(span[0]):
                    start = begin + span.start() + match.start()
                    new = match.expand(rule.new) if rule.regex else rule.new
                    edits.append((start, start + len(match[0]), new))
        elif not rule.regex:
            for match in re.finditer(rf"\{{({re.escape(rule.old)})(?=[:}}])", piece):
                edits.append((begin + match.start(1), begin + match.end(1), rule.new))
    if not edits:
        return text, 0
    edits.sort()
    out, at = [], 0
    for begin, end, new in edits:
        out += [text[at:begin], new]
        at = end
    return "".join([*out, text[at:]]), len(edits)


def has_word(text: str, word: str, names: Sequence[str]) -> bool:
    masked, _ = mask(text)
    scope = function_spans(masked, names) if names else None
    return any(within(m.start(), scope) for m in re.finditer(rf"(?<![\w'])(?<!\.){re.escape(word)}(?!\w)", masked))


# Comments. A block is a run of lines with one marker and one indentation; paragraphs in it are wrapped anew when changed.
_COMMENT = re.compile(r"^(\s*)(//[/!]?)(?: (.*))?$")
_KEPT_LINE = re.compile(r"^(?:[-*|#>]|```|\d+\.\s|\s{2,})")


@dataclass
class Paragraph:
    first: int
    last: int
    indent: str
    marker: str
    text: str


def paragraphs(lines: Sequence[str]) -> Iterator[Paragraph]:
    """Yield the paragraphs of the comments that fill their lines; tables, lists and code yield one for each line."""
    present: Paragraph | None = None
    fenced = False
    for number, line in enumerate(lines):
        match = _COMMENT.match(line)
        text = (match[3] or "") if match else ""
        if match and text.startswith("```"):
            fenced = not fenced
        single = fenced or bool(_KEPT_LINE.match(text))
        joins = (
            match is not None
            and present is not None
            and text.strip()
            and not single
            and (present.indent, present.marker) == (match[1], match[2])
            and present.last == number - 1
        )
        if joins:
            assert present is not None
            present.last = number
            present.text += " " + text.strip()
            continue
        if present is not None:
            yield present
            present = None
        if match and text.strip():
            present = Paragraph(number, number, match[1], match[2], text.rstrip())
            if single:
                yield present
                present = None
    if present is not None:
        yield present


def wrapped(paragraph: Paragraph) -> list[str]:
    """Return the lines of a paragraph, of at most WIDTH columns."""
    start = f"{paragraph.indent}{paragraph.marker}"
    if not paragraph.text:
        return []
    if _KEPT_LINE.match(paragraph.text):
        return [f"{start} {paragraph.text}"]
    lines, line = [], start
    for word in paragraph.text.split(" "):
        if len(line) + 1 + len(word) > WIDTH and line != start:
            lines.append(line)
            line = start
        line += " " + word
    return [*lines, line]


def in_metadata(path: str, lines: Sequence[str]) -> set[int]:
    """Return the numbers of the lines whose documentation a pallet's metadata carries: all in `mod pallet`, but for the
    configuration (with the constants in it, which the metadata shows), the genesis and private constants.
    """
    found: set[int] = set()
    if path == "runtime-api/src/lib.rs":
        return set(range(len(lines)))
    if not fnmatch(path, "pallets/*/src/lib.rs"):
        return found
    inside, skipped = False, False
    for number, line in enumerate(lines):
        if line.startswith("pub mod pallet {"):
            inside = True
        elif line.startswith("}"):
            inside = False
        if inside and re.match(r"    #\[pallet::(config|genesis_config|genesis_build|hooks)\b", line):
            skipped = True
        if inside and not skipped:
            found.add(number)
        if skipped and line == "    }":
            skipped = False
    # The documentation above the attribute of a skipped item belongs to the item. Private constants are not shown.
    for number, line in enumerate(lines):
        if re.match(r"    (#\[pallet::(config|genesis_config|genesis_build|hooks)\b|const )", line):
            above = number - 1
            while above >= 0 and lines[above].lstrip().startswith("///"):
                found.discard(above)
                above -= 1
    # Constants of the configuration are shown.
    for number, line in enumerate(lines):
        if line.strip() == "#[pallet::constant]":
            above = number - 1
            while above >= 0 and lines[above].lstrip().startswith("///"):
                found.add(above)
                above -= 1
    return found


@dataclass(frozen=True)
class Comment:
    """The exact text of a paragraph of comments, without markers and line ends, and what it becomes."""

    globs: str
    old: str
    new: str


def rewrite_comments(path: str, text: str, entries: Sequence[Comment], metadata: bool) -> tuple[str, dict[Comment, int]]:
    """Apply the entries to the comments of a file that are in the metadata, or to those that are not."""
    lines = text.split("\n")
    numbers = in_metadata(path, lines)
    hits: dict[Comment, int] = {}
    by_text = {entry.old: entry for entry in entries}
    out: list[str] = []
    at = 0
    for paragraph in paragraphs(lines):
        if (paragraph.first in numbers and paragraph.marker == "///") != metadata:
            continue
        entry = by_text.get(paragraph.text)
        if entry is not None:
            hits[entry] = hits.get(entry, 0) + 1
            out += lines[at : paragraph.first]
            paragraph.text = entry.new
            out += wrapped(paragraph)
            at = paragraph.last + 1
    return "\n".join([*out, *lines[at:]]), hits


class Checkout:
    """The working tree of a clone."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.chain = root / "chain"
        self.report = Report()

    def git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(self.root), *arguments], check=True, capture_output=True, text=True
        ).stdout

    def sources(self) -> list[str]:
        """The Rust files of chain/, by their paths below it."""
        listed = self.git("ls-files", "--cached", "--others", "--exclude-standard", "chain")
        paths = (line.removeprefix("chain/") for line in listed.splitlines() if line.endswith(".rs"))
        return sorted({path for path in paths if (self.chain / path).is_file()})

    def matching(self, globs: str, files: Sequence[str]) -> list[str]:
        wanted = [glob for glob in globs.split() if not glob.startswith("!")]
        without = [glob[1:] for glob in globs.split() if glob.startswith("!")]
        return [
            path
            for path in files
            if any(fnmatch(path, glob) for glob in wanted) and not any(fnmatch(path, glob) for glob in without)
        ]

    def move(self, moves: Sequence[tuple[str, str]]) -> None:
        for old, new in moves:
            source, target = self.chain / old, self.chain / new
            if not source.exists():
                self.report.missing.append(f"move: chain/{old} does not exist")
                continue
            if target.exists():
                self.report.taken.append(f"move: chain/{new} exists already")
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            self.git("mv", f"chain/{old}", f"chain/{new}")
            self.report.add("files moved")

    def rename(self, rules: Sequence[Rename]) -> None:
        files = self.sources()
        texts = {path: (self.chain / path).read_text(encoding="utf-8") for path in files}
        for rule in rules:
            paths = self.matching(rule.globs, files)
            word = rule.new if re.fullmatch(r"\w+", rule.new) else ""
            hits = 0
            for path in paths:
                new, number = rename_in(texts[path], rule)
                if number and word and not rule.known and has_word(texts[path], word, rule.fns.split()):
                    self.report.taken.append(f"rename: {word} (for {rule.old}) occurs already in {path}")
                texts[path] = new
                hits += number
            if not hits:
                self.report.missing.append(f"rename: {rule.old} -> {rule.new} in {rule.globs} {rule.fns}".rstrip())
            self.report.add("identifiers renamed", 1 if hits else 0)
            self.report.add("places of identifiers", hits)
        self._write(texts)

    def replace(self, entries: Sequence[tuple[str, str, str]]) -> None:
        """Replace exact text of code; blanks and line ends between words do not matter."""
        files = self.sources()
        for globs, old, new in entries:
            pattern = re.compile(r"\s+".join(re.escape(word) for word in old.split()))
            hits = 0
            for path in self.matching(globs, files):
                file = self.chain / path
                text = file.read_text(encoding="utf-8")
                changed, number = pattern.subn(lambda _match, new=new: new, text)
                if number:
                    file.write_text(changed, encoding="utf-8")
                    hits += number
            if not hits:
                self.report.missing.append(f"code in {globs}: {' '.join(old.split())[:140]}")
            self.report.add("lines of code rewritten", hits)

    def comment(self, entries: Sequence[Comment], metadata: bool) -> None:
        kind = "documentation in the metadata" if metadata else "comments"
        found: dict[Comment, int] = dict.fromkeys(entries, 0)
        files = self.sources()
        by_path: dict[str, list[Comment]] = {}
        for entry in entries:
            for path in self.matching(entry.globs, files):
                by_path.setdefault(path, []).append(entry)
        for path, wanted in by_path.items():
            file = self.chain / path
            text = file.read_text(encoding="utf-8")
            changed, hits = rewrite_comments(path, text, wanted, metadata)
            for entry, number in hits.items():
                found[entry] += number
            if changed != text:
                file.write_text(changed, encoding="utf-8")
        for entry, number in found.items():
            if not number:
                self.report.missing.append(f"{kind} in {entry.globs}: {entry.old[:140]}")
            self.report.add(f"{kind} rewritten", number)

    def replace_in_others(self, entries: Sequence[tuple[str, str]]) -> None:
        """Replace paths and names in documents, scripts and tests outside of chain/."""
        listed = self.git("ls-files", "--", "docs", "scripts", "tests", "chain/*.md", "*.md").splitlines()
        for old, new in entries:
            hits = 0
            for name in listed:
                file = self.root / name
                if not file.is_file() or file.is_symlink() or name.endswith((".png", ".gz", ".xz")):
                    continue
                try:
                    text = file.read_text(encoding="utf-8")
                except UnicodeDecodeError:
                    continue
                if old in text:
                    file.write_text(text.replace(old, new), encoding="utf-8")
                    hits += 1
            if not hits:
                self.report.missing.append(f"outside of chain/: {old}")
            self.report.add("references outside of chain/", hits)

    def format(self, node: bool) -> int:
        """Format every file that was changed; gives how many do not parse."""
        changed = self.git("diff", "--name-only", "HEAD", "--", "chain").splitlines()
        paths = [str(self.root / name) for name in changed if name.endswith(".rs") and (self.root / name).is_file()]
        failed = 0
        for path in paths:
            # One file at a time, and not the modules that it names: they are formatted by themselves.
            code = Path(path).read_bytes()
            done = subprocess.run(
                ["rustfmt", "--edition", "2021", "--config-path", str(self.chain)],
                input=code, capture_output=True, check=False,
            )
            if done.returncode:
                failed += 1
                self.report.missing.append(f"rustfmt: {path}: {done.stderr.decode()[:400]}")
            elif done.stdout != code:
                Path(path).write_bytes(done.stdout)
        return failed

    def _write(self, texts: dict[str, str]) -> None:
        for path, text in texts.items():
            file = self.chain / path
            if file.read_text(encoding="utf-8") != text:
                file.write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--node", action="store_true")
    parser.add_argument("--metadata-docs", action="store_true")
    parser.add_argument("--no-format", action="store_true")
    parser.add_argument("--report", type=Path)
    options = parser.parse_args()
    sys.path.insert(0, str(HERE))
    from tables import code, comments, metadata_docs, moves, names, node  # noqa: PLC0415

    checkout = Checkout(options.checkout.resolve())
    if checkout.git("status", "--porcelain", "--untracked-files=no"):
        print(f"{options.checkout} has changes that are not committed: commit or stash them first", file=sys.stderr)
        return 2
    checkout.move(moves.MOVES)
    checkout.rename(names.RENAMES)
    checkout.replace(code.CODE)
    checkout.comment(comments.COMMENTS, metadata=False)
    if options.metadata_docs:
        checkout.comment(metadata_docs.COMMENTS, metadata=True)
    if options.node:
        checkout.move(node.MOVES)
        checkout.rename(node.RENAMES)
        checkout.comment(node.COMMENTS, metadata=False)
        checkout.replace_in_others(node.OUTSIDE)
    checkout.replace_in_others(moves.OUTSIDE)
    failed = 0 if options.no_format else checkout.format(options.node)
    report = checkout.report
    lines = [f"{number:6} {kind}" for kind, number in report.counts.items()]
    lines += ["", f"not found: {len(report.missing)}", *report.missing]
    lines += ["", f"new name not new: {len(report.taken)}", *report.taken]
    text = "\n".join(lines)
    print(text)
    if options.report:
        options.report.write_text(text + "\n", encoding="utf-8")
    return 1 if failed or report.missing or report.taken else 0


if __name__ == "__main__":
    sys.exit(main())
