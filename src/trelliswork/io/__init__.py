"""Readers of the file formats that users have."""

from trelliswork.io.conll import ConllData, read_conll, read_conllu, write_conll
from trelliswork.io.rows import Rows, read_rows
from trelliswork.io.trees import TreeData, read_trees, write_trees

__all__ = [
    "ConllData",
    "Rows",
    "TreeData",
    "read_conll",
    "read_conllu",
    "read_rows",
    "read_trees",
    "write_conll",
    "write_trees",
]
