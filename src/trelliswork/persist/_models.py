"""Estimators, structures and spaces as JSON trees, and back."""

from __future__ import annotations

import functools
import inspect
import json
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from trelliswork._errors import InputError, ModelFileError
from trelliswork._parameters import Parametrised
from trelliswork._stored import fitting, numbers
from trelliswork.persist import _sklearn
from trelliswork.persist._classes import class_name, class_of, space_class
from trelliswork.persist._values import Decoder, Encoder, refusal
from trelliswork.structures.alignment.path import AlignPath
from trelliswork.structures.base import Space, Structure

__all__ = ["ModelDecoder", "ModelEncoder", "WrongStructure"]

# Parameters that are no part of a model.
_CACHES = {name: {"memory"} for name in ("sklearn.Pipeline", "pipelines.Pipeline")}


def _is_pipeline(cls: type) -> bool:
    """Whether a class is a pipeline; nothing is one before pipelines have been imported."""
    pipelines = sys.modules.get("sklearn.pipeline")
    return pipelines is not None and issubclass(cls, pipelines.Pipeline)


class Steps:
    """Steps of a pipeline in the place of the pipeline, which only scikit-learn can make.

    Parameters
    ----------
    steps : list of (str, estimator)
        Names and objects, the learner last.
    transform_input, memory, verbose : object
        As in :class:`~trelliswork.Pipeline`; of no account here.
    """

    def __init__(self, steps: Any, transform_input: Any = None, memory: Any = None, verbose: bool = False):
        self.steps = steps


class WrongStructure(InputError):
    """The structure given to :func:`~trelliswork.load` is not that of the file."""


class ModelEncoder(Encoder):
    """Adds estimators and spaces, and marks for functions, which are not saved.

    ``{"!object": [class, parameters, space, state]}``, ``{"!space": [structure, state]}``,
    ``{"!path": [cigar, start, start]}``, ``{"!given": name}``, ``{"!dtype": name}`` (a type of numbers);
    ``{"!same": i}`` is the i-th of these, counted as they end.
    """

    def __init__(self) -> None:
        super().__init__()
        self.given: list[dict[str, Any]] = []
        self._holder: list[Any] = []  # estimators whose parameters are being written
        self._seen: dict[int, tuple[int, Any]] = {}  # holds the objects, so that no id is used again

    def encode_object(self, value: Any, path: tuple[str, ...], depth: int) -> Any:
        """Tree of an estimator, a space or a function."""
        if id(value) in self._seen:
            return {"!same": self._seen[id(value)][0]}
        name = class_name(type(value))
        if name is not None:
            tree = self._estimator(value, name, path, depth)
        elif isinstance(value, Space):
            if not isinstance(value, space_class(value.structure)):
                structure, space = type(value.structure).__name__, type(value).__name__
                raise InputError(f"{structure} must name {space} as its space_class before it can be saved")
            parts = [
                self.encode(value.structure, (*path, "structure"), depth + 1),
                self.encode(value.state(), path, depth + 1),
            ]
            tree = {"!space": parts}
        elif isinstance(value, AlignPath):
            tree = {"!path": [value.to_cigar(), *value.start]}
        elif isinstance(value, type) and issubclass(value, np.generic):
            return {"!dtype": np.dtype(value).name}
        elif isinstance(value, Structure) or (callable(value) and self._holder):
            tree = self._given(value, path)
        elif hasattr(value, "edges") and hasattr(value, "is_directed"):
            # A taxonomy given as a graph is read back as (parent, child) pairs.
            return self.encode([(edge[0], edge[1]) for edge in value.edges], path, depth)
        elif hasattr(value, "get_params"):
            raise InputError(
                f"{'.'.join(path)}: {type(value).__name__} cannot be saved; model files hold classes of "
                f"trelliswork, and of scikit-learn {', '.join(_sklearn.NAMES)}"
            )
        else:
            raise refusal(path, value)
        self._seen[id(value)] = (len(self._seen), value)
        return tree

    def _estimator(self, value: Any, name: str, path: tuple[str, ...], depth: int) -> Any:
        params = value.get_params(deep=False)
        for cache in _CACHES.get(name, ()):
            params.pop(cache, None)
        steps = params.pop("steps", None) if _is_pipeline(type(value)) else None
        self._holder.append(value)
        tree = {k: self.encode(v, (*path, k), depth + 1) for k, v in params.items()}
        if steps is not None:
            tree["steps"] = [[step, self.encode(v, (*path, step), depth + 1)] for step, v in steps]
        self._holder.pop()
        outer, self._holder = self._holder, []  # fitted attributes may not hold new functions
        space = self.encode(vars(value).get("space_"), (*path, "space_"), depth + 1)
        state = {k: self.encode(v, (*path, k), depth + 1) for k, v in _fitted(value).items()}
        self._holder = outer
        return {"!object": [name, tree, space, state]}

    def _given(self, value: Any, path: tuple[str, ...]) -> Any:
        """Mark for something that has to be passed to :func:`~trelliswork.load` again."""
        name = "__".join(path)
        around = next((h for h in self._holder if isinstance(h, Structure)), None)
        structure = value if isinstance(value, Structure) else around
        holder = type(self._holder[-1] if structure is None else structure).__name__
        self.given.append({"name": name, "holder": holder, "in_structure": structure is not None})
        return {"!given": name}


