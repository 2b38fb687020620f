"""Weights of the RNA model of the package, for models that begin with them."""

from __future__ import annotations

import functools
import io
import json
import zipfile
from pathlib import Path

import numpy as np

__all__ = ["shipped_loops"]

_FILE = Path(__file__).parents[2] / "models" / "rna.tw"


@functools.cache
def shipped_loops() -> tuple[tuple[str, ...], np.ndarray]:
    """Optional groups of features of the model, and the weights of all its features in their order.

    The model file is read directly: to load the model as a whole takes learners, which are above this layer.

    Examples
    --------
    >>> from trelliswork.structures.rna.shipped import shipped_loops
    >>> groups, weights = shipped_loops()
    >>> groups, weights.shape
    (('hairpin loops',), (1059,))
    """
    with zipfile.ZipFile(_FILE) as members:
        _, params, _, fitted = json.loads(members.read("manifest.json"))["model"]["!object"]
        _, structure, *_ = params["structure"]["!object"]
        stored = members.read(f"{fitted['coef_']['!array']}.npy")
    weights = np.load(io.BytesIO(stored), allow_pickle=False)
    weights.flags.writeable = False
    groups = structure["groups"]
    return tuple(groups["!tuple"] if isinstance(groups, dict) else groups), weights
