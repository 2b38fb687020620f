"""Models that come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from trelliswork._errors import InputError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["PRETRAINED", "best_pull", "pretrained"]

_FOLDER = Path(__file__).parent / "models"
PRETRAINED = {"rna": "secondary structures of RNA, nearest-neighbour model"}

_PULLS = (1.0, 0.5, 0.25, 0.0)  # parts of the weights of a model that others may be pulled to
_MOST = 60  # samples that tell which is best
_ITERATIONS = 25


def pretrained(name: str) -> Any:
    """Load a model that comes with the package.

    Parameters
    ----------
    name : {"rna"}
        ``"rna"`` folds RNA: a CRF over the loops of structures, see the page on RNA for its data, accuracy
        and limits.

    Returns
    -------
    estimator
        A fitted learner, a new one with every call.

    Examples
    --------
    >>> import trelliswork as tw
    >>> model = tw.pretrained("rna")
    >>> model.predict_mea(["GCGGAUUUAGCUCAGUUGGGAGAGCGCCAGACUGAAGAUCUGGAGGUCCUGUGUUCGAUCCACAGAAUUCGCACCA"])
    ['(((((((..((((........)))).(((((.......))))).....(((((.......))))))))))))....']
    """
    from trelliswork.persist import load

    if name not in PRETRAINED:
        raise InputError(f"there is no model {name!r}; there is {', '.join(map(repr, PRETRAINED))}")
    return load(_FOLDER / f"{name}.tw")


def best_pull(estimator: Any, weights: np.ndarray, X: list[Any], y: list[Any]) -> tuple[np.ndarray, float]:
    """Prior of a CRF out of the weights of a model: all, a part or nothing of them.

    A model of many families is a good start for one of them, unless the family is unlike the others and its
    members are like each other: then training from nothing is better. Parts of the samples held out in
    turn tell: of the priors with which no fewer outputs are right than from nothing (by ``score``), the one
    with which they are most probable is taken; with fewer than three samples all of the weights.

    Parameters
    ----------
    estimator : CRF
        Settings; not fitted.
    weights : ndarray of shape (n_features,)
        Weights of the model.
    X, y : lists
        Samples; those whose outputs are known in part are not looked at.

    Returns
    -------
    prior : ndarray of shape (n_features,)
        The weights times the part.
    part : float
        1, 0.5, 0.25 or 0.
    """
    from sklearn.base import clone

    whole = [i for i in range(len(X)) if "?" not in y[i]]
    used = sorted(whole, key=lambda i: len(X[i]))[:_MOST]
    folds = min(len(used), 5)
    if len(used) < 3:
        return weights, 1.0
    likelihood, right = dict.fromkeys(_PULLS, 0.0), dict.fromkeys(_PULLS, 0.0)
    for part in _PULLS:
        trial = clone(estimator).set_params(prior=part * weights, max_iter=_ITERATIONS, verbose=0)
        for fold in range(folds):
            rest, held = [i for x, i in enumerate(used) if x % folds != fold], used[fold::folds]
            trial.fit([X[i] for i in rest], [y[i] for i in rest])
            inputs, outputs = [X[i] for i in held], [y[i] for i in held]
            likelihood[part] += float(trial.log_prob(inputs, outputs).sum())
            right[part] += float(trial.score(inputs, outputs)) * len(held)
    fine = [part for part in _PULLS if right[part] >= right[0.0]]
    part = max(fine, key=likelihood.__getitem__)
    return part * weights, part
