"""Structured Prediction Theory Based on Factor Graph Complexity: voted CRFs against CRFs.

Part-of-speech tagging of Universal Dependencies, in five folds of train, validation and test parts.
Features are the words around a token, affixes and shapes, and label n-grams up to the given order, the
same for all learners.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import ttest_1samp, ttest_rel

import trelliswork as tw
from experiments._pictures import curves
from experiments._report import load, markdown, options, store, write
from trelliswork import bounds
from trelliswork.features import TokenWindow
from trelliswork.io import read_conll
from trelliswork.metrics import token_error

TREEBANKS = {"english": "ud-en-ewt/en_ewt", "turkish": "ud-tr-imst/tr_imst", "greek": "ud-el-gdt/el_gdt"}
TEMPLATE = "bias, lower, suffix:2, suffix:3, prefix:2, shape; lower @ -1; lower @ 1"


def read(
    folder: str, name: str, parts: Sequence[str] = ("train", "dev", "test")
) -> tuple[list[Any], list[Any]]:
    """Words and universal tags of all sentences of some parts of a treebank."""
    X: list[Any] = []
    y: list[Any] = []
    for part in parts:
        path = os.path.join(folder, f"{TREEBANKS[name]}-ud-{part}.conllu.gz")
        data = read_conll(path, columns=[1], label=3, separator="\t", comment="#")
        X += data.X
        y += data.y
    return X, y


def split(n: int, fold: int, folds: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Train, validation and test part: one fold each for the last two."""
    pieces = np.array_split(rng.permutation(n), folds)
    test, validation = pieces[fold], pieces[(fold + 1) % folds]
    rest = [p for i, p in enumerate(pieces) if i not in (fold, (fold + 1) % folds)]
    return np.concatenate(rest), validation, test


def take(items: list[Any], at: np.ndarray) -> list[Any]:
    return [items[i] for i in at]


def sentence_error(y: Any, found: Any) -> float:
    return float(np.mean([a != b for a, b in zip(y, found, strict=True)]))


def settings(chain: tw.Chain, m: int, tol: float, max_iter: int) -> dict[str, tuple[Any, list[float]]]:
    """A model and the penalties to try for every learner, per sentence of the training part.

    Each starts from the weights of the last: from strong to weak penalties, StructBoost from weak to
    strong (its first weights, those of a CRF, must not be small). With equal r and no loss the voted CRF
    is the L1-CRF, so both have the same solver and the same rule to stop.
    """
    common: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "n_jobs": 1}
    few = {**common, "max_iter": min(60, max_iter)}  # its steps are the dearest, and its weights level off
    equal = {"lam": 1.0, "beta": 0.0, "r": [1.0] * (chain.order + 1), "loss": None}
    # In small steps, so that there are models of nearly the same number of weights to compare.
    strengths = [0.35 * 2 ** (-k / 2) for k in range(11)]
    return {
        "L2-CRF": (tw.CRF(chain, 0.0, warm_start=True, **common), [0.3, 0.1, 0.03, 0.01, 0.003]),
        "L1-CRF": (tw.VotedCRF(chain, **equal, **common), [s / m for s in strengths]),
        # r is about 100 for all orders here: lam r_k then spans what the L1 penalties span.
        "VCRF": (tw.VotedCRF(chain, beta=0.005 / m, **common), [s / (100 * m) for s in strengths]),
        "StructBoost": (tw.StructBoost(chain, warm_start=True, **few), [0.1, 0.3, 1.0, 3.0]),
    }


def candidates(kind: str, model: Any, penalties: list[float], data: Any) -> list[tuple[float, np.ndarray]]:
    """Every penalty with its weights."""
    (X, y) = data[0]
    if isinstance(model, tw.VotedCRF):
        model.fit_path(X, y, penalties)
        return [(p["lam"] * len(y), p["coef"]) for p in model.path_]
    found = []
    for penalty in penalties:
        if kind == "StructBoost":
            model.set_params(lam=penalty / (100 * len(y)), beta=0.02 / len(y))
        else:
            model.set_params(l2=penalty)
        found.append((penalty, model.fit(X, y).coef_.copy()))
    return found


