"""Treebanks that several experiments use."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np

from trelliswork.io import TreeData, read_trees


def read_treebank(data: str, name: str, **options: Any) -> TreeData:
    """Sentences and trees of ``ptb-sample`` or ``cess-esp``; options are those of ``read_trees``.

    A line with more than one tree (there is one) is left out.
    """
    with gzip.open(Path(data) / name / "trees.tsv.gz", "rt", encoding="utf-8") as file:
        trees = [line.rstrip("\n").split("\t")[2] for line in file]
    text = "\n".join(tree for tree in trees if _children(tree) <= 1)
    return read_trees(io.StringIO(text), **options)


def _children(tree: str) -> int:
    """Number of nodes right below the outer bracket."""
    signs = [1 if sign == "(" else -1 for sign in tree if sign in "()"]
    return int(np.sum((np.cumsum(signs) == 2) & (np.array(signs) == 1)))
