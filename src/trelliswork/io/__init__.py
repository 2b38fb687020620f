"""Readers of the file formats that users have."""

from trelliswork.io.alignments import clustal, paf
from trelliswork.io.conll import ConllData, read_conll, read_conllu, write_conll
from trelliswork.io.fasta import FastaPairs, read_fasta_pairs
from trelliswork.io.raw import tokenize
from trelliswork.io.rna import (
    RnaData,
    read_bpseq,
    read_constraints,
    read_ct,
    read_dot_bracket,
    read_fasta,
    read_rna,
    read_shape,
    read_stockholm,
    write_bpseq,
    write_ct,
    write_dot_bracket,
)
from trelliswork.io.rows import Rows, read_rows
from trelliswork.io.trees import TreeData, read_trees, some_brackets, write_trees

__all__ = [
    "ConllData",
    "FastaPairs",
    "RnaData",
    "Rows",
    "TreeData",
    "clustal",
    "paf",
    "read_bpseq",
    "read_conll",
    "read_conllu",
    "read_constraints",
    "read_ct",
    "read_dot_bracket",
    "read_fasta",
    "read_fasta_pairs",
    "read_rna",
    "read_rows",
    "read_shape",
    "read_stockholm",
    "read_trees",
    "some_brackets",
    "tokenize",
    "write_bpseq",
    "write_conll",
    "write_ct",
    "write_dot_bracket",
    "write_trees",
]