def one_fold(args: Any, X: Any, y: Any, size: int, fold: int) -> dict[str, Any]:
    """Errors on the validation and the test part and the number of weights, for every penalty."""
    window = TokenWindow.from_template(TEMPLATE)
    train, validation, test = split(len(X), fold, args.folds, np.random.default_rng([args.seed, len(X)]))
    if size:
        # Small training parts are tuned on few sentences as well: a large part would be a luxury.
        # Drawn anew for every fold: the first ones would be the same in several folds.
        rng = np.random.default_rng([args.seed, len(X), fold])
        train, validation = rng.permutation(train)[:size], rng.permutation(validation)[: 2 * size]
    data = [(window.transform(take(X, at)), take(y, at)) for at in (train, validation, test)]
    chain = tw.Chain(args.order, emissions="observed")
    out: dict[str, Any] = {"sentences": len(train), "tokens": sum(map(len, data[0][1]))}
    for kind, (model, penalties) in settings(chain, len(train), args.tol, args.max_iter).items():
        if kind == "StructBoost" and not 0 < size <= args.boost:
            continue
        started = time.perf_counter()
        out[kind] = {"path": []}
        for penalty, coef in candidates(kind, model, penalties, data):
            model.coef_ = coef
            guess = model.predict(data[2][0])
            out[kind]["path"].append(
                {
                    "penalty": float(penalty),
                    "weights": int(np.count_nonzero(coef)),
                    "validation": 100 * token_error(data[1][1], model.predict(data[1][0])),
                    "token": 100 * token_error(data[2][1], guess),
                    "sentence": 100 * sentence_error(data[2][1], guess),
                }
            )
        out[kind]["seconds"] = round(time.perf_counter() - started, 1)
        print(size, fold, kind, out[kind], flush=True)
    return out


def lowest(path: list[dict[str, Any]], most: float = np.inf) -> dict[str, Any]:
    """The lowest validation error among those with at most so many weights, or the fewest weights."""
    within = [p for p in path if p["weights"] <= most]
    return min(within or path, key=lambda p: (p["validation"] if within else 0.0, p["weights"]))


def fewest(path: list[dict[str, Any]], limit: float) -> dict[str, Any]:
    """The fewest weights among those with at most this validation error, or the lowest error."""
    within = [p for p in path if p["validation"] <= limit]
    return min(within, key=lambda p: p["weights"]) if within else lowest(path)


#: How one penalty is chosen from the paths of a fold: a rule for VCRF, given that of the L1-CRF.
RULES = {
    "best": "the lowest validation error",
    "at most as many weights": "the lowest validation error among those with at most the L1-CRF's weights",
    "fewest weights": "the fewest weights among those not above the L1-CRF in validation error",
}


def choose(fold: dict[str, Any], rule: str) -> dict[str, dict[str, Any]]:
    """The penalty of every learner by a rule, from the validation part alone."""
    out = {kind: lowest(v["path"]) for kind, v in fold.items() if isinstance(v, dict)}
    path, l1 = fold["VCRF"]["path"], out["L1-CRF"]
    if rule == "at most as many weights":
        out["VCRF"] = lowest(path, l1["weights"])
    elif rule == "fewest weights":
        out["VCRF"] = fewest(path, l1["validation"])
    return out


def tagging(arguments: Sequence[str]) -> None:
    """Token and sentence error and sparsity, five folds, hyper-parameters on the validation part."""
    args = options(
        arguments,
        treebanks=("greek,turkish,english", "which, separated by commas"),
        sizes=("200,0", "training sentences; 0 for all of the training part"),
        sentences=(4000, "sentences drawn from a treebank that has more"),
        order=(2, "previous labels that a label depends on: label n-grams up to this plus one"),
        folds=(5, "folds"),
        only=("", "folds to run now, separated by commas; finished ones are kept"),
        tol=(2e-4, "stop at this part of the first norm of the (proximal) gradient"),
        max_iter=(300, "iterations of every fit"),
        boost=(200, "most training sentences with which StructBoost is run"),
        seed=(0, "seed of the folds"),
    )
    kept = load("factor_graph/tagging")
    own = f"order {args.order}, {args.folds} folds, {args.sentences} sentences, tol {args.tol}"
    own += f", {args.max_iter} iterations, seed {args.seed}"
    folds = [int(f) for f in args.only.split(",")] if args.only else list(range(args.folds))
    for name in args.treebanks.split(","):
        X, y = read(args.data, name)
        some = np.random.default_rng(args.seed).permutation(len(X))[: args.sentences]
        X, y = take(X, some), take(y, some)
        for size in map(int, args.sizes.split(",")):
            for fold in folds:
                key = f"{name}, {size or 'all'}, fold {fold}, {own}"
                if key not in kept:
                    kept[key] = one_fold(args, X, y, size, fold)
                    store("factor_graph/tagging", dict(sorted(kept.items())))
    write("factor_graph/tagging", "Part-of-speech tagging: voted CRF against CRFs", _table(kept, own, args))


