"""Label sequences that are known in part, or limited to some labels."""

from __future__ import annotations

from collections.abc import Set
from typing import Any, NamedTuple

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ragged import gather_ranges
from trelliswork.structures.known import Choice, choices, label_mask, open_rows
from trelliswork.structures.labels import check_row, is_list

__all__ = ["ReadLabels", "allowed_mask", "observed_tokens", "read_labels", "sure_tokens", "token_numbers"]


class ReadLabels(NamedTuple):
    """Label sequences as they were given, and what is known of those that are known in part.

    Attributes
    ----------
    rows : list
        All sequences.
    choices : dict
        Possible labels of every token of the sequences that are known in part, by number.
    """

    rows: Any
    choices: dict[int, list[Choice]]

    @property
    def names(self) -> Any:
        """All labels that occur, sequence by sequence."""
        if not self.choices:
            return self.rows
        named = {i: [a for c in row if c for a in c] for i, row in self.choices.items()}
        return [named.get(i, row) for i, row in enumerate(self.rows)]

    def first(self, labels: list[Any]) -> Any:
        """One possible label of every token."""
        if not self.choices:
            return self.rows
        named = {i: [c[0] if c else labels[0] for c in row] for i, row in self.choices.items()}
        return [named.get(i, row) for i, row in enumerate(self.rows)]

    def masks(self, labels: list[Any], *, strict: bool = True) -> list[np.ndarray | None] | None:
        """Which labels are possible, (n_tokens, n_labels) for every sequence that is known in part."""
        if not self.choices:
            return None
        by_sample = {i: label_mask(row, labels, i, strict=strict) for i, row in self.choices.items()}
        return [by_sample.get(i) for i in range(len(self.rows))]


def read_labels(y: Any, given: Any, *, everything: bool = False) -> ReadLabels:
    """Sort out which sequences are known in part; with ``everything`` all of them are taken as such."""
    if not hasattr(y, "__len__"):
        return ReadLabels(y, {})
    for i, row in enumerate(y):
        check_row(i, row)
    numbers = range(len(y)) if everything else open_rows(y, given)
    return ReadLabels(y, {i: choices(y[i], given, i) for i in numbers})


def token_numbers(offsets: np.ndarray, known: list[np.ndarray | None] | None) -> np.ndarray:
    """Tokens of the sequences that are known in part."""
    rows = [] if known is None else [i for i, mask in enumerate(known) if mask is not None]
    return gather_ranges(offsets, np.array(rows, dtype=np.int64))


def sure_tokens(n_tokens: int, offsets: np.ndarray, known: list[np.ndarray | None] | None) -> np.ndarray:
    """Whether every token has only one possible label."""
    sure = np.ones(n_tokens, dtype=bool)
    for i, mask in enumerate(known or ()):
        if mask is not None:
            sure[offsets[i] : offsets[i + 1]] = mask.sum(axis=1) == 1
    return sure


def observed_tokens(
    codes: np.ndarray, offsets: np.ndarray, known: list[np.ndarray | None] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Tokens with each label that they are limited to; tokens of which nothing is known have none."""
    if known is None:
        return np.arange(codes.size), codes
    whole = np.ones(codes.size, dtype=bool)
    whole[token_numbers(offsets, known)] = False
    tokens, labels = [np.flatnonzero(whole)], [codes[whole]]
    for i, mask in enumerate(known):
        if mask is not None:
            row, label = np.nonzero(mask & ~mask.all(axis=1, keepdims=True))
            tokens.append(row + offsets[i])
            labels.append(label)
    return np.concatenate(tokens), np.concatenate(labels)


def allowed_mask(allowed: Any, labels: list[Any], offsets: np.ndarray) -> np.ndarray:
    """Labels (n_tokens, n_labels) that ``allowed``, one entry per sequence, leaves to each token."""
    if not is_list(allowed):
        raise InputError(f"allowed must be a list with one entry per sequence, got {allowed!r:.80}")
    if len(allowed) != offsets.size - 1:
        raise InputError(f"allowed has {len(allowed)} entries for {offsets.size - 1} sequences")
    place = {label: i for i, label in enumerate(labels)}
    mask = np.ones((int(offsets[-1]), len(labels)), dtype=bool)
    for i, rows in enumerate(allowed):
        if rows is None:
            continue
        if not is_list(rows):
            raise InputError(f"allowed must be None or a list, got {rows!r:.80}", sample=i)
        if len(rows) != offsets[i + 1] - offsets[i]:
            raise InputError(
                f"allowed has {len(rows)} entries for {offsets[i + 1] - offsets[i]} tokens",
                sample=i,
            )
        for t, choice in enumerate(rows):
            if choice is None:
                continue
            chosen = choice.tolist() if isinstance(choice, np.ndarray) else choice
            try:
                several = isinstance(chosen, (Set, list)) or (
                    isinstance(chosen, tuple) and chosen not in place
                )
                wanted = [place[c] for c in (chosen if several else [chosen]) if c in place]
            except TypeError:
                raise InputError(
                    f"token {t} allows {choice!r:.80}; expected None, a label or a set of labels",
                    sample=i,
                ) from None
            if not wanted:
                what = f"only unknown labels ({choice!r})" if not several or chosen else "no label"
                raise InputError(f"token {t} allows {what}", sample=i)
            mask[offsets[i] + t] = False
            mask[offsets[i] + t, wanted] = True
    return mask
