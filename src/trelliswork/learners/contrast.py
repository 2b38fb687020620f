"""Features of true outputs less those of others."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from trelliswork._ragged import Ragged
from trelliswork.accelerated import find
from trelliswork.structures.base import Batch

__all__ = ["contrast"]


def contrast(batch: Batch, codes: Ragged, samples: np.ndarray) -> sp.csr_matrix:
    """Features of the true output minus those of a given one, for some of the samples.

    Parameters
    ----------
    batch : Batch
        Samples with their true outputs.
    codes : Ragged
        One output per sample of the batch.
    samples : ndarray of int
        The samples.

    Returns
    -------
    csr_matrix
        One row per chosen sample; a row may hold an entry in several pieces.
    """
    rows = find("contrast", batch)(batch, codes, samples)
    if rows is not None:
        return rows
    chosen = batch.subset(samples)
    return sp.csr_matrix(chosen.gold() - chosen.features(codes[samples]))
