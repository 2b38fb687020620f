"""RNA secondary structures at scale: TORNADO's training and test sets."""

from __future__ import annotations

from experiments.rna import accuracy, family, scale, svm, train, unseen

TABLES = {
    "accuracy": accuracy.accuracy,
    "family": family.family,
    "scale": scale.scale,
    "svm": svm.svm,
    "train": train.train,
    "unseen": unseen.unseen,
}
