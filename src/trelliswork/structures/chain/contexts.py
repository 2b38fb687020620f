"""Contexts of a label chain: the last labels, numbered, and what they allow."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork.structures.labels import check_row

__all__ = [
    "check_scheme",
    "check_transitions",
    "context_before",
    "level_starts",
    "ngram_map",
    "repaired",
    "scheme_masks",
    "successors",
    "transition_mask",
]

_PREFIXES = {"BIO": "BIO", "IOB2": "BIO", "BIOES": "BIOES", "IOBES": "BIOES"}


def level_starts(n_labels: int, order: int) -> np.ndarray:
    """Offsets of the contexts of length 1, 2, ..., ``order``; the last entry is their number."""
    sizes = [n_labels**j for j in range(1, order + 1)]
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def successors(n_labels: int, order: int) -> np.ndarray:
    """``successor[c, b]``: the context after label ``b`` in context ``c``."""
    levels = level_starts(n_labels, order)
    out = np.empty((int(levels[-1]), n_labels), dtype=np.int64)
    for j in range(1, order + 1):
        inside = np.arange(n_labels**j)
        if j < order:
            after = levels[j] + inside[:, None] * n_labels + np.arange(n_labels)
        else:  # forget the oldest label
            after = levels[j - 1] + (inside[:, None] * n_labels + np.arange(n_labels)) % n_labels**j
        out[levels[j - 1] : levels[j]] = after
    return out


def context_before(labels: np.ndarray, offsets: np.ndarray, n_labels: int, order: int) -> np.ndarray:
    """Context before each token, -1 at the first token of a sequence."""
    levels = level_starts(n_labels, order)
    position = np.arange(labels.size) - np.repeat(offsets[:-1], np.diff(offsets))
    length = np.minimum(position, order)
    out = np.full(labels.size, -1, dtype=np.int64)
    for j in range(1, order + 1):
        tokens = np.flatnonzero(length == j)
        code = np.zeros(tokens.size, dtype=np.int64)
        for back in range(j, 0, -1):
            code = code * n_labels + labels[tokens - back]
        out[tokens] = levels[j - 1] + code
    return out


def ngram_map(
    n_labels: int, order: int, allowed: np.ndarray
) -> tuple[sp.csr_matrix, np.ndarray, list[tuple[int, ...]]]:
    """Map from n-gram weights to context scores.

    Returns
    -------
    matrix : csr_matrix of shape (n_contexts * n_labels, n_ngrams)
        Row (context, label) sums the weights of the n-grams that end there.
    mask : ndarray of bool, shape (n_contexts, n_labels)
        Which steps are allowed.
    ngrams : list of tuples of int
        Label n-gram of each weight, shortest first.
    """
    levels = level_starts(n_labels, order)
    n_contexts = int(levels[-1])
    mask = np.zeros((n_contexts, n_labels), dtype=bool)
    ngrams: list[tuple[int, ...]] = []
    number = np.full((n_contexts, n_labels), -1, dtype=np.int64)  # weight of the longest n-gram at (c, b)
    for j in range(1, order + 1):
        digits = np.stack(np.unravel_index(np.arange(n_labels**j), (n_labels,) * j), axis=1)
        inside = np.ones(n_labels**j, dtype=bool)
        for i in range(j - 1):
            inside &= allowed[digits[:, i], digits[:, i + 1]]
        level = inside[:, None] & allowed[digits[:, -1]]
        mask[levels[j - 1] : levels[j]] = level
        rows, labels = np.nonzero(level)
        number[levels[j - 1] + rows, labels] = np.arange(len(ngrams), len(ngrams) + rows.size)
        ngrams.extend((*map(int, digits[r]), int(b)) for r, b in zip(rows, labels, strict=True))
    entries_row, entries_col = [], []
    for j in range(1, order + 1):
        inside_number = np.arange(n_labels**j)
        for i in range(1, j + 1):  # n-grams of the last i labels
            suffix = levels[i - 1] + inside_number % n_labels**i
            weight = number[suffix]
            c, b = np.nonzero(weight >= 0)
            entries_row.append((levels[j - 1] + c) * n_labels + b)
            entries_col.append(weight[c, b])
    row = np.concatenate(entries_row)
    matrix = sp.csr_matrix(
        (np.ones(row.size), (row, np.concatenate(entries_col))), shape=(n_contexts * n_labels, len(ngrams))
    )
    return matrix, mask, ngrams


def check_transitions(transitions: Any) -> None:
    """Refuse what the ``transitions`` of a chain cannot be."""
    named = isinstance(transitions, str)
    if (named and transitions not in ("all", "observed")) or not isinstance(transitions, Collection):
        raise InputError(f"transitions must be 'all', 'observed' or a list of pairs, got {transitions!r}")
    for pair in () if named else transitions:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not _hashable(*pair):
            raise InputError(f"transitions: expected pairs (from, to), got {pair!r}")


def transition_mask(
    transitions: str | Iterable[tuple[Hashable, Hashable]],
    labels: Sequence[Hashable],
    seen: np.ndarray,
) -> np.ndarray:
    """Allowed transitions ``[from, to]`` for the ``transitions`` argument of a chain."""
    if isinstance(transitions, str):
        return np.ones_like(seen) if transitions == "all" else seen.copy()
    n = len(labels)
    place = {label: i for i, label in enumerate(labels)}
    mask = np.zeros((n, n), dtype=bool)
    for a, b in transitions:
        if a in place and b in place:  # pairs of labels that this data lacks do no harm
            mask[place[a], place[b]] = True
    return mask


def _hashable(*values: Any) -> bool:
    return all(isinstance(value, Hashable) for value in values)


def check_scheme(scheme: Any) -> None:
    """Refuse a scheme of labels that is not known."""
    if scheme is not None and (not isinstance(scheme, str) or scheme not in _PREFIXES):
        raise InputError(f"scheme must be one of {', '.join(_PREFIXES)} or None, got {scheme!r}")


def scheme_masks(scheme: str, labels: Sequence[Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Allowed transitions, first labels and last labels under BIO (IOB2) or BIOES."""
    kind = _PREFIXES[scheme]
    parsed = [_split(label, kind, scheme) for label in labels]
    n = len(labels)
    mask = np.ones((n, n), dtype=bool)
    open_after = {"BIO": "", "BIOES": "BI"}[kind]  # tags that must be continued
    continues = {"BIO": "I", "BIOES": "IE"}[kind]  # tags that continue an entity
    inside = {"BIO": "BI", "BIOES": "BI"}[kind]  # tags after which an entity can go on
    for i, (tag, entity) in enumerate(parsed):
        for j, (next_tag, next_entity) in enumerate(parsed):
            goes_on = tag in inside and next_tag in continues and entity == next_entity
            if next_tag in continues:
                mask[i, j] = goes_on
            elif tag in open_after and tag:
                mask[i, j] = False
    start = np.array([tag not in continues for tag, _ in parsed])
    end = np.array([not (open_after and tag in open_after) for tag, _ in parsed])
    return mask, start, end


