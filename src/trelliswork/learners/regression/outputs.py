"""What kernel regression predicts: symbols at positions, n-gram counts, numbers, or candidates."""

from __future__ import annotations

from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ngrams import distinct_rows, encode, ngram_windows, padded
from trelliswork._parameters import Parametrised
from trelliswork.language import NGramModel
from trelliswork.learners.regression.candidates import Candidates
from trelliswork.learners.regression.codes import NGramCode, PositionCode, ValueCode, kind_of, value_matrix

__all__ = ["OUTPUTS", "Candidates", "NGrams", "Positions", "Values"]

_PREIMAGES = ("repair", "euler")
_THRESHOLDS = ("loo", "train")


class Positions(Parametrised):
    """One symbol for each position of the input: outputs are as long as inputs.

    Parameters
    ----------
    shared : bool, default=True
        One regressor for all positions (hard weight sharing), applied to each position alone. False: one
        for each position, over the similarities with all training items at their own positions (the
        empirical kernel map); how much position ``i`` may use other positions is then bounded by the
        learner's ``eta``.
    window : int, default=0
        Neighbours on each side that an item is shown together with. More see more of the input, and take
        more data.
    language_model : NGramModel or None, default=None
        Decode whole strings: scores of the regressor plus ``lm_weight`` times the log-probability.
    lm_weight : float, default=0.1
        Weight of the language model. The larger, the more probable strings are preferred to what each
        position says.
    corpus : list of strings or None, default=None
        What the language model is trained on; the training outputs when None.

    Examples
    --------
    >>> import trelliswork as tw
    >>> model = tw.KernelRegression("linear", tw.Positions(window=1), ridge=0.1)
    >>> model.fit(["abba", "baab", "abab"], ["xyyx", "yxxy", "xyxy"]).predict(["bbaa"])
    ['yyxx']
    """

    def __init__(
        self,
        *,
        shared: bool = True,
        window: int = 0,
        language_model: Any = None,
        lm_weight: float = 0.1,
        corpus: Any = None,
    ):
        self.shared = shared
        self.window = window
        self.language_model = language_model
        self.lm_weight = lm_weight
        self.corpus = corpus

    def check(self) -> None:
        """Refuse parameters that mean nothing."""
        if not isinstance(self.window, (int, np.integer)) or self.window < 0:
            raise InputError(f"window must be a whole number >= 0, got {self.window!r:.80}")

    def bind(self, y: Any, weights: np.ndarray | None = None) -> PositionCode:
        """Alphabet, longest output and language model of training outputs.

        Parameters
        ----------
        y : list of outputs
            Training outputs.
        weights : ndarray of shape (n_samples,) or None
            Weight of each sample; by default all alike.
        """
        self.check()
        coded, symbols = encode(y, what="y")
        if not symbols:
            raise InputError("y holds no symbol at all: every output is empty")
        model = _trained(self, y, weights)
        return PositionCode(self, symbols, kind_of(y), int(coded.lengths.max(initial=0)), model)


