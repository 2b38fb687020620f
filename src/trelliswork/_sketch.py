"""Small drawings for notebooks, as SVG and HTML text: outputs and lists of candidates show themselves.

Nothing but text is needed to make them; :mod:`trelliswork.plots` has the pictures for papers.
"""

from __future__ import annotations

import html
from typing import Any

from trelliswork._dotbracket import base_pairs
from trelliswork._errors import InputError
from trelliswork._trees import Node, as_node, leaves

__all__ = [
    "alignment_svg",
    "arcs_svg",
    "candidates_html",
    "output_html",
    "outputs_html",
    "path_svg",
    "tree_svg",
]

_MOST_OUTPUTS = 10  # of a list; the others are counted
_MOST_SYMBOLS = 400  # of a drawing; longer outputs stay text
_LETTER = 9.0  # width of a letter of 14 pixels
_LINE, _TEXT = "#0072B2", "font-family:monospace;font-size:14px"
_BRACKETS = set(".()<>[]{}")


def arcs_svg(structure: str, sequence: str | None = None) -> str:
    """Base pairs of a structure as arcs over its bases.

    Parameters
    ----------
    structure : str
        Dot-bracket text.
    sequence : str or None
        Bases; None writes the structure itself.

    Examples
    --------
    >>> from trelliswork._sketch import arcs_svg
    >>> arcs_svg("((...))", "GGAAACC").count("<path")
    2
    """
    pairs = base_pairs(structure)
    step, text = _LETTER + 1, structure if sequence is None else sequence
    widest = max((j - i for i, j in pairs), default=0)
    base = widest * step / 2 + 6
    arcs = "".join(
        f'<path d="M{_x(i, step)} {base:.1f}A{(j - i) * step / 2:.1f} {(j - i) * step / 2:.1f} 0 0 1 '
        f'{_x(j, step)} {base:.1f}" fill="none" stroke="{_LINE}" stroke-width="1.4"/>'
        for i, j in pairs
    )
    letters = "".join(_letter(_x(i, step), base + 16, base_) for i, base_ in enumerate(text))
    return _svg(step * len(text) + 6, base + 24, arcs + letters, f"RNA structure {structure}")


def tree_svg(tree: Any) -> str:
    """A parse tree with its words in a line below.

    Parameters
    ----------
    tree : str or nltk.Tree
        Bracketed text, or a tree of NLTK.

    Examples
    --------
    >>> from trelliswork._sketch import tree_svg
    >>> tree_svg("(S (NP they) (VP run))").count("<line")
    4
    """
    root = as_node(tree)
    words = leaves(root)
    lefts, left = [], 4.0
    for word in words:
        lefts.append(left + (len(word) * _LETTER) / 2)
        left += len(word) * _LETTER + 14
    shapes: list[str] = []
    places: list[tuple[float, int]] = []

    def place(node: Any, first: int) -> tuple[float, int, int]:
        if not isinstance(node, Node):
            places.append((lefts[first], 0))
            shapes.append(_letter(lefts[first], 0, str(node), "italic"))
            return lefts[first], first + 1, 0
        below, here = [], first
        for child in node.children:
            x, here, height = place(child, here)
            below.append((x, height))
        middle, height = (below[0][0] + below[-1][0]) / 2, 1 + max(h for _, h in below)
        shapes.extend(_line(middle, -36 * height + 5, x, -36 * h - 14) for x, h in below)
        shapes.append(_letter(middle, -36 * height, node.label))
        return middle, here, height

    depth = place(root, 0)[2]
    body = f'<g transform="translate(0 {36 * depth + 18})">{"".join(shapes)}</g>'
    return _svg(left + 4, 36 * depth + 28, body, f"parse tree of {' '.join(words)}")


def alignment_svg(first: Any, second: Any) -> str:
    """Two gapped rows, with a bar between equal symbols and a dot between others.

    Parameters
    ----------
    first, second : str or list of symbols
        Rows of one length.

    Examples
    --------
    >>> from trelliswork._sketch import alignment_svg
    >>> alignment_svg("GAT", "G-T").count("<line")
    2
    """
    cells = [(str(a)[:1], str(b)[:1]) for a, b in zip(first, second, strict=True)]
    body = []
    for k, (a, b) in enumerate(cells):
        x = _x(k, _LETTER + 2)
        body += [_letter(x, 16, a), _letter(x, 50, b)]
        if "-" not in (a, b):
            colour = _LINE if a == b else "#bbb"
            body.append(f'<line x1="{x}" y1="21" x2="{x}" y2="37" stroke="{colour}" stroke-width="2"/>')
    return _svg((_LETTER + 2) * len(cells) + 6, 58, "".join(body), "alignment of two sequences")


def path_svg(runs: Any) -> str:
    """An alignment without its sequences: bars where a sequence has residues, a line where it has a gap.

    Parameters
    ----------
    runs : iterable of (str, int)
        Moves (M, D, I) and how often each is repeated.

    Examples
    --------
    >>> from trelliswork._sketch import path_svg
    >>> path_svg([("M", 3), ("D", 1), ("M", 2)]).count("<rect")
    5
    """
    runs = list(runs)
    step = min(12.0, 640.0 / max(sum(number for _, number in runs), 1))
    body, x = [], 3.0
    for move, number in runs:
        for row, gap in ((4, "I"), (24, "D")):
            if move == gap:
                body.append(_line(x, row + 7, x + number * step, row + 7))
            else:
                colour, wide = _LINE if move == "M" else "#E69F00", number * step - 1
                body.append(f'<rect x="{x:.1f}" y="{row}" width="{wide:.1f}" height="14" fill="{colour}"/>')
        x += number * step
    return _svg(x + 3, 42, "".join(body), "alignment " + "".join(f"{n}{move}" for move, n in runs))


