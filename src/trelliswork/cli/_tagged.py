"""Predicted labels of sentences, as columns and as JSON lines; plain text as a column file."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trelliswork._errors import InputError
from trelliswork._text import read_text, write_text
from trelliswork.cli._columns import Document, Layout

if TYPE_CHECKING:
    from trelliswork.cli._models import OpenModel, Request

__all__ = ["Tagged", "raw_document", "write_jsonl"]

_MISSING = "_"  # label of a candidate that a short sentence does not have


@dataclass(frozen=True)
class Tagged:
    """Labels of sentences.

    Attributes
    ----------
    labels : list of list of list of str
        For each rank and sentence, the labels; None where a sentence has no such candidate.
    shares : list of list of list of float, or None
        Their probabilities, in the same order: of each label, or of the whole candidate for each token.
    lengths : list of int
        Tokens of the sentences.
    """

    labels: list[list[Any]]
    shares: list[list[list[float]]] | None
    lengths: list[int]

    @classmethod
    def of(cls, opened: OpenModel, X: Any, request: Request, known: Any = None) -> Tagged:
        """Labels that a model predicts.

        Parameters
        ----------
        opened : OpenModel
            The model.
        X : list of sentences
            Inputs.
        request : Request
            How many candidates, and whether with probabilities.
        known : list or None
            What is known of the labels.
        """
        learner, features, lengths = opened.learner, opened.features(X), [len(x) for x in X]
        limits = {} if known is None else {"known": known}
        if request.kbest == 1:
            best = [[str(label) for label in y] for y in learner.predict(features, **limits)]
            if not request.probabilities:
                return cls([best], None, lengths)
            place = {str(label): j for j, label in enumerate(learner.classes_)}
            tables = learner.predict_marginals(features, **limits)
            shares = [[float(p[t, place[a]]) for t, a in enumerate(y)] for y, p in zip(best, tables)]
            return cls([best], [shares], lengths)
        lists = learner.predict_kbest(features, request.kbest, **limits)
        labels: list[list[Any]] = []
        ranked: list[list[list[float]]] = []
        for k in range(request.kbest):
            ranked_k = [c[k] if k < len(c) else None for c in lists]
            labels.append([None if c is None else list(map(str, c.output)) for c in ranked_k])
            ranked.append([[0.0 if c is None else c.probability] * n for c, n in zip(ranked_k, lengths)])
        return cls(labels, ranked if request.probabilities else None, lengths)

    def columns(self, probabilities: bool) -> dict[str, list[str]]:
        """Columns of a file, by name: labels and, if asked for, probabilities of every rank."""
        out: dict[str, list[str]] = {}
        for k, ranked in enumerate(self.labels):
            end = "" if k == 0 else str(k + 1)
            out[f"label{end}"] = [a for y, n in zip(ranked, self.lengths) for a in y or [_MISSING] * n]
            if probabilities and self.shares is not None:
                out[f"probability{end}"] = [f"{p:.6g}" for row in self.shares[k] for p in row]
        return out


def write_jsonl(target: str, tagged: Tagged, tokens: list[list[str]], encoding: str) -> None:
    """Write an object for each sentence: ``tokens``, ``labels`` and what else was asked for.

    With several candidates, ``labels`` has those of the best and ``candidates`` all of them.

    Parameters
    ----------
    target : str
        File; ``"-"`` is standard output.
    tagged : Tagged
        Labels.
    tokens : list of list of str
        Words of the sentences.
    encoding : str
        Encoding of the file.
    """
    lines = []
    for i, words in enumerate(tokens):
        candidates = []
        for k, ranked in enumerate(tagged.labels):
            if ranked[i] is None:
                continue
            candidate: dict[str, Any] = {"labels": ranked[i]}
            if tagged.shares is not None:
                several = len(tagged.labels) > 1
                shares = [float(f"{p:.6g}") for p in tagged.shares[k][i]]
                candidate |= (
                    {"probability": shares[0] if shares else 1.0} if several else {"probabilities": shares}
                )
            candidates.append(candidate)
        record = {"tokens": words, **candidates[0]}
        if len(tagged.labels) > 1:
            record = {"tokens": words, "labels": candidates[0]["labels"], "candidates": candidates}
        lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    write_text(target, "".join(lines), encoding)


def raw_document(source: str, layout: Layout) -> Document:
    """Plain text, a sentence a line, as a file of one column.

    Parameters
    ----------
    source : str
        File; ``"-"`` is standard input.
    layout : Layout
        Its encoding is used.
    """
    from trelliswork.io import tokenize

    text, name = read_text(source, layout.encoding)
    sentences = [tokens for line in text.split("\n") if (tokens := tokenize(line))]
    if not sentences:
        raise InputError.at(name, 1, "no word in the file; expected text, one sentence a line")
    columns = io.StringIO("".join("".join(f"{token}\n" for token in row) + "\n" for row in sentences))
    columns.name = name
    # Exactly one column, whatever is in the text: a tab cannot be in a token.
    return Document(columns, separator="\t", encoding=layout.encoding)
