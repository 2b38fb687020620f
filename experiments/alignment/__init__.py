"""Learning to align: random matrices (Table 5 of Magic Moments) and real proteins."""

from __future__ import annotations

from experiments.alignment import proteins
from experiments.magic_moments import alignment as random_matrices

TABLES = {
    "table5": random_matrices.table5,
    "proteins": proteins.proteins,
}
