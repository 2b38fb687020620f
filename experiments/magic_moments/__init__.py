"""Magic Moments for Structured Output Prediction: Z-score and SODA against other learners."""

from __future__ import annotations

from experiments.magic_moments import alignment, constraints, families, growth, ner, noise

TABLES = {
    "noise": noise.noise,
    "curve": growth.curve,
    "sampling": growth.sampling,
    "constraints": constraints.constraints,
    "ner": ner.ner,
    "table7": families.table7,
    "table5": alignment.table5,
}
