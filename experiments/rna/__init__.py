"""RNA secondary structures at scale: TORNADO's training and test sets."""

from __future__ import annotations

from experiments.rna import scale, train

TABLES = {
    "scale": scale.scale,
    "train": train.train,
}
