"""Universal Dependencies: words and universal tags."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from trelliswork.io import read_conll

TREEBANKS = {"english": "ud-en-ewt/en_ewt", "turkish": "ud-tr-imst/tr_imst", "greek": "ud-el-gdt/el_gdt"}
TEMPLATE = "bias, lower, suffix:2, suffix:3, prefix:2, shape; lower @ -1; lower @ 1"


def read(
    folder: str, name: str, parts: Sequence[str] = ("train", "dev", "test")
) -> tuple[list[Any], list[Any]]:
    """Words and universal tags of all sentences of some parts of a treebank."""
    X: list[Any] = []
    y: list[Any] = []
    for part in parts:
        path = os.path.join(folder, f"{TREEBANKS[name]}-ud-{part}.conllu.gz")
        data = read_conll(path, columns=[1], label=3, separator="\t", comment="#")
        X += data.X
        y += data.y
    return X, y