def repaired(y: Any, scheme: str) -> list[Any]:
    """Label sequences with their entities written as the scheme demands.

    Entities are read as the CoNLL script reads them: a label ``I`` or ``E`` goes on with the entity of the
    token before it if that has the same type and is ``B`` or ``I``, and otherwise starts one. Sequences that
    keep to the scheme stay as they are, and so do those with labels that it does not know.

    Examples
    --------
    >>> from trelliswork.structures.chain.contexts import repaired
    >>> repaired([["O", "I-X", "I-X", "I-Y"]], "BIO"), repaired([["B-X", "I-X", "O"]], "BIOES")
    ([['O', 'B-X', 'I-X', 'B-Y']], [['B-X', 'E-X', 'O']])
    """
    kind = _PREFIXES[scheme]
    split = lru_cache(maxsize=None)(lambda label: _split(label, kind, scheme))
    out = []
    for i, row in enumerate(y):
        check_row(i, row)
        try:
            tags = [split(label) for label in row]
        except (InputError, TypeError):  # whoever codes the labels says what is wrong with them
            out.append(row)
            continue
        goes_on = [
            t > 0 and tag in "IE" and tags[t - 1][0] in "BI" and tags[t - 1][1] == entity
            for t, (tag, entity) in enumerate(tags)
        ]
        ends = [not more for more in goes_on[1:]] + [True]
        new = list(row)
        for t, (tag, _) in enumerate(tags):
            if tag == "O":
                continue
            if kind == "BIO":
                role = "I" if goes_on[t] else "B"
            else:
                role = ("E" if ends[t] else "I") if goes_on[t] else ("S" if ends[t] else "B")
            new[t] = role + row[t][1:]
        out.append(new)
    return out


def _split(label: Any, kind: str, scheme: str) -> tuple[str, str]:
    if label == "O":
        return "O", ""
    if (
        isinstance(label, str)
        and len(label) > 2
        and label[0] in kind
        and label[0] != "O"
        and label[1] in "-_"
    ):
        return label[0], label[2:]
    wanted = " or ".join(f"{p}-TYPE" for p in kind if p != "O")
    raise InputError(f"scheme={scheme!r}: label {label!r} is neither 'O' nor {wanted}")
