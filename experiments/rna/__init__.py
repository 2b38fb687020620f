"""RNA secondary structures at scale: TORNADO's training and test sets."""

from __future__ import annotations

from experiments.rna import (
    accuracy,
    energies,
    family,
    mixture,
    papers,
    scale,
    svm,
    temperature,
    train,
    unseen,
)

TABLES = {
    "accuracy": accuracy.accuracy,
    "energies": energies.energies,
    "family": family.family,
    "mixture": mixture.mixture,
    "papers": papers.papers,
    "scale": scale.scale,
    "svm": svm.svm,
    "temperature": temperature.temperature,
    "train": train.train,
    "unseen": unseen.unseen,
}
