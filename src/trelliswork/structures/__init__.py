"""Output spaces: what an output is, and every question about it."""

from __future__ import annotations

from trelliswork._dotbracket import base_pairs, dot_bracket, pair_table
from trelliswork._registry import registered
from trelliswork.structures.abilities import RowView
from trelliswork.structures.alignment.path import AlignPath
from trelliswork.structures.alignment.retrieval import Retrieval, RetrievalSpace
from trelliswork.structures.alignment.structure import Alignment, AlignmentSpace
from trelliswork.structures.alignment.weights import alignment_weights, read_matrix, write_matrix
from trelliswork.structures.base import Batch, Decoded, Moments, Parts, Space, Structure, Unsupported
from trelliswork.structures.chain.structure import Chain, ChainSpace
from trelliswork.structures.classes.structure import Classes, ClassesSpace
from trelliswork.structures.derivations.structure import Derivations, DerivationSpace, Edge
from trelliswork.structures.grammar.structure import Grammar, GrammarSpace
from trelliswork.structures.rna.structure import RNA, RNASpace

__all__ = [
    "RNA",
    "STRUCTURES",
    "AlignPath",
    "Alignment",
    "AlignmentSpace",
    "Batch",
    "Chain",
    "ChainSpace",
    "Classes",
    "ClassesSpace",
    "Decoded",
    "DerivationSpace",
    "Derivations",
    "Edge",
    "Grammar",
    "GrammarSpace",
    "Moments",
    "Parts",
    "RNASpace",
    "Retrieval",
    "RetrievalSpace",
    "RowView",
    "Space",
    "Structure",
    "Unsupported",
    "alignment_weights",
    "base_pairs",
    "dot_bracket",
    "pair_table",
    "read_matrix",
    "write_matrix",
]

# Structures by name, for law tests, persistence and messages. A structure joins with its import above.
STRUCTURES: dict[str, type[Structure]] = registered(globals(), Structure)
