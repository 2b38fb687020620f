"""Models that come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trelliswork._errors import InputError

__all__ = ["PRETRAINED", "pretrained"]

_FOLDER = Path(__file__).parent / "models"
PRETRAINED = {"rna": "secondary structures of RNA, nearest-neighbour model"}


def pretrained(name: str) -> Any:
    """Load a model that comes with the package.

    Parameters
    ----------
    name : {"rna"}
        ``"rna"`` folds RNA: a CRF over the loops of structures, see the page on RNA for its data, accuracy
        and limits.

    Returns
    -------
    estimator
        A fitted learner, a new one with every call.

    Examples
    --------
    >>> import trelliswork as tw
    >>> model = tw.pretrained("rna")
    >>> model.predict_mea(["GCGGAUUUAGCUCAGUUGGGAGAGCGCCAGACUGAAGAUCUGGAGGUCCUGUGUUCGAUCCACAGAAUUCGCACCA"])
    ['(((((((..((((........)))).(((((.......))))).....(((((.......))))))))))))....']
    """
    from trelliswork.persist import load

    if name not in PRETRAINED:
        raise InputError(f"there is no model {name!r}; there is {', '.join(map(repr, PRETRAINED))}")
    return load(_FOLDER / f"{name}.tw")
