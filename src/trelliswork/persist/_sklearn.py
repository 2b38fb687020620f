"""Scalers and vectorisers of scikit-learn in model files, as plain arrays.

What is saved are the public fitted attributes, those whose names end in ``_``; what scikit-learn keeps beside
them is computed again. A file is not trusted: numbers of columns are checked where scikit-learn itself would
put them into a sparse matrix unseen.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from trelliswork._errors import InputError

__all__ = ["NAMES", "class_of", "restore", "state_of"]

_MODULES = {
    "sklearn.decomposition": ("PCA", "TruncatedSVD"),
    "sklearn.feature_extraction": ("DictVectorizer", "FeatureHasher"),
    "sklearn.feature_extraction.text": (
        "CountVectorizer",
        "HashingVectorizer",
        "TfidfTransformer",
        "TfidfVectorizer",
    ),
    "sklearn.pipeline": ("FeatureUnion", "Pipeline"),
    "sklearn.preprocessing": (
        "Binarizer",
        "MaxAbsScaler",
        "MinMaxScaler",
        "Normalizer",
        "OneHotEncoder",
        "RobustScaler",
        "StandardScaler",
    ),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}
NAMES = sorted(_MODULE_OF)


def class_of(name: str) -> type | None:
    """The class of scikit-learn with this name, if model files may hold it."""
    module = _MODULE_OF.get(name)
    return None if module is None else getattr(importlib.import_module(module), name)


def state_of(model: Any) -> dict[str, Any]:
    """Fitted attributes of a transformer, and the kind of its output where ``set_output`` was called."""
    if getattr(model, "_infrequent_enabled", False):
        raise InputError(
            f"{type(model).__name__} with min_frequency or max_categories cannot be saved; drop both"
        )
    state = {name: value for name, value in vars(model).items() if _is_public(name)}
    if type(model).__name__ == "TfidfVectorizer" and hasattr(model, "_tfidf") and model.use_idf:
        state["idf_"] = model.idf_
    chosen = getattr(model, "_sklearn_output_config", {}).get("transform")
    return state if chosen is None else {**state, "output": chosen}


def restore(model: Any, state: Mapping[str, Any]) -> None:
    """Inverse of :func:`state_of`."""
    state = dict(state)
    if "output" in state:
        model.set_output(transform=str(state.pop("output")))
    idf = state.pop("idf_", None) if type(model).__name__ == "TfidfVectorizer" else None
    for name, value in state.items():
        if not _is_public(name) or callable(getattr(type(model), name, None)):
            raise ValueError(f"{name!r:.60} is not a fitted attribute")
        setattr(model, name, value)
    if "vocabulary_" in state:
        _check_vocabulary(model.vocabulary_)
    if type(model).__name__ == "DictVectorizer" and ("vocabulary_" in state) != ("feature_names_" in state):
        raise ValueError("a vectoriser has words without numbers, or numbers without words")
    if type(model).__name__ == "TfidfVectorizer" and "vocabulary_" in state:
        _complete_vectoriser(model, idf)
    if type(model).__name__ == "OneHotEncoder" and "categories_" in state:
        _complete_encoder(model)


def _is_public(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_") and name.isidentifier()


def _check_vocabulary(vocabulary: Any) -> None:
    places = list(vocabulary.values())
    if not all(type(place) is int for place in places) or sorted(places) != list(range(len(places))):
        raise ValueError("a vocabulary does not number its words")


def _complete_vectoriser(model: Any, idf: Any) -> None:
    """The transformer that a ``TfidfVectorizer`` keeps to itself."""
    from sklearn.feature_extraction.text import TfidfTransformer

    names = ("norm", "use_idf", "smooth_idf", "sublinear_tf")
    model._tfidf = TfidfTransformer(**{name: getattr(model, name) for name in names})
    model._tfidf.n_features_in_ = len(model.vocabulary_)
    if model.use_idf:
        if not isinstance(idf, np.ndarray) or idf.shape != (len(model.vocabulary_),):
            raise ValueError("idf_ is not one number per word")
        model._tfidf.idf_ = idf


def _complete_encoder(model: Any) -> None:
    """The attributes that a ``OneHotEncoder`` without rare categories derives from the public ones."""
    dropped = model.drop_idx_
    if dropped is not None and (
        len(dropped) != len(model.categories_)
        or any(k is not None and not 0 <= k < len(c) for k, c in zip(dropped, model.categories_))
    ):
        raise ValueError("drop_idx_ names categories that are not there")
    model._infrequent_enabled = False
    model._drop_idx_after_grouping = dropped
    model._n_features_outs = model._compute_n_features_outs()
