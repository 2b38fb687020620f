"""Does training on Rfam, too, help the RNA model at full length?

Weights of both kinds on what both held out. Those of the package were trained on TrainSetA alone, those
of ``--model`` on TrainSetA and Rfam (``python -m experiments rna train --rfam 1 --passes 4,4``). Both
left every twentieth sequence of TrainSetA out, and neither has seen the twentieth of Rfam's families that
is tested. F1 of all pairs, in percent: most probable structures / those of most expected accuracy, each
at the gamma of its model. In short trainings Rfam is worth 2 points on such families
(``experiments/rna/unseen.py``), where it also makes up for the mixed families of TrainSetA that these
hold out; the weights of the package have seen those. The weights of the mixture are shipped only if they
are ahead on Rfam and no more than half a point behind on TrainSetA, by both kinds of structures.
"""

from __future__ import annotations

from collections.abc import Sequence

import trelliswork as tw
from experiments._report import markdown, options, write
from experiments._samples import take
from experiments.rna.accuracy import both, figures, folded
from experiments.rna.scale import LONGEST
from experiments.rna.train import training_sets


def mixture(arguments: Sequence[str]) -> None:
    """F1 of both models on sequences and families that were held out."""
    args = options(arguments, model=("rna.tw", "weights trained on TrainSetA and Rfam"), jobs=(1, "threads"))
    samples = training_sets(args.data, alignments=True)[1]
    n_own = len(training_sets(args.data, alignments=False)[1].X)
    short = [i for i in range(n_own) if len(samples.X[i]) <= LONGEST]
    rest = range(n_own, len(samples.X))
    sets = {
        "TrainSetA": short,
        "Rfam, published": [i for i in rest if samples.published[i]],
        "Rfam, predicted": [i for i in rest if not samples.published[i]],
    }
    rows = []
    for name, model in (("TrainSetA", tw.pretrained("rna")), ("TrainSetA and Rfam", tw.load(args.model))):
        best, accurate, _ = folded(model, samples.X, args.jobs)
        cells = [
            both([figures(take(samples.y, index), take(found, index))[2] for found in (best, accurate)])
            for index in sets.values()
        ]
        rows.append([name, f"{model.structure.gamma:g}", *cells])
    header = ["trained on", "gamma", *(f"{name} ({len(index)})" for name, index in sets.items())]
    text = (__doc__ or "").split("\n", 2)[2].strip()
    write("rna/mixture", "RNA model with and without Rfam", f"{text}\n\n{markdown(header, rows)}")