def _table(kept: dict[str, Any], own: str, args: Any) -> str:
    """All folds that are there, for the settings of this run."""
    groups: dict[tuple[str, str], list[Any]] = {}
    for key, found in kept.items():
        name, size, _, rest = key.split(", ", 3)
        if rest == own:
            groups.setdefault((name, size), []).append(found)
    rows: list[list[Any]] = []
    tests: list[list[Any]] = []
    for (name, size), found in groups.items():
        first = f"{np.mean([f['sentences'] for f in found]):,.0f} "
        first += f"({np.mean([f['tokens'] for f in found]):,.0f})"
        best = [choose(f, "best") for f in found]
        for kind in best[0]:
            token, sentence, weights = (_values(best, kind, v) for v in ("token", "sentence", "weights"))
            spread = f" ({token.std(ddof=1):.2f})" if len(found) > 1 else ""
            row = [name, first, kind, f"{token.mean():.2f}{spread}", f"{sentence.mean():.1f}"]
            rows.append([*row, f"{weights.mean():,.0f}"])
        if len(found) > 1:
            tests += [[name, size, "best", kind, *_paired(best, kind)] for kind in best[0] if kind != "VCRF"]
            tests += [
                [name, size, rule, "L1-CRF", *_paired([choose(f, rule) for f in found], "L1-CRF")]
                for rule in list(RULES)[1:]
            ]
    head = ["treebank", "training sentences (tokens)", "learner", "token error % (sd)", "sentence error %"]
    body = "## Penalties with the lowest validation error\n\n" + markdown([*head, "weights not 0"], rows)
    body += "\n\n## VCRF minus the others, paired t test over folds\n\n"
    header = ["treebank", "sentences", "penalty of VCRF", "other", "token error", "p", "sentence error", "p"]
    body += markdown([*header, "weights, VCRF / other"], tests)
    body += "\n\nThe penalty of VCRF: " + "; ".join(f"*{rule}*, {text}" for rule, text in RULES.items())
    body += (
        ".\n\n## To reach: VCRF at most the error of the L1-CRF, with fewer weights\n\n"
        f"![token error against the number of weights]({_paths(groups)})\n\n"
    )
    for name, size, rule, other, *test in tests:
        if other == "L1-CRF":
            reached = float(test[0]) <= 0 and float(test[4]) < 1
            body += f"- {name}, {size} sentences, {rule}: {'reached' if reached else 'not reached'} "
            body += f"(error {test[0]}, p {test[1]}, weights x {test[4]})\n"
    body += "\n" + _pooled(groups) + "\n\n" + _frontier(groups) + "\n"
    done = {f"{k[0]} {k[1]}": len(v) for k, v in groups.items()}
    return body + (
        f"\nProtocol: {args.folds} folds of train (3/5), validation and test part (1/5 each); folds done: "
        f"{done}. At most {args.sentences:,} sentences of a treebank, drawn at random; small training parts "
        "are drawn at random from the training part of their fold, and use twice as many sentences of the "
        f"validation part. Chain of order {args.order} (label n-grams up to {args.order + 1}), the features "
        "of all learners the same. Eleven penalties on a path for L1-CRF and VCRF, five for L2-CRF, four "
        "for StructBoost (small parts only: its gradient takes three sums over all outputs); fits end at "
        f"{args.tol:g} of the first gradient norm or after {args.max_iter} iterations (60 for StructBoost). "
        "VCRF has the Hamming loss inside and r by the sparsity of the families."
    )


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


def _pooled(groups: dict[tuple[str, str], list[Any]]) -> str:
    """All treebanks and sizes together, by rule."""
    folds = [fold for found in groups.values() for fold in found]
    rows = [[rule, *_paired([choose(f, rule) for f in folds], "L1-CRF")] for rule in RULES]
    head = ["penalty of VCRF", "token error", "p", "sentence error", "p", "weights, VCRF / L1-CRF"]
    return f"VCRF minus the L1-CRF, all {len(folds)} folds together:\n\n" + markdown(head, rows)


def _frontier(groups: dict[tuple[str, str], list[Any]]) -> str:
    """Test error of VCRF where it has as many weights as the L1-CRF at each of its penalties."""
    rows, pooled = [], []
    for (name, size), found in groups.items():
        apart = []
        for fold in found:
            l1, ours = (
                np.array([[p["weights"], p["token"]] for p in fold[kind]["path"]])
                for kind in ("L1-CRF", "VCRF")
            )
            ours = ours[np.argsort(ours[:, 0], kind="stable")]
            within = (l1[:, 0] >= ours[0, 0]) & (l1[:, 0] <= ours[-1, 0])
            there = np.interp(np.log(l1[within, 0]), np.log(ours[:, 0]), ours[:, 1])
            apart.append(float((there - l1[within, 1]).mean()))
        rows.append([name, size, f"{np.mean(apart):+.3f}", f"{ttest_1samp(apart, 0.0).pvalue:.2g}"])
        pooled += apart
    rows.append(["all", "", f"{np.mean(pooled):+.3f}", f"{ttest_1samp(pooled, 0.0).pvalue:.2g}"])
    text = "Token error of VCRF minus that of the L1-CRF at the same number of weights (interpolated between "
    text += (
        "the penalties of VCRF; mean over the penalties of the L1-CRF; t test over folds), nothing chosen:"
    )
    return text + "\n\n" + markdown(["treebank", "sentences", "difference", "p"], rows)


