"""Output spaces: what an output is, and every question about it."""

from __future__ import annotations

from trelliswork._brackets import base_pairs, dot_bracket, pair_table
from trelliswork.structures._align_path import AlignPath
from trelliswork.structures._align_weights import alignment_weights, read_matrix, write_matrix
from trelliswork.structures.alignment import Alignment, AlignmentSpace
from trelliswork.structures.base import Batch, Decoded, Moments, Parts, RowView, Space, Structure, Unsupported
from trelliswork.structures.chain import Chain, ChainSpace
from trelliswork.structures.classes import Classes, ClassesSpace
from trelliswork.structures.derivations import Derivations, DerivationSpace, Edge
from trelliswork.structures.grammar import Grammar, GrammarSpace
from trelliswork.structures.retrieval import Retrieval, RetrievalSpace
from trelliswork.structures.rna import RNA, RNASpace

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

# Every structure is listed here once; law tests, persistence and messages read the table.
STRUCTURES: dict[str, type[Structure]] = {
    "Alignment": Alignment,
    "Chain": Chain,
    "Classes": Classes,
    "Derivations": Derivations,
    "Grammar": Grammar,
    "RNA": RNA,
    "Retrieval": Retrieval,
}
