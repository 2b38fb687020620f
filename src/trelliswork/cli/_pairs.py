"""Files of pairs of strings: read, written, and predictions compared with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from trelliswork._errors import InputError

__all__ = [
    "UNITS",
    "Pairs",
    "aligned_rows",
    "compared",
    "grouped",
    "joined",
    "output_unit",
    "read_pairs",
    "split",
]

UNITS = ("char", "word")
_SHORT = 3.5  # mean length of symbols that blanks separate; words of text are longer


class Pairs(NamedTuple):
    """Lines of a file."""

    name: str
    inputs: list[str]
    outputs: list[str]
    lines: list[int]


def read_pairs(source: str, encoding: str | None, *, labelled: bool) -> Pairs:
    """Texts of the inputs and outputs of a file, and the numbers of their lines.

    Parameters
    ----------
    source : str
        File; ``-`` is standard input.
    encoding : str or None
        Of its text; None is UTF-8.
    labelled : bool
        Whether every line needs an output; otherwise what follows a tab is passed over.
    """
    from trelliswork._text import read_text

    text, name = read_text(source, encoding or "utf-8")
    pairs = Pairs(name, [], [], [])
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else [], 1):
        if labelled and not line:
            continue  # without labels a blank line is an empty input
        fields = line.split("\t")
        if labelled and len(fields) != 2:
            columns = f"{len(fields)} column{'s' * (len(fields) != 1)}"
            raise InputError.at(name, number, f"{columns}; expected an input, a tab and an output")
        pairs.inputs.append(fields[0])
        pairs.outputs.append(fields[1] if labelled else "")
        pairs.lines.append(number)
    if not pairs.inputs:
        raise InputError.at(name, None, "the file is empty; expected one pair a line")
    return pairs


def output_unit(outputs: Sequence[str]) -> str:
    """``word`` where blanks separate short symbols in most outputs, as between phonemes; otherwise
    ``char``.
    """
    symbols = [s for text in outputs for s in text.split()]
    several = sum(" " in text.strip() for text in outputs)
    short = sum(map(len, symbols)) <= _SHORT * len(symbols)
    return "word" if 2 * several > len(outputs) and short else "char"


def split(texts: Sequence[str], unit: str) -> list[Any]:
    """Texts as learners take them: as they are, or split at blanks."""
    return list(texts) if unit == "char" else [text.split() for text in texts]


def joined(output: Any) -> str:
    """An output as text."""
    return output if isinstance(output, str) else " ".join(map(str, output))


def grouped(pairs: Pairs, unit: str) -> tuple[list[str], list[list[Any]], list[int]]:
    """Inputs without repetition, all outputs of each, and the first line of each."""
    outputs: dict[str, list[Any]] = {}
    first: dict[str, int] = {}
    for text, output, line in zip(pairs.inputs, split(pairs.outputs, unit), pairs.lines, strict=True):
        known = outputs.setdefault(text, [])
        first.setdefault(text, line)
        if output not in known:
            known.append(output)
    return list(outputs), list(outputs.values()), list(first.values())


def compared(truth: Sequence[Sequence[Any]], predicted: Sequence[Any]) -> dict[str, Any]:
    """Scores of predictions, each compared with the nearest of its true outputs.

    Parameters
    ----------
    truth : list of lists of outputs
        All true outputs of every input.
    predicted : list of outputs
        One per input.
    """
    from trelliswork.selection.confusions import edits

    steps = []
    for outputs, guess in zip(truth, predicted, strict=True):
        near = [(edits(output, guess), len(output)) for output in outputs]
        (distance, mistakes), length = min(near, key=lambda item: item[0][0])
        steps.append((distance, length, mistakes))
    wrong = sum(distance for distance, _, _ in steps)
    pairs = Counter(pair for _, _, confused in steps for pair in confused)
    order = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))
    return {
        "pairs": len(steps),
        "exact_match": sum(distance == 0 for distance, _, _ in steps) / len(steps),
        "word_error": sum(distance > 0 for distance, _, _ in steps) / len(steps),
        "edit_distance": wrong / len(steps),
        "symbol_error": wrong / max(sum(length for _, length, _ in steps), 1),
        "confusions": [[a, b, n] for (a, b), n in order[:10]],
    }


def aligned_rows(pieces: Sequence[tuple[Any, Any]]) -> list[str]:
    """An alignment as two rows of text; ``-`` stands for nothing."""
    cells = [[joined(side) or "-" for side in piece] for piece in pieces]
    widths = [max(map(_width, pair)) for pair in cells]
    rows = []
    for side in (0, 1):
        padded = [pair[side] + " " * (w - _width(pair[side])) for pair, w in zip(cells, widths, strict=True)]
        rows.append("  ".join(padded).rstrip())
    return rows


def _width(text: str) -> int:
    """Columns of a terminal that a text takes: none for combining marks, two for wide letters."""
    import unicodedata

    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )
