"""Word features over a window of neighbours, computed once per distinct token.

A token is numbered by one dictionary lookup. Every feature is then a string per
*distinct* token, and a neighbour is the same numbers shifted by one position, so
the cost per token is that lookup and a few array operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._front_door import readable
from trelliswork._parameters import Transformer
from trelliswork._ragged import Ragged
from trelliswork._tokens import TokenBlock, TokenTable
from trelliswork.features._distinct import DistinctTokens, check_sentences
from trelliswork.features.template import PLAIN, USUAL_FLAGS, Feature, affix, column, flag, parse_template

__all__ = ["TokenWindow", "parse_template"]

# Parameters that `neighbours` may change.
_PER_OFFSET = (
    "lower",
    "word",
    "prefixes",
    "suffixes",
    "shape",
    "flags",
    "false_flags",
    "columns",
    "extra",
)


class TokenWindow(Transformer):
    """Features of words and of their neighbours, for sequence labelling.

    Sentences go in as lists of words, or of tuples of columns (word, part of speech,
    ...); out comes what :class:`~trelliswork.Chain` takes. Names are those of the
    python-crfsuite tutorial: ``word.lower=casa`` for the token itself, with ``-1:`` or
    ``+1:`` in front for a neighbour. There is nothing to fit.

    Parameters
    ----------
    offsets : sequence of int, default=(-1, 0, 1)
        Positions of the window; 0 is the token itself. More positions see more of the sentence and make more
        features.
    lower : bool, default=True
        The word in lower case, ``word.lower=``.
    word : bool, default=False
        The word as it is, ``word=``.
    prefixes, suffixes : sequence of int, default=() and (2, 3)
        Lengths of first and last letters, ``word[:2]=`` and ``word[-2:]=``. Longer ones are more special,
        and rarer.
    shape : bool, default=False
        ``word.shape=``; ``Casa-1998`` gives ``Xx-dddd``: repeats collapse, digits up to four.
    flags : sequence of str, default=("upper", "title", "digit")
        Tests of ``str`` without their ``is``: ``word.isupper=True``.
    false_flags : bool, default=False
        Whether flags that do not hold are features too, ``word.isupper=False``.
    columns : mapping of str to int, default=()
        Names of further columns and their numbers (the word is column 0); a name may cut
        letters out: ``{"pos": 1, "pos[:2]": 1}``.
    extra : callable, default=None
        Called with the tuple of columns, once per distinct token; returns a list of strings
        or a dict (the conventions of python-crfsuite).
    neighbours : "same" or mapping, default="same"
        What differs at the offsets other than 0, for instance ``{"suffixes": ()}``. Keys are
        the parameters from ``lower`` to ``extra``.
    bias : bool, default=True
        The feature ``bias`` at every token.
    boundaries : bool, default=True
        ``BOS`` at the first token, ``EOS`` at the last.
    template : str, default=""
        More features, in the language of :func:`parse_template`.

    See Also
    --------
    features.parse_template : The same from a short text.
    Chain : What takes its features.

    References
    ----------
    .. [1] Tjong Kim Sang, De Meulder (2003), CoNLL (features of entity taggers).

    Examples
    --------
    >>> from trelliswork.features import TokenWindow
    >>> window = TokenWindow(columns={"pos": 1}, suffixes=(2,), neighbours={"suffixes": (), "flags": ()})
    >>> for features in window.describe([("La", "DA"), ("casa", "NC")]):
    ...     print(*features)
    bias word.lower=la word[-2:]=La word.istitle=True pos=DA +1:word.lower=casa +1:pos=NC BOS
    -1:word.lower=la -1:pos=DA bias word.lower=casa word[-2:]=sa pos=NC EOS
    >>> window.fit_transform([["La", "casa"], []])
    Traceback (most recent call last):
    ...
    trelliswork._errors.InputError: sample 0: token 0 ('La',) has 1 column; 'pos=' needs column 1, ...
    >>> TokenWindow().fit_transform([["La", "casa"], []])
    Ragged(2 sequences, 2 rows)
    """

    def __init__(
        self,
        *,
        offsets: Sequence[int] = (-1, 0, 1),
        lower: bool = True,
        word: bool = False,
        prefixes: Sequence[int] = (),
        suffixes: Sequence[int] = (2, 3),
        shape: bool = False,
        flags: Sequence[str] = USUAL_FLAGS,
        false_flags: bool = False,
        columns: Any = (),
        extra: Callable[[tuple[str, ...]], Any] | None = None,
        neighbours: Any = "same",
        bias: bool = True,
        boundaries: bool = True,
        template: str = "",
    ):
        self.offsets = offsets
        self.lower = lower
        self.word = word
        self.prefixes = prefixes
        self.suffixes = suffixes
        self.shape = shape
        self.flags = flags
        self.false_flags = false_flags
        self.columns = columns
        self.extra = extra
        self.neighbours = neighbours
        self.bias = bias
        self.boundaries = boundaries
        self.template = template

    @classmethod
    def tutorial(cls, **params: Any) -> TokenWindow:
        """Features of the CoNLL-2002 tutorial of python-crfsuite; tokens are (word, tag, ...).

        ``false_flags=False`` leaves out the features ending in ``=False``, which are
        the ones of value 0 in the dictionaries of the sklearn-crfsuite tutorial.

        Parameters
        ----------
        **params
            Parameters to change.

        Examples
        --------
        >>> from trelliswork.features import TokenWindow
        >>> print(*TokenWindow.tutorial().describe([("A", "SP")])[0])
        bias word.lower=a word[-3:]=A word[-2:]=A word.isupper=True word.istitle=True word.isdigit=False
        postag=SP postag[:2]=SP BOS EOS
        """
        defaults: dict[str, Any] = {
            "suffixes": (3, 2),
            "false_flags": True,
            "columns": {"postag": 1, "postag[:2]": 1},
            "neighbours": {"suffixes": (), "flags": ("title", "upper")},
        }
        return cls(**{**defaults, **params})

    @classmethod
    def from_template(cls, text: str) -> TokenWindow:
        """Exactly the features of a template, see :func:`parse_template`.

        Parameters
        ----------
        text : str
            The template, for instance ``"bias; lower @ -1..1"``, ``"default"`` or ``"tutorial"``.

        Examples
        --------
        >>> from trelliswork.features import TokenWindow
        >>> TokenWindow.from_template("word, shape; lower @ -1").describe(["Año", "2002"])
        [['word=Año', 'word.shape=Xx'], ['-1:word.lower=año', 'word=2002', 'word.shape=dddd']]
        """
        parse_template(text)
        return cls(offsets=(), bias=False, boundaries=False, template=text)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.two_d_array = False
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def set_output(self, *, transform: Any = None) -> TokenWindow:
        """Nothing to choose: features of tokens are no table. Here so that a pipeline can be asked.

        Parameters
        ----------
        transform : object, default=None
            Ignored.

        Returns
        -------
        TokenWindow
            Itself.
        """
        return self

    @property
    def n_columns(self) -> int:
        """Least number of columns of a token that these features need (``extra`` apart)."""
        return 1 + max(f.column for features in self._window().values() for f in features)

    @readable
    def fit(self, X: Any, y: Any = None) -> TokenWindow:
        """Check the parameters and that ``X`` is a list of sentences; nothing is learnt.

        Parameters
        ----------
        X : list of sentences
            As in :meth:`transform`.
        y : object, default=None
            Ignored.

        Returns
        -------
        TokenWindow
            Itself.

        Examples
        --------
        >>> from trelliswork.features import TokenWindow
        >>> TokenWindow(shape=True).fit([["La", "casa"]])
        TokenWindow(shape=True)
        """
        self._window()
        check_sentences(X)
        return self

    @readable
    def transform(self, X: Any) -> Ragged:
        """Features of all tokens.

        Parameters
        ----------
        X : list of sentences
            A sentence is a list of tokens, a token a string or a tuple of strings; all
            tokens have the same number of columns. Sentences may be empty.

        Returns
        -------
        Ragged
            Of a table with one block per offset, and one for the boundaries.

        Examples
        --------
        >>> from trelliswork.features import TokenWindow
        >>> out = TokenWindow(suffixes=(), flags=()).transform([["La", "casa"], ["Sí"]])
        >>> out
        Ragged(2 sequences, 3 rows)
        >>> for block in out.values.blocks:
        ...     print(block.rows, *block.names)
        [-1  0 -1] -1:word.lower=la
        [0 1 2] bias word.lower=la word.lower=casa word.lower=sí
        [ 0 -1 -1] +1:word.lower=casa
        [0 1 2] BOS EOS
        """
        window = self._window()
        boundary = PLAIN["boundary"] in window[0]
        window = {o: [f for f in features if f.kind != "boundary"] for o, features in window.items()}
        samples, offsets = check_sentences(X)
        tokens = DistinctTokens(samples, offsets, list(chain.from_iterable(window.values())))
        lengths = np.diff(offsets)
        starts, ends = np.repeat(offsets[:-1], lengths), np.repeat(offsets[1:], lengths)
        here = np.arange(tokens.index.size)
        blocks = []
        for offset, features in window.items():
            if not features:
                continue
            there = here + offset
            inside = (there >= starts) & (there < ends)
            index = np.where(inside, tokens.index[np.where(inside, there, 0)], np.int32(-1))
            blocks.append(tokens.block(features, index, f"{offset:+d}:" if offset else ""))
        if boundary:
            mark = (here == starts) + 2 * (here == ends - 1) - 1
            rows = sp.csr_matrix(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
            blocks.append(TokenBlock(["BOS", "EOS"], rows, mark.astype(np.int32)))
        return Ragged(TokenTable(blocks), offsets)

    def describe(self, x: Any) -> list[list[str]]:
        """Names of the features of every token of one sentence, for reading.

        Parameters
        ----------
        x : list of tokens
            One sentence.

        Returns
        -------
        list of list of str
            Names per token.

        Examples
        --------
        >>> from trelliswork.features import TokenWindow
        >>> TokenWindow.from_template("lower; lower @ 1").describe(["La", "casa"])
        [['word.lower=la', '+1:word.lower=casa'], ['word.lower=casa']]
        """
        table = self.transform([x]).values
        out: list[list[str]] = [[] for _ in range(len(table))]
        for names, matrix, index in table.blocks:
            for row, features in zip(index.tolist(), out):
                if row >= 0:
                    columns = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
                    features.extend(names[j] for j in columns.tolist())
        return out

    def _window(self) -> dict[int, list[Feature]]:
        """Features at each offset, whichever parameter asked for them."""
        of_token = {name: getattr(self, name) for name in _PER_OFFSET}
        of_neighbours = of_token
        if isinstance(self.neighbours, Mapping):
            for name in self.neighbours:
                if name not in of_token:
                    raise InputError(f"neighbours: unknown key {name!r}; expected {', '.join(of_token)}")
            of_neighbours = {**of_token, **self.neighbours}
        elif self.neighbours != "same":
            raise InputError(f"neighbours must be 'same' or a mapping, got {self.neighbours!r}")
        window: dict[int, list[Feature]] = {0: []}
        if self.bias:
            window[0].append(PLAIN["bias"])
        if self.boundaries:
            window[0].append(PLAIN["boundary"])
        for offset in _listed("offsets", self.offsets):
            if isinstance(offset, bool) or not isinstance(offset, (int, np.integer)):
                raise InputError(f"offsets must be whole numbers, got {offset!r}")
            params = of_neighbours if offset else of_token
            window.setdefault(int(offset), []).extend(_features(**params))
        if self.template:
            for offset, features in parse_template(self.template).items():
                window.setdefault(offset, []).extend(features)
        if not any(window.values()):
            raise InputError("TokenWindow: no features; give offsets, bias, boundaries or a template")
        return {offset: list(dict.fromkeys(window[offset])) for offset in sorted(window)}


def _listed(name: str, values: Any) -> Sequence[Any]:
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise InputError(f"{name} must be a list, got {values!r}")
    return values


def _features(
    *,
    lower: bool,
    word: bool,
    prefixes: Sequence[int],
    suffixes: Sequence[int],
    shape: bool,
    flags: Sequence[str],
    false_flags: bool,
    columns: Any,
    extra: Callable[[tuple[str, ...]], Any] | None,
) -> list[Feature]:
    out = [PLAIN[name] for name, wanted in (("word", word), ("lower", lower), ("shape", shape)) if wanted]
    out += [affix("prefix", n) for n in _listed("prefixes", prefixes)]
    out += [affix("suffix", n) for n in _listed("suffixes", suffixes)]
    out += [flag(name, false_flags) for name in _listed("flags", flags)]
    try:
        named = dict(columns)
    except (TypeError, ValueError):
        raise InputError(f"columns must map names to column numbers, got {columns!r}") from None
    out += [column(name, number) for name, number in named.items()]
    if extra is not None:
        if not callable(extra):
            raise InputError(f"extra must be a function of the columns of a token, got {extra!r}")
        out.append(Feature("", "extra", extra))
    return out