def _paths(groups: dict[tuple[str, str], list[Any]]) -> str:
    """Test error against the number of weights along the penalties, means over folds."""
    lines: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for (name, size), found in groups.items():
        lines[f"{name}, {size} sentences"] = {
            kind: [
                (float(np.mean([p["weights"] for p in step])), float(np.mean([p["token"] for p in step])))
                for step in zip(*(f[kind]["path"] for f in found), strict=True)
            ]
            for kind in ("L1-CRF", "VCRF")
        }
    return curves(lines, "weights that are not 0", "token error %", "factor_graph/tagging", log=True)


def bound(arguments: Sequence[str]) -> None:
    """The margin bound against the risk on test data, as the training part grows."""
    args = options(
        arguments,
        treebank=("english", "which"),
        sizes=("50,200,800,3200,12544", "training sentences"),
        rho=(2.0, "margin"),
        beta=(
            0.003,
            "penalty per sample, the same for all sizes, so that the norm of the weights levels off",
        ),
        longest=(25, "leave out longer sentences: the complexity grows with their square"),
        max_iter=(60, "iterations"),
    )
    window = TokenWindow.from_template(TEMPLATE)
    X, y = _short(*read(args.data, args.treebank, ("train",)), args.longest)
    X_test, y_test = _short(*read(args.data, args.treebank, ("test",)), args.longest)
    prepared = window.transform(X_test)
    rows, points = [], []
    for n in map(int, args.sizes.split(",")):
        n = min(n, len(X))
        data = window.transform(X[:n])
        chain = tw.Chain(emissions="observed")
        model = tw.VotedCRF(chain, 0.0, args.beta, max_iter=args.max_iter, n_jobs=2).fit(data, y[:n])
        found = model.predict(prepared)
        risk = float(
            np.mean(
                [
                    np.mean([a != b for a, b in zip(p, t, strict=True)])
                    for p, t in zip(found, y_test, strict=True)
                ]
            )
        )
        plain = bounds.margin(model, data, y[:n], rho=args.rho)
        voted = bounds.margin(model, data, y[:n], rho=args.rho, families="order")
        rows.append(
            [
                n,
                f"{np.abs(model.coef_).sum():.0f}",
                f"{risk:.3f}",
                f"{plain.empirical:.3f}",
                f"{plain.complexity:.3g}",
                f"{plain.confidence:.3f}",
            ]
            + [f"{plain.value:.3g}", f"{voted.value:.3g}", "yes" if voted.vacuous else "no"]
        )
        points.append((n, risk, plain.empirical, plain.value, voted.value))
        print(rows[-1], flush=True)
        if n == len(X):
            break
    header = [
        "sentences",
        "L1 norm",
        "test risk",
        "empirical margin loss",
        "complexity",
        "confidence",
        "bound",
    ]
    body = markdown([*header, "voted bound", "vacuous"], rows)
    above = all(c[1] <= min(c[3], c[4]) for c in points)
    useful = [c[0] for c in points if min(c[3], c[4]) < 1]
    where = f"from {min(useful):,} sentences on" if useful else "at none of these sizes"
    names = ("test risk", "empirical margin loss", "margin bound", "voted bound")
    lines = {"": {name: [(c[0], c[j + 1]) for c in points] for j, name in reversed(list(enumerate(names)))}}
    picture = curves(
        lines, "training sentences", "share of wrong labels", "factor_graph/bound", log=True, vacuous=1.0
    )
    body += (
        f"\n\nRisk: share of wrong labels of a sentence ({args.treebank}, up to {args.longest} words). "
        f"rho = {args.rho:g}, beta = {args.beta:g}, confidence 95 %, L1 complexity "
        "at the norm of the weights that were found. "
        f"The bounds are {'above' if above else 'NOT always above'} the risk; they are below 1, and so say "
        f"something, {where}."
        f"\n\n![bounds and risk]({picture})"
    )
    write("factor_graph/bound", "Margin bound against test risk", body)


def _short(X: list[Any], y: list[Any], longest: int) -> tuple[list[Any], list[Any]]:
    kept = [i for i, row in enumerate(y) if len(row) <= longest]
    return [X[i] for i in kept], [y[i] for i in kept]


TABLES = {"tagging": tagging, "bound": bound}
