"""Model files: save and load without pickle.

A model file is a zip of ``manifest.json`` (classes, parameters, alphabets, checksums)
and ``.npy`` arrays. Loading one runs no code from it: class names are looked up in the
tables of this package, and arrays are plain numbers.

The classes of model files are those of the tables ``LEARNERS``, ``STRUCTURES`` and so on. The
constructor parameters of an object are saved, and so are its fitted attributes: what
``__tw_state__()`` returns and ``__tw_restore__(state)`` takes back, or else every attribute
whose name ends in ``_`` and does not start with ``_``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from trelliswork import __version__
from trelliswork._errors import InputError, ModelFileError
from trelliswork._front_door import from_file
from trelliswork.persist import _archive
from trelliswork.persist._classes import class_name
from trelliswork.persist._models import ModelDecoder, ModelEncoder, Steps, WrongStructure
from trelliswork.structures.base import Structure

__all__ = ["load", "load_steps", "read_info", "save"]


def save(model: Any, path: str | os.PathLike[str], *, info: Mapping[str, Any] | None = None) -> None:
    """Write a model to a file in one step: afterwards the file is either complete or as it was before.

    Parameters
    ----------
    model : estimator
        A learner, fitted or not, or a pipeline that ends in one, with transformers of this package or the
        usual scalers and vectorisers of scikit-learn.
    path : str or path
        The file; an existing one is replaced and keeps its permissions. Any suffix.
    info : mapping of str to JSON values, default=None
        Whatever else should be known about the model, such as the columns of its training file.
        It is not part of the model: :func:`load` ignores it, :func:`read_info` returns it.

    Raises
    ------
    InputError
        When a parameter or fitted attribute is of a kind that cannot be saved.
    OSError
        When the file cannot be written. An old file is then still there.

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
    if not _is_model(model):
        best = getattr(model, "best_estimator_", None)
        hint = "save its best_estimator_" if best is not None else "expected a learner of this package"
        raise InputError(f"a {type(model).__name__} cannot be saved; {hint}, or a Pipeline that ends in one")
    encoder = ModelEncoder()
    tree = encoder.encode(model, ())
    manifest = {"trelliswork": __version__, "given": encoder.given, "model": tree}
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
    return _load(path, structure, functions, max_bytes)


def load_steps(path: str | os.PathLike[str]) -> Any:
    """Read a model as :func:`load` does, with an object that has ``steps`` in the place of a pipeline.

    Parameters
    ----------
    path : str or path
        The file.
    """
    return _load(path, None, None, 8 << 30, bare=True)


def _load(
    path: str | os.PathLike[str],
    structure: Structure | None,
    functions: Mapping[str, Any] | None,
    max_bytes: int,
    bare: bool = False,
) -> Any:
    source = _as_path(path)
    if structure is not None and not isinstance(structure, Structure):
        raise InputError(f"structure must be a Structure, got {type(structure).__name__}")
    with _archive.read(source, max_bytes) as archive:
        given = archive.manifest["given"]
        wanted = {item["name"]: (item["holder"], bool(item["in_structure"])) for item in given}
        _check_given(source, wanted, structure, functions or {})
        decoder = ModelDecoder(archive.array, max_bytes, structure, functions or {}, bare)
        try:
            model = decoder.decode(archive.manifest["model"])
            archive.finish()
        except WrongStructure as error:
            raise InputError(f"{source}: {error}") from None
        except InputError as error:
            raise ModelFileError(f"its contents do not fit together ({error})") from None
        if structure is not None and not decoder.structure_used:
            raise InputError(f"{source}: structure was given, but the model has none")
        if not _is_model(model):
            raise ModelFileError("it does not hold a model")
    for value in decoder.made:
        if hasattr(type(value), "predict"):
            from_file(value, source)
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


def _is_model(value: Any) -> bool:
    """Whether a value is a learner or a pipeline of this package, or a pipeline of scikit-learn."""
    if isinstance(value, Steps):
        return True
    name = class_name(type(value)) or ""
    return bool(name) and (not name.startswith("sklearn.") or name == "sklearn.Pipeline")


def _checked_info(info: Any) -> dict[str, Any]:
    if not isinstance(info, Mapping) or not all(isinstance(key, str) for key in info):
        raise InputError("info must be a mapping with strings as keys")
    try:
        return json.loads(json.dumps(dict(info), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"info must hold JSON values only ({error})") from None


def _as_path(path: Any) -> str:
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"path must be a string or a path, got {type(path).__name__}")
    try:
        text = os.fsdecode(os.fspath(path))
        os.fsencode(text)
    except UnicodeError:
        raise InputError(f"path is no name of a file: {path!r:.100}") from None
    if "\0" in text:
        raise InputError(f"path is no name of a file: {text!r:.100}")
    return text


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
