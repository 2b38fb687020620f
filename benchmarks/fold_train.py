"""Training a log-linear G6 on TORNADO's TrainSetA (3,166 sequences, mean 199 bases), two threads."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from benchmarks._measure import arguments, in_fresh_process, write_results

THREADS = 2


def crf(data: str) -> dict[str, Any]:
    import trelliswork as tw
    from trelliswork.io import read_stockholm

    X, y = read_stockholm(os.path.join(data, "rna-tornado", "TORNADO_TrA.sto.gz"))[1:]
    tw.CRF(tw.RNA("g6", invalid="repair"), max_iter=1).fit(X[:1], y[:1])  # loads compiled code
    started = time.perf_counter()
    model = tw.CRF(tw.RNA("g6", invalid="repair"), l2=1.0, n_jobs=THREADS).fit(X, y)
    seconds = time.perf_counter() - started
    return {
        "seconds": seconds,
        "iterations": model.n_iter_,
        "converged": bool(model.converged_),
        "sequences": len(X),
        "bases": sum(map(len, X)),
    }


def main() -> int:
    args = arguments(__doc__ or "")
    if args.worker:
        print(json.dumps(crf(args.data)))
        return 0
    trained = in_fresh_process("fold_train", "crf", args)
    body = (
        f"`CRF(RNA('g6', invalid='repair'), n_jobs={THREADS})` with its default settings on "
        f"{trained['sequences']:,} sequences ({trained['bases']:,} bases): **{trained['seconds']:.0f} s**, "
        f"{trained['iterations']} iterations of L-BFGS, "
        f"{'converged' if trained['converged'] else 'not converged'} (goal: under 600 s)."
    )
    write_results("fold_train", "python -m benchmarks fold_train", body)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
