"""Handwritten words (OCR letters), shared by the experiments."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments._samples import take


class Words(NamedTuple):
    """Words letter by letter.

    Attributes
    ----------
    X : list of ndarray of shape (n_letters, 128)
        Pixels of the letters of each word.
    y : list of list of int
        Letters, 0 to 25.
    fold : ndarray of shape (n_words,)
        Fold of each word, 0 to 9.
    """

    X: list[np.ndarray]
    y: list[Any]
    fold: np.ndarray

    @classmethod
    def read(cls, data: str) -> Words:
        """All words."""
        letters = np.load(os.path.join(data, "ocr-letters", "letters.npz"))
        cuts = np.flatnonzero(np.diff(letters["word_id"])) + 1
        pixels = np.split(letters["pixels"].astype(np.float64), cuts)
        labels = [word.tolist() for word in np.split(letters["labels"], cuts)]
        return cls(pixels, labels, letters["word_fold"])

    def part(self, index: Sequence[int] | np.ndarray) -> tuple[list[np.ndarray], list[Any]]:
        """Some of the words."""
        return take(self.X, index), take(self.y, index)