class ModelDecoder(Decoder):
    """Inverse of :class:`ModelEncoder`."""

    def __init__(
        self,
        array: Any,
        budget: int,
        structure: Structure | None,
        functions: Mapping[str, Any],
        bare: bool = False,
    ):
        super().__init__(array, budget)
        self.bare = bare  # steps in place of pipelines
        self.structure = structure
        self.functions = functions
        self.structure_used = False
        self._seen: list[Any] = []

    @property
    def made(self) -> list[Any]:
        """All objects that were made of the file, and what was given in place of some."""
        return self._seen

    def decode_tag(self, tag: str, content: Any, depth: int) -> Any:
        """Estimators, spaces, functions; the rest as for any tree."""
        if tag == "!same":
            return self._seen[_index(content)]
        if tag == "!object":
            value = self._estimator(content, depth)
        elif tag == "!space":
            structure = self.decode(content[0], depth + 1)
            if not isinstance(structure, Structure):
                raise ValueError("a space without a structure")
            structure.check_stored()
            value = space_class(structure).from_state(structure, self.decode(content[1], depth + 1))
        elif tag == "!path":
            cigar, i, j = content
            value = AlignPath.from_cigar(str(cigar), (_index(i), _index(j)))
        elif tag == "!dtype":
            return _number_type(content)
        elif tag == "!given":
            if content in self.functions:
                value = self.functions[content]
            elif self.structure is None:
                raise ValueError("something is missing that the manifest does not list")
            else:  # a structure of the user's own, or a function inside `structure`
                value = self.structure
                self.structure_used = True
        else:
            return super().decode_tag(tag, content, depth)
        self._seen.append(value)
        return value

    def _estimator(self, content: Any, depth: int) -> Any:
        name, params, space, state = content
        cls = Steps if self.bare and name == "pipelines.Pipeline" else class_of(name)
        known = _parameters(cls) - _CACHES.get(name, set())
        for key in params:
            if key not in known:
                raise ModelFileError(f"{cls.__name__} of this release has no parameter {key!r:.60}")
        if cls is Steps or _is_pipeline(cls):
            params = {**params, "steps": [{"!tuple": step} for step in params["steps"]]}
        values = {k: self.decode(v, depth + 1) for k, v in params.items()}
        if issubclass(cls, Structure) and self.structure is not None:
            missing = {k for k, v in params.items() if isinstance(v, dict) and "!given" in v}
            _compare(self.structure, cls, {k: v for k, v in values.items() if k not in missing})
            self.structure_used = True
            return self.structure
        before = {k: v for k, v in getattr(cls, "_before", {}).items() if k in known}
        model = cls(**{**before, **values})
        fitted = self.decode(space, depth + 1)
        if fitted is not None:
            if not isinstance(fitted, Space):
                raise ValueError("space_ is not a space")
            model.space_ = fitted
        self._restore(model, {k: self.decode(v, depth + 1) for k, v in state.items()})
        if cls is Steps or _is_pipeline(cls):
            _check_steps(model.steps)
        return model

    def _restore(self, model: Any, state: dict[str, Any]) -> None:
        if _sklearn.class_of(type(model).__name__) is type(model):
            _sklearn.restore(model, state)
            return
        if hasattr(model, "__tw_restore__"):
            model.__tw_restore__(state)
        else:
            for key, value in state.items():
                if not _is_fitted_name(key) or callable(getattr(type(model), key, None)):
                    raise ValueError(f"{key!r:.60} is not a fitted attribute")
                setattr(model, key, value)
        if hasattr(model, "check_stored"):
            model.check_stored()
        elif "coef_" in state and isinstance(getattr(model, "space_", None), Space):
            declared = {"coef_": numbers("features")}
            model.coef_ = fitting(state, declared, "weights", features=model.space_.n_features)["coef_"]


