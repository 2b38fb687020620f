"""Input files of every format, damaged: they are read, or one line says what is wrong and where."""

from __future__ import annotations

import contextlib
import gzip
import io
import warnings
from pathlib import Path

import numpy as np
from tests.fuzz.formats import FORMATS, MODELS, TRAINING
from tests.fuzz.verbs import Nonsense

import trelliswork as tw
from trelliswork.cli import app

ODD = (
    *(b"", b"\t", b"\n", b"\r\n", b" ", b"\x00", b"\xff", b"\xc3\xa9", b"\xef\xbb\xbf", b"\xe2\x80\xa8"),
    *(b"\x0b", b"\x1c", b"\xc2\x85", b"\xc2\xa0", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"e\xcc\x81"),
    *(b"nan", b"inf", b"-inf", b"1e999", b"1e-999", b"-1", b"0", b"9" * 30, b"9" * 5000, b"0x1f", b"1_0"),
    *(b"\xd9\xa3", b"\xc2\xb2", b"+", b"-", b".", b",", b";", b":", b"#", b"//", b">", b"@", b"|", b"?"),
    *(b"(", b")", b"((((", b"))))", b"[", b"]", b"{", b"}", b"<", b"x", b'"', b"'", b"\\", b"/", b"$", b"%"),
    *(b"__label__", b"@data", b"@attribute", b"# STOCKHOLM 1.0", b"#=GC SS_cons", b"null", b"true", b"[]"),
    *(b"1-2", b"1.1", b"B-", b"I-X", b"-NONE-", b"=", b"->", b"*", b"1:", b":1", b"1:1:1", b"qid:1", b"{}"),
)
COMMANDS_OF_ALL = 0.005  # share of the cases that go through the command line


def mutate(rng, text, other):
    """The text after one to four random changes."""
    for _ in range(int(rng.integers(1, 5))):
        text = CHANGES[rng.integers(len(CHANGES))](rng, text, other)
    if rng.random() < 0.02:
        text = gzip.compress(text, mtime=0)
        if rng.random() < 0.5:
            text = flip(rng, text, other)
    return text[:200_000]


def place(rng, text):
    return int(rng.integers(len(text) + 1))


def span(rng, text, most=40):
    start = place(rng, text)
    return start, min(len(text), start + int(rng.integers(1, most)))


def flip(rng, text, other):
    """One byte becomes another."""
    i = place(rng, text)
    return text[:i] + bytes([rng.integers(256)]) + text[i + 1 :]


def insert(rng, text, other):
    """Something odd appears."""
    i = place(rng, text)
    return text[:i] + ODD[rng.integers(len(ODD))] + text[i:]


def delete(rng, text, other):
    i, j = span(rng, text)
    return text[:i] + text[j:]


def repeat(rng, text, other):
    """A piece comes again, perhaps many times."""
    i, j = span(rng, text)
    return text[:j] + text[i:j] * int(rng.choice([1, 1, 2, 10, 300])) + text[j:]


def truncate(rng, text, other):
    return text[: place(rng, text)]


def replace_token(rng, text, other):
    """A word becomes something odd, or another word of the file."""
    tokens = text.split()
    if not tokens:
        return text
    old = tokens[rng.integers(len(tokens))]
    new = ODD[rng.integers(len(ODD))] if rng.random() < 0.6 else tokens[rng.integers(len(tokens))]
    return text.replace(old, new, -1 if rng.random() < 0.2 else 1)


def change_lines(rng, text, other):
    """Lines come in another order, twice, not at all, or joined."""
    lines = text.split(b"\n")
    i, j = rng.integers(len(lines), size=2)
    match rng.integers(5):
        case 0:
            lines[i], lines[j] = lines[j], lines[i]
        case 1:
            lines.insert(i, lines[j])
        case 2:
            del lines[i]
        case 3:
            lines[i : i + 2] = [b" ".join(lines[i : i + 2])]
        case _:
            lines.insert(i, b"")
    return b"\n".join(lines)


def splice(rng, text, other):
    """A piece of a file of another format."""
    i, j = span(rng, other, 120)
    k = place(rng, text)
    return text[:k] + other[i:j] + text[k:]


def separate(rng, text, other):
    """Other separators, other line breaks."""
    old, new = rng.choice(4, 2, replace=False)
    marks = (b" ", b"\t", b",", b"\r\n")
    return text.replace(marks[old], marks[new]) if rng.random() < 0.7 else text.replace(b"\n", b"\r\n")


CHANGES = (flip, insert, insert, delete, repeat, truncate, replace_token, replace_token, change_lines)
CHANGES = (*CHANGES, change_lines, splice, separate)


class Attack:
    """One damaged file after the other, all formats in turn."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.names = sorted(FORMATS)
        self.trained = {}
        for task, (text, options) in TRAINING.items():
            path, model = self.folder / f"{task}.txt", self.folder / f"{task}.tw"
            path.write_bytes(text)
            if not model.exists():
                outcome = command(["train", task, str(path), "-o", str(model), "-q", *options])
                assert outcome == "answered", f"no model for {task}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.models = {name: fit() for name, fit in MODELS.items()}

    def case(self, number, seed):
        """Read a damaged file of the format whose turn it is, and ask a model about what was read."""
        rng = np.random.default_rng([seed, number])
        format = FORMATS[self.names[number % len(self.names)]]
        base = format.texts[rng.integers(len(format.texts))]
        other = FORMATS[self.names[rng.integers(len(self.names))]].texts[0]
        text = mutate(rng, base, other)
        if format.commands and rng.random() < COMMANDS_OF_ALL:
            return self.command_case(rng, number, format, text)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                read = format.read(io.BytesIO(text))
                if format.ask is not None and len(text) < 2000:
                    format.ask(self.models, read)
            except (tw.InputError, MemoryError) as error:
                if "\n" in str(error) or len(str(error)) > 700:
                    raise Nonsense(f"a message of many lines: {str(error)[:300]!r}") from None
                return "refused"
        return "answered"

    def command_case(self, rng, number, format, text):
        """The same file given to a command."""
        task, *options = format.commands[rng.integers(len(format.commands))]
        file, out = self.folder / f"in-{number}.txt", self.folder / f"out-{number}"
        names = {"IN": str(file), "OUT": str(out), "DIR": str(self.folder)}
        arguments = [word.format(**names) for word in (task, *options)]
        try:
            file.write_bytes(text)
            return command(arguments)
        finally:
            file.unlink(missing_ok=True)
            out.unlink(missing_ok=True)


def command(arguments):
    """Run a command in this process; "answered" or "refused" with one line."""
    said, printed = io.StringIO(), io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(printed), warnings.catch_warnings():
        code = app(arguments, prog_name="trelliswork", standalone_mode=False)
    lines = [line for line in said.getvalue().splitlines() if not line.startswith("trelliswork: warning: ")]
    if code not in (None, 0, 2):
        raise Nonsense(f"exit code {code} of {' '.join(arguments)}: {said.getvalue()[:300]!r}")
    if code == 2 and len(lines) != 1:
        raise Nonsense(f"{len(lines)} lines of {' '.join(arguments)}: {said.getvalue()[:300]!r}")
    return "refused" if code == 2 else "answered"
