"""Learning to align: random matrices (Table 5 of Magic Moments) and real proteins."""

from __future__ import annotations

from experiments.alignment.proteins import proteins
from experiments.magic_moments.alignment import table5

TABLES = {"table5": table5, "proteins": proteins}
