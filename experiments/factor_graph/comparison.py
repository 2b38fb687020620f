"""Tables and tests of the tagging experiment: VCRF against the other learners."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import ttest_1samp, ttest_rel

from experiments._pictures import curves
from experiments._report import markdown
from experiments.factor_graph.choice import RULES, choose

# Token errors in percent, L1-CRF and VCRF, of the paper's ten treebanks.
PAPER = {
    "Basque": (7.68, 7.26),
    "Chinese": (7.67, 7.38),
    "Dutch": (6.01, 5.97),
    "English": (5.51, 5.51),
    "Finnish": (7.86, 7.48),
    "Finnish-FTB": (10.55, 9.79),
    "Hindi": (4.93, 4.84),
    "Tamil": (22.50, 19.82),
    "Turkish": (11.69, 11.28),
    "Twitter": (19.81, 17.98),
}
CHOSEN = ["treebank", "sentences", "learner", "places", "path", "at an end"]
Groups = dict[tuple[str, str], list[Any]]  # folds of every treebank and size


def report(stored: dict[str, Any], protocol: str, args: Any) -> str:
    """All folds that are there, for the settings of this run."""
    groups: Groups = {}
    for key, fold in stored.items():
        name, size, _, rest = key.split(", ", 3)
        if rest == protocol:
            groups.setdefault((name, size), []).append(fold)
    tests = _tests(groups)
    head = ["treebank", "training sentences (tokens)", "learner", "token error % (sd)", "sentence error %"]
    body = "## Penalties with the lowest validation error\n\n"
    body += markdown([*head, "weights not 0", "paper: token error %"], _best_rows(groups))
    body += "\n\n" + _theirs(groups)
    body += "\n\n## VCRF minus the others, paired t test over folds\n\n"
    head = ["treebank", "sentences", "penalty of VCRF", "other", "token error", "p", "sentence error", "p"]
    body += markdown([*head, "weights, VCRF / other"], tests)
    body += "\n\nThe penalty of VCRF: " + "; ".join(f"*{rule}*, {text}" for rule, text in RULES.items())
    body += (
        ".\n\n## Goal: VCRF has at most the error of the L1-CRF, with fewer weights\n\n"
        f"![token error against the number of weights]({_paths(groups)})\n\n"
    )
    for name, size, rule, other, *test in tests:
        if other == "L1-CRF":
            reached = float(test[0]) <= 0 and float(test[4]) < 1
            ends = sum(_at_ends(groups[name, size], kind) for kind in ("L1-CRF", "VCRF"))
            body += f"- {name}, {size} sentences, {rule}: {'reached' if reached else 'not reached'} "
            body += f"(error {test[0]}, p {test[1]}, weights x {test[4]}"
            body += f"; {ends} of {2 * len(groups[name, size])} penalties at an end)\n" if ends else ")\n"
    body += "\n" + _pooled(groups) + "\n\n" + _frontier(groups) + "\n"
    done = {f"{name} {size}": len(folds) for (name, size), folds in groups.items()}
    return body + (
        f"\nProtocol: {args.folds} folds of train (3/5), validation and test part (1/5 each); folds done: "
        f"{done}. At most {args.sentences:,} sentences of a treebank, drawn at random; small training parts "
        "are drawn at random from the training part of their fold, and use twice as many sentences of the "
        f"validation part. Chain of order {args.order} (label n-grams up to {args.order + 1}), the features "
        "of all learners the same. Eleven penalties on a path for L1-CRF and VCRF, five for L2-CRF, four "
        "for StructBoost (small parts only: its gradient takes three sums over all outputs); fits end at "
        f"{args.tol:g} of the first gradient norm or after {args.max_iter} iterations (60 for StructBoost). "
        "VCRF has the Hamming loss inside and r by the sparsity of the families.\n\n"
        "## Which penalties were chosen\n\n"
        "By their places on the path, one for each fold; a penalty at an end says that one beyond might be "
        f"better, and the comparison is open there.\n\n{markdown(CHOSEN, _chosen(groups))}"
    )


def _places(folds: list[Any], kind: str) -> tuple[list[int], int]:
    """Places of the chosen penalties on the path of a learner, and how many places there are."""
    places = []
    for fold in folds:
        penalties = [p["penalty"] for p in fold[kind]["path"]]
        places.append(penalties.index(choose(fold, "best")[kind]["penalty"]) + 1)
    return places, len(penalties)


def _at_ends(folds: list[Any], kind: str) -> int:
    """Folds in which the first or the last penalty was chosen."""
    places, last = _places(folds, kind)
    return sum(place in (1, last) for place in places)


def _chosen(groups: Groups) -> list[list[Any]]:
    """Which penalties had the lowest validation error."""
    rows = []
    for (name, size), folds in groups.items():
        for kind in choose(folds[0], "best"):
            places, last = _places(folds, kind)
            weak = "weakest" if kind == "StructBoost" else "strongest"
            rows.append([name, size, kind, " ".join(map(str, places)), f"1 ({weak}) to {last}"])
            rows[-1].append(f"{_at_ends(folds, kind)} of {len(folds)}")
    return rows


def _best_rows(groups: Groups) -> list[list[Any]]:
    """Errors and number of weights of every learner with its best penalty."""
    rows: list[list[Any]] = []
    for (name, size), folds in groups.items():
        sentences, tokens = (np.mean([fold[what] for fold in folds]) for what in ("sentences", "tokens"))
        best = [choose(fold, "best") for fold in folds]
        for kind in best[0]:
            token, sentence, weights = (_values(best, kind, v) for v in ("token", "sentence", "weights"))
            spread = f" ({token.std(ddof=1):.2f})" if len(folds) > 1 else ""
            row = [name, f"{sentences:,.0f} ({tokens:,.0f})", kind, f"{token.mean():.2f}{spread}"]
            theirs = dict(zip(("L1-CRF", "VCRF"), PAPER.get(name.title(), ()), strict=False))
            printed = f"{theirs[kind]:.2f}" if size == "all" and kind in theirs else ""
            rows.append([*row, f"{sentence.mean():.1f}", f"{weights.mean():,.0f}", printed])
    return rows


def _theirs(groups: Groups) -> str:
    """The paper's ten treebanks, which of them are here, and why figures differ."""
    here = [name for name in PAPER if any(name.lower() == key for key, _ in groups)]
    shown = ", ".join(f"{name} {l1:.2f} / {voted:.2f}" for name, (l1, voted) in PAPER.items())
    others = sorted({name.title() for name, _ in groups} - set(PAPER))
    dates = sorted({fold["date"] for folds in groups.values() for fold in folds})
    return (
        f"The paper (as a reading note of its full text has it), token error of L1-CRF / VCRF: {shown}. Of "
        f"these the shared data have {' and '.join(here)}; {', '.join(others)} is not among them. Why they "
        "differ: ours are later releases of Universal Dependencies, from which the paper's Turkish does not "
        "come at all, we take at most as many sentences as the protocol below says, and the paper's features "
        f"are not known. Folds were fitted on {', '.join(dates)} and are kept in `tagging.json`."
    )


