"""Output spaces: what an output is, and every question about it."""

from __future__ import annotations

from trelliswork._dotbracket import base_pairs as base_pairs
from trelliswork._dotbracket import dot_bracket as dot_bracket
from trelliswork._dotbracket import pair_table as pair_table
from trelliswork._registry import registered as _registered
from trelliswork.structures.abilities import RowView as RowView
from trelliswork.structures.alignment.path import AlignPath as AlignPath
from trelliswork.structures.alignment.retrieval import Retrieval as Retrieval
from trelliswork.structures.alignment.retrieval import RetrievalSpace as RetrievalSpace
from trelliswork.structures.alignment.space import AlignmentSpace as AlignmentSpace
from trelliswork.structures.alignment.structure import Alignment as Alignment
from trelliswork.structures.alignment.weights import alignment_weights as alignment_weights
from trelliswork.structures.alignment.weights import read_matrix as read_matrix
from trelliswork.structures.alignment.weights import write_matrix as write_matrix
from trelliswork.structures.base import Batch as Batch
from trelliswork.structures.base import Decoded as Decoded
from trelliswork.structures.base import Moments as Moments
from trelliswork.structures.base import Parts as Parts
from trelliswork.structures.base import Space as Space
from trelliswork.structures.base import Structure as Structure
from trelliswork.structures.base import Unsupported as Unsupported
from trelliswork.structures.chain.space import ChainSpace as ChainSpace
from trelliswork.structures.chain.structure import Chain as Chain
from trelliswork.structures.classes.space import ClassesSpace as ClassesSpace
from trelliswork.structures.classes.structure import Classes as Classes
from trelliswork.structures.derivations.edges import Edge as Edge
from trelliswork.structures.derivations.space import DerivationSpace as DerivationSpace
from trelliswork.structures.derivations.structure import Derivations as Derivations
from trelliswork.structures.grammar.space import GrammarSpace as GrammarSpace
from trelliswork.structures.grammar.structure import Grammar as Grammar
from trelliswork.structures.rna.energies import energy_weights as energy_weights
from trelliswork.structures.rna.evidence import Evidence as Evidence
from trelliswork.structures.rna.structure import RNA as RNA
from trelliswork.structures.rna.structure import RNASpace as RNASpace
from trelliswork.structures.transducer.space import TransducerSpace as TransducerSpace
from trelliswork.structures.transducer.structure import Transducer as Transducer

# Structures by name, for law tests, persistence and messages. A structure joins with its import above.
STRUCTURES: dict[str, type[Structure]] = _registered(globals(), Structure)
