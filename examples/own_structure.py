"""Your own structure in one function: cut a sentence into labelled segments.

A segment has a label and covers up to three tokens. Features see the whole segment, which
a token-by-token tagger cannot offer. Run with ``python examples/own_structure.py``.
"""

from __future__ import annotations

import trelliswork as tw

LABELS = ["NAME", "OTHER"]
MAX_LENGTH = 3


def build(tokens):
    """Edges of the graph; node (i, label) stands for tokens i, i + 1, ... after a segment `label`."""
    n = len(tokens)
    for label in LABELS:
        yield tw.Edge((n, label))  # nothing left: an edge without tails
    for i in reversed(range(n)):
        for before in LABELS if i else ["START"]:
            for j in range(i + 1, min(i + MAX_LENGTH, n) + 1):
                shape = "".join("X" if word[0].isupper() else "x" for word in tokens[i:j])
                for label in LABELS:
                    features = [
                        ("words", " ".join(tokens[i:j]), label),
                        ("shape", shape, label),
                        ("follows", before, label),
                    ]
                    yield tw.Edge((i, before), [(j, label)], features, part=(i, j, label))
    # The head of the last edge is the root: (0, "START").


def main():
    X = [
        ["Ada", "Lovelace", "met", "Charles", "Babbage"],
        ["the", "engine", "of", "Babbage"],
        ["Grace", "Hopper", "found", "a", "moth"],
        ["letters", "from", "Ada", "Lovelace", "survive"],
    ]
    y = [
        [(0, 2, "NAME"), (2, 3, "OTHER"), (3, 5, "NAME")],
        [(0, 3, "OTHER"), (3, 4, "NAME")],
        [(0, 2, "NAME"), (2, 5, "OTHER")],
        [(0, 2, "OTHER"), (2, 4, "NAME"), (4, 5, "OTHER")],
    ]
    model = tw.CRF(tw.Derivations(build), l2=0.1).fit(X, y)
    sentence = ["letters", "from", "Grace", "Babbage", "survive"]
    for start, stop, label in model.predict([sentence])[0]:
        print(f"{label:6} {' '.join(sentence[start:stop])}")


if __name__ == "__main__":
    main()