def _tests(groups: Groups) -> list[list[Any]]:
    """VCRF against every other learner, and by all rules against the L1-CRF."""
    tests: list[list[Any]] = []
    for (name, size), folds in groups.items():
        if len(folds) > 1:
            best = [choose(fold, "best") for fold in folds]
            tests += [[name, size, "best", kind, *_paired(best, kind)] for kind in best[0] if kind != "VCRF"]
            tests += [
                [name, size, rule, "L1-CRF", *_paired([choose(fold, rule) for fold in folds], "L1-CRF")]
                for rule in list(RULES)[1:]
            ]
    return tests


def _values(chosen: list[dict[str, Any]], kind: str, value: str) -> np.ndarray:
    return np.array([c[kind][value] for c in chosen], dtype=float)


def _paired(chosen: list[dict[str, Any]], other: str) -> list[str]:
    out = []
    for value in ("token", "sentence"):
        ours, theirs = _values(chosen, "VCRF", value), _values(chosen, other, value)
        p = 1.0 if np.array_equal(ours, theirs) else float(ttest_rel(ours, theirs).pvalue)
        out += [f"{(ours - theirs).mean():+.2f}", f"{p:.2g}"]
    ratio = _values(chosen, "VCRF", "weights").mean() / _values(chosen, other, "weights").mean()
    return [*out, f"{ratio:.2f}"]


def _pooled(groups: Groups) -> str:
    """All treebanks and sizes together, by rule."""
    every = [fold for folds in groups.values() for fold in folds]
    rows = [[rule, *_paired([choose(fold, rule) for fold in every], "L1-CRF")] for rule in RULES]
    head = ["penalty of VCRF", "token error", "p", "sentence error", "p", "weights, VCRF / L1-CRF"]
    return f"VCRF minus the L1-CRF, all {len(every)} folds together:\n\n" + markdown(head, rows)


def _frontier(groups: Groups) -> str:
    """Test error of VCRF where it has as many weights as the L1-CRF at each of its penalties."""
    rows, pooled = [], []
    for (name, size), folds in groups.items():
        differences = []
        for fold in folds:
            l1, ours = (
                np.array([[p["weights"], p["token"]] for p in fold[kind]["path"]])
                for kind in ("L1-CRF", "VCRF")
            )
            ours = ours[np.argsort(ours[:, 0], kind="stable")]
            within = (l1[:, 0] >= ours[0, 0]) & (l1[:, 0] <= ours[-1, 0])
            interpolated = np.interp(np.log(l1[within, 0]), np.log(ours[:, 0]), ours[:, 1])
            differences.append(float((interpolated - l1[within, 1]).mean()))
        p = ttest_1samp(differences, 0.0).pvalue
        rows.append([name, size, f"{np.mean(differences):+.3f}", f"{p:.2g}"])
        pooled += differences
    rows.append(["all", "", f"{np.mean(pooled):+.3f}", f"{ttest_1samp(pooled, 0.0).pvalue:.2g}"])
    return (
        "Token error of VCRF minus that of the L1-CRF at the same number of weights (interpolated between "
        "the penalties of VCRF; mean over the penalties of the L1-CRF; t test over folds), nothing chosen:"
        "\n\n"
    ) + markdown(["treebank", "sentences", "difference", "p"], rows)


def _paths(groups: Groups) -> str:
    """Test error against the number of weights along the penalties, means over folds."""
    lines: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for (name, size), folds in groups.items():
        lines[f"{name}, {size} sentences"] = {
            kind: [
                (float(np.mean([p["weights"] for p in step])), float(np.mean([p["token"] for p in step])))
                for step in zip(*(fold[kind]["path"] for fold in folds), strict=True)
            ]
            for kind in ("L1-CRF", "VCRF")
        }
    return curves(lines, "weights that are not 0", "token error %", "factor_graph/tagging", log=True)
