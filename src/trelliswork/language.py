"""Language models of strings: n-grams with add-a and Kneser-Ney smoothing."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from trelliswork._errors import InputError, not_fitted
from trelliswork._front_door import readable
from trelliswork._ngrams import Coded, encode, match_rows, ngram_windows
from trelliswork._parameters import Parametrised
from trelliswork._validate import as_number, weights_or_ones

__all__ = ["NGramModel"]

_SMOOTHINGS = ("kneser-ney", "add")
_MAX_TABLE = 50_000_000  # conditional probabilities in one dense table


class NGramModel(Parametrised):
    """Probability of a string, each symbol given the ``n - 1`` before it.

    Strings are padded with start symbols and end with one end symbol, so that all strings
    together have probability one (some of it set aside for symbols never seen).

    Parameters
    ----------
    n : int, default=3
        Order: 2 is a bigram model. The larger, the more context a symbol sees and the more data it takes.
    smoothing : {"kneser-ney", "add"}, default="kneser-ney"
        Interpolated Kneser-Ney, or a count ``a`` added to every event.
    a : float, default=0.1
        The added count. The larger, the nearer all probabilities come to being equal.
    discount : float or None, default=None
        Kneser-Ney discount between 0 and 1; None estimates it from the counts of counts. The larger, the
        more is left for n-grams that were not seen.

    Attributes
    ----------
    symbols_ : list
        The alphabet.

    See Also
    --------
    KernelRegression : Uses it to choose among strings.
    Transducer : Has a Kneser-Ney model of its pieces.

    References
    ----------
    .. [1] Kneser and Ney (1995), ICASSP; Chen and Goodman (1999), Computer Speech and Language.

    Examples
    --------
    >>> import trelliswork as tw
    >>> model = tw.NGramModel(2, smoothing="add", a=0.5).fit(["ab", "ab", "b"])
    >>> model.log_prob(["ab", "ba"]).round(2).tolist()
    [-1.52, -5.59]
    >>> round(sum(model.probabilities("a").values()), 12)
    1.0
    """

    def __init__(
        self, n: int = 3, *, smoothing: str = "kneser-ney", a: float = 0.1, discount: float | None = None
    ):
        self.n = n
        self.smoothing = smoothing
        self.a = a
        self.discount = discount

    # -- counting ------------------------------------------------------------------------

    @readable
    def fit(self, y: Any, _ignored: Any = None, sample_weight: Any = None) -> NGramModel:
        """Count the n-grams of strings.

        Parameters
        ----------
        y : list of str or of lists of symbols
            Training data.
        _ignored : object
            Not used; there for pipelines.
        sample_weight : array-like or None
            How often each string counts.
        """
        self._check()
        coded, symbols = encode(y, what="y")
        if not len(coded):
            raise InputError("y is empty: a language model needs at least one string")
        weights = weights_or_ones(sample_weight, len(coded))
        self.symbols_ = symbols
        self.tables_, self.counts_ = [], []
        for k in range(1, self.n + 1):
            rows, owner = ngram_windows(self._padded(coded, k), k)
            table, place = np.unique(rows, axis=0, return_inverse=True)
            counts = np.bincount(place.ravel(), weights=weights[owner], minlength=len(table))
            self.tables_.append(table[counts > 0])
            self.counts_.append(counts[counts > 0])
        self._conditionals()
        return self

    def _check(self) -> None:
        if not isinstance(self.n, (int, np.integer)) or isinstance(self.n, bool) or self.n < 1:
            raise InputError(f"n must be a whole number >= 1, got {self.n!r}")
        if self.smoothing not in _SMOOTHINGS:
            raise InputError(f"smoothing must be one of {', '.join(_SMOOTHINGS)}, got {self.smoothing!r}")
        if self.smoothing == "add" and as_number("a", self.a) <= 0:
            raise InputError(f"a must be a finite number > 0, got {self.a!r}")
        if self.discount is not None and not 0 < as_number("discount", self.discount) < 1:
            raise InputError(f"discount must be between 0 and 1, got {self.discount!r}")

    @property
    def _start(self) -> int:
        return len(self.symbols_) + 1

    @property
    def _end(self) -> int:
        return len(self.symbols_)

    def _padded(self, coded: Coded, k: int) -> Coded:
        """Codes with ``k - 1`` starts before and one end after each string."""
        pieces = [[self._start] * (k - 1) + row.tolist() + [self._end] for row in coded]
        lengths = [0, *itertools.accumulate(map(len, pieces))]
        return Coded(np.array(list(itertools.chain.from_iterable(pieces)), dtype=np.int64), lengths)

    def _conditionals(self) -> None:
        """Discounted shares of the seen n-grams and what their contexts leave to shorter ones."""
        self._memo: dict[tuple[int, ...], np.ndarray] = {}
        self._shares, self._left, self._contexts, self._groups = [], [], [], []
        for k in range(1, self.n + 1):
            table, counts = self.tables_[k - 1], self.counts_[k - 1]
            if self.smoothing == "kneser-ney" and k < self.n:
                # How many different symbols precede an n-gram: counts of types, not of tokens.
                place = match_rows(table, self.tables_[k][:, 1:])
                counts = np.bincount(place[place >= 0], minlength=len(table)).astype(float)
                # Nothing but padding precedes a start; its own count stands in.
                counts = np.where(table[:, 0] == self._start, self.counts_[k - 1], counts)
            contexts, group = np.unique(table[:, :-1], axis=0, return_inverse=True)
            group = group.ravel()
            totals = np.bincount(group, weights=counts, minlength=len(contexts))
            if self.smoothing == "add":
                size = len(self.symbols_) + 2  # end and unknown
                self._shares.append(counts / (totals + self.a * size)[group])
                self._left.append(self.a * size / (totals + self.a * size))
            else:
                cut = np.minimum(self._discount(counts), counts)
                self._shares.append((counts - cut) / totals[group])
                self._left.append(np.bincount(group, weights=cut, minlength=len(contexts)) / totals)
            self._contexts.append(contexts)
            self._groups.append(group)  # ascending, as tables are sorted

    def _discount(self, counts: np.ndarray) -> float:
        if self.discount is not None:
            return float(self.discount)
        once, twice = int(((counts > 0) & (counts <= 1)).sum()), int(((counts > 1) & (counts <= 2)).sum())
        # With all counts large nothing is known about rare events; the usual value stands in.
        return once / (once + 2 * twice) if once and twice else 0.75

    # -- asking -----------------------------------------------------------------------------

    def _row(self, context: tuple[int, ...]) -> np.ndarray:
        """Probabilities of every symbol, the end and an unknown symbol after a context of codes."""
        known = self._memo.get(context)
        if known is not None:
            return known
        if not hasattr(self, "symbols_"):
            raise not_fitted(self, "fit(y)")
        size = len(self.symbols_) + 2
        if self.smoothing == "add" or not context:
            # With added counts every order mixes with the uniform distribution, not with a shorter order.
            base = np.full(size, 1.0 / size)
        else:
            base = self._row(context[1:])
        k = len(context)
        number = 0  # of the context among those seen
        if k:
            number = int(match_rows(self._contexts[k], np.array([context], dtype=np.int64).reshape(1, k))[0])
        out = base
        if number >= 0:
            out = self._left[k][number] * base
            lo, hi = np.searchsorted(self._groups[k], [number, number + 1])
            last = self.tables_[k][lo:hi, -1]
            out[last] += self._shares[k][lo:hi]
        self._memo[context] = out
        return out

    def after(self, context: tuple[int, ...]) -> np.ndarray:
        """Probabilities of every symbol, the end and an unknown symbol after a context of symbol codes.

        Parameters
        ----------
        context : tuple of int
            At most ``n - 1`` codes; ``len(symbols_) + 1`` marks the start.

        Examples
        --------
        >>> import trelliswork as tw
        >>> model = tw.NGramModel(2, smoothing="add", a=0.5).fit(["ab", "ab", "b"])
        >>> model.after((0,)).round(3).tolist()
        [0.125, 0.625, 0.125, 0.125]
        """
        return self._row(context)

    def of_ngrams(self, rows: np.ndarray) -> np.ndarray:
        """Probability of the last code of every row after those before it.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, k)
            Codes as in :meth:`after`, at most ``n`` of them; the code of the end is ``len(symbols_)``.

        Examples
        --------
        >>> import numpy as np
        >>> import trelliswork as tw
        >>> model = tw.NGramModel(2, smoothing="add", a=0.5).fit(["ab", "ab", "b"])
        >>> model.of_ngrams(np.array([[0, 0], [0, 1]])).round(3).tolist()
        [0.125, 0.625]
        """
        if not hasattr(self, "symbols_"):
            raise not_fitted(self, "fit(y)")
        width = rows.shape[1]
        out = np.full(len(rows), 1.0 / (len(self.symbols_) + 2))
        shortest = width - 1 if self.smoothing == "add" else 0
        for k in range(shortest, width):
            context = np.ascontiguousarray(rows[:, width - 1 - k : -1])
            number = match_rows(self._contexts[k], context) if k else np.zeros(len(rows), dtype=np.int64)
            place = match_rows(self.tables_[k], np.ascontiguousarray(rows[:, width - 1 - k :]))
            known = number >= 0
            out[known] *= self._left[k][number[known]]
            seen = known & (place >= 0)
            out[seen] += self._shares[k][place[seen]]
        return out

    def _codes(self, y: Any) -> Coded:
        if not hasattr(self, "symbols_"):
            raise not_fitted(self, "fit(y)")
        coded, _ = encode(y, self.symbols_, what="y")
        return coded

    def log_prob(self, y: Any) -> np.ndarray:
        """Log-probability of each string.

        Parameters
        ----------
        y : list of str or of lists of symbols
            Symbols never seen share one small probability.

        Returns
        -------
        ndarray of shape (n_strings,)
        """
        return np.array([self.log_prob_codes(row.tolist()) for row in self._codes(y)])

    def log_prob_codes(self, codes: list[int]) -> float:
        """Log-probability of one string of symbol codes; -1 is an unknown symbol.

        Parameters
        ----------
        codes : list of int
            Place of each symbol in ``symbols_``.
        """
        unknown = len(self.symbols_) + 1
        padded = [self._start] * (self.n - 1) + codes + [self._end]
        total = 0.0
        for t in range(self.n - 1, len(padded)):
            context = tuple(padded[t - self.n + 1 : t])
            total += math.log(self._row(context)[unknown if padded[t] < 0 else padded[t]])
        return total

    def probabilities(self, context: Any = ()) -> dict[Any, float]:
        """Distribution of the next symbol; the key None is the end, the key ``...`` any unknown symbol.

        Parameters
        ----------
        context : str or sequence of symbols
            What comes before, from the start of the string.
        """
        row = self._row(self._context(self._codes([context])[0].tolist()))
        return dict(zip([*self.symbols_, None, ...], row.tolist(), strict=True))

    def _context(self, codes: list[int]) -> tuple[int, ...]:
        padded = [self._start] * (self.n - 1) + codes
        return tuple(padded[len(padded) - self.n + 1 :])

    def context_table(self, symbols: list[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Log-probabilities for the recursions over contexts of labels.

        Parameters
        ----------
        symbols : list
            Labels, in the order of their numbers.

        Returns
        -------
        first : ndarray of shape (n_symbols + 1,)
            Of the first symbol; the last entry is the end.
        table : ndarray of shape (n_contexts, n_symbols + 1)
            Of every symbol and the end after every context of 1, 2, ..., n - 1 labels, numbered as
            in the chain recursions with the end as one more label.
        """
        size = len(symbols) + 1
        order = max(self.n - 1, 1)
        n_contexts = sum(size**j for j in range(1, order + 1))
        if n_contexts * size > _MAX_TABLE:
            raise InputError(
                f"a language model of order {self.n} over {len(symbols)} symbols needs a table of "
                f"{n_contexts * size:,} numbers; use a smaller n"
            )
        place = {s: i for i, s in enumerate(self.symbols_)}
        codes = [place.get(s, -1) for s in symbols]
        columns = np.array([len(self.symbols_) + 1 if c < 0 else c for c in codes] + [self._end])
        first = np.log(self._row(self._context([]))[columns])
        blocks = []
        for j in range(1, order + 1):
            block = np.zeros((size**j, size))
            for i, labels in enumerate(itertools.product(range(size), repeat=j)):
                if size - 1 not in labels:  # nothing comes after the end
                    block[i] = np.log(self._row(self._context([codes[b] for b in labels]))[columns])
            blocks.append(block)
        return first, np.concatenate(blocks)

    # -- model files ----------------------------------------------------------------------

    def __tw_state__(self) -> dict[str, Any]:
        if not hasattr(self, "symbols_"):
            return {}
        return {"symbols": self.symbols_, "tables": self.tables_, "counts": self.counts_}

    def __tw_restore__(self, state: dict[str, Any]) -> None:
        if not state:
            return
        self._check()
        tables, counts = list(state["tables"]), list(state["counts"])
        if len(tables) != self.n or len(counts) != self.n:
            raise ValueError("a language model without its counts")
        top = len(state["symbols"]) + 1
        for k, (table, count) in enumerate(zip(tables, counts), 1):
            sound = table.ndim == 2 and table.shape == (count.size, k) and table.dtype.kind == "i"
            if not sound or not count.size or not ((table >= 0) & (table <= top)).all():
                raise ValueError("a language model with damaged counts")
            if not (np.isfinite(count) & (count > 0)).all():
                raise ValueError("a language model with damaged counts")
        self.symbols_, self.tables_, self.counts_ = list(state["symbols"]), tables, counts
        self._conditionals()
