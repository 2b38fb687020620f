"""Magic Moments for Structured Output Prediction: Z-score and SODA against other learners."""

from __future__ import annotations

from experiments.magic_moments.alignment import table5
from experiments.magic_moments.constraints import constraints
from experiments.magic_moments.families import table7
from experiments.magic_moments.growth import curve, sampling
from experiments.magic_moments.ner import ner
from experiments.magic_moments.noise import noise

TABLES = {
    "noise": noise,
    "curve": curve,
    "sampling": sampling,
    "constraints": constraints,
    "ner": ner,
    "table7": table7,
    "table5": table5,
}
