"""What scikit-learn asks of classifiers, for learners whose outputs are single labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._parameters import available_if
from trelliswork.learners.calls import accepts_iterators

if TYPE_CHECKING:
    from trelliswork.structures.base import Batch, Parts, Space, Structure

__all__ = ["ClassifierVerbs", "has_single_labels"]


def has_single_labels(model: Any) -> bool:
    """Whether an output of the model is one label, as with ``Classes``."""
    batch_class = getattr(getattr(model, "structure", None), "batch_class", None)
    return batch_class is not None and bool(batch_class.one_label)


class ClassifierVerbs:
    """The part of an estimator that is there only where every output is one label.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns, where rows are those of a matrix.
    feature_names_in_ : ndarray of str
        Names of the columns, where ``fit`` was given a data frame.
    array_labels_ : bool
        Whether ``fit`` was given an array (or a column of a data frame) of labels; ``predict`` then gives an
        array, too.
    """

    if TYPE_CHECKING:  # of the estimator
        structure: Structure
        space_: Space
        pack: Callable[..., Batch]
        part_scores: Callable[[Batch, Any], Parts]
        _asked_for_sums: Callable[[Any, dict[str, Any]], tuple[Batch, Parts]]

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        tags.input_tags.two_d_array = tags.input_tags.sparse = has_single_labels(self)
        if has_single_labels(self):
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags()
        return tags

    @available_if(has_single_labels)
    @accepts_iterators
    def predict_proba(self, X: Any, **constraints: Any) -> np.ndarray:
        """Probabilities of the classes under the model exp(score) / Z, where outputs are single labels.

        Those of a ``CRF`` are fitted as such; for other learners see ``CalibratedClassifierCV`` of
        scikit-learn.

        Parameters
        ----------
        X : matrix or list of rows
            As in ``fit``.
        **constraints
            Passed to the structure.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns as in ``classes_``.

        Examples
        --------
        >>> from trelliswork import CRF, Classes
        >>> model = CRF(Classes()).fit([[0.0], [1.0]], ["low", "high"])
        >>> model.predict_proba([[0.5]]).round(2)
        array([[0.55, 0.45]])
        """
        batch, scores = self._asked_for_sums(X, constraints)
        return batch.marginals(scores).label

    @available_if(has_single_labels)
    def predict_log_proba(self, X: Any, **constraints: Any) -> np.ndarray:
        """Logarithms of :meth:`predict_proba`.

        Parameters
        ----------
        X : matrix or list of rows
            As in ``fit``.
        **constraints
            Passed to the structure.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns as in ``classes_``.

        Examples
        --------
        >>> from trelliswork import CRF, Classes
        >>> CRF(Classes()).fit([[0.0], [1.0]], ["low", "high"]).predict_log_proba([[0.5]]).round(2)
        array([[-0.6, -0.8]])
        """
        with np.errstate(divide="ignore"):  # a class that cannot be
            return np.log(self.predict_proba(X, **constraints))

    @available_if(has_single_labels)
    @accepts_iterators
    def decision_function(self, X: Any, **constraints: Any) -> np.ndarray:
        """Scores of the classes, where outputs are single labels.

        Parameters
        ----------
        X : matrix or list of rows
            As in ``fit``.
        **constraints
            Passed to the structure.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            Columns as in ``classes_``; for two classes the score of the second less that of the first.

        Examples
        --------
        >>> from trelliswork import Classes, Fixed
        >>> Fixed(Classes(), {("bias", "a"): 1.0, ("bias", "b"): 3.0}).decision_function([{"x": 1}])
        array([2.])
        """
        batch = self.pack(X, **constraints)
        scores = self.part_scores(batch, X).label
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    # -- rows and labels as scikit-learn has them ---------------------------------------------

    def _check_columns(self, X: Any, *, reset: bool = False) -> None:
        """Compare number and names of columns with those in ``fit``, or (with ``reset``) keep them."""
        if not has_single_labels(self):
            return
        if reset:
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
        shape: tuple[int, ...] = getattr(X, "shape", ())
        if len(shape) != 2:  # rows in a list, perhaps with names
            return
        if reset and not shape[1]:
            raise InputError(f"X has 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
        from sklearn.utils.validation import validate_data

        try:
            validate_data(self, X, reset=reset, skip_check_array=True)
        except ValueError as error:
            raise InputError(str(error)) from None

    def _check_labels(self, y: Any) -> Any:
        """One label per sample, where outputs are single labels; others as they are."""
        if not has_single_labels(self) or y is None:
            return y
        if hasattr(y, "to_numpy"):  # a data frame or one of its columns
            y = y.to_numpy()
        if not hasattr(y, "__array__"):
            return y
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] == 1:
            from sklearn.utils.validation import column_or_1d

            y = column_or_1d(y, warn=True)
        if y.ndim != 1:
            raise InputError(
                f"y has the shape {y.shape}; expected one label per sample: for one-hot rows y.argmax(axis=1)"
            )
        if y.dtype.kind != "f":
            return y
        bad = np.flatnonzero(~np.isfinite(y))
        if bad.size:
            what = "NaN" if np.isnan(y[bad[0]]) else "infinity or a value too large for a label"
            raise InputError(f"Input y contains {what}", sample=int(bad[0]))
        if (y != np.floor(y)).any():
            raise InputError("Unknown label type: continuous; labels are names or whole numbers")
        return y

    def _check_classes(self, classes: Any) -> Any:
        """All labels of a stream, as scikit-learn's ``partial_fit`` takes them."""
        if not has_single_labels(self):
            raise InputError("classes= is for single labels; give labels= to the structure instead")
        return classes

    def _as_labels(self, labels: list[Any]) -> Any:
        """Labels as an array, where ``fit`` was given one; else as they are."""
        return self._label_array(labels) if getattr(self, "array_labels_", False) else labels

    def _label_array(self, labels: list[Any]) -> np.ndarray:
        """Labels as an array, of objects where their types differ."""
        kinds = set(map(type, self.space_.labels))  # type: ignore[attr-defined]
        if len(kinds) == 1 and kinds <= {bool, int, float, str}:
            return np.array(labels, dtype=kinds.pop())
        out = np.empty(len(labels), dtype=object)
        out[:] = labels
        return out