@functools.cache
def _parameters(cls: type) -> frozenset[str]:
    return frozenset(inspect.signature(cls).parameters)


def _check_steps(steps: Any) -> None:
    """Refuse steps that are no named objects, and transformers without the state that their learner has."""
    if not steps or not all(len(step) == 2 and isinstance(step[0], str) for step in steps):
        raise ValueError("a step of a pipeline is not a name and an object")
    if not isinstance(getattr(steps[-1][1], "space_", None), Space):
        return
    for name, step in steps[:-1]:
        if step is not None and not isinstance(step, str) and not _is_fitted(step):
            raise ValueError(f"step {name!r:.60} of a pipeline is not fitted")


def _is_fitted(step: Any) -> bool:
    """Whether a transformer has the state that it needs."""
    if isinstance(step, Parametrised):
        told = getattr(step, "__sklearn_is_fitted__", None)
        return bool(told()) if told is not None else any(map(_is_fitted_name, vars(step)))
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(step)
    except (NotFittedError, TypeError):
        return False
    return True


def _compare(structure: Structure, cls: type, values: dict[str, Any]) -> None:
    """Refuse a given structure that differs from the saved one."""
    if type(structure) is not cls:
        raise WrongStructure(f"saved with {cls.__name__}, structure is {type(structure).__name__}")
    given = structure.get_params(deep=False)
    for key, value in values.items():
        if not _same(value, given[key]):
            raise WrongStructure(
                f"saved with {cls.__name__}({key}={value!r:.80}), structure has {key}={given[key]!r:.80}"
            )


def _index(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError("not an index")
    return number


def _number_type(name: Any) -> type:
    """Type of numbers with a name, as encoders and vectorisers take one."""
    dtype = np.dtype(str(name))
    if dtype.kind not in "biuf":
        raise ValueError("not a type of numbers")
    return dtype.type


def _same(a: Any, b: Any) -> bool:
    """Whether two parameters would be written alike."""
    encoder_a, encoder_b = ModelEncoder(), ModelEncoder()
    try:
        equal = json.dumps(encoder_a.encode(a, ())) == json.dumps(encoder_b.encode(b, ()))
    except InputError:
        return a is b
    pairs = zip(encoder_a.arrays, encoder_b.arrays, strict=False)
    return equal and all(np.array_equal(x, y, equal_nan=x.dtype.kind == "f") for x, y in pairs)


def _fitted(model: Any) -> dict[str, Any]:
    """Fitted attributes by name."""
    if hasattr(model, "__tw_state__"):
        return dict(model.__tw_state__())
    if _sklearn.class_of(type(model).__name__) is type(model):
        return _sklearn.state_of(model)
    return {k: v for k, v in vars(model).items() if _is_fitted_name(k) and k != "space_"}


def _is_fitted_name(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_") and name.isidentifier()
