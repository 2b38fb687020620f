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

# Public name -> module that defines it. Names are looked up on first use, so that
# `import trelliswork` loads neither Numba nor scikit-learn.
_NAMES = {
    "AlignPath": "trelliswork.structures",
    "Alignment": "trelliswork.structures",
    "CRF": "trelliswork.learners",
    "Candidate": "trelliswork.learners",
    "Chain": "trelliswork.structures",
    "Classes": "trelliswork.structures",
    "Derivations": "trelliswork.structures",
    "Edge": "trelliswork.structures",
    "FitInterrupted": "trelliswork.learners",
    "Fixed": "trelliswork.learners",
    "Generative": "trelliswork.learners",
    "Grammar": "trelliswork.structures",
    "InputError": "trelliswork._errors",
    "KernelRegression": "trelliswork.learners",
    "KLRSO": "trelliswork.learners",
    "ModelFileError": "trelliswork._errors",
    "NGramModel": "trelliswork.language",
    "NGrams": "trelliswork.learners",
    "Parts": "trelliswork.structures",
    "Perceptron": "trelliswork.learners",
    "RNA": "trelliswork.structures",
    "Positions": "trelliswork.learners",
    "Ragged": "trelliswork._ragged",
    "Retrieval": "trelliswork.structures",
    "SODA": "trelliswork.learners",
    "alignment_weights": "trelliswork.structures",
    "load": "trelliswork.persist",
    "save": "trelliswork.persist",
    "StructBoost": "trelliswork.learners",
    "StructuredSVM": "trelliswork.learners",
    "Unsupported": "trelliswork.structures",
    "Values": "trelliswork.learners",
    "VotedCRF": "trelliswork.learners",
    "ZScore": "trelliswork.learners",
    "ngram_counts": "trelliswork.learners.regression.preimage",
    "preimage": "trelliswork.learners.regression.preimage",
}
_MODULES = ("bounds", "features", "io", "kernels", "losses", "metrics", "plots", "testing")

__all__ = sorted([*_NAMES, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(importlib.import_module(_NAMES[name]), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f"trelliswork.{name}")
    raise AttributeError(f"module 'trelliswork' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_NAMES, *_MODULES])


if TYPE_CHECKING:
    from trelliswork._errors import InputError as InputError
    from trelliswork._errors import ModelFileError as ModelFileError
    from trelliswork._ragged import Ragged as Ragged
    from trelliswork.language import NGramModel as NGramModel
    from trelliswork.learners import CRF as CRF
    from trelliswork.learners import KLRSO as KLRSO
    from trelliswork.learners import SODA as SODA
    from trelliswork.learners import Candidate as Candidate
    from trelliswork.learners import FitInterrupted as FitInterrupted
    from trelliswork.learners import Fixed as Fixed
    from trelliswork.learners import Generative as Generative
    from trelliswork.learners import KernelRegression as KernelRegression
    from trelliswork.learners import NGrams as NGrams
    from trelliswork.learners import Perceptron as Perceptron
    from trelliswork.learners import Positions as Positions
    from trelliswork.learners import StructBoost as StructBoost
    from trelliswork.learners import StructuredSVM as StructuredSVM
    from trelliswork.learners import Values as Values
    from trelliswork.learners import VotedCRF as VotedCRF
    from trelliswork.learners import ZScore as ZScore
    from trelliswork.learners.regression.preimage import ngram_counts as ngram_counts
    from trelliswork.learners.regression.preimage import preimage as preimage
    from trelliswork.persist import load as load
    from trelliswork.persist import save as save
    from trelliswork.structures import RNA as RNA
    from trelliswork.structures import Alignment as Alignment
    from trelliswork.structures import AlignPath as AlignPath
    from trelliswork.structures import Chain as Chain
    from trelliswork.structures import Classes as Classes
    from trelliswork.structures import Derivations as Derivations
    from trelliswork.structures import Edge as Edge
    from trelliswork.structures import Grammar as Grammar
    from trelliswork.structures import Parts as Parts
    from trelliswork.structures import Retrieval as Retrieval
    from trelliswork.structures import Unsupported as Unsupported
    from trelliswork.structures import alignment_weights as alignment_weights
