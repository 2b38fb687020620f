"""Kernels of rows of numbers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._front_door import readable
from trelliswork._parameters import Parametrised
from trelliswork._tuning import Path, Tunable

__all__ = ["RBF", "Kernel", "Linear", "Polynomial"]


class Kernel(Parametrised):
    """Base of all kernels: ``kernel(A, B)`` is the matrix of similarities of two sets of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork.kernels import Kernel
    >>> class Common(Kernel):
    ...     def __call__(self, A, B):
    ...         return np.minimum(A[:, None], B).sum(axis=2)
    >>> Common()(np.array([[1.0, 3.0]]), np.array([[2.0, 2.0]])).tolist()
    [[3.0]]
    """

    tuning: ClassVar[tuple[Tunable, ...]] = ()  # what is worth tuning

    def __init_subclass__(cls, **more: Any) -> None:
        """Make arguments of any kind a value or one line that says what is wrong."""
        super().__init_subclass__(**more)
        for name in ("__call__", "diagonal"):
            if name in vars(cls) and cls.__module__.startswith("trelliswork."):
                setattr(cls, name, readable(vars(cls)[name]))

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        """Matrix of shape (n_rows of A, n_rows of B)."""
        raise NotImplementedError

    def diagonal(self, A: Any) -> np.ndarray:
        """Similarity of each item with itself.

        Parameters
        ----------
        A : array-like or list
            Items to compare, each with itself.
        """
        items = (A[i : i + 1] for i in range(A.shape[0] if hasattr(A, "shape") else len(A)))
        return np.array([float(self(a, a)[0, 0]) for a in items])

    def fitted(self, A: Any) -> Kernel:
        """The kernel with what it takes from the training inputs; here itself.

        Parameters
        ----------
        A : array-like or list
            Training inputs, or some of them.
        """
        return self


class Linear(Kernel):
    """Inner product.

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork.kernels import Linear
    >>> Linear()(np.eye(2), np.array([[3.0, 4.0]])).tolist()
    [[3.0], [4.0]]
    """

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        """Inner products."""
        return _products(A, B)

    def diagonal(self, A: Any) -> np.ndarray:
        """Squared norms."""
        return _squares(A)


class Polynomial(Kernel):
    """``(gamma <x, x'> + coef0) ** degree``.

    Parameters
    ----------
    degree : int, default=2
        Degree. The larger, the more features are joined, and the easier noise is fitted.
    gamma : float, default=1.0
        Factor of the inner product. The larger, the more joined features weigh against single ones.
    coef0 : float, default=1.0
        Constant; 0 leaves out the monomials of lower degree. The larger, the more the lower degrees weigh.

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork.kernels import Polynomial
    >>> Polynomial(2)(np.eye(2), np.array([[3.0, 4.0]])).tolist()
    [[16.0], [25.0]]
    """

    def __init__(self, degree: int = 2, *, gamma: float = 1.0, coef0: float = 1.0):
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        """Powers of shifted inner products."""
        return self.of(_products(A, B))

    def diagonal(self, A: Any) -> np.ndarray:
        """Powers of shifted squared norms."""
        return self.of(_squares(A))

    def of(self, products: np.ndarray, a: Any = None, b: Any = None) -> np.ndarray:
        """The kernel of given inner products, which are overwritten.

        Parameters
        ----------
        products : ndarray
            Inner products, or values of another kernel.
        a, b : ignored
            Squared norms, which other kernels need.
        """
        if self.degree != int(self.degree) or self.degree < 1:
            raise InputError(f"degree must be a whole number of at least 1, got {self.degree!r}")
        if not self.gamma > 0 or not self.coef0 >= 0:
            raise InputError(f"gamma must be > 0 and coef0 >= 0, got {self.gamma!r} and {self.coef0!r}")
        base = products
        base *= self.gamma
        base += self.coef0
        out = base.copy()
        for _ in range(int(self.degree) - 1):  # much faster than ** with an integer exponent
            out *= base
        return out


class RBF(Kernel):
    """``exp(-gamma |x - x'|^2)``.

    Parameters
    ----------
    gamma : float or "auto", default="auto"
        Inverse squared width. The larger, the nearer two rows must be to count as similar. "auto" is
        1 / (columns * variance of all values), as scikit-learn's "scale": learners take the variance of the
        distinct rows that they learn from (the number is ``model.kernel_.gamma``); in a kernel that is called
        by itself it counts as 1, and so do the columns of other kernels (``Composed``).

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork.kernels import RBF
    >>> RBF(0.5)(np.eye(2), np.eye(2)).round(3).tolist()
    [[1.0, 0.368], [0.368, 1.0]]
    >>> RBF().fitted(np.array([[0.0, 10.0], [10.0, 0.0]]))
    RBF(gamma=0.02)
    """

    tuning = (Path("gamma", weaker="up", decades=(2.0, 2.0), resolved="kernel_.gamma"),)

    def __init__(self, gamma: float | str = "auto"):
        self.gamma = gamma

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        """Gaussian similarities."""
        products, kernel = _products(A, B), self
        if self._is_auto():
            kernel = RBF(1.0 / max(_matrix(A).shape[1], 1))
        return kernel.of(products, _squares(A), _squares(B))

    def fitted(self, A: Any) -> RBF:
        """The kernel with a number for ``gamma="auto"``.

        Parameters
        ----------
        A : array-like of shape (n_rows, n_columns)
            Training rows; of values that are all the same the variance counts as 1.
        """
        if not self._is_auto():
            return self
        rows = _matrix(A)
        size = max(rows.shape[0] * rows.shape[1], 1)
        mean = float(rows.sum()) / size
        variance = float(_squares(rows).sum()) / size - mean * mean
        # Rounding alone may leave a little where all values are the same.
        variance = variance if variance > 1e-12 * mean * mean else 1.0
        return RBF(1.0 / (max(rows.shape[1], 1) * variance))

    def _is_auto(self) -> bool:
        if isinstance(self.gamma, str) and self.gamma != "auto":
            raise InputError(f"gamma must be 'auto' or a number > 0, got {self.gamma!r}")
        return isinstance(self.gamma, str)

    def diagonal(self, A: Any) -> np.ndarray:
        """Ones."""
        return np.ones(A.shape[0] if hasattr(A, "shape") else len(A))

    def of(self, products: np.ndarray, a: Any = None, b: Any = None) -> np.ndarray:
        """The kernel of given inner products, which are overwritten.

        Parameters
        ----------
        products : ndarray of shape (n_a, n_b)
            Inner products, or values of another kernel.
        a, b : ndarrays of shape (n_a,) and (n_b,)
            Squared norms.
        """
        gamma = 1.0 if self._is_auto() else float(self.gamma)
        if not gamma > 0:
            raise InputError(f"gamma must be > 0, got {self.gamma!r}")
        out = products
        out *= -2.0
        out += a[:, None]
        out += b
        np.maximum(out, 0.0, out=out)
        out *= -gamma
        return np.exp(out, out=out)


def _products(A: Any, B: Any) -> np.ndarray:
    a, b = _matrix(A), _matrix(B)
    if a.shape[1] != b.shape[1]:
        raise InputError(f"rows of {a.shape[1]} numbers cannot be compared with rows of {b.shape[1]}")
    product = a @ b.T
    return product.toarray() if sp.issparse(product) else np.asarray(product, dtype=np.float64)


def _squares(A: Any) -> np.ndarray:
    if sp.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    rows = _matrix(A)
    return np.einsum("ij,ij->i", rows, rows)


def _matrix(A: Any) -> Any:
    """Rows of numbers as a matrix; refuses anything else."""
    if sp.issparse(A):
        return A
    try:
        rows = np.asarray(A, dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.zeros(0)
    if rows.ndim != 2:
        raise InputError(
            "linear, polynomial and RBF kernels take rows of numbers, all of one length; for strings see "
            "NGram and Spectrum, for sequences of vectors VectorNGrams"
        )
    return rows
