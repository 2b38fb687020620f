"""Strings from n-gram counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from trelliswork._errors import InputError, not_fitted
from trelliswork._front_door import readable
from trelliswork._ngrams import encode, match_rows, ngram_windows, padded, sorted_symbols
from trelliswork.language import NGramModel
from trelliswork.learners.regression.preimage_graph import DeBruijn
from trelliswork.learners.regression.preimage_repair import LOSSES, Lower, repair

__all__ = ["Preimage", "Search", "ngram_counts", "preimage"]

METHODS = ("auto", "exact", "euler", "repair")
_MOST_COUNTS = 100_000_000
BOUNDARY = ("^", "$")


class Preimage(NamedTuple):
    """A string with given n-gram counts, or with counts near them.

    Attributes
    ----------
    output : str or list
        The string: a list where n-grams are tuples.
    exact : bool
        Whether its counts are those that were asked for.
    cost : float
        Distance between its counts and those, 0 when exact.
    number : int or float
        How many strings have the same counts (infinite means more than 10^300). Without boundaries, a
        circuit of n-grams may be entered anywhere: each turn is a string of its own.
    candidates : list
        The strings that were compared, best first: at most ``cap``.
    truncated : bool
        Whether there are more candidates than ``cap``.
    excess : float
        After a repair: by how much, at most, another string could be nearer; 0 means that none is, which is
        certain up to 64 n-grams. Infinite for ``method="euler"``.

    Examples
    --------
    >>> import trelliswork as tw
    >>> found = tw.preimage(tw.ngram_counts("abcbd", 2), 2)
    >>> found.output, found.exact, found.number
    ('abcbd', True, 1)
    """

    output: Any
    exact: bool
    cost: float
    number: int | float
    candidates: list[Any]
    truncated: bool
    excess: float = 0.0


@readable
def ngram_counts(y: Any, n: int, *, boundary: tuple[Any, Any] | None = BOUNDARY) -> dict[Any, int]:
    """Counts of the n-grams of a string.

    Parameters
    ----------
    y : str or list of symbols
        The string.
    n : int
        Length of the n-grams. Longer n-grams tell more of the order of the symbols.
    boundary : pair of symbols or None, default=("^", "$")
        Put ``n - 1`` of these before and after the string; None leaves it as it is.

    Returns
    -------
    dict
        n-grams (strings, or tuples for a list of symbols) with their counts.

    Examples
    --------
    >>> import trelliswork as tw
    >>> tw.ngram_counts("abab", 2)
    {'^a': 1, 'ab': 2, 'ba': 1, 'b$': 1}
    """
    _check_n(n)
    if boundary is not None:
        for mark in _checked_boundary(boundary):
            if mark in y:
                raise InputError(f"the string has the boundary symbol {mark!r}; name others in boundary")
    plain = isinstance(y, str)
    marks = ([boundary[0]] * (n - 1), [boundary[1]] * (n - 1)) if boundary else ([], [])
    text = [*marks[0], *y, *marks[1]]
    out: dict[Any, int] = {}
    for i in range(len(text) - n + 1):
        gram = "".join(text[i : i + n]) if plain else tuple(text[i : i + n])
        out[gram] = out.get(gram, 0) + 1
    return out


def preimage(
    counts: Mapping[Any, float],
    n: int | None = None,
    *,
    boundary: tuple[Any, Any] | None = BOUNDARY,
    method: str = "auto",
    loss: str = "squared",
    allowed: Any = None,
    language_model: Any = None,
    lm_weight: float = 0.0,
    cap: int = 1000,
) -> Preimage:
    """A string that has given n-gram counts, or the nearest that some string has.

    Parameters
    ----------
    counts : mapping of n-gram to number
        n-grams are strings of ``n`` letters or tuples of ``n`` symbols. Counts may be real-valued.
    n : int or None, default=None
        Their length; None takes that of the n-grams.
    boundary : pair of symbols or None, default=("^", "$")
        What stands before and after strings, as in :func:`ngram_counts`; None where strings may
        begin and end with anything.
    method : {"auto", "exact", "euler", "repair"}, default="auto"
        ``"exact"``: an Euler trail, or an error that says why there is none. ``"repair"``: the nearest
        realisable counts, then a trail; beyond 64 n-grams near ones where the nearest flow falls into
        parts (see ``excess`` of the result). ``"euler"``: rounded counts and the recursion
        that concatenates trails, whatever comes out. ``"auto"``: exact where possible, else repair.
    loss : {"squared", "absolute"}, default="squared"
        Distance that the repair minimises.
    allowed : iterable of n-grams or None, default=None
        n-grams that the repair may use beside those with positive counts.
    language_model : NGramModel or None, default=None
        Fitted; ranks the strings that have the same counts.
    lm_weight : float, default=0.0
        Weight of the log-probabilities in the repair itself, for models of order up to ``n``. The larger,
        the more probable strings are preferred to those with near counts.
    cap : int, default=1000
        Largest number of strings that are compared. More take longer and may find a better one.

    Returns
    -------
    Preimage
        The string and how good it is.

    Examples
    --------
    >>> import trelliswork as tw
    >>> tw.preimage({"^a": 1, "ab": 2, "ba": 1, "b$": 1}, 2).output
    'abab'
    >>> noisy = {"^a": 0.9, "ab": 1.7, "ba": 0.2, "b$": 1.1, "bb": 0.1}
    >>> tw.preimage(noisy, 2, method="repair").output
    'ab'
    >>> tw.preimage({"^a": 1, "b$": 1}, 2, method="exact")
    Traceback (most recent call last):
    ...
    trelliswork._errors.InputError: no string has these counts: 'a' is entered 1 and left 0 times; ...
    """
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if lm_weight and language_model is None:
        raise InputError("lm_weight is the weight of a language_model; there is none")
    wanted, rows, symbols, plain, n = _coded(counts, n, boundary, allowed)
    start, end = len(symbols), len(symbols) + 1
    given = boundary is not None or n == 1
    graph = DeBruijn(
        rows,
        np.rint(np.maximum(wanted, 0)),
        (start,) * (n - 1) if given else None,
        (end,) * (n - 1) if given else None,
    )
    search = Search(graph, symbols, language_model, lm_weight, loss, cap)
    whole = bool((wanted == np.rint(wanted)).all() and (wanted >= 0).all())
    fault = graph.fault() if whole else ("balance", -1)
    if method == "exact" and fault is not None:
        raise InputError(f"no string has these counts: {_why(graph, fault, whole, symbols, boundary)}")
    excess = 0.0
    if method == "euler":
        codes = search.concatenated(graph)
        strings = [codes], 0.0, graph.number(), False
        exact = fault is None
    elif fault is None and method != "repair":
        strings, exact = search.strings(graph, wanted), True
    else:
        strings = search.repaired(wanted)
        exact, excess = bool(strings[1] == 0.0), search.excess
    candidates = [_decoded(codes, symbols, plain) for codes in strings[0]]
    cost = strings[1]
    if method == "euler":
        coded = encode([candidates[0]], symbols)[0]
        windows, _ = ngram_windows(padded(coded, n, start, end) if given else coded, n)
        cost = float(((_recount(rows, windows) - wanted) ** 2).sum())
        exact = cost == 0.0
        excess = 0.0 if exact else np.inf
    return Preimage(candidates[0], exact, cost, strings[2], candidates, strings[3], excess)


class Search:
    """Strings of a graph, ranked by a language model.

    Parameters
    ----------
    graph : DeBruijn
        Candidate n-grams; counts come with each question.
    symbols : list
        The alphabet; the two codes after it are start and end.
    language_model : NGramModel or None
        Fitted.
    lm_weight : float
        Weight of the model in the repair.
    loss : str
        Of the repair.
    cap : int
        Largest number of strings that are compared.
    """

    def __init__(
        self,
        graph: DeBruijn,
        symbols: list[Any],
        language_model: Any = None,
        lm_weight: float = 0.0,
        loss: str = "squared",
        cap: int = 1000,
    ):
        if loss not in LOSSES:
            raise InputError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}")
        if not isinstance(cap, (int, np.integer)) or isinstance(cap, bool) or cap < 1:
            raise InputError(f"cap must be a whole number >= 1, got {cap!r}")
        if not (np.isfinite(lm_weight) and lm_weight >= 0):
            raise InputError(f"lm_weight must be a finite number >= 0, got {lm_weight!r}")
        self.graph, self.symbols, self.cap, self.loss = graph, symbols, int(cap), loss
        self.model = language_model
        self.last = graph.rows[:, -1]
        self.n_symbols = len(symbols)
        self.price: np.ndarray | None = None
        self.excess = 0.0  # of the last repair
        if language_model is not None:
            if not isinstance(language_model, NGramModel):
                raise InputError(
                    f"language_model must be an NGramModel or None, got {type(language_model).__name__}"
                )
            if not hasattr(language_model, "symbols_"):
                raise not_fitted(language_model, "fit(y)")
            place = {s: i for i, s in enumerate(language_model.symbols_)}
            self.translate = [place.get(s, -1) for s in symbols]
            if lm_weight:
                self.price = lm_weight * self._prices()

    def _prices(self) -> np.ndarray:
        """Minus the log-probability of the last symbol of each n-gram; padding after the end is free."""
        n = self.graph.rows.shape[1]
        model = self.model
        if model.n > n:
            raise InputError(
                f"lm_weight needs a language model of order up to {n}, the length of the n-grams; this one "
                f"has order {model.n} (it can still rank, with lm_weight=0)"
            )
        codes = [*self.translate, model._start, model._end]
        unknown = len(model.symbols_) + 1
        out = np.zeros(len(self.graph.rows))
        for e, row in enumerate(self.graph.rows.tolist()):
            *context, last = (codes[c] for c in row)
            if model._end in context:
                continue
            known = tuple(context[len(context) - model.n + 1 :]) if model.n > 1 else ()
            out[e] = -np.log(model._row(known)[unknown if last < 0 else last])
        return out

    def strings(
        self, graph: DeBruijn, wanted: np.ndarray | None = None
    ) -> tuple[list[list[int]], float, int | float, bool]:
        """Codes of the strings of realisable counts, best first; cost, number, truncated."""
        if self.model is None:
            return [self._codes(graph, graph.trail())], 0.0, graph.number(), False
        trails = graph.trails(self.cap)
        candidates = [self._codes(graph, row) for row in trails.edges]
        if len(candidates) > 1:
            scores = [self.model.log_prob_codes([self.translate[c] for c in row]) for row in candidates]
            candidates = [candidates[i] for i in sorted(range(len(scores)), key=lambda i: (-scores[i], i))]
        number = graph.number() if trails.truncated else len(candidates)
        return candidates, 0.0, number, trails.truncated

    def repaired(
        self, wanted: np.ndarray, lower: Lower | None = None
    ) -> tuple[list[list[int]], float, int | float, bool]:
        """The same for the nearest realisable counts."""
        fixed = repair(self.graph, wanted, self.loss, self.price, lower)
        self.excess = fixed.excess
        candidates, _, number, truncated = self.strings(self.graph.with_counts(fixed.counts))
        return candidates, fixed.cost, number, truncated

    def concatenated(self, graph: DeBruijn) -> list[int]:
        """Codes of the concatenated paths of any counts: one symbol for each n-gram."""
        edges, _ = graph.paths()
        return self._letters(edges)

    def _codes(self, graph: DeBruijn, edges: np.ndarray) -> list[int]:
        lead: list[int] = []
        if graph.start < 0 and edges.size:  # without boundaries the first vertex is part of the string
            lead = graph.vertices[graph.tail[edges[0]]].tolist()
        return lead + self._letters(edges)

    def _letters(self, edges: np.ndarray) -> list[int]:
        letters = self.last[edges]
        return letters[letters < self.n_symbols].tolist()


def _decoded(codes: list[int], symbols: list[Any], plain: bool) -> Any:
    letters = [symbols[c] for c in codes]
    return "".join(letters) if plain else letters


def _recount(rows: np.ndarray, windows: np.ndarray) -> np.ndarray:
    place = match_rows(rows, windows)
    return np.bincount(place[place >= 0], minlength=len(rows))


def _coded(
    counts: Any, n: int | None, boundary: tuple[Any, Any] | None, allowed: Any
) -> tuple[np.ndarray, np.ndarray, list[Any], bool, int]:
    """Wanted counts, coded n-grams (sorted), alphabet, whether outputs are strings, and n."""
    if not isinstance(counts, Mapping):
        raise InputError(f"counts must be a mapping of n-grams to numbers, got {type(counts).__name__}")
    if allowed is not None and (isinstance(allowed, str) or not isinstance(allowed, Iterable)):
        raise InputError(f"allowed must be a list of n-grams or None, got {allowed!r:.80}")
    grams = list(dict.fromkeys([*counts, *(allowed if allowed is not None else ())]))
    for gram in grams:
        if not isinstance(gram, (str, tuple)):
            raise InputError(f"n-grams must be strings or tuples of symbols, got {gram!r:.80}")
    if n is None:
        if not grams:
            raise InputError("counts is empty; name n, or give at least one n-gram")
        n = len(grams[0])
    _check_n(n)
    for gram in grams:
        if len(gram) != n:
            raise InputError(f"the n-gram {gram!r} has {len(gram)} symbols; expected {n}")
    marks = () if boundary is None else _checked_boundary(boundary)
    symbols = sorted_symbols({s for gram in grams for s in gram if s not in marks})
    place: dict[Any, int] = {s: i for i, s in enumerate(symbols)}
    place |= {mark: len(symbols) + i for i, mark in enumerate(marks)}
    rows = np.array([[place[s] for s in gram] for gram in grams], dtype=np.int64).reshape(len(grams), n)
    values = np.array([_number(gram, counts.get(gram, 0.0)) for gram in grams], dtype=np.float64)
    if (total := np.maximum(values, 0.0).sum()) > _MOST_COUNTS:
        raise InputError(f"the counts sum up to {total:,.0f}; at most {_MOST_COUNTS:,} n-grams make a string")
    order = np.lexsort(rows.T[::-1]) if len(rows) else np.zeros(0, dtype=np.int64)
    plain = all(isinstance(gram, str) for gram in grams)
    return values[order], rows[order], symbols, plain, int(n)


def _number(gram: Any, count: Any) -> float:
    try:
        value = float(count)
    except (TypeError, ValueError):
        value = np.nan
    if not np.isfinite(value):
        raise InputError(f"the count of {gram!r} is {count!r}; it must be a finite number")
    return value


def _check_n(n: Any) -> None:
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 1:
        raise InputError(f"n must be a whole number >= 1, got {n!r}")


def _checked_boundary(boundary: Any) -> tuple[Any, Any]:
    if not isinstance(boundary, tuple) or len(boundary) != 2 or boundary[0] == boundary[1]:
        raise InputError(f"boundary must be a pair of different symbols or None, got {boundary!r}")
    return boundary


def _why(
    graph: DeBruijn,
    fault: tuple[str, int],
    whole: bool,
    symbols: list[Any],
    boundary: tuple[Any, Any] | None,
) -> str:
    advice = "use method='repair' for the nearest counts that one has"
    if not whole:
        return f"they are not all whole numbers >= 0; {advice}"
    letters = [*symbols, *(boundary or ())]
    name = "".join(str(letters[c]) for c in graph.vertices[fault[1]])
    if fault[0] == "connection":
        return f"{name!r} does not hang together with the rest; {advice}"
    entered = int(graph.counts[graph.head == fault[1]].sum())
    left = int(graph.counts[graph.tail == fault[1]].sum())
    return f"{name!r} is entered {entered} and left {left} times; {advice}"
