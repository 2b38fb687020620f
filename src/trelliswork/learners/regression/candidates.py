"""Any kernel on outputs: predictions are points in its space, and outputs the candidates nearest to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._parameters import Parametrised
from trelliswork.kernels import Precomputed, as_kernel
from trelliswork.kernels._compose import diagonal_of, similarities
from trelliswork.learners.regression.codes import Code
from trelliswork.learners.regression.solvers import check_gram

__all__ = ["CandidateCode", "Candidates"]

_MOST_OUTPUTS = 10_000
_SMALL = 1e-10  # of the largest eigenvalue; what is below is rounding


class Candidates(Parametrised):
    """Outputs of any kind, compared by a kernel: the prediction is the candidate nearest to the regression.

    The regression predicts a point in the space of the output kernel, as a weighted sum of training outputs.
    With ``kernel=NGram(n, boundary=True)`` distances are those of ``NGrams(n)``; what differs is that
    only candidates are compared, and that no string is searched.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="ngram"
        Similarity of two lists of outputs, see :mod:`trelliswork.kernels`.
    candidates : list, callable or None, default=None
        Outputs to choose from: a list for all inputs, a function that gives a list for an input, or None for
        the training outputs.

    Examples
    --------
    >>> import trelliswork as tw
    >>> X, y = ["ab", "ba", "abb", "bba"], ["xy", "yx", "xyy", "yyx"]
    >>> output = tw.Candidates("spectrum", candidates=["xy", "xyy", "xyyy", "yyyx"])
    >>> tw.KernelRegression(tw.kernels.Spectrum(1, 2), output, ridge=0.01).fit(X, y).predict(["abb"])
    ['xyy']
    """

    def __init__(self, kernel: Any = "ngram", candidates: Any = None):
        self.kernel = kernel
        self.candidates = candidates

    def bind(self, y: Any, weights: np.ndarray | None = None) -> CandidateCode:
        """Different training outputs, and coordinates in the space that they span.

        Parameters
        ----------
        y : list of outputs
            Training outputs.
        weights : ndarray of shape (n_samples,) or None
            Weight of each sample; by default all alike.
        """
        kernel = as_kernel(self.kernel)
        if isinstance(kernel, Precomputed):
            raise InputError("Candidates compares outputs itself: give the kernel, not precomputed values")
        if self.candidates is not None and not callable(self.candidates):
            _check_list(self.candidates, "candidates")
        outputs = _distinct(y)
        if len(outputs) > _MOST_OUTPUTS:
            raise InputError(
                f"{len(outputs):,} different outputs are too many for an output kernel (at most "
                f"{_MOST_OUTPUTS:,})"
            )
        gram = check_gram(similarities(kernel, outputs, outputs))
        values, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
        kept = values > _SMALL * max(float(values[-1]), 0.0)
        if not kept.any():
            raise InputError("the kernel gives 0 for all training outputs; use another")
        return CandidateCode(self, outputs, vectors[:, kept] / np.sqrt(values[kept]))


class CandidateCode(Code):
    """Outputs as coordinates in the space that the training outputs span.

    Parameters
    ----------
    output : Candidates
        Kernel and candidates.
    outputs : list
        Different training outputs.
    basis : ndarray of shape (n_outputs, n_coordinates)
        Coefficients of the coordinates in the similarities with the outputs.
    """

    def __init__(self, output: Candidates, outputs: list[Any], basis: np.ndarray):
        self.output, self.outputs, self.basis = output, outputs, basis
        self._fixed: tuple[list[Any], np.ndarray, np.ndarray] | None = None

    @property
    def names(self) -> list[Any]:
        """Numbers of the coordinates."""
        return list(range(self.basis.shape[1]))

    def targets(self, y: Any) -> np.ndarray:
        """Coordinates of outputs."""
        return similarities(as_kernel(self.output.kernel), y, self.outputs) @ self.basis

    def _measured(self, candidates: list[Any]) -> tuple[list[Any], np.ndarray, np.ndarray]:
        """Candidates, their coordinates, and the squared part of them that lies outside of the space."""
        inside = self.targets(candidates)
        whole = diagonal_of(as_kernel(self.output.kernel), candidates)
        return candidates, inside, np.maximum(whole - np.einsum("ij,ij->i", inside, inside), 0.0)

    def ranked(self, G: np.ndarray, X: Any) -> list[tuple[list[Any], np.ndarray]]:
        """Candidates of every sample, the nearest first (in their order where they are as near)."""
        given, out = self.output.candidates, []
        if not callable(given) and self._fixed is None:
            self._fixed = self._measured(self.outputs if given is None else list(given))
        for i, row in enumerate(G):
            measured = self._fixed
            if callable(given):
                measured = self._measured(_check_list(given(X[i]), "candidates", i))
            assert measured is not None
            candidates, inside, outside = measured
            distance = ((inside - row) ** 2).sum(axis=1) + outside
            order = np.argsort(distance, kind="stable")
            out.append(([candidates[j] for j in order], distance[order]))
        return out

    def decode(self, G: np.ndarray, X: Any) -> list[Any]:
        """Nearest candidate of every sample."""
        return [candidates[0] for candidates, _ in self.ranked(G, X)]

    def state(self) -> dict[str, Any]:
        """Outputs and coordinates."""
        return {"outputs": self.outputs, "basis": self.basis}

    @classmethod
    def restore(cls, output: Candidates, state: dict[str, Any]) -> CandidateCode:
        """Inverse of ``state``."""
        basis = state["basis"]
        if basis.ndim != 2 or basis.shape[0] != len(state["outputs"]) or not np.isfinite(basis).all():
            raise ValueError("its coordinates do not fit its outputs")
        return cls(output, list(state["outputs"]), basis)


def _check_list(candidates: Any, what: str, sample: int | None = None) -> list[Any]:
    if isinstance(candidates, str) or not hasattr(candidates, "__len__") or not len(candidates):
        raise InputError(
            f"{what} must be a list of outputs, not empty, got {candidates!r:.80}", sample=sample
        )
    return list(candidates)


def _distinct(y: Any) -> list[Any]:
    """Outputs without repetitions, in order."""
    seen: dict[Any, Any] = {}
    for item in y:
        seen.setdefault(tuple(item) if isinstance(item, list) else item, item)
    return list(seen.values())
