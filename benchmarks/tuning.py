"""How many fits a search for the strength of a CRF costs, on Spanish names.

``Tuned(CRF(Chain()))`` with ten values and three folds, on words and windows of ``esp.train``, against one
fit with defaults; both in processor seconds of one thread, encoding and the last fit to all samples included.
The first fit of the process, on fifty sentences, is not counted.
"""

from __future__ import annotations

import os
import sys
import time
import warnings

from benchmarks._measure import arguments, write_results


def main() -> int:
    args = arguments(str(__doc__), sentences=(0, "0 is all"))
    import trelliswork as tw
    from trelliswork.features import TokenWindow
    from trelliswork.io import read_conll

    warnings.simplefilter("ignore")
    data = read_conll(os.path.join(args.data, "conll2002-es", "esp.train.gz"))
    n = args.sentences or len(data.X)
    X, y = TokenWindow().fit_transform(data.X[:n]), data.y[:n]
    tw.CRF(tw.Chain(), max_iter=3).fit(X[:50], y[:50])
    started = time.process_time()
    tw.CRF(tw.Chain()).fit(X, y)
    one = time.process_time() - started
    model = tw.Tuned(tw.CRF(tw.Chain()), n_values=10, cv=3).fit(X, y)
    all_of_it = time.process_time() - started - one
    lines = ["| l2 | entity F1 | folds | seconds a fold |", "| --- | --- | --- | --- |"]
    table = model.results_
    for l2, score, folds, seconds in zip(*(table[k] for k in ("l2", "score", "n_splits", "fit_seconds"))):
        lines.append(f"| {float(l2):.4g} | {score:.4f} | {folds} | {seconds:.1f} |")
    about = str(__doc__).partition("\n\n")[2].strip().replace("``", "`")
    told = (
        f"{n:,} sentences: one fit {one:.1f} s, the search {all_of_it:.1f} s, {all_of_it / one:.1f} times as "
        f"long (at most 6 wanted). Chosen: {model.best_params_}."
    )
    command = " ".join(["python -m benchmarks tuning", *sys.argv[1:]])
    write_results("tuning", command, "\n".join([about, "", told, "", *lines]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
