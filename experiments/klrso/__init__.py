"""KLRSO (a semiparametric generative model for structured outputs): its tables, ours beside the paper's."""

from __future__ import annotations

from experiments.klrso.rna import rna
from experiments.klrso.synthetic import hmm2, structures, unions
from experiments.klrso.times import large, times
from experiments.klrso.trees import cess, divergence, penn, verbs

TABLES = {
    "hmm2": hmm2,
    "unions": unions,
    "structures": structures,
    "penn": penn,
    "divergence": divergence,
    "verbs": verbs,
    "cess": cess,
    "times": times,
    "large": large,
    "rna": rna,
}
