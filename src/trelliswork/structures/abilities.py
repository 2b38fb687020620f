"""What only some structures can do: one small class per ability, which their batches inherit from.

A learner that needs an ability asks for it with :func:`require`, which names the structures that have it;
``Structure.offers(ability)`` tells beforehand.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeVar, final

import numpy as np

from trelliswork._errors import InputError, Unsupported
from trelliswork._ragged import Ragged, gather_ranges
from trelliswork._validate import as_number
from trelliswork.structures.batch import Batch
from trelliswork.structures.parts import Decoded, Parts

if TYPE_CHECKING:
    from trelliswork.structures.base import Space
    from trelliswork.structures.factors import Factors

__all__ = [
    "ABILITIES",
    "CountedParts",
    "Factored",
    "JointLaw",
    "Labelled",
    "LossProfiles",
    "Multinomials",
    "PartlyKnown",
    "Product",
    "ReadByAutomata",
    "Reading",
    "ReferenceLaw",
    "RowView",
    "Rows",
    "Settled",
    "Settling",
    "Storable",
    "Unsettled",
    "require",
    "unsupported",
]


class Storable(Batch):
    """Samples can be stored in model files, joined with others and moved to a larger space."""

    @abstractmethod
    def into(self, space: Space) -> Batch:
        """The same samples in a larger space (see ``Space.merged``), or in a restricted one."""

    @abstractmethod
    def joined(self, other: Batch) -> Batch:
        """Samples of two batches of one space, one after the other."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Arrays and plain values from which ``Space.restore`` makes the batch again."""


class LossProfiles(Batch):
    """The best score for every value of an integer loss."""

    @property
    def quick_profile(self) -> bool:
        """Whether :meth:`loss_profile` costs little more than ``argmax``, for losses of some hundreds."""
        return False

    @abstractmethod
    def loss_profile(self, scores: Parts, costs: Parts, max_loss: int) -> np.ndarray:
        """Best score among the outputs with total integer cost L, for L = 0 .. ``max_loss``."""

    @abstractmethod
    def argmax_at_loss(self, scores: Parts, costs: Parts, losses: np.ndarray) -> Decoded:
        """Best output of every sample among those with the total integer cost ``losses[i]``."""


class CountedParts(Batch):
    """The best score for every number of predicted and of right parts: what F1 needs."""

    @abstractmethod
    def argmax_by_counts(
        self, scores: Parts, choose: Callable[[int, int, np.ndarray], tuple[int, int]]
    ) -> tuple[Decoded, np.ndarray]:
        """Best output of every sample with certain numbers of predicted and of right ``items``.

        What losses of these numbers, such as F1, need for an exact search.
        ``choose(i, n_true, table)`` picks a row (number of parts) and a column (of those that are
        right) of the table of best scores of sample ``i``, whose true output has ``n_true`` parts.
        Returns the outputs and what was chosen, shape (n_samples, 2).
        """


class Reading(NamedTuple):
    """How the outputs of one sample are read by a loss automaton.

    Attributes
    ----------
    truth : list
        Symbols of the true output, in order.
    alphabet : list
        All symbols that outputs of the sample are made of.
    length : int
        Most symbols of an output.
    fixed : bool
        Whether all outputs have as many symbols as the true one.
    """

    truth: list[Any]
    alphabet: list[Any]
    length: int
    fixed: bool


class Product(Protocol):
    """Product of the outputs of a batch with one loss automaton per sample.

    The law is ``exp(score + scale * loss)``.
    """

    def expect(
        self, scores: Parts, scale: float = 1.0, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, Parts]:
        """Log of the sum over outputs of every sample, and the weighted expected parts."""

    def log_partition(self, scores: Parts, scale: float = 1.0) -> np.ndarray:
        """Log of the sum over outputs, per sample."""

    def risk(self, scores: Parts) -> np.ndarray:
        """Expected loss under the law without the loss, per sample."""

    def marginals(
        self, scores: Parts, scale: float = 1.0, *, weights: np.ndarray | None = None, risk: bool = False
    ) -> Parts:
        """Expected parts; with ``risk`` under the law times the loss."""

    def argmax(self, scores: Parts, scale: float = 1.0) -> Decoded:
        """Best output, by score plus loss."""


class ReadByAutomata(Batch):
    """Outputs are read symbol by symbol, so that losses may be automata."""

    @abstractmethod
    def readings(self) -> list[Reading]:
        """Per sample, the true output and the alphabet of outputs."""

    @abstractmethod
    def product(self, automata: Sequence[Any]) -> Product:
        """Product of the outputs with one loss automaton per sample (see ``losses.automata``)."""


