"""Weights without a search: smoothed counts, or weights that come from elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from trelliswork._errors import InputError, InputWarning
from trelliswork._tuning import Path
from trelliswork._validate import check_number, check_weights
from trelliswork.learners.asking import summed
from trelliswork.learners.base import StructuredEstimator
from trelliswork.learners.completion import filled_in
from trelliswork.learners.known import Target, known_in_part
from trelliswork.learners.room import Holds
from trelliswork.learners.trial import trial
from trelliswork.learners.weights import given_weights
from trelliswork.structures.abilities import JointLaw, Multinomials
from trelliswork.structures.base import Batch, Parts, Structure
from trelliswork.structures.normal import holds_measurements

__all__ = ["Fixed", "Generative"]

_EVIDENCE = (1.0, 0.7, 0.5, 0.35, 0.25)
_LEAST, _MOST = 12, 3000  # different outputs, of which a third chooses one of them
_MAX_STEPS, _LEAST_GAIN = 100, 1e-6  # of EM; the gain is relative


class Generative(StructuredEstimator):
    """Generative model with smoothed counts: a hidden Markov model on chains.

    Weights are logarithms of smoothed relative frequencies; one pass over the data, no
    search. On a chain: first labels, transitions and emissions (with several attributes
    per token these count as independent, as in naive Bayes, and an unknown symbol has its
    own share: that of the symbols seen once, where a token is one symbol). On structures
    without multinomials: log-odds of how often a feature occurs in the given outputs against
    how often it occurs in all outputs. On a structure with weights that are known before any data
    (``RNA()``): those, moved towards the log-odds of the given outputs against the outputs that they expect,
    as far as predicts each third of up to 150 of them best from the others, by F1 of pairs (of fewer than 12:
    as far as makes them most probable). Rows of arrays
    with values that are no counts (negative, or not whole) are normal distributions with one covariance for
    all labels, shrunk as Ledoit and Wolf (2004) have it, and their weights are those of linear discriminant
    analysis. On a transducer: the Kneser-Ney model of its
    pieces, whose weights are not those of features (``coef_`` is zero).

    Several attributes of a token say in part the same thing, and are together too sure beside the
    transitions: on chains their log-probabilities are then times a factor (``evidence``).

    Where only part of the outputs is known, expected counts over all outputs that agree take the place of
    counts (EM); log-odds are taken of outputs that a first model fills in.

    Parameters
    ----------
    structure : Structure
        Output space, for instance ``Chain()``.
    smoothing : float or "auto", default="auto"
        Count added to every event. "auto" is 0.2 times the mean value of a feature (where it is not 0) for
        chains and classes, and 1 for the rest. The larger, the nearer all probabilities come to being equal,
        which helps with few data.
    evidence : float or "auto", default="auto"
        On chains whose tokens have several attributes: factor of what these say beside the transitions. 1 is
        naive Bayes. "auto": of 1, 0.7, 0.5, 0.35 and 0.25 what predicts a third of up to 3,000 different
        outputs best after counting in the others; 1 with fewer than 12 different outputs. The larger, the
        more the attributes of a token tell, and the less its neighbours.
    n_jobs : int or None, default=None
        Threads (-1: all cores). More threads are faster, up to the number of cores.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Log-probabilities.
    history_ : list of dict
        Where outputs are known in part: the log-likelihood of what is known (the logarithm of the prior that
        stands for the smoothing included) after every step of EM; it never falls.
    completed_by_ : str or None
        The learner that filled in outputs that are known in part ("crf"), on structures without multinomials;
        None where nothing was filled in.
    smoothing_, evidence_ : float
        Count that was added, and factor of what attributes say.

    See Also
    --------
    CRF : The discriminative model of the same structure.
    KLRSO : A generative model whose probabilities depend on the input.
    Fixed : Weights from elsewhere.

    References
    ----------
    .. [1] Rabiner (1989), Proceedings of the IEEE 77 (hidden Markov models).
    .. [2] Charniak (1996), AAAI (treebank grammars).
    .. [3] Durbin, Eddy, Krogh, Mitchison (1998), Biological sequence analysis (pair models, grammars of RNA).

    Examples
    --------
    >>> from trelliswork import Chain, Generative
    >>> X, y = [["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]
    >>> Generative(Chain()).fit(X, y).predict([["the", "bird"]])
    [['D', 'N']]
    """

    by_blocks = True
    loosen = ("lower smoothing",)
    command = "generative"
    command_options = ("smoothing",)
    tuning = (Path("smoothing", decades=(1.0, 3.5)),)

    def holds(self) -> Holds:
        """What a fit holds at the same time beside the samples."""
        return Holds(vectors=4, tables=1, question="generative")

    # What models had that were saved before the parameter was there.
    _before: ClassVar[Mapping[str, Any]] = {"evidence": 1.0}

    def __init__(
        self,
        structure: Structure,
        smoothing: float | str = "auto",
        *,
        evidence: float | str = "auto",
        n_jobs: int | None = None,
    ):
        self.structure = structure
        self.smoothing = smoothing
        self.evidence = evidence
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Generative:
        """Count and take logarithms.

        Parameters
        ----------
        X, y : lists of inputs and outputs
            Training data.
        sample_weight : array-like of shape (n_samples,) or None
            Weight of each sample.
        """
        if self.smoothing != "auto":
            check_number("smoothing", self.smoothing, 0, above=True)
        if self.evidence != "auto":
            check_number("evidence", self.evidence, 0, above=True)
        structure = self._checked_structure()
        whole = structure.complete() if structure.known_weights() is None else structure
        space, batch = self._start(X, y, structure=whole, scaled=False)
        weights = check_weights(sample_weight, len(batch))
        if isinstance(self.smoothing, str):
            self.smoothing_ = self.structure.generative_smoothing * batch.count_unit(weights)
        else:
            self.smoothing_ = float(self.smoothing)
        self.history_, self.completed_by_, self.evidence_ = [], None, 1.0
        partly = known_in_part(batch)
        if isinstance(batch, JointLaw):
            self.coef_ = np.zeros(space.n_features)
        elif partly is not None and partly.known is not None and batch.is_generative:
            self.coef_, self.history_ = em_weights(batch, self.smoothing_, weights)
        else:
            batch, self.completed_by_ = filled_in(batch, weights)
            self.coef_ = batch.generative_weights(self.smoothing_, weights)
            self._weigh_evidence(batch, weights)
        self.space_ = space
        self.n_iter_ = max(len(self.history_), 1)
        return self

    def _knows_units(self, batch: Batch) -> bool:
        """Normal distributions measure in deviations from the mean."""
        return getattr(batch.space, "measured", False) and holds_measurements(batch)  # type: ignore[arg-type]

    def _weigh_evidence(self, batch: Batch, weights: np.ndarray | None) -> None:
        """Hold back what attributes say, where they overlap."""
        entries, parts = summed(batch, _attribute_sums, weights=weights)
        if not entries > parts:
            return
        attributes = batch.space.attribute_features()
        if self.evidence != "auto":
            self.evidence_ = float(self.evidence)
        else:
            split = trial(batch, weights, least=_LEAST, most=_MOST, samples=2 * _MOST)
            if split is not None:
                w = split.known.generative_weights(self.smoothing_, split.weights)
                wrong = [split.wrong(split.new.scores(_tempered(w, attributes, f))) for f in _EVIDENCE]
                self.evidence_ = _EVIDENCE[int(np.argmin(wrong))]
        self.coef_ = _tempered(self.coef_, attributes, self.evidence_)

    def part_scores(self, batch: Batch, X: Any) -> Parts:
        """Scores of the parts of all outputs: those of the structure's own generative law if it has one.

        Parameters
        ----------
        batch : Batch
            Samples from ``pack``, or some of them.
        X : list of inputs
            Their inputs.
        """
        return batch.law_scores() if isinstance(batch, JointLaw) else super().part_scores(batch, X)

    def weights_of_input(self, batch: Batch, X: Any) -> np.ndarray:
        """Weights of the features; none where the structure has a law of its own.

        Parameters
        ----------
        batch : Batch
            One sample.
        X : list of inputs
            Its input.
        """
        return np.zeros_like(self.coef_) if isinstance(batch, JointLaw) else self.coef_


def _attribute_sums(batch: Batch, weights: np.ndarray | None) -> tuple[float, float]:
    return batch.attribute_sums(weights)


def _tempered(w: np.ndarray, attributes: np.ndarray, factor: float) -> np.ndarray:
    return np.where(attributes, factor * w, w)


def em_weights(
    batch: Batch, smoothing: float, weights: np.ndarray | None
) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Weights by expectation-maximisation, from expected counts over all outputs that agree."""
    target = Target(batch, weights)
    events = np.arange(batch.space.n_features)
    if isinstance(batch, Multinomials):
        events = np.unique(np.concatenate([*batch.multinomials().values()]))
    w = batch.generative_weights(smoothing, weights, target(np.zeros(batch.space.n_features))[1])
    history: list[dict[str, Any]] = []
    best = w
    for _ in range(_MAX_STEPS):
        value, counts = target(w)
        value += smoothing * float(w[events].sum())
        if history and not value > history[-1]["log_likelihood"]:
            break
        gain = value - history[-1]["log_likelihood"] if history else np.inf
        history.append({"log_likelihood": value})
        best = w
        if gain <= _LEAST_GAIN * abs(value):
            break
        w = batch.generative_weights(smoothing, weights, counts)
    return best, history


class Fixed(StructuredEstimator):
    """No learning: weights that are given, with every verb of a fitted model.

    For published scores, hand-made grammars and the models of other tools.

    Parameters
    ----------
    structure : Structure
        Output space, for instance ``Chain()``.
    weights : dict or ndarray
        Weights by feature name, or, with ``fit(X, y)``, an array in the order of
        ``space_.feature_names``. On a chain names are ``("emission", attribute, label)``,
        ``("transition", from, to)``, ``("start", label)``, ``("end", label)``.
    n_jobs : int or None, default=None
        Threads (-1: all cores). More threads are faster, up to the number of cores.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights in the order of ``space_.feature_names``.
    from_names_ : bool
        Whether the alphabets come from the names of the weights, so that ``fit`` is not needed.

    See Also
    --------
    Generative : Weights from counts.
    alignment_weights : Published matrices as weights of alignments.

    References
    ----------
    .. [1] Durbin, Eddy, Krogh, Mitchison (1998), Biological sequence analysis (models with given scores).

    Examples
    --------
    >>> from trelliswork import Chain, Fixed
    >>> model = Fixed(Chain(), {("emission", "cat", "N"): 1.0, ("transition", "D", "N"): 0.5})
    >>> model.predict([["the", "cat"]])
    [['D', 'N']]
    """

    def __init__(self, structure: Structure, weights: Any, *, n_jobs: int | None = None):
        self.structure = structure
        self.weights = weights
        self.n_jobs = n_jobs

    def fit(self, X: Any = None, y: Any = None) -> Fixed:
        """Bind the weights, to the alphabets of ``X, y`` if given, else to their own names.

        Parameters
        ----------
        X, y : lists of inputs and outputs, or None
            Data that define the alphabets.
        """
        structure = self._checked_structure()
        by_name = isinstance(self.weights, Mapping)
        if X is None and not by_name:
            raise InputError("weights given as an array need fit(X, y) to know what they belong to")
        for name in self.weights if by_name else ():
            if isinstance(name, (int, np.integer)):
                raise InputError(
                    f"weights: the name {name!r} is a number; names are tuples such as "
                    "('emission', 'cat', 'N'). Weights by position are an array, with fit(X, y)"
                )
        space = structure.bind_names(list(self.weights)) if X is None else self._start(X, y, scaled=False)[0]
        coef = given_weights(space, self.weights)
        self.space_, self.coef_ = space, coef
        self.from_names_ = X is None
        self.history_, self.n_iter_ = [], 0
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

    def _look_at_fit(self, X: Any, y: Any) -> None:
        """Nothing was learnt; the weights themselves may look odd."""
        for said in self.space_.cautions(self.coef_):
            warnings.warn(said, InputWarning, stacklevel=4)

    def set_params(self, **params: Any) -> Fixed:
        """Set parameters; weights bound before are bound anew, at the next question or by ``fit``.

        Parameters
        ----------
        **params
            Arguments of the constructor.
        """
        super().set_params(**params)
        if hasattr(self, "coef_") and params.keys() - {"n_jobs"}:
            del self.coef_
        return self

    def _check_fitted(self) -> None:
        if not hasattr(self, "coef_") and getattr(self, "from_names_", True):
            self.fit()
        super()._check_fitted()
