"""Readers of the file formats that users have."""

from trelliswork.io.conll import ConllData, read_conll, read_conllu, write_conll

__all__ = ["ConllData", "read_conll", "read_conllu", "write_conll"]
