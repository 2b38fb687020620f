"""Model files: save and load without pickle.

A model file is a zip of ``manifest.json`` (classes, parameters, alphabets, checksums)
and ``.npy`` arrays. Loading one runs no code from it: class names are looked up in the
tables of this package, and arrays are plain numbers.

A class takes part by standing in its table (``LEARNERS``, ``STRUCTURES``, ...). Its
constructor parameters are saved, and so are its fitted attributes: what ``__tw_state__()``
returns and ``__tw_restore__(state)`` takes back, or else every attribute whose name ends
in ``_`` and does not start with ``_``.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

import trelliswork
from trelliswork import _archive
from trelliswork._encode import Decoder, Encoder, refusal
from trelliswork._errors import InputError, ModelFileError
from trelliswork.structures.alignment.path import AlignPath
from trelliswork.structures.base import Space, Structure

__all__ = ["load", "read_info", "save"]

# Where classes may come from: kind -> module and its table. Files choose among these names only.
_TABLES = {
    "learners": ("trelliswork.learners", "LEARNERS"),
    "regressors": ("trelliswork.learners", "REGRESSORS"),
    "outputs": ("trelliswork.learners.regression.outputs", "OUTPUTS"),
    "language": ("trelliswork.language", "NGramModel"),
    "structures": ("trelliswork.structures", "STRUCTURES"),
    "losses": ("trelliswork.losses", "LOSSES"),
    "kernels": ("trelliswork.kernels", "KERNELS"),
    "features": ("trelliswork.features", "TokenWindow"),
}
_CACHES = {"sklearn.Pipeline": {"memory"}}  # parameters that are no part of a model


def save(model: Any, path: str | os.PathLike[str], *, info: Mapping[str, Any] | None = None) -> None:
    """Write a model to a file, in one step: the file is either complete or as it was.

    Parameters
    ----------
    model : estimator
        A learner, fitted or not, or a scikit-learn ``Pipeline`` of this package's
        transformers and a learner.
    path : str or path
        The file; an existing one is replaced and keeps its permissions. Any suffix.
    info : mapping of str to JSON values, default=None
        What else should be known about the model, such as the columns of its training file.
        It is no part of the model: :func:`load` passes over it, :func:`read_info` returns it.

    Raises
    ------
    InputError
        When a parameter or fitted attribute is of a kind that cannot be saved.
    OSError
        When the file cannot be written. The old file is still there.

    Notes
    -----
    Functions (``Derivations(build)``, ``TokenWindow(extra=...)``) are not saved; they are
    passed to :func:`load` again. The same model gives the same bytes.

    Examples
    --------
    >>> import os, tempfile
    >>> import trelliswork as tw
    >>> X, y = [["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]
    >>> model = tw.CRF(tw.Chain()).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tw.save(model, os.path.join(folder, "tagger.tw"))
    ...     again = tw.load(os.path.join(folder, "tagger.tw"))
    >>> again.predict([["a", "cat"]]) == model.predict([["a", "cat"]])
    True
    """
    target = _as_path(path)
    if _class_name(type(model)) is None:
        best = getattr(model, "best_estimator_", None)
        hint = "save its best_estimator_" if best is not None else "expected a learner of this package"
        raise InputError(f"a {type(model).__name__} cannot be saved; {hint}, or a Pipeline that ends in one")
    encoder = _ModelEncoder()
    tree = encoder.encode(model, ())
    manifest = {"trelliswork": trelliswork.__version__, "given": encoder.given, "model": tree}
    if info is not None:
        manifest["info"] = _checked_info(info)
    _archive.write(target, manifest, encoder.arrays)


def load(
    path: str | os.PathLike[str],
    *,
    structure: Structure | None = None,
    functions: Mapping[str, Any] | None = None,
    max_bytes: int = 8 << 30,
) -> Any:
    """Read a model that :func:`save` wrote.

    Files from strangers are safe to load: nothing in them is run, and sizes are checked
    before memory is used. Whether the *predictions* of a stranger's model can be trusted
    is another matter.

    Parameters
    ----------
    path : str or path
        The file.
    structure : Structure, default=None
        The structure of the model; needed when it holds a function (``Derivations(build)``) or
        is a class of your own. Its other parameters must be those of the saved one.
    functions : mapping of str to object, default=None
        Functions that other parameters held, by name as in ``set_params``, for instance
        ``{"tokenwindow__extra": my_features}``.
    max_bytes : int, default=8 GiB
        Refuse files that unpack to more.

    Returns
    -------
    estimator
        The model, as it was saved.

    Raises
    ------
    ModelFileError
        When the file is not a model, is damaged, or comes from a newer release.
    FileNotFoundError
        When there is no file.
    InputError
        When ``structure`` or ``functions`` are needed, or do not fit.

    Examples
    --------
    >>> import trelliswork as tw
    >>> tw.load("no-such-model.tw")
    Traceback (most recent call last):
    ...
    FileNotFoundError: [Errno 2] there is no such model file: 'no-such-model.tw'
    """
    source = _as_path(path)
    if structure is not None and not isinstance(structure, Structure):
        raise InputError(f"structure must be a Structure, got {type(structure).__name__}")
    with _archive.read(source, max_bytes) as archive:
        given = archive.manifest["given"]
        wanted = {item["name"]: (item["holder"], bool(item["in_structure"])) for item in given}
        _check_given(source, wanted, structure, functions or {})
        decoder = _ModelDecoder(archive.array, max_bytes, structure, functions or {})
        try:
            model = decoder.decode(archive.manifest["model"])
            archive.finish()
        except _WrongStructure as error:
            raise InputError(f"{source}: {error}") from None
        except InputError as error:
            raise ModelFileError(f"its contents do not fit together ({error})") from None
        if structure is not None and not decoder.structure_used:
            raise InputError(f"{source}: structure was given, but the model has none")
        if _class_name(type(model)) is None:
            raise ModelFileError("it does not hold a model")
    return model


def read_info(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what :func:`save` was told about a model, without loading the model.

    As with anything from a file, its values are to be checked before they are used.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    dict
        The ``info`` of :func:`save`; empty when there was none.

    Raises
    ------
    ModelFileError, FileNotFoundError
        As in :func:`load`.

    Examples
    --------
    >>> import os, tempfile
    >>> import trelliswork as tw
    >>> from trelliswork.persist import read_info
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "tagger.tw")
    ...     tw.save(tw.CRF(tw.Chain()), path, info={"kind": "tag", "label": 2})
    ...     read_info(path)
    {'kind': 'tag', 'label': 2}
    """
    with _archive.read(_as_path(path), sys.maxsize) as archive:
        info = archive.manifest.get("info", {})
        if not isinstance(info, dict):
            raise ModelFileError("its info is not a table")
        return info


def _checked_info(info: Any) -> dict[str, Any]:
    if not isinstance(info, Mapping) or not all(isinstance(key, str) for key in info):
        raise InputError("info must be a mapping with strings as keys")
    try:
        return json.loads(json.dumps(dict(info), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"info must hold JSON values only ({error})") from None


class _WrongStructure(InputError):
    """The structure given to :func:`load` is not that of the file."""


def _as_path(path: Any) -> str:
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"path must be a string or a path, got {type(path).__name__}")
    return os.fsdecode(os.fspath(path))


def _check_given(
    path: str,
    wanted: dict[str, tuple[str, bool]],
    structure: Structure | None,
    functions: Mapping[str, Any],
) -> None:
    for name in functions:
        if name not in wanted:
            raise InputError(
                f"{path}: functions has {name!r}, but the model needs {sorted(wanted) or 'none'}"
            )
    for name, (holder, in_structure) in wanted.items():
        if name in functions:
            continue
        if in_structure and structure is not None:
            if type(structure).__name__ == holder:
                continue
            raise InputError(f"{path}: saved with {holder}, structure is {type(structure).__name__}")
        how = f"structure={holder}(...)" if in_structure else f"functions={{{name!r}: ...}}"
        raise InputError(
            f"{path}: {name} was not saved, as it is a function or a class from outside the package; "
            f"pass it again: load(path, {how})"
        )


# -- classes ---------------------------------------------------------------------------------


def _table(kind: str) -> dict[str, type]:
    """Classes of one kind by their names."""
    if kind == "sklearn":
        return {"Pipeline": Pipeline}
    if kind not in _TABLES:
        return {}
    module, attribute = _TABLES[kind]
    try:
        found = getattr(importlib.import_module(module), attribute, {})
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return {}
    classes = [found] if isinstance(found, type) else found.values()
    return {cls.__name__: cls for cls in classes if isinstance(cls, type)}


def _class_name(cls: type) -> str | None:
    """Name of a class in files, ``kind.Name``; None for classes that cannot be saved."""
    for kind in (*_TABLES, "sklearn"):
        if _table(kind).get(cls.__name__) is cls:
            return f"{kind}.{cls.__name__}"
    return None


def _class_of(name: Any) -> type:
    kind, _, own = str(name).partition(".")
    cls = _table(kind).get(own)
    if cls is None:
        raise ModelFileError(
            f"it needs the class {name!r:.60}, which trelliswork {trelliswork.__version__} has not"
        )
    return cls


def _space_class(structure: Structure) -> type[Space]:
    """Class of the spaces of a structure."""
    cls = type(structure)
    if cls.space_class is None:
        raise InputError(f"{cls.__name__} must name the class of its spaces as its space_class to be saved")
    return cls.space_class


def _fitted(model: Any) -> dict[str, Any]:
    """Fitted attributes by name."""
    if hasattr(model, "__tw_state__"):
        return dict(model.__tw_state__())
    return {k: v for k, v in vars(model).items() if _is_fitted_name(k) and k != "space_"}


def _is_fitted_name(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_") and name.isidentifier()


# -- trees -----------------------------------------------------------------------------------


class _ModelEncoder(Encoder):
    """Adds estimators, spaces and what has to be given again.

    ``{"!object": [class, parameters, space, state]}``, ``{"!space": [structure, state]}``,
    ``{"!path": [cigar, start, start]}``, ``{"!given": name}``;
    ``{"!same": i}`` is the i-th of these, counted as they end.
    """

    def __init__(self) -> None:
        super().__init__()
        self.given: list[dict[str, Any]] = []
        self._holder: list[Any] = []  # estimators whose parameters are being written
        self._seen: dict[int, tuple[int, Any]] = {}  # the objects too, so that ids stay theirs

    def encode_object(self, value: Any, path: tuple[str, ...], depth: int) -> Any:
        """Tree of an estimator, a space or a function."""
        if id(value) in self._seen:
            return {"!same": self._seen[id(value)][0]}
        name = _class_name(type(value))
        if name is not None:
            tree = self._estimator(value, name, path, depth)
        elif isinstance(value, Space):
            if _space_class(value.structure) is not type(value):
                own, found = type(value.structure).__name__, type(value).__name__
                raise InputError(f"{own} must name {found} as its space_class before it can be saved")
            parts = [
                self.encode(value.structure, (*path, "structure"), depth + 1),
                self.encode(value.state(), path, depth + 1),
            ]
            tree = {"!space": parts}
        elif isinstance(value, AlignPath):
            tree = {"!path": [value.to_cigar(), *value.start]}
        elif isinstance(value, Structure) or (callable(value) and self._holder):
            tree = self._given(value, path)
        elif hasattr(value, "edges") and hasattr(value, "is_directed"):
            # A taxonomy given as a graph is read back as (parent, child) pairs.
            return self.encode([(edge[0], edge[1]) for edge in value.edges], path, depth)
        elif hasattr(value, "get_params"):
            raise InputError(
                f"{'.'.join(path)}: {type(value).__name__} is not a class of trelliswork and cannot be saved"
            )
        else:
            raise refusal(path, value)
        self._seen[id(value)] = (len(self._seen), value)
        return tree

    def _estimator(self, value: Any, name: str, path: tuple[str, ...], depth: int) -> Any:
        params = value.get_params(deep=False)
        for cache in _CACHES.get(name, ()):
            params.pop(cache, None)
        steps = params.pop("steps", None) if isinstance(value, Pipeline) else None
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
        """Mark for something that :func:`load` has to be given again."""
        name = "__".join(path)
        around = next((h for h in self._holder if isinstance(h, Structure)), None)
        structure = value if isinstance(value, Structure) else around
        holder = type(self._holder[-1] if structure is None else structure).__name__
        self.given.append({"name": name, "holder": holder, "in_structure": structure is not None})
        return {"!given": name}


class _ModelDecoder(Decoder):
    """Inverse of :class:`_ModelEncoder`."""

    def __init__(self, array: Any, budget: int, structure: Structure | None, functions: Mapping[str, Any]):
        super().__init__(array, budget)
        self.structure = structure
        self.functions = functions
        self.structure_used = False
        self._seen: list[Any] = []

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
            value = _space_class(structure).from_state(structure, self.decode(content[1], depth + 1))
        elif tag == "!path":
            cigar, i, j = content
            value = AlignPath.from_cigar(str(cigar), (_index(i), _index(j)))
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
        cls = _class_of(name)
        known = set(inspect.signature(cls).parameters) - _CACHES.get(name, set())
        for key in params:
            if key not in known:
                raise ModelFileError(f"{cls.__name__} of this release has no parameter {key!r:.60}")
        if cls is Pipeline:
            params = {**params, "steps": [{"!tuple": step} for step in params["steps"]]}
        values = {k: self.decode(v, depth + 1) for k, v in params.items()}
        if issubclass(cls, Structure) and self.structure is not None:
            missing = {k for k, v in params.items() if isinstance(v, dict) and "!given" in v}
            _compare(self.structure, cls, {k: v for k, v in values.items() if k not in missing})
            self.structure_used = True
            return self.structure
        model = cls(**values)
        fitted = self.decode(space, depth + 1)
        if fitted is not None:
            if not isinstance(fitted, Space):
                raise ValueError("space_ is not a space")
            model.space_ = fitted
        self._restore(model, {k: self.decode(v, depth + 1) for k, v in state.items()})
        return model

    def _restore(self, model: Any, state: dict[str, Any]) -> None:
        if hasattr(model, "__tw_restore__"):
            model.__tw_restore__(state)
            return
        for key, value in state.items():
            if not _is_fitted_name(key) or callable(getattr(type(model), key, None)):
                raise ValueError(f"{key!r:.60} is no fitted attribute")
            setattr(model, key, value)
        if "coef_" not in state:
            return
        coef, space = state["coef_"], getattr(model, "space_", None)
        if not (isinstance(coef, np.ndarray) and coef.dtype == np.float64 and np.isfinite(coef).all()):
            raise ValueError("its weights are not an array of finite numbers")
        if isinstance(space, Space) and coef.shape != (space.n_features,):
            raise ValueError(f"{coef.size} weights for {space.n_features} features")


def _compare(structure: Structure, cls: type, values: dict[str, Any]) -> None:
    """Refuse a given structure that differs from the saved one."""
    if type(structure) is not cls:
        raise _WrongStructure(f"saved with {cls.__name__}, structure is {type(structure).__name__}")
    own = structure.get_params(deep=False)
    for key, value in values.items():
        if not _same(value, own[key]):
            raise _WrongStructure(
                f"saved with {cls.__name__}({key}={value!r:.80}), structure has {key}={own[key]!r:.80}"
            )


def _index(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError("not an index")
    return number


def _same(a: Any, b: Any) -> bool:
    """Whether two parameters would be written alike."""
    one, other = _ModelEncoder(), _ModelEncoder()
    try:
        equal = json.dumps(one.encode(a, ())) == json.dumps(other.encode(b, ()))
    except InputError:
        return a is b
    pairs = zip(one.arrays, other.arrays, strict=False)
    return equal and all(np.array_equal(x, y, equal_nan=x.dtype.kind == "f") for x, y in pairs)
