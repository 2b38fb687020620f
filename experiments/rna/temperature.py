"""Would a temperature make the pair probabilities of the RNA model right more often?

High probabilities are too high (``experiments/rna/accuracy.py``). A usual remedy divides all weights by a
temperature. Here it is tried on the sequences of TrainSetA that were held out when the model was trained;
the test set has no part in it. Columns say how many pairs of such a probability are right; "off" is how far
mean probabilities and these shares are apart, over all pairs with more than 10 %. Temperature 1 is the
model of the package.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

import trelliswork as tw
from experiments._report import markdown, options, write
from experiments._samples import take
from experiments.rna.accuracy import calibration, folded
from experiments.rna.scale import LONGEST
from experiments.rna.train import training_sets

TEMPERATURES = (0.9, 1.0, 1.05, 1.1, 1.2, 1.4)
SHOWN = 5  # bins, from the top


def temperature(arguments: Sequence[str]) -> None:
    """Calibration on held-out training sequences by temperature."""
    args = options(arguments, jobs=(1, "threads"))
    held = training_sets(args.data, alignments=False)[1]
    short = [i for i, x in enumerate(held.X) if len(x) <= LONGEST]
    X, y = take(held.X, short), take(held.y, short)
    rows, bins = [], []
    for t in TEMPERATURES:
        model = copy.copy(tw.pretrained("rna"))
        model.coef_ = model.coef_ / t
        table = calibration(y, folded(model, X, args.jobs)[2])[1:]  # those of less than 10 % are left out
        n, mean, right = (np.array([row[k] for row in table]) for k in (1, 2, 3))
        bins = [row[0] for row in table[-SHOWN:]]
        off = float(np.average(np.abs(mean - right), weights=n))
        rows.append([f"{t:g}", *(f"{share:.1f}" for share in right[-SHOWN:]), f"{off:.1f}"])
    header = ["temperature", *(f"{one}, right %" for one in bins), "off"]
    text = (__doc__ or "").split("\n", 2)[2].strip()
    table_ = f"{len(X)} sequences held out.\n\n{markdown(header, rows)}"
    write("rna/temperature", "Temperatures of the RNA model", f"{text}\n\n{table_}")