def output_html(output: Any, kind: str | None = None, x: Any = None) -> str:
    """An output as people look at it: drawn where it is a tree, a fold or an alignment, text otherwise.

    Parameters
    ----------
    output : object
        What a model predicted.
    kind : str or None
        ``output_kind`` of the structure; None guesses by the output itself.
    x : object
        The input, whose letters or words are then shown.

    Examples
    --------
    >>> from trelliswork._sketch import output_html
    >>> output_html(["D", "N"], "label sequence", ["the", "<b>"]).count("&lt;b&gt;")
    1
    """
    kind = _guessed(output) if kind is None else kind
    try:
        if output and len(str(output)) <= 8 * _MOST_SYMBOLS:
            if kind == "parse tree":
                return tree_svg(output)
            if kind == "RNA structure":
                return arcs_svg(output, x if isinstance(x, str) and len(x) == len(output) else None)
            if kind == "alignment" and isinstance(output, tuple):
                return alignment_svg(*output)
            if kind == "label sequence" and isinstance(x, (list, tuple)) and len(x) == len(output):
                return _labelled(x, output)
    except (InputError, TypeError, ValueError):
        pass  # an output of another kind is shown as text
    return f"<code>{html.escape(_shortened(output))}</code>"


def outputs_html(outputs: Any, kind: str | None, inputs: Any = None) -> str:
    """The first outputs of a list.

    Parameters
    ----------
    outputs : list
        What a model predicted.
    kind : str or None
        ``output_kind`` of the structure.
    inputs : list or None
        Their inputs.

    Examples
    --------
    >>> from trelliswork._sketch import outputs_html
    >>> page = outputs_html(["(..)"] * 12, "RNA structure")
    >>> page.count("<svg"), "2 more" in page
    (10, True)
    """
    known = isinstance(inputs, (list, tuple)) and len(inputs) == len(outputs)
    shown = [
        output_html(y, kind, inputs[i] if known else None) for i, y in enumerate(outputs[:_MOST_OUTPUTS])
    ]
    rows = [f"<tr><td>{i}</td><td style='text-align:left'>{cell}</td></tr>" for i, cell in enumerate(shown)]
    rest = len(outputs) - _MOST_OUTPUTS
    return f"<table>{''.join(rows)}</table>" + (f"<p>and {rest:,} more</p>" if rest > 0 else "")


def candidates_html(candidates: Any, kind: str | None = None, x: Any = None) -> str:
    """A k-best list as a table: rank, probability with a bar, score, output.

    Parameters
    ----------
    candidates : list of Candidate
        Best first.
    kind : str or None
        ``output_kind`` of the structure.
    x : object
        The input.

    Examples
    --------
    >>> from trelliswork import Candidate
    >>> from trelliswork._sketch import candidates_html
    >>> candidates_html([Candidate(["D"], 1.0, 0.7), Candidate(["N"], 0.2, 0.3)]).count("<tr>")
    3
    """
    rows = "".join(
        f"<tr><td>{rank}</td><td style='text-align:left'>"
        f"<span style='display:inline-block;width:{60 * candidate.probability:.0f}px;height:0.7em;"
        f"background:{_LINE}'></span> {candidate.probability:.3f}</td><td>{candidate.score:.2f}</td>"
        f"<td style='text-align:left'>{output_html(candidate.output, kind, x)}</td></tr>"
        for rank, candidate in enumerate(candidates, 1)
    )
    return f"<table><tr><th></th><th>probability</th><th>score</th><th>output</th></tr>{rows}</table>"


def _guessed(output: Any) -> str | None:
    """What an output is, as far as it tells."""
    if isinstance(output, str) and output and set(output) <= _BRACKETS:
        return "RNA structure"
    if (isinstance(output, str) and output.startswith("(")) or hasattr(output, "leaves"):
        return "parse tree"
    pair = isinstance(output, tuple) and len(output) == 2 and all(isinstance(row, str) for row in output)
    return "alignment" if pair and len(output[0]) == len(output[1]) else None


def _labelled(tokens: Any, labels: Any) -> str:
    """Words above their labels."""
    words = [token if isinstance(token, str) else "·" for token in tokens[:_MOST_SYMBOLS]]
    cells = "".join(
        f"<span style='display:inline-block;text-align:center;margin-right:.6em'>{html.escape(word)}<br>"
        f"<small style='color:{_LINE}'>{html.escape(str(label))}</small></span>"
        for word, label in zip(words, labels)
    )
    return cells + ("…" if len(labels) > _MOST_SYMBOLS else "")


def _shortened(output: Any) -> str:
    text = str(output)
    return text if len(text) <= 2 * _MOST_SYMBOLS else text[: 2 * _MOST_SYMBOLS] + "…"


def _x(k: int, step: float) -> str:
    return f"{3 + step * (k + 0.5):.1f}"


def _letter(x: Any, y: float, text: str, style: str = "normal") -> str:
    return (
        f'<text x="{x}" y="{y:.1f}" text-anchor="middle" font-style="{style}" fill="currentColor">'
        f"{html.escape(text)}</text>"
    )


def _line(x0: float, y0: float, x1: float, y1: float) -> str:
    return f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" stroke="#888"/>'


def _svg(width: float, height: float, body: str, label: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{html.escape(label[:200])}" '
        f'style="{_TEXT}">{body}</svg>'
    )
