"""Which classes model files may name, and where they are found."""

from __future__ import annotations

import importlib
from typing import Any

from trelliswork import __version__
from trelliswork._errors import InputError, ModelFileError
from trelliswork.persist import _sklearn
from trelliswork.structures.base import Space, Structure

__all__ = ["class_name", "class_of", "space_class", "table"]

# Where classes may come from: kind -> module and table. Files can name only what these tables hold.
_TABLES = {
    "learners": ("trelliswork.learners", "LEARNERS"),
    "regressors": ("trelliswork.learners", "REGRESSORS"),
    "outputs": ("trelliswork.learners.regression.outputs", "OUTPUTS"),
    "language": ("trelliswork.language", "NGramModel"),
    "structures": ("trelliswork.structures", "STRUCTURES"),
    "losses": ("trelliswork.losses", "LOSSES"),
    "kernels": ("trelliswork.kernels", "KERNELS"),
    "features": ("trelliswork.features", "TRANSFORMERS"),
    "pipelines": ("trelliswork.pipeline", "Pipeline"),
    "selection": ("trelliswork.selection", "Tuned"),
}


def table(kind: str) -> dict[str, type]:
    """Classes of one kind by their names."""
    if kind not in _TABLES:
        return {}
    module, attribute = _TABLES[kind]
    try:
        entry = getattr(importlib.import_module(module), attribute, {})
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return {}
    classes = [entry] if isinstance(entry, type) else entry.values()
    return {cls.__name__: cls for cls in classes if isinstance(cls, type)}


def class_name(cls: type) -> str | None:
    """Name of a class in files, ``kind.Name``; None for classes that cannot be saved."""
    if _sklearn.class_of(cls.__name__) is cls:
        return f"sklearn.{cls.__name__}"
    for kind in _TABLES:
        if table(kind).get(cls.__name__) is cls:
            return f"{kind}.{cls.__name__}"
    return None


def class_of(name: Any) -> type:
    kind, _, short = str(name).partition(".")
    cls = _sklearn.class_of(short) if kind == "sklearn" else table(kind).get(short)
    if cls is None:
        raise ModelFileError(
            f"it needs the class {name!r:.60}, which trelliswork {__version__} does not have"
        )
    return cls


def space_class(structure: Structure) -> type[Space]:
    """Class of the spaces of a structure."""
    cls = type(structure)
    if cls.space_class is None:
        raise InputError(f"{cls.__name__} must name the class of its spaces as its space_class to be saved")
    return cls.space_class