class Factored(Batch):
    """Outputs are labellings of a factor graph, for bounds and voted penalties."""

    def listing_work(self) -> float:
        """What :meth:`factors` takes, in units of what is little beside a learner; adds up over samples."""
        return 0.0

    @property
    @final
    def lists_factors_quickly(self) -> bool:
        """Whether :meth:`factors` takes no longer than a few iterations of a learner."""
        return self.listing_work() <= 1.0

    @abstractmethod
    def factors(self) -> Factors:
        """The factor graph of the samples."""


class Multinomials(Batch):
    """Outputs are made by the choices of a generative model."""

    @abstractmethod
    def multinomials(self) -> dict[Any, np.ndarray]:
        """The choices: head -> features that are its outcomes."""

    def choices(self) -> Multinomials:
        """The same samples as a law of outputs given inputs, whose features are choices; here as they are."""
        return self

    def log_probabilities(
        self, smoothing: float, weights: np.ndarray | None = None, counts: np.ndarray | None = None
    ) -> np.ndarray:
        """Logs of the smoothed shares of the outcomes of every choice; 0 for all other features.

        ``counts`` are features of the true outputs, summed, where these are expectations.
        """
        counts = self.gold_sum(weights) if counts is None else counts
        log_p = np.zeros(self.space.n_features)
        for members in self.multinomials().values():
            smoothed = counts[members] + smoothing
            log_p[members] = np.log(smoothed / smoothed.sum())
        return log_p

    def outcome_weights(self, log_p: np.ndarray) -> np.ndarray:
        """Weights that score outputs by the given log-probabilities of outcomes; here the same."""
        return log_p


class ReferenceLaw(Batch):
    """The generative model has a form of its own as the reference law of moment learners."""

    @property
    def reference_is_linear(self) -> bool:
        """Whether :meth:`reference_scores` are those of a weight vector; here not."""
        return False

    @abstractmethod
    def reference_weights(self, smoothing: float, weights: np.ndarray | None = None) -> np.ndarray:
        """Generative weights for use as a reference law, see :meth:`reference_scores`."""

    @abstractmethod
    def reference_scores(self, w: np.ndarray) -> Parts:
        """Part scores of :meth:`reference_weights`."""


class JointLaw(Batch):
    """A generative law of inputs and outputs, by which conditional models are multiplied in prediction."""

    @property
    @abstractmethod
    def law_weight(self) -> float:
        """Power of the law, 0 for none."""

    @abstractmethod
    def law_scores(self) -> Parts:
        """Log-probabilities of the parts under the law."""


