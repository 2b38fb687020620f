"""What a fitted model is asked, the same for all learners: data in, outputs out."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import numpy as np

from trelliswork._errors import InputError, Unsupported, not_fitted
from trelliswork._sketch import candidates_html
from trelliswork._validate import check_number, check_samples, check_weights, count_samples
from trelliswork.learners.calls import Outputs, Ranked, accepts_iterators
from trelliswork.learners.classifier import ClassifierVerbs, has_single_labels
from trelliswork.learners.compiled import CompiledSamples
from trelliswork.learners.exact import exact_sums, leaders, refuse_unclear, sample_scores, told_apart
from trelliswork.learners.reading import reading
from trelliswork.learners.scores import (
    check_log_probabilities,
    check_probabilities,
    check_sums,
    large_scores,
    shares,
)
from trelliswork.structures.abilities import PartlyKnown, require
from trelliswork.structures.base import Batch, Parts, Space, Structure

__all__ = ["Candidate", "ModelVerbs"]


class Candidate(NamedTuple):
    """One entry of a k-best list.

    Attributes
    ----------
    output : object
        The output, as the user's own kind of object.
    score : float
        Its score.
    probability : float
        Its probability under the model exp(score) / Z.

    Examples
    --------
    >>> from trelliswork import Chain, Fixed
    >>> model = Fixed(Chain(), {("emission", "cat", "N"): 1.0, ("emission", "cat", "V"): 0.0})
    >>> best, second = model.predict_kbest([["cat"]], k=2)[0]
    >>> best.output, round(best.probability, 2), second.output
    (['N'], 0.73, ['V'])
    """

    output: Any
    score: float
    probability: float

    def _repr_html_(self) -> str:
        return candidates_html([self])


class ModelVerbs(ClassifierVerbs):
    """Verbs of a fitted model: pack, score, decode, unpack.

    Part of every learner (:class:`StructuredEstimator`), which sets ``space_`` and ``coef_``.
    """

    compiled: CompiledSamples | None = None  # samples that several fits share; no copy has it

    structure: Structure
    n_jobs: int | None = None
    space_: Space
    coef_: np.ndarray

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)

    @accepts_iterators
    def pack(self, X: Any, y: Any = None, **constraints: Any) -> Batch:
        """Compile samples as the verbs of the model's structure take them.

        Parameters
        ----------
        X : list of inputs
            As in ``fit``.
        y : list of outputs or None
            Outputs to be scored; those that are not possible are no mistake here.
        **constraints
            Passed to the structure, for instance ``allowed=`` of a chain, or ``known=``: what is known of the
            outputs, in place of ``y``; what the verbs then take is in ``restricted()`` of the batch.

        Returns
        -------
        Batch
            See ``trelliswork.structures.Batch``; its verbs take :meth:`part_scores`.

        Examples
        --------
        >>> from trelliswork import CRF, Chain
        >>> model = CRF(Chain()).fit([["a", "b"]], [["A", "B"]])
        >>> batch = model.pack([["a"]])
        >>> batch.log_partition(model.part_scores(batch, [["a"]])).shape
        (1,)
        """
        self._check_fitted()
        check_samples(X, y, empty=True)
        self._check_columns(X)
        y = self._check_labels(y)
        if constraints:
            check_constraints(self.space_, constraints)
        if self.compiled is not None and y is None and not constraints:
            return self.compiled.pack(self.space_, X, n_jobs=self.n_jobs)
        marked = {} if y is None else {"unknown": "mark"}  # outputs that are not possible are no mistake
        with reading(self.space_.structure, X, y):
            return self.space_.pack(X, y, n_jobs=self.n_jobs, **marked, **constraints)

    def _asked(self, X: Any, constraints: dict[str, Any]) -> tuple[Batch, Parts]:
        """Samples, and the scores of the parts of the outputs that agree with what is known."""
        batch = self.pack(X, **constraints)
        if batch.known is None:
            return batch, self.part_scores(batch, X)
        batch, limits = require(batch, PartlyKnown).restricted()
        scores = self.part_scores(batch, X)
        return batch, scores if limits is None else scores + limits

    @accepts_iterators
    def predict(self, X: Any, **constraints: Any) -> Any:
        """Best output of every sample.

        Parameters
        ----------
        X : list of inputs
            As in ``fit``.
        **constraints
            ``known=``, what is known of the outputs, written as in ``fit``: the best of those that agree;
            others as the structure has them, for instance ``allowed=`` of a chain.

        Returns
        -------
        list, or ndarray
            One output per sample, of the same kind as in ``fit``; an array where ``fit`` was given an
            array of labels.
        """
        batch, scores = self._asked(X, constraints)
        large, size = large_scores(batch, scores, sums=False)
        best = batch.predicted(scores)
        if "known" in constraints:
            require(batch, PartlyKnown).check_possible(best.values)
        outputs = batch.unpack(best.codes)
        for i in [i for i, clear in large.items() if not clear]:
            found = leaders(batch, scores, self, i, size)
            if found is not None and found.n_sure:
                outputs[i] = batch.unpack_sample(i, found.codes[np.array([0])])[0]
        return self._outputs(outputs, X)

    def _asked_for_sums(self, X: Any, constraints: dict[str, Any]) -> tuple[Batch, Parts]:
        """The same for verbs that add up all outputs; refused where rounding would decide."""
        batch, scores = self._asked(X, constraints)
        check_sums(batch, scores)
        return batch, scores

    def _outputs(self, outputs: list[Any], X: Any) -> Any:
        """Outputs as ``predict`` returns them."""
        if has_single_labels(self):
            return self._as_labels(outputs)
        return Outputs(outputs, self.space_.structure.output_kind, X)

    @accepts_iterators
    def predict_kbest(self, X: Any, k: int = 5, **constraints: Any) -> list[list[Candidate]]:
        """Up to ``k`` best outputs of every sample with scores and probabilities.

        Parameters
        ----------
        X : list of inputs
            As in ``fit``.
        k : int, default=5
            Length of the lists; shorter where a sample has fewer outputs.
        **constraints
            As in :meth:`predict`.

        Returns
        -------
        list of list of Candidate
            Best first.
        """
        check_number("k", k, 1, whole=True)
        batch, scores = self._asked(X, constraints)
        large, size = large_scores(batch, scores)
        leading = told_apart(batch, scores, self, large, size, k)
        best = batch.candidates(scores, k)
        log_z = batch.log_partition(scores)
        lists: list[list[Candidate]] = []
        kind, listed = self.space_.structure.output_kind, isinstance(X, (list, tuple))
        for i, best_few in enumerate(best):
            if i in leading:
                codes, values, probability = leading[i].first(k)
            else:
                # A sample without any output has one entry, of score -inf, that says so.
                codes, values = best_few.codes, best_few.values
                probability = shares(values, float(log_z[i]), i)
            ranked = [
                Candidate(o, float(v), float(p))
                for o, v, p in zip(batch.unpack_sample(i, codes), values, probability, strict=True)
            ]
            lists.append(Ranked(ranked, kind, X[i] if listed else None))
        return lists

    @accepts_iterators
    def predict_mea(self, X: Any, **constraints: Any) -> Any:
        """Output of every sample with the largest expected accuracy under the model's probabilities.

        Often better than the most probable output where no single output is probable.

        Parameters
        ----------
        X : list of inputs
            As in ``fit``.
        **constraints
            As in :meth:`predict`.

        Returns
        -------
        list
            One output per sample, of the same kind as in ``fit``.

        Examples
        --------
        >>> from trelliswork import Chain, Fixed
        >>> same = {("transition", a, b): -9.0 * (a != b) for a in "AB" for b in "AB"}
        >>> model = Fixed(Chain(labels=["A", "B"]), same | {("emission", "x", "A"): 0.1})
        >>> model.predict_mea([["x", "y"]])
        [['A', 'A']]
        """
        batch, scores = self._asked_for_sums(X, constraints)
        return self._outputs(batch.unpack(batch.mea(scores).codes), X)

    @accepts_iterators
    def predict_min_risk(self, X: Any, loss: Any = "hamming", k: int = 10, **constraints: Any) -> Any:
        """Of the ``k`` best outputs, the one with the least expected loss under the model.

        The expectation is over all outputs, exactly: losses that are sums over parts from marginals,
        others (edit distance, n-grams, ...) through their automata.

        Parameters
        ----------
        X : list of inputs
            As in ``fit``.
        loss : str or Loss, default="hamming"
            A symmetric loss, such as ``"hamming"``, ``"edit"`` (``Edit(cap=3)``) or ``"zero-one"``.
        k : int, default=10
            Number of candidates. More can only lower the expected loss, and take longer.
        **constraints
            Passed to the structure.

        Returns
        -------
        list
            One output per sample.
        """
        from trelliswork.losses import as_loss
        from trelliswork.losses.inside import inside

        check_number("k", k, 1, whole=True)
        measured = as_loss(loss)
        if "known" in constraints:
            raise Unsupported("predict_min_risk takes no known=; take the best of predict_kbest instead")
        batch, scores = self._asked_for_sums(X, constraints)
        measured.check(self.space_)
        lists = batch.kbest(scores, k)
        outputs = [batch.unpack_sample(i, best.codes) for i, best in enumerate(lists)]
        if not all(outputs):
            i = next(i for i, candidates in enumerate(outputs) if not candidates)
            raise InputError("the weights and constraints leave no possible output", sample=i)
        owner = np.repeat(np.arange(len(batch)), [len(candidates) for candidates in outputs])
        prepared = self.space_.structure.prepare(X)
        rows = prepared[owner] if hasattr(prepared, "shape") else [prepared[i] for i in owner]
        limits = {name: _repeated(value, owner) for name, value in constraints.items()}
        each = [output for candidates in outputs for output in candidates]
        many = self.space_.pack(rows, each, n_jobs=self.n_jobs, **limits)
        risk = inside(many, measured).risk(self.part_scores(many, rows)) if len(many) else np.zeros(0)
        first = np.searchsorted(owner, np.arange(len(batch)))
        least = [int(np.argmin(risk[a : a + len(c)])) for a, c in zip(first, outputs, strict=True)]
        return self._outputs([c[i] for i, c in zip(least, outputs, strict=True)], X)

    @accepts_iterators
    def predict_marginals(self, X: Any, **constraints: Any) -> list[Any]:
        """Probabilities of the parts of the outputs, in the structure's own form.

        For a chain: per sample an array (n_tokens, n_labels), columns as in ``classes_``. A part that an
        output may have more than once has the expected number of times.

        Parameters
        ----------
        X : list of inputs
            As in ``fit``.
        **constraints
            As in :meth:`predict`.
        """
        batch, scores = self._asked(X, constraints)
        large, size = large_scores(batch, scores)
        if batch.indicates_all:
            leading = told_apart(batch, scores, self, large, size)
        else:
            refuse_unclear(large, size)
            leading = {}
        marginals = batch.user_marginals(scores)
        for i, found in leading.items():
            one = batch.subset([i])
            marginals[i] = one.unpack_marginals(found.parts(one))[0]
        check_probabilities(marginals)
        return marginals

    @accepts_iterators
    def log_prob(self, X: Any, y: Any, **constraints: Any) -> np.ndarray:
        """Log-probability of given outputs; -inf for outputs that are not possible.

        Of an output that is known in part it is the probability of all outputs that agree with it.

        Parameters
        ----------
        X : list of inputs
            As in ``fit``.
        y : list of outputs
            One per sample.
        **constraints
            As in :meth:`predict`; the probability is then among the outputs that they allow.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        known = constraints.pop("known", None)
        batch = self.pack(X, y, **constraints)
        scores = self.part_scores(batch, X)
        large, size = large_scores(batch, scores)
        if known is not None or batch.known is not None:
            refuse_unclear(large, size)
            large = {}
        values = batch.gold_values(scores)
        if known is not None:
            if batch.known is not None:
                raise InputError("known= goes with outputs that are known as a whole; give y as a whole")
            codes = batch.gold_codes
            batch, scores = self._asked(X, constraints | {"known": known})
            values[batch.evaluate(codes, scores) == -np.inf] = -np.inf
        possible = values > -np.inf
        values[possible] -= batch.log_partition(scores)[possible]
        leading = told_apart(
            batch, scores, self, {i: clear for i, clear in large.items() if possible[i]}, size
        )
        for i, found in leading.items():
            one = batch.subset([i])
            values[i] = found.log_shares(exact_sums(one, self.coef_, one.gold_codes))[0]
        check_log_probabilities(values)
        return np.minimum(values, 0.0)  # rounding must not push a certain output above 1

    @accepts_iterators
    def sample(
        self, X: Any, n_samples: int = 1, *, random_state: Any = None, **constraints: Any
    ) -> list[list[Any]]:
        """Draw outputs from the model's distribution.

        Parameters
        ----------
        X : list of inputs
            As in ``fit``.
        n_samples : int, default=1
            Draws per input. More draws tell shares of outputs more exactly.
        random_state : int, Generator or None
            Seed; with None the draws differ from call to call.
        **constraints
            Passed to the structure.

        Returns
        -------
        list of list
            ``n_samples`` outputs per input.
        """
        check_number("n_samples", n_samples, 0, whole=True)
        batch, scores = self._asked(X, constraints)
        large, size = large_scores(batch, scores)
        leading = told_apart(batch, scores, self, large, size)
        rng = np.random.default_rng(random_state)
        if leading:  # one by one: some from the few outputs that have all of the probability
            lists = []
            for i in range(len(batch)):
                one = batch.subset([i])
                draws = (
                    [leading[i].drawn(rng) for _ in range(n_samples)]
                    if i in leading
                    else one.sample(sample_scores(batch, scores, i), n_samples, rng)
                )
                lists.append([one.unpack(codes)[0] for codes in draws])
            return lists
        draws = batch.sample(scores, n_samples, rng)
        return [list(outputs) for outputs in zip(*map(batch.unpack, draws), strict=True)] or [[] for _ in X]

    @accepts_iterators
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy in the structure's own terms (for a chain: share of right labels).

        Parameters
        ----------
        X : list of inputs
            As in ``fit``.
        y : list of outputs
            The truth; labels that were not seen in training count as errors.
        sample_weight : array-like or None
            Weight of each sample.
        """
        check_samples(X, y)
        weights = check_weights(sample_weight, count_samples(X))
        predicted = self.predict(X)
        with reading(self.space_.structure, X, y):
            return float(self.space_.accuracy(X, y, predicted, weights))

    def part_scores(self, batch: Batch, X: Any) -> Parts:
        """Scores of the parts of all outputs, for the verbs of a batch.

        Parameters
        ----------
        batch : Batch
            Samples from :meth:`pack`, or some of them.
        X : list of inputs
            Their inputs; needed by models whose weights depend on the input.

        Returns
        -------
        Parts
            Part scores.
        """
        return batch.scores(self.coef_)

    def weights_of_input(self, batch: Batch, X: Any) -> np.ndarray:
        """Weights of the features for the only sample of a batch: what of its scores comes from features.

        Parameters
        ----------
        batch : Batch
            One sample.
        X : list of inputs
            Its input.
        """
        # Kernel models have no weights: all of their scores are listed by part.
        return self.coef_ if hasattr(self, "coef_") else np.zeros(self.space_.n_features)

    # -- reading the model ---------------------------------------------------------------------

    @property
    def classes_(self) -> Any:
        """Labels in the order of the columns of ``predict_marginals``, where the structure has labels.

        Where outputs are single labels they are an array: scorers of scikit-learn, such as
        ``neg_log_loss``, compare it with a label.
        """
        if not hasattr(self, "space_") or not hasattr(self.space_, "labels"):
            raise AttributeError("classes_")
        labels = self.space_.labels
        return self._label_array(labels) if has_single_labels(self) else labels

    def weights_by_name(self) -> dict[Any, float]:
        """All non-zero weights under their feature names."""
        self._check_fitted()
        names = self.space_.feature_names
        return {names[i]: float(self.coef_[i]) for i in np.flatnonzero(self.coef_)}

    def tables(self, top: int = 10) -> dict[str, Any]:
        """Weights for reading: top features per label, table of transitions, and so on.

        Parameters
        ----------
        top : int, default=10
            Rows per label; more show smaller weights.
        """
        self._check_fitted()
        return self.space_.tables(self.coef_, top)


def _repeated(constraint: Any, owner: np.ndarray) -> Any:
    """A constraint per sample, for repeated samples; others as they are."""
    return [constraint[i] for i in owner] if isinstance(constraint, (list, tuple)) else constraint


def check_constraints(space: Space, constraints: dict[str, Any]) -> None:
    """Refuse constraints that the structure does not know, and name those that it does."""
    taken = inspect.signature(space.pack).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in taken):
        return  # a structure that looks at them itself
    known = [p.name for p in taken if p.kind is p.KEYWORD_ONLY and p.name not in ("n_jobs", "unknown")]
    for name in constraints:
        if name not in known:
            raise InputError(
                f"{type(space.structure).__name__} has no constraint {name!r}; "
                f"it has {', '.join(known) or 'none'}"
            )
