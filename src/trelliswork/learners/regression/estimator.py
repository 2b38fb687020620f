"""Kernel regression from inputs to features of outputs, and back to outputs."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from trelliswork._blas import one_blas_thread
from trelliswork._errors import InputError, not_fitted
from trelliswork._ngrams import check_sequences
from trelliswork._parameters import Parametrised
from trelliswork._ragged import Ragged
from trelliswork._tuning import Path
from trelliswork._validate import check_number, check_samples, check_weights, count_samples
from trelliswork.kernels import Kernel, Linear, Precomputed, Spectrum, as_kernel, earlier_kernel
from trelliswork.kernels._compose import similarities
from trelliswork.learners.calls import accepts_iterators
from trelliswork.learners.regression.candidates import CandidateCode
from trelliswork.learners.regression.codes import NGramCode, PositionCode, ValueCode, position_items
from trelliswork.learners.regression.fit import Fit, fit_dual, fit_primal
from trelliswork.learners.regression.maps import EmpiricalMap, feature_map, prepared, restored_map, take
from trelliswork.learners.regression.outputs import OUTPUTS, Candidates, NGrams, Positions, Values
from trelliswork.losses import Edit

__all__ = ["KernelRegression"]

_CHUNK = 1 << 25  # similarities that are held at a time while predicting
_CODES = {Positions: PositionCode, NGrams: NGramCode, Values: ValueCode, Candidates: CandidateCode}
_SOLVERS = ("auto", "dual", "primal")
_BASES = ("greedy", "cholesky", "random")


class KernelRegression(Parametrised):
    """Learn strings from strings: regress the features of the output on the input, then find the output.

    One ridge regression predicts all features (n-gram counts, or indicators of the symbol at each position)
    of the output; decoding finds the string that has them. Unlike the other learners it searches no
    outputs while it trains: a fit is one factorisation.

    Parameters
    ----------
    kernel : kernel, name or function, default="spectrum"
        Similarity of inputs (see :mod:`trelliswork.kernels`); of single items for ``Positions``.
        ``"precomputed"``: X is the Gram matrix, and at prediction the similarities with the training samples.
    output : NGrams, Positions, Values or name, default="ngrams"
        What is predicted.
    ridge : float, list of float or "loo", default=1.0
        Penalty on the squared norm; of several (or of a grid), the one with the least leave-one-out error.
        With 0 and a singular matrix the solution is that of least norm. The larger, the smoother the
        predictions, and the nearer to zero.
    solver : {"auto", "dual", "primal"}, default="auto"
        By samples or, for kernels with explicit features (linear, n-gram, spectrum), by features; "auto"
        takes whichever are fewer.
    mask : function (output feature, input feature) -> bool, or None
        Weights to be kept small, with strength ``eta``. ``Positions(shared=False)`` has its own: other
        positions.
    constraints : list of mappings {(output feature, input feature): factor}, or None
        Linear functions of the weights that are to be kept near 0, with strength ``eta``.
    eta : float, default=0.0
        Strength of mask and constraints; infinite for a mask removes what is masked. The larger, the more
        strictly they are kept.
    constraint_solver : {"auto", "closed", "cg", "iteration"}, default="auto"
        How constraints are met: closed form (up to 2000), conjugate gradients, or the original iteration.
    basis : int or None, default=None
        Use only so many training samples as basis functions. More are slower and nearer to the full
        solution.
    basis_method : {"greedy", "cholesky", "random"}, default="greedy"
        Largest residual, pivoted incomplete Cholesky, or at random.
    vote : list of KernelRegression or None, default=None
        Further regressors: only n-grams that more than half of all predict are kept.
    random_state : int, Generator or None, default=None
        For a random basis. Another number is another random choice, no better or worse.
    cache_mb : float, default=8000
        Refuse a Gram matrix that would take more memory, in megabytes. Raise it where there is room.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_basis, n_outputs)
        Coefficients of the similarities with ``X_fit_``, when solved by samples.
    coef_ : ndarray of shape (n_outputs, n_features)
        Weights, when solved by features.
    kernel_ : kernel
        The kernel, with the number that its ``gamma="auto"`` stands for.
    ridge_ : float
        The ridge used.
    loo_error_ : list of float
        Mean squared leave-one-out error for each ridge, when several were given; of ``kernel_``, whose width
        stays that for all samples.
    n_iter_ : int
        Steps of an iterative constraint solver.

    See Also
    --------
    Transducer : For outputs that follow the input from left to right.
    preimage : The search for a string with given counts.
    NGrams : Outputs as counts.

    References
    ----------
    .. [1] Cortes, Mohri and Weston, A General Regression Framework for Learning String-to-String Mappings.

    Examples
    --------
    >>> import trelliswork as tw
    >>> X = ["cat", "act", "tac", "cact", "taca"]
    >>> y = ["KAT", "AKT", "TAK", "KAKT", "TAKA"]
    >>> model = tw.KernelRegression(tw.kernels.Spectrum(1, 3, boundary=True), tw.NGrams(2), ridge=0.1)
    >>> model.fit(X, y).predict(["tact"])
    ['TAKT']
    """

    sequential: ClassVar[bool] = False

    tuning = (Path("ridge"),)

    def __init__(
        self,
        kernel: Any = "spectrum",
        output: Any = "ngrams",
        *,
        ridge: Any = 1.0,
        solver: str = "auto",
        mask: Any = None,
        constraints: Any = None,
        eta: float = 0.0,
        constraint_solver: str = "auto",
        basis: int | None = None,
        basis_method: str = "greedy",
        vote: Any = None,
        random_state: Any = None,
        cache_mb: float = 8000,
    ):
        self.kernel = kernel
        self.output = output
        self.ridge = ridge
        self.solver = solver
        self.mask = mask
        self.constraints = constraints
        self.eta = eta
        self.constraint_solver = constraint_solver
        self.basis = basis
        self.basis_method = basis_method
        self.vote = vote
        self.random_state = random_state
        self.cache_mb = cache_mb

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.pairwise = self.kernel == "precomputed" or isinstance(self.kernel, Precomputed)
        tags.target_tags.required = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "ridge_")

    # -- fitting -------------------------------------------------------------------------

    @accepts_iterators
    @one_blas_thread
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRegression:
        """Solve for the weights of all output features.

        Parameters
        ----------
        X : list of inputs
            Strings or lists of symbols, sequences of vectors, rows, or a Gram matrix, as the kernel takes.
        y : list of outputs
            Strings or lists of symbols, or numbers.
        sample_weight : array-like or None
            How often each sample counts.

        Returns
        -------
        KernelRegression
            Itself.
        """
        return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any, counted: bool = False) -> KernelRegression:
        """Fit; ``counted`` asks for thresholds even where decoding does without."""
        self._check()
        check_samples(X, y)
        weights = check_weights(sample_weight, count_samples(X))
        kernel, output = as_kernel(self.kernel), as_output(self.output)
        if not isinstance(output, (Values, Candidates)):
            check_sequences(y, "y")
        columns = np.arange(count_samples(X))
        if isinstance(kernel, Precomputed) and np.shape(X) != (len(columns), len(columns)):
            raise InputError(f"a precomputed Gram matrix must be square, got shape {np.shape(X)}")
        n_columns = len(columns) if isinstance(kernel, Precomputed) else None
        given = X, y, weights
        if weights is not None and not weights.all():
            columns = np.flatnonzero(weights)
            X, y, weights = take(X, columns), take(y, columns), weights[columns]
        code = output.bind(y, weights)
        needs_counts = counted or bool(self.vote) or getattr(code, "needs_thresholds", False)
        self._install(self._solve(kernel, code, X, y, weights, columns, needs_counts), code)
        self.n_columns_ = n_columns
        self.voters_ = []
        if self.vote:
            from sklearn.base import clone

            self.voters_ = [clone(v)._fit(*given, counted=True) for v in self.vote]
        return self

    def _check(self) -> None:
        if self.solver not in _SOLVERS:
            raise InputError(f"solver must be one of {', '.join(_SOLVERS)}, got {self.solver!r}")
        if self.basis_method not in _BASES:
            raise InputError(f"basis_method must be one of {', '.join(_BASES)}, got {self.basis_method!r}")
        if self.basis is not None:
            check_number("basis", self.basis, 1, whole=True)
        check_number("cache_mb", self.cache_mb, 0, above=True)
        if not (isinstance(self.eta, (int, float, np.number)) and self.eta >= 0):
            raise InputError(f"eta must be a number >= 0, got {self.eta!r}")
        if self.vote is not None and not isinstance(self.vote, (list, tuple)):
            raise InputError(f"vote must be a list of KernelRegression models, got {self.vote!r:.80}")
        for voter in self.vote or ():
            if not isinstance(voter, KernelRegression) or not isinstance(as_output(voter.output), NGrams):
                raise InputError(f"vote must hold KernelRegression models of n-grams, got {voter!r:.80}")
        if self.vote and not isinstance(as_output(self.output), NGrams):
            raise InputError("vote needs output=NGrams(...): n-grams are what is voted on")

    def _solve(
        self,
        kernel: Any,
        code: Any,
        X: Any,
        y: Any,
        weights: np.ndarray | None,
        columns: np.ndarray,
        needs_loo: bool,
    ) -> Fit:
        inputs, lengths, symbols = X, None, None
        if isinstance(code, PositionCode):
            items, symbols = position_items(X, int(code.output.window), None)
            lengths, inputs = items.lengths, items.values
            T = code.targets(y, lengths)
            if code.output.shared and weights is not None:
                weights = np.repeat(weights, lengths)
        else:
            inputs = columns if isinstance(kernel, Precomputed) else prepared(X)
            counted: Any = code.targets(y)
            T = counted.toarray() if sp.issparse(counted) else counted
        if isinstance(kernel, Kernel) and isinstance(inputs, np.ndarray) and inputs.ndim == 2:
            kernel = kernel.fitted(np.unique(inputs, axis=0))  # a weight of 2 is the same as a row twice
        self.kernel_ = kernel
        constrained = self.mask is not None or self.constraints is not None
        by_place = isinstance(code, PositionCode) and not code.output.shared
        if self.basis is not None and (self.solver == "primal" or constrained or by_place):
            what = "a mask has" if self.mask is not None else "constraints have"
            what = (
                "Positions(shared=False) has" if by_place else what if constrained else "solver='primal' has"
            )
            raise InputError(
                f"basis=... chooses training samples to compare with, but {what} weights of features; "
                "use one of them"
            )
        fmap: Any = None
        if by_place:
            fmap = EmpiricalMap(kernel, items.values, items.offsets, code.longest, weights)
            F = fmap.transform(items)
            fit = fit_primal(self, F, T, weights, fmap.masks(len(code.symbols)), code.names, fmap.names)
        else:
            has_features = isinstance(kernel, (Linear, Spectrum))
            if self.solver == "primal" or constrained or (self.solver == "auto" and has_features):
                fmap = feature_map(kernel, inputs)
            small = fmap is not None and fmap.n_features <= len(T) and self.basis is None
            if fmap is not None and (self.solver == "primal" or constrained or small):
                explicit = fmap.transform(inputs)
                explicit = explicit.toarray() if sp.issparse(explicit) else explicit
                fit = fit_primal(self, explicit, T, weights, None, code.names, fmap.names, needs_loo)
            else:
                fmap = None
                gram = X if isinstance(kernel, Precomputed) else inputs
                fit = fit_dual(self, kernel, gram, inputs, T, weights, needs_loo)
        if needs_loo:
            assert isinstance(code, NGramCode)
            G = T - fit.loo if code.output.thresholds == "loo" else T - fit.residual
            code.calibrate(G, T, weights)
        return fit._replace(fmap=fmap, symbols=symbols)

    def _install(self, fit: Fit, code: Any) -> None:
        for name in ("dual_coef_", "coef_", "X_fit_", "loo_error_"):
            if hasattr(self, name):
                delattr(self, name)
        self.code_, self.map_, self.symbols_in_ = code, fit.fmap, fit.symbols
        if fit.coef is None:
            self.dual_coef_, self.X_fit_ = fit.dual_coef, fit.inputs
        else:
            self.coef_ = fit.coef
        if fit.loo_error is not None:
            self.loo_error_ = fit.loo_error
        self.ridge_, self.n_iter_ = fit.ridge, fit.n_iter

    # -- prediction -----------------------------------------------------------------------

    @accepts_iterators
    @one_blas_thread
    def decision_function(self, X: Any) -> Any:
        """Predicted features of the outputs, before an output is searched.

        Parameters
        ----------
        X : list of inputs
            As in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs), or list of ndarray
            Counts of the n-grams in ``feature_names_out_`` order; for ``Positions`` one array
            (n_positions, n_symbols) per sample.
        """
        G, offsets = self._decide(X)
        if offsets is None:
            return G
        return [G[a:b] for a, b in itertools.pairwise(offsets)]

    def _decide(self, X: Any) -> tuple[np.ndarray, np.ndarray | None]:
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)
        check_samples(X, empty=True)
        code = self.code_
        if not isinstance(code, PositionCode):
            width = np.shape(X)[1] if self.n_columns_ is not None and np.ndim(X) == 2 else self.n_columns_
            if width != self.n_columns_:
                raise InputError(
                    f"rows of {width} similarities; the model was fitted to {self.n_columns_} samples"
                )
            G = self._rows(prepared(X), count_samples(X))
            bad = np.flatnonzero(~np.isfinite(G).all(axis=1))
            if bad.size:
                raise InputError("its similarities hold NaN or infinity", sample=int(bad[0]))
            return G, None
        items, _ = position_items(X, int(code.output.window), self.symbols_in_)
        if code.output.shared:
            return self._rows(items.values, len(items.values)), items.offsets
        wrong = np.flatnonzero(items.lengths > code.longest)
        if wrong.size:
            raise InputError(
                f"{items.lengths[wrong[0]]} positions; the longest training sample "
                f"has {code.longest}. Positions(shared=True) takes any length",
                sample=int(wrong[0]),
            )
        k = len(code.symbols)
        G = np.empty((len(items.values), k))
        step = max(1, _CHUNK // max(self.map_.n_features, 1))
        for first in range(0, len(items), step):
            some = items[first : first + step]
            rows = (self.map_.transform(some) @ self.coef_.T).reshape(len(some), code.longest, k)
            place = np.arange(len(some.values)) - np.repeat(some.offsets[:-1], some.lengths)
            owner = np.repeat(np.arange(len(some)), some.lengths)
            G[items.offsets[first] : items.offsets[first] + len(place)] = rows[owner, place]
        return G, items.offsets

    def _rows(self, inputs: Any, n: int) -> np.ndarray:
        """Features of single inputs or items, in pieces that fit into memory."""
        primal = hasattr(self, "coef_")
        width = self.coef_.shape[0] if primal else self.dual_coef_.shape[1]
        out = np.zeros((n, width))
        kernel = self.kernel_
        step = max(1, _CHUNK // max(1, 1 if primal else len(self.dual_coef_)))
        for first in range(0, n, step):
            index = np.arange(first, min(first + step, n))
            some = inputs if len(index) == n else take(inputs, index)
            if primal:
                out[index] = self.map_.transform(some) @ self.coef_.T
            else:
                out[index] = similarities(kernel, some, self.X_fit_, index) @ self.dual_coef_
        return out

    @accepts_iterators
    def predict(self, X: Any) -> Any:
        """Best output of every sample.

        Parameters
        ----------
        X : list of inputs
            As in ``fit``.

        Returns
        -------
        list (of strings, tuples or lists, as in ``fit``) or ndarray for ``Values``
        """
        G, offsets = self._decide(X)
        if offsets is not None:
            return self.code_.decode(G, offsets)
        if self.voters_:
            return self.code_.decode_counts(self.predict_counts(X))
        if isinstance(self.code_, CandidateCode):
            return self.code_.decode(G, X)
        return self.code_.decode(G)

    @accepts_iterators
    def predict_counts(self, X: Any) -> np.ndarray:
        """Whole counts of the (longest) n-grams, after thresholds and votes.

        Parameters
        ----------
        X : list of inputs
            As in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_ngrams)
        """
        G, _ = self._decide(X)
        code = self.code_
        if not isinstance(code, NGramCode) or code.thresholds is None:
            raise InputError("predict_counts needs vote, or NGrams with preimage='euler' or rounded=True")
        counts = [code.counts(G)]
        table = code.tables[0]
        for voter in self.voters_:
            vote = voter.code_.counts(voter._decide(X)[0])
            counts.append(voter.code_.shortened(vote, table.shape[1], table, code.symbols))
        # A count of c is kept when more than half of the regressors predict at least c.
        return -np.sort(-np.stack(counts), axis=0)[len(counts) // 2]

    @accepts_iterators
    def predict_candidates(self, X: Any) -> list[list[Any]]:
        """All strings with the nearest realisable counts, best first (up to ``cap`` of the output map).

        With ``Candidates`` all candidates, the nearest first.

        Parameters
        ----------
        X : list of inputs
            As in ``fit``.
        """
        G, _ = self._decide(X)
        if isinstance(self.code_, CandidateCode):
            return [candidates for candidates, _ in self.code_.ranked(G, X)]
        if not isinstance(self.code_, NGramCode):
            raise InputError("predict_candidates needs output=NGrams(...) or Candidates(...)")
        return [self.code_.candidates(z)[0] for z in G]

    @accepts_iterators
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of right symbols: 1 - edit distance / length of the longer string, over all samples.

        For ``Values`` the coefficient of determination; for ``Candidates`` that are no sequences the share of
        right outputs.

        Parameters
        ----------
        X : list of inputs
            As in ``fit``.
        y : list of outputs
            The truth.
        sample_weight : array-like or None
            Weight of each sample.
        """
        check_samples(X, y)
        weights = check_weights(sample_weight, count_samples(X))
        predicted = self.predict(X)
        if isinstance(self.code_, ValueCode):
            from sklearn.metrics import r2_score

            return float(r2_score(y, predicted, sample_weight=weights))
        sequences = all(isinstance(item, (str, list, tuple)) for item in (*y, *predicted))
        if isinstance(self.code_, CandidateCode) and not sequences:
            right = np.array([a == b for a, b in zip(y, predicted, strict=True)])
            return float(np.average(right, weights=weights))
        check_sequences(y, "y")
        w = np.ones(len(predicted)) if weights is None else weights
        distance = Edit()
        errors = np.array([distance(a, b) for a, b in zip(y, predicted, strict=True)])
        sizes = np.array([max(len(a), len(b)) for a, b in zip(y, predicted, strict=True)])
        return float(1.0 - (w @ errors) / max(float(w @ sizes), 1e-300))

    @property
    def feature_names_out_(self) -> list[Any]:
        """Names of the output features, in the order of ``decision_function``."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("feature_names_out_")
        return self.code_.names

    # -- model files ----------------------------------------------------------------------

    def __tw_state__(self) -> dict[str, Any]:
        if not self.__sklearn_is_fitted__():
            return {}
        state = {
            "code": self.code_.state(),
            "map": None if self.map_ is None else self.map_.state(),
            "symbols_in": self.symbols_in_,
            "ridge": self.ridge_,
            "n_iter": self.n_iter_,
            "loo_error": getattr(self, "loo_error_", None),
            "coef": getattr(self, "coef_", None),
            "voters": self.voters_,
            "n_columns": self.n_columns_,
            "kernel": self.kernel_,
        }
        if not hasattr(self, "coef_"):
            fit = self.X_fit_
            ragged = isinstance(fit, Ragged)
            state |= {
                "dual_coef": self.dual_coef_,
                "X_fit": [fit.values, fit.offsets] if ragged else fit,
                "ragged": ragged,
            }
        return state

    def __tw_restore__(self, state: Mapping[str, Any]) -> None:
        if not state:
            return
        output = as_output(self.output)
        code: Any = _CODES[type(output)].restore(output, dict(state["code"]))  # type: ignore[attr-defined]
        self.code_, self.symbols_in_ = code, state["symbols_in"]
        known = self.symbols_in_
        if not (known is None or (isinstance(known, list) and all(isinstance(s, Hashable) for s in known))):
            raise ValueError("its input symbols are no list of symbols")
        self.kernel_ = (
            earlier_kernel(self.kernel) if state.get("kernel") is None else as_kernel(state["kernel"])
        )
        self.map_ = None if state["map"] is None else restored_map(self.kernel_, state["map"])
        n_out = len(code.names)
        if state["coef"] is not None:
            coef = state["coef"]
            if coef.shape != (n_out, self.map_.n_features) or not np.isfinite(coef).all():
                raise ValueError("its weights do not fit its features")
            self.coef_ = coef
        else:
            fit = state["X_fit"]
            fit = Ragged(*fit) if state["ragged"] else fit
            dual = state["dual_coef"]
            if dual.shape != (count_samples(fit), n_out) or not np.isfinite(dual).all():
                raise ValueError("its coefficients do not fit its samples")
            self.X_fit_, self.dual_coef_ = fit, dual
        if state["loo_error"] is not None:
            self.loo_error_ = list(state["loo_error"])
        self.ridge_, self.n_iter_ = float(state["ridge"]), int(state["n_iter"])
        self.voters_ = list(state["voters"])
        self.n_columns_ = None if state.get("n_columns") is None else int(state["n_columns"])
        if not all(isinstance(v, KernelRegression) for v in self.voters_):
            raise ValueError("its voters are no regressors")


def as_output(output: Any) -> Any:
    """An output map from its name or from itself."""
    if isinstance(output, str) and output in OUTPUTS:
        return OUTPUTS[output]()
    if isinstance(output, (list, tuple)) and output and all(isinstance(n, (int, np.integer)) for n in output):
        return NGrams(list(output))
    if isinstance(output, tuple(_CODES)):
        return output
    raise InputError(
        "output must be Positions(), NGrams(n), Values(), Candidates() or one of "
        f"{', '.join(map(repr, OUTPUTS))}, got {output!r:.80}"
    )
