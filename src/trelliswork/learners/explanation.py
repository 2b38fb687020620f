"""Why this output and not another: what every feature adds to the difference of their scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from trelliswork._errors import InputError
from trelliswork._validate import check_number
from trelliswork.learners.scores import shares
from trelliswork.learners.verbs import Candidate
from trelliswork.structures.base import Batch, Parts

__all__ = ["Contribution", "Explanation", "explain"]

_NEGLIGIBLE = 1e-12  # of the largest contribution


class Contribution(NamedTuple):
    """What one feature, or one part, adds to the difference of two scores.

    Attributes
    ----------
    name : tuple
        Name of the feature, as in ``space_.feature_names``; scores that do not come from features (kernels,
        generative laws) are listed by part: the name of the part array and the place in it.
    weight : float
        Its weight.
    difference : float
        How much more of it the first output has.
    value : float
        Their product.

    Examples
    --------
    >>> from trelliswork.learners.explanation import Contribution
    >>> Contribution(("emission", "cat", "N"), 2.0, 1.0, 2.0).value
    2.0
    """

    name: tuple[Any, ...]
    weight: float
    difference: float
    value: float


class Explanation(NamedTuple):
    """Two outputs of an input, and why the first has the larger score.

    Attributes
    ----------
    first, second : Candidate
        The outputs. Where an output has several derivations (a transducer), the score is that of the best.
    contributions : list of Contribution
        Largest first, by size; their values add up to ``difference``.
    difference : float
        Score of the first less score of the second.

    Examples
    --------
    >>> import trelliswork as tw
    >>> model = tw.Fixed(tw.Chain(), {("emission", "cat", "N"): 1.0, ("emission", "cat", "V"): 0.25})
    >>> tw.explain(model, ["cat"]).difference
    0.75
    """

    first: Candidate
    second: Candidate
    contributions: list[Contribution]
    difference: float


def explain(model: Any, x: Any, *, rank: int = 0, against: int = 1, **constraints: Any) -> Explanation:
    """Tell what every feature adds to the score of an output of ``x`` in comparison with another.

    Parameters
    ----------
    model : fitted learner or pipeline
        With a structure.
    x : object
        One input.
    rank, against : int, default=0 and 1
        Places of the two outputs in the k-best list. Larger numbers are further down.
    **constraints
        As in ``predict``, each for this input alone: ``known=...``.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import trelliswork as tw
    >>> X, y = [["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]
    >>> why = tw.explain(tw.CRF(tw.Chain(), l2=0.1).fit(X, y), ["the", "dog"])
    >>> why.first.output, why.second.output
    (['D', 'N'], ['N', 'N'])
    >>> why.contributions[0].name
    ('transition', 'D', 'N')
    >>> abs(sum(c.value for c in why.contributions) - why.difference) < 1e-9
    True
    """
    for name, value in (("rank", rank), ("against", against)):
        check_number(name, value, 0, whole=True)
    learner, X = _at_the_end(model, [x])
    batch, scores = learner._asked_for_sums(X, {name: [value] for name, value in constraints.items()})
    best = batch.candidates(scores, max(rank, against) + 1)[0]
    n_outputs = int(np.sum(best.values > -np.inf))
    if max(rank, against) >= n_outputs:
        raise InputError(f"there are {n_outputs} outputs to compare; rank and against count from 0")
    codes = best.codes[np.array([rank, against])]
    both = batch.subset([0, 0])
    values = both.evaluate(codes, _twice(batch, scores))
    outputs = batch.unpack_sample(0, codes)
    share = shares(best.values, float(batch.log_partition(scores)[0]), 0)[[rank, against]]
    pair = [Candidate(o, float(v), float(p)) for o, v, p in zip(outputs, values, share, strict=True)]
    weights = learner.weights_of_input(batch, X)
    contributions = _of_features(learner.space_, both, codes, weights)
    contributions += _of_parts(both, codes, _twice(batch, scores), both.scores(weights))
    top = max((abs(c.value) for c in contributions), default=0.0)
    contributions = [c for c in contributions if abs(c.value) > _NEGLIGIBLE * top]
    contributions.sort(key=lambda c: -abs(c.value))
    return Explanation(pair[0], pair[1], contributions, float(values[0] - values[1]))


def _at_the_end(model: Any, X: list[Any]) -> tuple[Any, Any]:
    """The learner of a pipeline or of a search of settings, and inputs as it takes them."""
    model = getattr(model, "best_estimator_", model)
    if hasattr(model, "steps"):
        X = model[:-1].transform(X) if len(model.steps) > 1 else X
        model = getattr(model.steps[-1][1], "best_estimator_", model.steps[-1][1])
    if not hasattr(model, "weights_of_input"):
        raise InputError(f"{type(model).__name__} has no structure whose parts could be compared")
    return model, X


def _twice(batch: Batch, scores: Parts) -> Parts:
    """Scores of a single sample as those of a batch that has it twice."""
    out: dict[str, np.ndarray | None] = {}
    offsets = batch.part_offsets()
    for name, values in scores.items():
        if values is not None and (name in offsets or values.ndim != batch.shared_parts.get(name, -1)):
            values = np.concatenate([values, values])
        out[name] = values
    return Parts(**out)


def _of_features(space: Any, both: Batch, codes: Any, weights: np.ndarray) -> list[Contribution]:
    features = both.features(codes)
    differing = (features[0] - features[1]).tocoo()
    names = space.feature_names if differing.nnz else []
    return [
        Contribution(names[j], float(weights[j]), float(d), float(d * weights[j]))
        for j, d in zip(differing.col.tolist(), differing.data.tolist(), strict=True)
        if d and weights[j]
    ]


def _of_parts(both: Batch, codes: Any, scores: Parts, linear: Parts) -> list[Contribution]:
    """What the scores of parts have beyond those of the weights."""
    out: list[Contribution] = []
    counts, offsets = both.indicators(codes, each=True), both.part_offsets()
    for name, used in counts.items():
        given, known = scores.__dict__.get(name), linear.__dict__.get(name)
        if used is None or given is None:
            continue
        used = used.reshape(2, used.shape[0] // 2, *used.shape[1:]) if name in offsets else used
        places = np.nonzero(used[0] != used[1])
        if not places[0].size:
            continue
        rest = _of_one(given, used)[places]
        if known is not None:
            rest = rest - _of_one(known, used)[places]
        differences = used[0][places] - used[1][places]
        for place, d, w in zip(zip(*places), differences.tolist(), rest.tolist(), strict=True):
            if abs(w) > 1e-9:  # beyond the rounding of the sums above
                out.append(Contribution(both.part_name(name, tuple(map(int, place))), w, d, d * w))
    return out


def _of_one(values: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Values of the parts of the first of two equal samples, in the shape of one sample's parts."""
    if values.ndim == used.ndim - 1 and values.shape[0] == 2 * used.shape[1]:  # rows of both samples
        values = values[: used.shape[1]]
    elif values.ndim == used.ndim:
        values = values[0]
    return np.broadcast_to(values, used.shape[1:])
