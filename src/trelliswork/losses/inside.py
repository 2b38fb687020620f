"""A loss inside the law of a model: sums, maxima and expectations over all outputs.

For every sample, with scores ``s(y)`` and losses ``L(y)`` against the true output: the log of the
sum of ``exp(s + L)``, its gradient, the output with the largest ``s + L``, the
expected loss, and the law proportional to ``L exp(s)``. Losses that are sums over parts are added to
the scores; others go through the product with their automaton.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged
from trelliswork.losses import LOSSES
from trelliswork.losses.automata import MAX_STATES, LossAutomaton, TooManyStates
from trelliswork.losses.base import Loss, losses_of
from trelliswork.structures.abilities import Product, ReadByAutomata, require
from trelliswork.structures.base import Batch, Decoded, Parts, Space, Unsupported

__all__ = ["Additive", "Automatic", "Blockwise", "Inside", "inside", "loss_automata"]

_MAX_ENTRIES = 50_000_000  # arcs of all automata of a batch, 16 bytes each


class Inside(ABC):
    """Losses of all outputs of a batch, for sums and maxima.

    Parameters
    ----------
    batch : Batch
        Samples with their true outputs.
    loss : Loss or None
        The loss; None is 0 for all outputs.
    """

    def __init__(self, batch: Batch, loss: Loss | None):
        self.batch, self.loss = batch, loss

    @abstractmethod
    def expect(self, w: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Log of the sum of ``exp(s + L)`` of every sample, and the weighted sum of expected features."""

    def expected(self, w: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """:meth:`expect` with the logs summed, too, times a weight per sample."""
        log_sum, features = self.expect(w, weights)
        return float(weights @ log_sum), features

    @abstractmethod
    def risk(self, scores: Parts) -> np.ndarray:
        """Expected loss of every sample under the law ``exp(s)``."""

    @abstractmethod
    def risk_features(self, scores: Parts, weights: np.ndarray) -> np.ndarray:
        """Weighted sum of the expected features under the laws ``L exp(s)``."""

    @abstractmethod
    def argmax(self, scores: Parts) -> Decoded:
        """Output with the largest ``s + L`` of every sample."""

    @abstractmethod
    def smallest(self) -> np.ndarray:
        """Least loss of any output of every sample."""

    def log_risk(self, scores: Parts) -> np.ndarray:
        """Log of the sum of ``L exp(s)``, for losses that are not negative; -inf where all are 0."""
        risk = self.risk(scores)
        with np.errstate(divide="ignore"):
            return self.batch.log_partition(scores) + np.log(np.maximum(risk, 0.0))

    @property
    def _nothing(self) -> Parts:
        return self.batch.scores(np.zeros(self.batch.n_features))

    def largest(self) -> np.ndarray:
        """Largest loss of any output of every sample."""
        return self.argmax(self._nothing).values

    def loss_of(self, codes: Ragged) -> np.ndarray:
        """Loss of one given output per sample."""
        return np.zeros(len(self.batch)) if self.loss is None else self.loss.evaluate(self.batch, codes)


class Additive(Inside):
    """A loss that is a sum over parts (or none at all).

    Parameters
    ----------
    batch : Batch
        Samples with their true outputs.
    loss : Loss or None
        The loss.
    costs : Parts or None
        Its part costs.
    constant : ndarray or float
        What is added per sample.
    """

    def __init__(self, batch: Batch, loss: Loss | None, costs: Parts | None, constant: np.ndarray | float):
        super().__init__(batch, loss)
        self.costs, self.constant = costs, constant

    def expect(self, w: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Costs are added to the scores."""
        log_z, features = self.batch.expect(w, self.costs, weights)
        return log_z + self.constant, features

    def risk(self, scores: Parts) -> np.ndarray:
        """Costs times marginals."""
        if self.costs is None:
            return np.zeros(len(self.batch)) + self.constant
        # Parts that all samples share are needed per sample only if they cost something.
        shared = self.batch.shared_parts
        each = any(a is not None and name in shared for name, a in self.costs.items())
        parts = self.batch.marginals(scores, each=each)
        return self.batch.dot_each(parts, self.costs) + self.constant

    def risk_features(self, scores: Parts, weights: np.ndarray) -> np.ndarray:
        """Means plus the covariance with the loss over the expected loss."""
        if self.costs is None:
            raise InputError("a loss is needed here: its value must not be 0 for all outputs")
        mean = self.risk(scores)
        share = np.divide(weights, mean, out=np.zeros_like(mean), where=mean > 0)
        moved = self.batch.pull(self.batch.tangent(scores, self.costs, weights=share))
        return moved + self.batch.pull(self.batch.marginals(scores, weights=share * mean))

    def argmax(self, scores: Parts) -> Decoded:
        """Decode with the costs."""
        codes, values = self.batch.argmax(scores, self.costs)
        return Decoded(codes, values + self.constant)

    def smallest(self) -> np.ndarray:
        """Decode with the negated costs."""
        least = np.zeros(len(self.batch)) + self.constant
        if self.costs is not None:
            turned = self.batch.scale(self.costs, np.full(len(self.batch), -1.0))
            least -= self.batch.argmax(self._nothing, turned).values
        return least


class Automatic(Inside):
    """A loss through the product with its automata.

    Parameters
    ----------
    batch : Batch
        Samples with their true outputs.
    loss : Loss
        The loss.
    automata : list of LossAutomaton
        One per sample.
    """

    def __init__(self, batch: Batch, loss: Loss, automata: list[LossAutomaton]):
        super().__init__(batch, loss)
        self.automata = _accepting(batch, loss, automata)
        self.product = require(batch, ReadByAutomata).product(self.automata)
        self._log_product: Product | None = None

    def expect(self, w: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Sums over the product."""
        scores = self.batch.scores(w)
        log_z, parts = self.product.expect(scores, 1.0, weights)
        return log_z, self.batch.pull(parts)

    def risk(self, scores: Parts) -> np.ndarray:
        """Expectation over the product."""
        return self.product.risk(scores)

    def risk_features(self, scores: Parts, weights: np.ndarray) -> np.ndarray:
        """Expectation under the law times the loss."""
        return self.batch.pull(self.product.marginals(scores, 0.0, weights=weights, risk=True))

    def argmax(self, scores: Parts) -> Decoded:
        """Best path of the product."""
        return self.product.argmax(scores)

    def smallest(self) -> np.ndarray:
        """Best path for the negated loss."""
        return -self.product.argmax(self._nothing, -1.0).values

    def argmax_log(self, scores: Parts) -> Decoded:
        """Output with the largest ``s + log L``: the total, not its parts, is known at the end."""
        if self._log_product is None:
            what = f"log {self.loss!r}; choose a loss with fewer values"
            logs = [a.of_total(_log, what, MAX_STATES) for a in self.automata]
            self._log_product = require(self.batch, ReadByAutomata).product(logs)
        return self._log_product.argmax(scores)


class Blockwise:
    """The loss inside the laws of samples that are asked a block at a time.

    Parameters
    ----------
    batch : Batch
        Samples with their true outputs.
    loss : Loss or None
        The loss.
    """

    def __init__(self, batch: Batch, loss: Loss | None):
        self.batch, self.loss = batch, loss
        self._key = f"loss inside {uuid.uuid4().hex}"

    def expected(self, w: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """As in :class:`Inside`."""
        return self.batch.summed(gradient_with_loss, self._key, self.loss, w, weights=weights)


def gradient_with_loss(
    batch: Batch, key: str, loss: Loss | None, w: np.ndarray, weights: np.ndarray
) -> tuple[float, np.ndarray]:
    """Sums of one block, whose costs are computed once."""
    return batch.remembered(key, lambda: inside(batch, loss)).expected(w, weights)


def _accepting(batch: Batch, loss: Loss, automata: list[LossAutomaton]) -> list[LossAutomaton]:
    """The automata with all final costs finite; refuses those that reject an output."""
    ends = [np.isinf(a.final) for a in automata]
    if not any(end.any() for end in ends):
        return automata
    # Not every state has outputs that end there, least of all where lengths vary: count those that do.
    marked = [
        a._replace(cost=np.zeros_like(a.cost), final=end.astype(np.float64))
        for a, end in zip(automata, ends, strict=True)
    ]
    nothing = batch.scores(np.zeros(batch.n_features))
    accepted = require(batch, ReadByAutomata).product(marked).argmax(nothing)
    if (accepted.values > 0.5).any():
        i = int(np.argmax(accepted.values))
        name, output = type(loss).__name__, batch.unpack(accepted.codes)[i]
        raise InputError(f"the automaton of {name} rejects the output {output!r:.80}", sample=i)
    return [a._replace(final=np.where(end, 0.0, a.final)) for a, end in zip(automata, ends, strict=True)]


def _log(value: float) -> float:
    return float(np.log(value)) if value > 1e-12 else -np.inf


def loss_automata(batch: Batch, loss: Loss, limit: int = MAX_STATES) -> list[LossAutomaton] | None:
    """Automaton of the loss for every sample; None where the loss or the structure has none.

    Parameters
    ----------
    batch : Batch
        Samples with their true outputs.
    loss : Loss
        The loss.
    limit : int
        Most states of one automaton.

    Examples
    --------
    >>> from trelliswork import Chain
    >>> from trelliswork.losses import Edit
    >>> from trelliswork.losses.inside import loss_automata
    >>> space = Chain().bind([["a", "b"]], [["A", "B"]])
    >>> [automaton] = loss_automata(space.pack([["a", "b"]], [["A", "B"]]), Edit())
    >>> automaton.n_states
    7
    """
    if type(loss).automaton is Loss.automaton or not isinstance(batch, ReadByAutomata):
        return None
    known: dict[Any, LossAutomaton | None] = {}
    automata, total = [], 0
    for i, reading in enumerate(batch.readings()):
        key = tuple(reading.truth), tuple(reading.alphabet), reading.length, reading.fixed
        if key not in known:
            truth, alphabet, length, fixed = reading
            try:
                known[key] = loss.automaton(truth, alphabet, length, fixed=fixed, limit=limit)
            except TooManyStates as error:
                raise TooManyStates(error.message, sample=i) from None
            except InputError as error:
                raise InputError(error.message, sample=i) from None
        one = known[key]
        if one is None:
            return None
        automata.append(one)
        total += one.step.size
        if total > _MAX_ENTRIES:
            raise TooManyStates(
                f"the automata of {loss!r} have over {_MAX_ENTRIES:,} arcs together; lower the "
                "cap of the loss, or take fewer or shorter samples",
                sample=i,
            )
    return automata


def _that_fit(space: Space) -> str:
    """What to use instead of a loss that is neither a sum over parts nor an automaton on a structure."""
    if type(space.structure).offers(ReadByAutomata):
        return "Hamming, Edit, NGrams, Markovian, Counted or Rational"
    sums = [name for name in losses_of(space) if LOSSES[name].part_costs is not Loss.part_costs]
    return f"a sum over parts: {' or '.join(map(repr, sums))}"


def _by_automata(batch: Batch, loss: Loss | None) -> Automatic:
    automata = None if loss is None else loss_automata(batch, loss)
    if automata is None or loss is None:
        raise Unsupported(
            f"{loss!r} is neither a sum over the parts of {type(batch.space.structure).__name__} nor an "
            "automaton there; use " + _that_fit(batch.space)
        )
    return Automatic(batch, loss, automata)


def inside(batch: Batch, loss: Loss | None) -> Any:
    """The loss inside the law of a batch, by the cheapest exact way.

    Parameters
    ----------
    batch : Batch
        Samples with their true outputs.
    loss : Loss or None
        The loss; None is 0 for all outputs.

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork import Chain
    >>> from trelliswork.losses import Hamming
    >>> from trelliswork.losses.inside import inside
    >>> space = Chain().bind([["a", "b"]], [["A", "B"]])
    >>> batch = space.pack([["a", "b"]], [["A", "B"]])
    >>> log_sum, _ = inside(batch, Hamming()).expect(np.zeros(space.n_features))
    >>> float(np.exp(log_sum[0])).__round__(6), round((1 + np.e) ** 2, 6)
    (13.825..., 13.825...)
    """
    if batch.in_blocks:
        return Blockwise(batch, loss)
    if loss is None:
        return Additive(batch, None, None, 0.0)
    additive = loss.part_costs(batch)
    if additive is not None:
        return Additive(batch, loss, *additive)
    return _by_automata(batch, loss)