class NGrams(Parametrised):
    """Counts of n-grams: outputs are strings of any length, found as pre-images of predicted counts.

    Parameters
    ----------
    n : int or list of int, default=2
        Length of the n-grams. With several, strings are searched among the longest ones and the counts of
        the others weigh in. Longer n-grams leave fewer strings with the same counts, but are harder to
        predict.
    preimage : {"repair", "euler"}, default="repair"
        ``"repair"``: the string whose counts are nearest to the real-valued prediction, by min-cost flow.
        ``"euler"``: counts by thresholds, and the recursion that concatenates trails.
    rounded : bool, default=False
        Round by thresholds before the repair. Better where the regression is weak: it shrinks all counts
        towards 0, so that the nearest string is too short; thresholds undo that.
    loss : {"squared", "absolute"}, default="squared"
        Distance of the repair.
    language_model : NGramModel or None, default=None
        Ranks strings that have the same counts.
    lm_weight : float, default=0.0
        Weight of the language model in the repair itself (order of the model up to ``n``). The larger, the
        more probable strings are preferred to those with near counts.
    corpus : list of strings or None, default=None
        What the language model is trained on; the training outputs when None.
    thresholds : {"loo", "train"}, default="loo"
        Thresholds make the number of training strings with an n-gram come out right, by leave-one-out
        predictions or by those of the fitted model itself.
    cap : int, default=1000
        Largest number of strings with the same counts that are compared. More take longer and may find a
        better one.

    Examples
    --------
    >>> import trelliswork as tw
    >>> X, y = ["ab", "ba", "abb", "bba", "bab"], ["xxyy", "yyxx", "xxyyyy", "yyyyxx", "yyxxyy"]
    >>> model = tw.KernelRegression(tw.kernels.Spectrum(1, 3, boundary=True), tw.NGrams(3), ridge=0.01)
    >>> model.fit(X, y).predict(["ab", "bba"])
    ['xxyy', 'yyyyxx']
    """

    def __init__(
        self,
        n: Any = 2,
        *,
        preimage: str = "repair",
        rounded: bool = False,
        loss: str = "squared",
        language_model: Any = None,
        lm_weight: float = 0.0,
        corpus: Any = None,
        thresholds: str = "loo",
        cap: int = 1000,
    ):
        self.n = n
        self.preimage = preimage
        self.rounded = rounded
        self.loss = loss
        self.language_model = language_model
        self.lm_weight = lm_weight
        self.corpus = corpus
        self.thresholds = thresholds
        self.cap = cap

    def bind(self, y: Any, weights: np.ndarray | None = None) -> NGramCode:
        """Alphabet, n-grams and language model of training outputs.

        Parameters
        ----------
        y : list of outputs
            Training outputs.
        weights : ndarray of shape (n_samples,) or None
            Weight of each sample; by default all alike.
        """
        if self.preimage not in _PREIMAGES:
            raise InputError(f"preimage must be one of {', '.join(_PREIMAGES)}, got {self.preimage!r}")
        if self.thresholds not in _THRESHOLDS:
            raise InputError(f"thresholds must be one of {', '.join(_THRESHOLDS)}, got {self.thresholds!r}")
        lengths = list(self.n) if isinstance(self.n, (list, tuple, np.ndarray)) else [self.n]
        if not lengths or any(not isinstance(n, (int, np.integer)) or n < 1 for n in lengths):
            raise InputError(f"n must be a whole number >= 1 or a list of them, got {self.n!r}")
        coded, symbols = encode(y, what="y")
        tables = []
        for n in sorted(set(map(int, lengths)), reverse=True):
            text = padded(coded, n, len(symbols), len(symbols) + 1)
            tables.append(distinct_rows(ngram_windows(text, n)[0]))
        return NGramCode(self, symbols, kind_of(y), tables, _trained(self, y, weights))


class Values(Parametrised):
    """Plain numbers: outputs are rows of a matrix, and no pre-image is needed.

    Examples
    --------
    >>> import numpy as np
    >>> import trelliswork as tw
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> model = tw.KernelRegression("poly", tw.Values(), ridge=1e-6).fit(X, X**2)
    >>> model.predict(np.array([[3.0]])).round(2).tolist()
    [[9.0]]
    """

    def bind(self, y: Any, weights: np.ndarray | None = None) -> ValueCode:
        """Width of the outputs.

        Parameters
        ----------
        y : list of outputs
            Training outputs.
        weights : ndarray of shape (n_samples,) or None
            Weight of each sample; by default all alike.
        """
        return ValueCode(self, value_matrix(y).shape[1], np.ndim(y) == 1)


# Every output map is listed here once, under the name that the learner accepts.
OUTPUTS = {"positions": Positions, "ngrams": NGrams, "values": Values, "candidates": Candidates}


def _trained(output: Any, y: Any, weights: np.ndarray | None) -> Any:
    """The language model of an output map, trained."""
    if output.language_model is None:
        return None
    if not isinstance(output.language_model, NGramModel):
        raise InputError(
            f"language_model must be an NGramModel or None, got {type(output.language_model).__name__}"
        )
    from sklearn.base import clone

    model = clone(output.language_model)
    return model.fit(y, sample_weight=weights) if output.corpus is None else model.fit(output.corpus)
