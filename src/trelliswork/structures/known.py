"""Labels that are known in part: None for any label, a set for one of several."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from itertools import chain
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._stored import fitting, flags, whole
from trelliswork.structures.batch import Batch
from trelliswork.structures.labels import is_list, listed, unhashable

__all__ = [
    "Choice",
    "check_known",
    "choices",
    "grown_masks",
    "is_open",
    "joined_known",
    "label_mask",
    "least_costs",
    "mask_state",
    "open_rows",
    "restored_masks",
]

_STORED = {
    "known_samples": whole("samples", high="all samples", rising=True),
    "known": flags("tokens", "labels"),
}

Choice = tuple[Any, ...] | None  # labels that are possible; None for any


def check_known(known: Any, n_samples: int) -> None:
    """Refuse what is no list with one entry per sample."""
    if not is_list(known):
        raise InputError(f"known must be a list with one entry per sample, got {known!r:.80}")
    if len(known) != n_samples:
        raise InputError(f"known has {len(known)} entries for {n_samples} samples")


def is_open(value: Any, given: Collection[Any] = ()) -> bool:
    """Whether a value stands for several labels: None or a set, unless it is one of the given labels.

    Examples
    --------
    >>> from trelliswork.structures.known import is_open
    >>> is_open(None), is_open({"N", "V"}), is_open("N"), is_open(None, ["N", None])
    (True, True, False, False)
    """
    return (value is None or isinstance(value, Set)) and value not in given


def open_rows(y: Any, given: Sequence[Any] | None) -> list[int]:
    """Numbers of the label sequences that hold a None or a set."""
    if set(map(type, y)) <= {list, tuple} and not any(
        kind is type(None) or issubclass(kind, Set) for kind in set(map(type, chain.from_iterable(y)))
    ):
        return []
    labels = () if given is None else tuple(given)
    return [
        i
        for i, row in enumerate(y)
        if not (isinstance(row, np.ndarray) and row.dtype != object)
        and not isinstance(row, str)
        and any(value is None or isinstance(value, Set) for value in row)
        and any(is_open(value, labels) for value in row)
    ]


def choices(row: Iterable[Any], given: Sequence[Any] | None, sample: int) -> list[Choice]:
    """The labels that are possible at every place.

    Examples
    --------
    >>> from trelliswork.structures.known import choices
    >>> choices(["D", None, {"N"}], None, 0)
    [('D',), None, ('N',)]
    """
    labels = () if given is None else tuple(given)
    out: list[Choice] = []
    for t, value in enumerate(row):
        if not is_open(value, labels):
            out.append((value,))
        elif value is None:
            out.append(None)
        elif value:
            out.append(tuple(value))
        else:
            raise InputError(
                f"the set of labels of token {t} is empty; write None for any label", sample=sample
            )
    return out


def label_mask(
    possible: Sequence[Choice],
    labels: Sequence[Any],
    sample: int,
    *,
    strict: bool = True,
    what: str = "token",
) -> np.ndarray:
    """Which labels are possible at every place, shape (n_places, n_labels).

    With ``strict`` labels outside of the alphabet are refused; otherwise they are left out.
    """
    place = {label: i for i, label in enumerate(labels)}
    mask = np.ones((len(possible), len(labels)), dtype=bool)
    for t, choice in enumerate(possible):
        if choice is None:
            continue
        mask[t] = False
        for label in choice:
            try:
                code = place.get(label)
            except TypeError as error:
                raise unhashable(error, sample) from None
            if code is not None:
                mask[t, code] = True
            elif strict:
                raise InputError(
                    f"label {label!r} of {what} {t} is not one of {listed(list(labels))}", sample=sample
                )
    return mask


def grown_masks(
    known: list[np.ndarray | None] | None, codes: np.ndarray, n_labels: int
) -> list[np.ndarray | None] | None:
    """Masks in a larger alphabet, where the old labels have the given codes; "any" stays any."""
    if known is None:
        return None
    out: list[np.ndarray | None] = []
    for mask in known:
        if mask is None:
            out.append(None)
            continue
        moved = np.zeros((*mask.shape[:-1], n_labels), dtype=bool)
        moved[..., codes] = mask
        moved[mask.all(axis=-1)] = True
        out.append(moved)
    return out


def joined_known(first: Batch, second: Batch) -> list[Any] | None:
    """What is known of the samples of two batches."""
    if first.known is None and second.known is None:
        return None
    rows = [[None] * len(batch) if batch.known is None else batch.known for batch in (first, second)]
    return rows[0] + rows[1]


def mask_state(batch: Batch) -> dict[str, Any]:
    """Masks of the samples that are known in part, as arrays; nothing where there are none."""
    numbers = [i for i, mask in enumerate(batch.known or ()) if mask is not None]
    if not numbers or batch.known is None:
        return {}
    masks = np.concatenate([np.atleast_2d(batch.known[i]) for i in numbers])
    return {"known_samples": np.array(numbers, dtype=np.int64), "known": masks}


def restored_masks(
    state: Mapping[str, Any], lengths: np.ndarray, n_labels: int
) -> list[np.ndarray | None] | None:
    """Inverse of :func:`mask_state`; a file is not trusted, so everything is checked."""
    if "known_samples" not in state:
        return None
    sizes = {"labels": n_labels, "all samples": lengths.size}
    stored = fitting(state, _STORED, "limits of labels", **sizes)
    numbers, masks = stored["known_samples"], stored["known"]
    if masks.shape[0] != lengths[numbers].sum():
        raise InputError("stored limits of labels do not fit")
    known: list[np.ndarray | None] = [None] * lengths.size
    for i, mask in zip(numbers, np.split(masks, np.cumsum(lengths[numbers])[:-1]), strict=True):
        known[i] = mask
    return known


def least_costs(table: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Least cost ``table[true, label]`` over the true labels that are possible, for every place and label."""
    patterns, which = np.unique(mask, axis=0, return_inverse=True)
    return np.array([table[pattern].min(axis=0) for pattern in patterns])[which.ravel()]
