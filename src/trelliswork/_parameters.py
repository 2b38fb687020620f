"""Parameters by scikit-learn's protocol, for objects that are cloned and printed many times over."""

from __future__ import annotations

import functools

from sklearn.base import BaseEstimator

__all__ = ["Parametrised"]


class Parametrised(BaseEstimator):
    """An estimator whose class is asked for the names of its parameters once.

    scikit-learn reads the signature of the constructor again for every ``clone``, ``repr`` and ``get_params``
    of every part of a learner, which takes longer than many a prediction.
    """

    @classmethod
    @functools.cache
    def _get_param_names(cls) -> list[str]:
        return super()._get_param_names()
