"""What blocks of samples are asked, beyond the methods of batches; names are those of tasks on dashboards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trelliswork.structures.abilities import Labelled, PartlyKnown, Settled, Settling, Unsettled, require
from trelliswork.structures.base import Batch, Parts
from trelliswork.structures.covariance import Covariance
from trelliswork.structures.spread import Spread

__all__ = [
    "constraint_check",
    "cost_constants",
    "cost_parts",
    "gradient",
    "known_in_part",
    "law_parts",
    "law_rows",
    "law_sums",
    "piece_owners",
    "settled_tokens",
    "size_of_gold",
    "unsettled_pieces",
]


def gradient(
    batch: Batch, mark: str | None, w: np.ndarray, costs: Parts | None, weights: np.ndarray | None
) -> tuple[float, Spread]:
    """``spread_expected``; with a mark, notes where the model is not sure."""
    answer = batch.spread_expected(w, costs, weights)
    if mark is not None and isinstance(batch, Settling):
        # The marginals are gone when the next block is asked.
        unsure = batch.unsure(weights)
        batch.notes["unsure"] = mark, None if unsure is None else np.packbits(_marked(unsure))
    return answer


def _marked(places: np.ndarray) -> np.ndarray:
    """Places that ascend as a mask, which ends with the last."""
    mask = np.zeros(int(places[-1]) + 1 if places.size else 0, dtype=bool)
    mask[places] = True
    return mask


def _unsure(batch: Settling, mark: str, w: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
    """Places where a model is not sure, from the notes; asked again if these come from elsewhere."""
    if batch.notes.get("unsure", (None,))[0] != mark:
        gradient(batch, mark, w, None, weights)
    noted = batch.notes["unsure"][1]
    return None if noted is None else np.flatnonzero(np.unpackbits(noted))


def settled_tokens(batch: Settling, mark: str, w: np.ndarray, weights: np.ndarray | None) -> Settled | None:
    """How far the samples are settled; None where they do not fall apart."""
    unsure = _unsure(batch, mark, w, weights)
    return None if unsure is None else batch.settled(unsure)


def _pieces(batch: Settling, mark: str, w: np.ndarray, weights: np.ndarray | None) -> Unsettled:
    unsure = _unsure(batch, mark, w, weights)
    assert unsure is not None
    return batch.pieces(unsure)


def unsettled_pieces(batch: Settling, mark: str, w: np.ndarray, weights: np.ndarray | None) -> Batch:
    """Pieces that are not settled."""
    return _pieces(batch, mark, w, weights).batch


def piece_owners(batch: Settling, mark: str, w: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Samples that they come from."""
    return _pieces(batch, mark, w, weights).owners


def cost_parts(batch: Batch, method: str, *args: Any) -> Parts:
    """Costs of parts of a method that gives them with a constant per sample."""
    return getattr(batch, method)(*args)[0]


def cost_constants(batch: Batch, method: str, *args: Any) -> np.ndarray:
    """The constants."""
    return np.broadcast_to(np.asarray(getattr(batch, method)(*args)[1], dtype=np.float64), (len(batch),))


def constraint_check(batch: Batch, weights: np.ndarray | None = None) -> int:
    """Refuse true outputs that constraints forbid."""
    batch.check_gold()
    return 0


def known_in_part(batch: Batch, weights: np.ndarray | None = None) -> int:
    """Whether what is known of outputs is written down."""
    return int(batch.known is not None)


def size_of_gold(batch: Batch, weights: np.ndarray | None = None) -> float:
    """Number of codes of the true outputs: tokens, bases, rules."""
    return float(batch.gold_codes.values.size)


def mean_label_weights(batch: Batch, by_label: np.ndarray) -> np.ndarray:
    """Mean weight of the labels of each sample."""
    return require(batch, Labelled).mean_weights(by_label)


def open_numbers(batch: Batch) -> np.ndarray:
    """Samples whose outputs are known in part."""
    return require(batch, PartlyKnown).open_samples


# -- second moments --------------------------------------------------------------------------------------


def _law(
    batch: Batch, key: str, scores: Callable[[], Parts] | None, weights: np.ndarray | None, about: str
) -> Covariance:
    """The law of a block, made once as long as the block is in memory."""
    return batch.remembered(
        (key, about), lambda: batch.covariance(None if scores is None else scores(), weights, about=about)
    )


def law_sums(
    batch: Batch,
    method: str,
    key: str,
    scores: Callable[[], Parts] | None,
    about: str,
    args: tuple[Any, ...],
    weights: np.ndarray | None,
) -> Any:
    """What adds up of the second moments: products, matrices, sums for solvers."""
    return getattr(_law(batch, key, scores, weights, about), method)(*args)


def law_rows(
    batch: Batch,
    method: str,
    key: str,
    scores: Callable[[], Parts] | None,
    about: str,
    weights: np.ndarray | None,
) -> Any:
    """Means of every sample and the like."""
    return getattr(_law(batch, key, scores, weights, about), method)()


def law_deviation(
    batch: Batch,
    key: str,
    scores: Callable[[], Parts] | None,
    about: str,
    own: np.ndarray | None,
    weights: np.ndarray | None,
) -> np.ndarray:
    """Gold less mean features, summed with the weights of the law or with other ones."""
    return _law(batch, key, scores, own, about).deviation(weights)


def law_parts(
    batch: Batch,
    method: str,
    key: str,
    scores: Callable[[], Parts] | None,
    about: str,
    weights: np.ndarray | None,
    *args: Any,
    **more: Any,
) -> Parts:
    """Marginals and tangents under the law."""
    return getattr(_law(batch, key, scores, weights, about), method)(*args, **more)


law_sums.calls_a_method = law_rows.calls_a_method = True  # type: ignore[attr-defined]
