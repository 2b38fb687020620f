"""Token features, compiled: distinct rows once, and one row index per token.

Whatever users have per token (a string, a list of strings, a dict, a row of an
array) becomes one or several *blocks*. A block is a matrix of distinct rows and,
for each token, the number of its row. Scores of all tokens are then one small
matrix product and a gather, whatever the number of tokens.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Container, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._interning import intern_rows
from trelliswork._names import Alphabet
from trelliswork._ragged import Ragged, offsets_of
from trelliswork._validate import as_number, check_sentences_in

__all__ = [
    "TokenBlock",
    "TokenTable",
    "attributes_of",
    "check_width",
    "compacted",
    "compile_tokens",
    "token_symbols",
]


class TokenBlock(NamedTuple):
    """Distinct feature rows and the row of each token.

    Attributes
    ----------
    names : sequence of str
        Column names; :class:`~trelliswork._names.Names` where blocks share stems.
    matrix : csr_matrix or ndarray of shape (n_rows, len(names))
        Distinct rows.
    rows : ndarray of int32, shape (n_tokens,)
        Row of each token; -1 where the token has nothing in this block.
    """

    names: Sequence[str]
    matrix: Any
    rows: np.ndarray


class TokenTable:
    """Features of all tokens of a data set, as blocks of distinct rows.

    Slicing and indexing by rows keep the distinct rows and cut the indexes, so a
    table can be the ``values`` of a :class:`~trelliswork.Ragged`.

    Parameters
    ----------
    blocks : list of TokenBlock
        At least one.
    width : int or None
        Number of columns, when the tokens are the rows of an array.
    """

    def __init__(self, blocks: Sequence[TokenBlock], width: int | None = None):
        self.blocks = list(blocks)
        self.width = width
        self._known: tuple[Alphabet, list[np.ndarray]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"blocks": self.blocks, "width": self.width, "_known": None}

    def columns_in(self, columns: Alphabet) -> list[np.ndarray]:
        """Where the names of each block stand in an alphabet, -1 for unknown names.

        The last answer is kept: looking up names is most of the work of a prediction.
        """
        if self._known is None or self._known[0] is not columns:
            self._known = columns, columns.numbers([b.names for b in self.blocks])
        return self._known[1]

    @property
    def dense(self) -> bool:
        """Whether the tokens are rows of dense arrays."""
        return self.width is not None and not any(sp.issparse(block.matrix) for block in self.blocks)

    @property
    def shape(self) -> tuple[int]:
        """``(n_tokens,)``."""
        return (self.blocks[0].rows.size,)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> TokenTable:
        part = TokenTable([TokenBlock(b.names, b.matrix, b.rows[rows]) for b in self.blocks], self.width)
        part._known = self._known
        return part


def compacted(X: Any) -> Any:
    """Sequences of tokens without the rows that none of them has, where they were cut out of others."""
    if not (isinstance(X, Ragged) and isinstance(X.values, TokenTable)):
        return X
    blocks = []
    for names, matrix, rows in X.values.blocks:
        used, place = np.unique(np.append(rows, -1), return_inverse=True)
        if used.size - 1 == matrix.shape[0]:
            blocks.append(TokenBlock(names, matrix, rows))
        else:
            blocks.append(TokenBlock(names, matrix[used[1:]], place[:-1].astype(np.int32) - 1))
    return Ragged(TokenTable(blocks, X.values.width), X.offsets)


def _is_dense(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.ndim == 2 and x.dtype.kind in "biuf"


def compile_tokens(X: Any) -> tuple[TokenTable, np.ndarray]:
    """Turn any supported list of token sequences into a table and offsets.

    Parameters
    ----------
    X : Ragged, or sequence of samples
        A sample is a list of tokens (each a string, a list of strings or a dict),
        a dense array ``(n_tokens, p)`` or a SciPy sparse matrix ``(n_tokens, p)``.

    Returns
    -------
    table : TokenTable
        Compiled features; sequences follow one another.
    offsets : ndarray of int64, shape (n_samples + 1,)
        Where each sequence starts.
    """
    if isinstance(X, Ragged):
        return _from_values(X), X.offsets
    if isinstance(X, (str, bytes)) or not hasattr(X, "__len__"):
        raise InputError(f"X must be a list of sequences, got {type(X).__name__}")
    if _is_dense(X) or sp.issparse(X):
        raise InputError(
            "X must be a list of sequences, got one matrix; wrap it as [X], or use Ragged(X, offsets)"
        )
    check_sentences_in(X)
    samples = list(X)
    for i, x in enumerate(samples):
        unordered = isinstance(x, (Mapping, set, frozenset))
        if unordered or (not hasattr(x, "__len__") and not sp.issparse(x)):
            raise InputError(f"expected a list of tokens, got {type(x).__name__}", sample=i)
        if getattr(x, "shape", None) == ():
            raise InputError("expected a list of tokens, got an array of shape ()", sample=i)
    lengths = [x.shape[0] if hasattr(x, "shape") else len(x) for x in samples]
    offsets = offsets_of(lengths)
    filled = [i for i, length in enumerate(lengths) if length]
    if filled and (_is_dense(samples[filled[0]]) or sp.issparse(samples[filled[0]])):
        return _stack_matrices(samples, filled, offsets), offsets
    return _from_objects(samples), offsets


def _from_values(X: Ragged) -> TokenTable:
    values = X.values
    if isinstance(values, TokenTable):
        return values
    if _is_dense(values) or sp.issparse(values):
        return _matrix_table(values, X.offsets)
    return _from_objects(list(X))


def _stack_matrices(samples: list[Any], filled: list[int], offsets: np.ndarray) -> TokenTable:
    width = samples[filled[0]].shape[1]
    sparse = sp.issparse(samples[filled[0]])
    for i in filled:
        shape: tuple[int, ...] = getattr(samples[i], "shape", ())
        if len(shape) != 2 or shape[1] != width:
            raise InputError(
                f"expected {width} columns as in sample {filled[0]}, got shape {shape}",
                sample=i,
            )
        if sp.issparse(samples[i]) != sparse or samples[i].dtype.kind not in "biuf":
            raise InputError(
                f"expected a {'sparse' if sparse else 'dense'} array of numbers as in "
                f"sample {filled[0]}, got {type(samples[i]).__name__} of {samples[i].dtype}",
                sample=i,
            )
    parts = [samples[i] for i in filled]
    return _matrix_table(sp.vstack(parts, format="csr") if sparse else np.concatenate(parts), offsets)


def _matrix_table(matrix: Any, offsets: np.ndarray) -> TokenTable:
    if sp.issparse(matrix):
        matrix = sp.csr_matrix(matrix, dtype=np.float64)
        finite = np.isfinite(matrix.data)
        row = -1 if finite.all() else int(np.searchsorted(matrix.indptr, np.argmin(finite), side="right") - 1)
    else:
        matrix = np.ascontiguousarray(matrix, dtype=np.float64)
        finite = np.isfinite(matrix).all(axis=1)
        row = -1 if finite.all() else int(np.argmin(finite))
    if row >= 0:
        sample = int(np.searchsorted(offsets, row, side="right") - 1)
        raise InputError(
            f"token {row - offsets[sample]} holds NaN or infinity; features must be finite",
            sample=sample,
        )
    n_rows, width = matrix.shape
    # Array columns get the names "0", "1", ...; the index is the identity.
    names = [str(j) for j in range(width)]
    return TokenTable([TokenBlock(names, matrix, np.arange(n_rows, dtype=np.int32))], width)


def attributes_of(token: Any, sample: int) -> list[tuple[str, float]]:
    """``(name, value)`` pairs of one token that is a list or a dict."""
    if isinstance(token, Mapping):
        pairs: list[tuple[str, float]] = []
        for key, value in token.items():
            _flatten(str(key), value, pairs, sample)
        return pairs
    if isinstance(token, (list, tuple, set, frozenset)):
        for a in token:
            if not isinstance(a, str):
                raise InputError(
                    f"expected strings in the list, got {a!r}; use a dict for numbers",
                    sample=sample,
                )
        # The order of a set changes from process to process, and the numbers of features with it.
        return [(a, 1.0) for a in (sorted(token) if isinstance(token, Set) else token)]
    advice = ""
    if isinstance(token, (int, float, np.number)):
        advice = "; write a number that names something as text, str(token), and measurements as array rows"
    raise InputError(
        f"a token must be a string, a list of strings or a dict, got {type(token).__name__}{advice}",
        sample=sample,
    )


def _flatten(key: str, value: Any, pairs: list[tuple[str, float]], sample: int) -> None:
    # The conventions of python-crfsuite, so that its users need not change their features.
    if isinstance(value, str):
        pairs.append((f"{key}:{value}", 1.0))
    elif isinstance(value, (bool, np.bool_)):
        if value:
            pairs.append((key, 1.0))
    elif isinstance(value, (int, float, np.integer, np.floating)):
        number = as_number(f"feature {key!r}", value, sample=sample)
        if number:
            pairs.append((key, number))
    elif isinstance(value, Mapping):
        for inner, v in value.items():
            _flatten(f"{key}:{inner}", v, pairs, sample)
    elif isinstance(value, (list, tuple, set, frozenset)):
        items = sorted(map(str, value)) if isinstance(value, Set) else map(str, value)
        pairs.extend((f"{key}:{item}", 1.0) for item in items)
    elif value is not None:
        raise InputError(
            f"feature {key!r} must be a string, number, bool, list or dict, got {type(value).__name__}",
            sample=sample,
        )


def _from_objects(samples: list[Any]) -> TokenTable:
    """Rows of strings, lists of strings and dicts; equal rows are stored once."""
    table = intern_rows(samples)
    return _one_by_one(samples) if table is None else TokenTable([TokenBlock(*table)])


def _one_by_one(samples: list[Any]) -> TokenTable:
    """The same for tokens of any kinds, which are checked one by one."""
    columns: dict[str, int] = {}
    seen: dict[Any, int] = {}
    index, indptr, indices, data = array("i"), array("q", [0]), array("i"), array("d")
    for i, sample in enumerate(samples):
        for token in sample:
            if isinstance(token, str):
                row = seen.get(token)
                if row is None:
                    row = seen[token] = len(seen)
                    indices.append(columns.setdefault(token, len(columns)))
                    data.append(1.0)
                    indptr.append(len(indices))
            else:
                pairs = attributes_of(token, i)
                ids = array("i", [columns.setdefault(name, len(columns)) for name, _ in pairs])
                values = array("d", [value for _, value in pairs])
                # Bytes, not tuples of objects: a data set has about as many keys as tokens.
                key = (ids.tobytes(), values.tobytes()) if any(v != 1.0 for v in values) else ids.tobytes()
                row = seen.get(key)
                if row is None:
                    row = seen[key] = len(seen)
                    indices.extend(ids)
                    data.extend(values)
                    indptr.append(len(indices))
            index.append(row)
    matrix = sp.csr_matrix(
        (np.array(data), np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int64)),
        shape=(len(seen), len(columns)),
    )
    matrix.sum_duplicates()
    return TokenTable([TokenBlock(list(columns), matrix, np.array(index, dtype=np.int32))])


def check_width(table: TokenTable, width: int | None, known: Container[str], size: int, rows: str) -> None:
    """Refuse arrays whose columns cannot be those of the training data.

    ``width`` is the number of columns of the arrays in fit, None if features had names. The names of array
    columns are their numbers, so arrays and ``rows`` with names may be mixed, unless none of the names is
    among the ``size`` names that are ``known``.
    """
    if not len(table) or table.width == width:
        return
    got = f"{rows} with names" if table.width is None else f"arrays with {table.width} columns"
    expected = f"{rows} with names" if width is None else f"arrays with {width} columns"
    apart = size > 0 and not any(name in known for block in table.blocks for name in block.names)
    if apart or None not in (width, table.width):
        raise InputError(f"X: expected {expected} as in fit, got {got}")


def token_symbols(X: Ragged) -> list[Any]:
    """One list of strings per sequence, or one array where the tokens are rows of arrays.

    The string of a token lists its attributes, with their values where these are not 1.
    """
    table: TokenTable = X.values
    bounds = list(itertools.pairwise(X.offsets.tolist()))
    if table.width is not None:
        rows = table.blocks[0].matrix[table.blocks[0].rows]
        rows = rows.toarray() if sp.issparse(rows) else rows
        return [rows[a:b] for a, b in bounds]
    tokens: list[list[str]] = [[] for _ in range(len(table))]
    for names, matrix, index in table.blocks:
        matrix = sp.csr_matrix(matrix)
        shown = [
            sorted(
                names[j] if value == 1.0 else f"{names[j]}={value!r}"
                for j, value in zip(matrix.indices[a:b].tolist(), matrix.data[a:b].tolist(), strict=True)
            )
            for a, b in itertools.pairwise(matrix.indptr.tolist())
        ]
        for token, row in zip(tokens, index.tolist(), strict=True):
            if row >= 0:
                token += shown[row]
    joined = ["\x1f".join(token) for token in tokens]
    return [joined[a:b] for a, b in bounds]
