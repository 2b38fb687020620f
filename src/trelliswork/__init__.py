"""Structured prediction: choose what an output is, choose how weights are found.

>>> import trelliswork as tw
>>> model = tw.CRF(tw.Chain()).fit([["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]])
>>> model.predict([["the", "dog"]])
[['D', 'N']]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public names are looked up on first use, so that `import trelliswork` loads neither Numba nor scikit-learn.
# Structures and learners are those of these two tables ...
_TABLES = {"trelliswork.structures": "STRUCTURES", "trelliswork.learners": "LEARNERS"}
# ... and these are the others, with the modules that define them.
_NAMES = {
    "AlignPath": "trelliswork.structures",
    "Candidate": "trelliswork.learners",
    "Candidates": "trelliswork.learners",
    "Edge": "trelliswork.structures",
    "Evidence": "trelliswork.structures",
    "Explanation": "trelliswork.learners",
    "FitInterrupted": "trelliswork.learners",
    "FitWarning": "trelliswork._errors",
    "InputError": "trelliswork._errors",
    "InputWarning": "trelliswork._errors",
    "KernelRegression": "trelliswork.learners",
    "ModelFileError": "trelliswork._errors",
    "NGramModel": "trelliswork.language",
    "NGrams": "trelliswork.learners",
    "Parts": "trelliswork.structures",
    "Pipeline": "trelliswork.pipeline",
    "Positions": "trelliswork.learners",
    "Ragged": "trelliswork._ragged",
    "Shards": "trelliswork.shards",
    "Tuned": "trelliswork.selection",
    "Unsupported": "trelliswork._errors",
    "Values": "trelliswork.learners",
    "alignment_weights": "trelliswork.structures",
    "compare": "trelliswork.selection",
    "explain": "trelliswork.learners",
    "load": "trelliswork.persist",
    "make_pipeline": "trelliswork.pipeline",
    "ngram_counts": "trelliswork.learners.regression.preimage",
    "preimage": "trelliswork.learners.regression.preimage",
    "pretrained": "trelliswork._pretrained",
    "save": "trelliswork.persist",
    "scorers": "trelliswork.selection",
    "tuned": "trelliswork.selection",
}
_MODULES = (
    "bounds",
    "dask",
    "features",
    "io",
    "kernels",
    "losses",
    "metrics",
    "plots",
    "selection",
    "structures",
    "testing",
)


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted([*_NAMES, *_of_tables(), "__version__"])
    if name in _MODULES:
        return importlib.import_module(f"trelliswork.{name}")
    module = _NAMES.get(name)
    if module is None and not name.startswith("_"):
        module = _of_tables().get(name)
    if module is None:
        raise AttributeError(f"module 'trelliswork' has no attribute {name!r}")
    holder = importlib.import_module(module)
    # Other packages add classes to the tables, not to the modules.
    value = getattr(holder, name) if name in _NAMES else getattr(holder, _TABLES[module])[name]
    globals()[name] = value
    return value


def _of_tables() -> dict[str, str]:
    """Structures and learners with the modules that list them."""
    return {
        name: module
        for module, table in _TABLES.items()
        for name in getattr(importlib.import_module(module), table)
    }


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES, *_of_tables(), *_MODULES})


if TYPE_CHECKING:
    from trelliswork._errors import FitWarning as FitWarning
    from trelliswork._errors import InputError as InputError
    from trelliswork._errors import InputWarning as InputWarning
    from trelliswork._errors import ModelFileError as ModelFileError
    from trelliswork._errors import Unsupported as Unsupported
    from trelliswork._pretrained import pretrained as pretrained
    from trelliswork._ragged import Ragged as Ragged
    from trelliswork.language import NGramModel as NGramModel
    from trelliswork.learners import *  # noqa: F403
    from trelliswork.learners.regression.preimage import ngram_counts as ngram_counts
    from trelliswork.learners.regression.preimage import preimage as preimage
    from trelliswork.persist import load as load
    from trelliswork.persist import save as save
    from trelliswork.pipeline import Pipeline as Pipeline
    from trelliswork.pipeline import make_pipeline as make_pipeline
    from trelliswork.selection import Tuned as Tuned
    from trelliswork.selection import compare as compare
    from trelliswork.selection import scorers as scorers
    from trelliswork.selection import tuned as tuned
    from trelliswork.shards import Shards as Shards
    from trelliswork.structures import *  # noqa: F403