class PartlyKnown(Batch):
    """True outputs may be known in part only.

    ``known`` says what is known of the output of every sample, in a form of the structure's own, and None of
    an output that is known as a whole; without it (None) all are. The codes of an output that is known in
    part are those of some output that agrees with it.
    """

    _agreeing: Parts | None = None  # see :meth:`agreeing`

    @property
    def open_samples(self) -> np.ndarray:
        """Samples whose outputs are known in part only."""
        if self.known is None:
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero([entry is not None for entry in self.known])

    @property
    def partly_known(self) -> bool:
        """Whether there are such samples."""
        return self.open_samples.size > 0

    @abstractmethod
    def _forbidden(self) -> Parts:
        """0 for parts that outputs may have, -inf for those that what is known of the sample forbids.

        The outputs without forbidden parts must be those that agree. Samples that are known as a whole have
        no forbidden part.
        """

    @final
    def agreeing(self) -> Parts:
        """Costs that leave only outputs that agree with what is known; none for samples known as a whole."""
        if self._agreeing is None:
            self._agreeing = self._forbidden()
        return self._agreeing

    def restricted(self) -> tuple[Batch, Parts | None]:
        """Samples and costs with which the verbs see only outputs that agree; here :meth:`agreeing`."""
        return self, self.agreeing()

    def restricted_scores(self, scores: Parts) -> Parts:
        """Scores of the parts of these samples as those of :meth:`restricted` have them; here the same."""
        return scores

    def expect_known(self, w: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """``expect`` over the outputs that agree; all samples are known in part."""
        batch, limits = self.restricted()
        return batch.expect(w, limits, weights)

    def expected_known(self, w: np.ndarray, weights: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        """:meth:`expect_known` with the logs summed, too, times a weight per sample."""
        log_z, features = self.expect_known(w, weights)
        return float(log_z.sum() if weights is None else log_z @ weights), features

    def completion(self, scores: Parts) -> Decoded:
        """Best of the outputs that agree, for every sample; all samples are known in part."""
        batch, limits = self.restricted()
        return batch.argmax(self.restricted_scores(scores), limits)

    def gold_values(self, scores: Parts) -> np.ndarray:
        """Scores of the true outputs; of those known in part the log of the sum over all that agree."""
        values, index = super().gold_values(scores), self.open_samples
        if index.size:
            batch, limits = self.restricted()
            values[index] = batch.log_partition(self.restricted_scores(scores), limits)[index]
        return values

    @final
    def known_costs(self, costs: Parts, constant: np.ndarray) -> tuple[Parts, np.ndarray]:
        """Costs of :meth:`mismatch`, which of outputs known in part are 1 for every part that is forbidden.

        Parameters
        ----------
        costs, constant : Parts, ndarray
            Costs if the codes of the outputs were all there is to know; changed in place.
        """
        index = self.open_samples
        if index.size:
            constant[index], offsets = 0.0, self.part_offsets()
            for name, limit in self.agreeing().items():
                cost = costs.__dict__[name]
                if name not in offsets or (limit is None and cost is None):
                    continue
                if cost is None:
                    cost = costs.__dict__[name] = np.zeros_like(limit)
                rows = gather_ranges(offsets[name], index)
                cost[rows] = 0.0 if limit is None else np.isneginf(limit[rows])
        return costs, constant

    @final
    def completed(self, codes: Ragged) -> Self:
        """The same samples with other true outputs, which agree with what is known."""
        other = copy.copy(self)
        other._replace_gold(codes)
        return other

    def _replace_gold(self, codes: Ragged) -> None:
        self._gold = codes

    @final
    def settle(self, whole: Sequence[np.ndarray | None], known: list[Any] | None, strict: bool) -> None:
        """Take up what is known, and some output that agrees as the true one where not all of it is.

        Parameters
        ----------
        whole : sequence of ndarray or None
            Codes of the outputs that are known as a whole.
        known : list or None
            See the class.
        strict : bool
            Whether to refuse samples for which no output agrees; otherwise they have any codes.
        """
        rows = list(whole)
        if known is not None and any(entry is not None for entry in known):
            self._gold, self.known = None, known
            part = self.subset(self.open_samples)
            try:
                guess = part.completion(part._guess()) if strict else part.argmax(part._guess())
                if strict:
                    part.check_possible(guess.values)
            except InputError as error:
                number = None if error.sample is None else self.open_samples[error.sample]
                raise InputError(error.message, sample=number) from None
            for place, i in enumerate(self.open_samples):
                rows[i] = guess.codes[place]
        self._gold = Ragged.from_list(rows, np.int64)

    def _guess(self) -> Parts:
        """Scores by which the first completion is chosen; here none."""
        return self.scores(np.zeros(self.n_features))

    @final
    def check_possible(self, values: np.ndarray) -> None:
        """Refuse samples of value -inf: no output agrees with what is known of them."""
        bad = np.flatnonzero(values == -np.inf)
        if bad.size:
            raise InputError("no output agrees with what is known of this one", sample=bad[0])


class Unsettled(NamedTuple):
    """The parts of samples about which a model is not sure yet.

    Attributes
    ----------
    batch : Batch
        Pieces of the samples, without outputs.
    owners : ndarray of int64
        Sample that each piece comes from.
    """

    batch: Batch
    owners: np.ndarray


class Settled(NamedTuple):
    """How far samples are settled; numbers that add up over samples.

    Attributes
    ----------
    tokens : float
        Places where something is chosen.
    unsure : float
        Places where the model is not sure.
    kept : float
        Places in the pieces around those.
    """

    tokens: float
    unsure: float
    kept: float


class Settling(Batch):
    """Samples fall apart where a model is sure, so that most of their expected features can be kept."""

    @abstractmethod
    def unsure(self, weights: np.ndarray | None = None) -> np.ndarray | None:
        """Places where the model of the last ``expect`` is not sure; None where samples do not fall apart.

        Parameters
        ----------
        weights : ndarray or None
            Weight of each sample, as in ``expect``.
        """

    @abstractmethod
    def settled(self, unsure: np.ndarray) -> Settled:
        """How far the samples are settled, apart from the given places."""

    @abstractmethod
    def settling_pays(self, settled: Settled) -> bool:
        """Whether steps on the pieces are worth it."""

    @abstractmethod
    def pieces(self, unsure: np.ndarray) -> Unsettled:
        """The pieces around the given places."""

    def unsettled(self, weights: np.ndarray | None = None) -> Unsettled | None:
        """Pieces whose log partition bends nearly as that of all samples does, near the weights of the last
        ``expect``; None where that does not pay, or was not asked with these sample weights.

        Parameters
        ----------
        weights : ndarray or None
            Weight of each sample, as in ``expect``.
        """
        unsure = self.unsure(weights)
        if unsure is None or not self.settling_pays(self.settled(unsure)):
            return None
        return self.pieces(unsure)


class RowView(NamedTuple):
    """Samples in terms of their distinct input rows: what a kernel on rows needs.

    Attributes
    ----------
    batch : Batch
        The same samples; its first ``n_rows * n_columns`` features are the pairs of a row and
        a column (label), row by row, and the others are those that do not depend on rows.
    rows : ndarray or csr_matrix of shape (n_rows, n_attributes)
        Distinct rows.
    n_columns : int
        Number of columns.
    first : ndarray of shape (n_rows,)
        Sample that a row is first met in.
    """

    batch: Batch
    rows: Any
    n_columns: int
    first: np.ndarray


class Rows(Batch):
    """Inputs are made of rows of attributes, or parts have such rows around them, which kernels compare."""

    @abstractmethod
    def row_view(self) -> RowView:
        """The same samples with one feature per distinct input row."""


class Labelled(Batch):
    """Outputs are made of labels of one alphabet, ``space.labels``."""

    @abstractmethod
    def label_costs(self, table: np.ndarray) -> tuple[Parts, np.ndarray]:
        """Costs ``table[true label, label]`` of every labelled part, and a constant per sample."""

    def sure_labels(self) -> np.ndarray:
        """Which of the true labels are known and not just possible; here all of them."""
        return np.ones(self.gold_codes.values.size, dtype=bool)

    @final
    def class_weights(self, class_weight: Any) -> np.ndarray:
        """Weight of each sample: the mean over its true labels that are known, 1 without any.

        Parameters
        ----------
        class_weight : "balanced" or dict
            Weights inverse to the frequencies of the labels, or ``{label: weight}``, 1 for labels left out.
        """
        space: Any = self.space
        labels = space.labels
        if isinstance(class_weight, str) and class_weight == "balanced":
            counts = self.summed(label_counts)
            by_label = counts.sum() / (len(labels) * np.maximum(counts, 1))
        elif isinstance(class_weight, Mapping):
            by_label = _given_weights(class_weight, labels)
        else:
            raise InputError(f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}")
        return self.mean_weights(by_label)

    def mean_weights(self, by_label: np.ndarray) -> np.ndarray:
        """Mean weight of the true labels of each sample that are known, 1 without any."""
        gold, sure = self.gold_codes, self.sure_labels()
        owner = np.repeat(np.arange(len(self)), gold.lengths)[sure]
        total = np.bincount(owner, weights=by_label[gold.values[sure]], minlength=len(self))
        n_known = np.bincount(owner, minlength=len(self))
        return np.where((n_known > 0) | (gold.lengths == 0), total / np.maximum(n_known, 1), 1.0)


def label_counts(batch: Labelled, weights: np.ndarray | None = None) -> np.ndarray:
    """How often every label is the true one, where that is known."""
    labels: Any = batch.space
    return np.bincount(batch.gold_codes.values[batch.sure_labels()], minlength=len(labels.labels))


def _given_weights(class_weight: Mapping[Any, Any], labels: list[Any]) -> np.ndarray:
    """Weight of every label."""
    # A fold may lack some of the labels, but hardly all of them.
    if class_weight and not any(label in labels for label in class_weight):
        raise InputError(
            f"class_weight: {list(class_weight)!r:.80} are not labels of the data; the labels are "
            f"{labels!r:.80}"
        )
    weights = np.ones(len(labels))
    for i, label in enumerate(labels):
        weights[i] = as_number(f"class_weight of {label!r}", class_weight.get(label, 1.0))
        if weights[i] < 0:
            raise InputError(f"class_weight of {label!r} is {weights[i]}; it must be >= 0")
    return weights


# Every ability, and what messages call it.
ABILITIES: dict[type[Batch], str] = {
    Storable: "samples that are stored and joined",
    LossProfiles: "best scores by loss",
    CountedParts: "best scores by numbers of parts",
    ReadByAutomata: "losses that are automata",
    Factored: "a factor graph",
    Multinomials: "a generative model made of multinomials",
    ReferenceLaw: "a reference law of its own",
    JointLaw: "a law of inputs and outputs together",
    PartlyKnown: "outputs known in part",
    Rows: "kernels on input rows or on parts in their context",
    Labelled: "weights and costs of labels (class_weight, label_costs)",
}

_Ability = TypeVar("_Ability", bound=Batch)


def unsupported(structure: type, ability: type[Batch]) -> Unsupported:
    """The error of a structure that lacks an ability: it names those that have it."""
    from trelliswork.structures import STRUCTURES

    able = [name for name, cls in STRUCTURES.items() if cls.offers(ability)]
    what = ABILITIES.get(ability, ability.__name__)
    return Unsupported(
        f"{structure.__name__} does not offer {what}; these structures do: {', '.join(able) or 'none'}"
    )


def require(batch: Batch, ability: type[_Ability]) -> _Ability:
    """The batch itself where it has an ability; otherwise the error of :func:`unsupported`."""
    if not isinstance(batch, ability):
        raise unsupported(type(batch.space.structure), ability)
    return batch
