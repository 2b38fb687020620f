"""RNA secondary structures at scale: TORNADO's training and test sets."""

from __future__ import annotations

from experiments.rna.scale import scale

TABLES = {"scale": scale}
