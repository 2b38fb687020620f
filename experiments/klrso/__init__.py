"""KLRSO (a semiparametric generative model for structured outputs): its tables, ours beside the paper's."""

from __future__ import annotations

from experiments.klrso import rna, synthetic, times, trees

TABLES = {
    "hmm2": synthetic.hmm2,
    "unions": synthetic.unions,
    "structures": synthetic.structures,
    "penn": trees.penn,
    "divergence": trees.divergence,
    "verbs": trees.verbs,
    "cess": trees.cess,
    "times": times.times,
    "large": times.large,
    "rna": rna.rna,
    "rfam": rna.rfam,
}
