"""Structured Prediction Theory Based on Factor Graph Complexity: voted CRFs against CRFs.

Part-of-speech tagging of Universal Dependencies. The paper's own figures are for other releases of the
treebanks, in five folds of train, validation and test parts; here as well. Features are the words
around a token, affixes and shapes, and label n-grams up to the given order, the same for all learners.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import ttest_rel

import trelliswork as tw
from experiments._report import RESULTS, markdown, options, write
from trelliswork import bounds
from trelliswork.features import TokenWindow
from trelliswork.io import read_conll
from trelliswork.metrics import token_error

TREEBANKS = {"english": "ud-en-ewt/en_ewt", "turkish": "ud-tr-imst/tr_imst", "greek": "ud-el-gdt/el_gdt"}
TEMPLATE = "bias, lower, suffix:2, suffix:3, prefix:2, shape; lower @ -1; lower @ 1"
# Token errors in percent that the paper reports, VCRF and L1-CRF, where the treebank is the same.
PAPER = {"english": (5.51, 5.51), "turkish": (11.28, 11.69)}


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


def learners(chain: tw.Chain, m: int, max_iter: int, boost: bool) -> dict[str, list[Any]]:
    """Candidates of every learner; penalties are per sentence of the training part."""
    common: dict[str, Any] = {"max_iter": max_iter, "n_jobs": 2}
    out: dict[str, list[Any]] = {
        "L2-CRF": [tw.CRF(chain, 0.0, l2, **common) for l2 in (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)],
        "L1-CRF": [tw.CRF(chain, l1, 0.0, **common) for l1 in (0.1, 0.2, 0.5, 1.0, 2.0, 4.0)],
        # r is about 20 to 100 here: lam r_k is then of the size of the L1 penalties.
        "VCRF": [
            tw.VotedCRF(chain, lam / (30 * m), 0.2 / m, loss=loss, **common)
            for lam in (0.1, 0.4, 1.6)
            for loss in ("none", "hamming")
        ],
    }
    if boost:
        out["StructBoost"] = [tw.StructBoost(chain, lam / (30 * m), 1.0 / m, **common) for lam in (1.0, 10.0)]
    return out


def tagging(arguments: Sequence[str]) -> None:
    """Token and sentence error and sparsity, five folds, hyper-parameters on the validation part."""
    args = options(
        arguments,
        treebanks=("greek,turkish,english", "which, separated by commas"),
        sizes=("200,0", "training sentences; 0 for all of the training part"),
        order=(2, "previous labels that a label depends on"),
        folds=(5, "folds"),
        max_iter=(100, "iterations of every learner"),
        boost=(1, "1 runs StructBoost too"),
        seed=(0, "seed of the folds"),
    )
    started = time.perf_counter()
    rows, tests = [], []
    window = TokenWindow.from_template(TEMPLATE)
    chain = tw.Chain(args.order, emissions="observed")
    for name in args.treebanks.split(","):
        X, y = read(args.data, name)
        for size in map(int, args.sizes.split(",")):
            scores: dict[str, list[tuple[float, float, int, str]]] = {}
            for fold in range(args.folds):
                rng = np.random.default_rng([args.seed, len(X)])
                train, validation, test = split(len(X), fold, args.folds, rng)
                train = train[:size] if size else train
                # Small training parts are tuned on as many sentences: a large part would be a luxury.
                validation = validation[: max(2 * size, 200)] if size else validation
                data = [(window.transform(take(X, at)), take(y, at)) for at in (train, validation, test)]
                for kind, models in learners(chain, len(train), args.max_iter, bool(args.boost)).items():
                    fitted = [model.fit(*data[0]) for model in models]
                    best = min(fitted, key=lambda m: token_error(data[1][1], m.predict(data[1][0])))
                    found = best.predict(data[2][0])
                    scores.setdefault(kind, []).append(
                        (
                            100 * token_error(data[2][1], found),
                            100 * sentence_error(data[2][1], found),
                            int(np.count_nonzero(best.coef_)),
                            _setting(best),
                        )
                    )
                    print(name, size, fold, kind, scores[kind][-1], flush=True)
            for kind, found in scores.items():
                token, sentence, weights = (np.array([f[i] for f in found], dtype=float) for i in range(3))
                rows.append(
                    [
                        name,
                        size or "all",
                        kind,
                        f"{token.mean():.2f} ({token.std(ddof=1):.2f})"
                        if len(token) > 1
                        else f"{token[0]:.2f}",
                        f"{sentence.mean():.1f}",
                        f"{weights.mean():,.0f}",
                    ]
                )
            if args.folds > 1:
                tests += [_paired(name, size, scores, other) for other in scores if other != "VCRF"]
    body = markdown(
        [
            "treebank",
            "training sentences",
            "learner",
            "token error % (sd)",
            "sentence error %",
            "weights not 0",
        ],
        rows,
    )
    body += "\n\nPaired tests over folds (token error of VCRF minus that of the other):\n\n"
    body += markdown(["treebank", "sentences", "against", "mean difference", "p", "sparser"], tests)
    body += "\n\n" + _against_paper(args.treebanks.split(","))
    body += f"\n\n{time.perf_counter() - started:.0f} s."
    write("factor_graph_tagging", "Part-of-speech tagging: voted CRF against CRFs", body)


def _setting(model: Any) -> str:
    values = {
        k: v for k, v in model.get_params(deep=False).items() if k in ("l1", "l2", "lam", "beta", "loss")
    }
    return ", ".join(f"{k}={v:.3g}" if isinstance(v, float) else f"{k}={v}" for k, v in values.items())


def _paired(name: str, size: int, scores: dict[str, Any], other: str) -> list[Any]:
    ours, theirs = (np.array([f[0] for f in scores[kind]]) for kind in ("VCRF", other))
    p = 1.0 if np.array_equal(ours, theirs) else float(ttest_rel(ours, theirs).pvalue)
    sparser = np.mean([f[2] for f in scores["VCRF"]]) < np.mean([f[2] for f in scores[other]])
    return [
        name,
        size or "all",
        other,
        f"{(ours - theirs).mean():+.2f}",
        f"{p:.2g}",
        "yes" if sparser else "no",
    ]


def _against_paper(names: Sequence[str]) -> str:
    known = [f"{n}: VCRF {PAPER[n][0]}, L1-CRF {PAPER[n][1]}" for n in names if n in PAPER]
    if not known:
        return "The paper has no figure for these treebanks."
    return "Token errors in the paper (another release, other features): " + "; ".join(known) + "."


def bound(arguments: Sequence[str]) -> None:
    """The margin bound against the risk on test data, as the training part grows."""
    args = options(
        arguments,
        treebank=("english", "which"),
        sizes=("50,200,800,3200,12544", "training sentences"),
        rho=(2.0, "margin"),
        longest=(25, "leave out longer sentences: the complexity grows with their square"),
        max_iter=(60, "iterations"),
    )
    window = TokenWindow.from_template(TEMPLATE)
    X, y = _short(*read(args.data, args.treebank, ("train",)), args.longest)
    X_test, y_test = _short(*read(args.data, args.treebank, ("test",)), args.longest)
    prepared = window.transform(X_test)
    rows, curves = [], []
    for n in map(int, args.sizes.split(",")):
        n = min(n, len(X))
        data = window.transform(X[:n])
        model = tw.VotedCRF(
            tw.Chain(emissions="observed"), 1 / (30 * n), 0.3 / n, max_iter=args.max_iter, n_jobs=2
        ).fit(data, y[:n])
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
            [n, f"{risk:.3f}", f"{plain.empirical:.3f}", f"{plain.complexity:.3g}", f"{plain.confidence:.3f}"]
            + [f"{plain.value:.3g}", f"{voted.value:.3g}", "yes" if voted.vacuous else "no"]
        )
        curves.append((n, risk, plain.empirical, plain.value, voted.value))
        print(rows[-1], flush=True)
        if n == len(X):
            break
    header = ["sentences", "test risk", "empirical margin loss", "complexity", "confidence", "bound"]
    body = markdown([*header, "voted bound", "vacuous"], rows)
    above = all(c[1] <= min(c[3], c[4]) for c in curves)
    useful = [c[0] for c in curves if min(c[3], c[4]) < 1]
    where = f"from {min(useful):,} sentences on" if useful else "at none of these sizes"
    body += (
        f"\n\nRisk: share of wrong labels of a sentence ({args.treebank}, up to {args.longest} words). "
        f"rho = {args.rho:g}, confidence 95 %, L1 complexity at the norm of the weights that were found. "
        f"The bounds are {'above' if above else 'NOT always above'} the risk; they are below 1, and so say "
        f"something, {where}."
        f"\n\n![bounds and risk]({_picture(curves)})"
    )
    write("factor_graph_bound", "Margin bound against test risk", body)


def _short(X: list[Any], y: list[Any], longest: int) -> tuple[list[Any], list[Any]]:
    kept = [i for i, row in enumerate(y) if len(row) <= longest]
    return [X[i] for i in kept], [y[i] for i in kept]


def _picture(curves: list[tuple[int, float, float, float, float]]) -> str:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise SystemExit('the picture needs matplotlib: pip install "trelliswork[plot]"') from None
    figure = Figure(figsize=(6, 4))
    axes = figure.add_subplot()
    n = [c[0] for c in curves]
    for j, label in ((4, "voted bound"), (3, "margin bound"), (2, "empirical margin loss"), (1, "test risk")):
        axes.loglog(n, [c[j] for c in curves], marker="o", label=label)
    axes.axhline(1.0, color="grey", lw=0.8, ls="--")
    axes.set_xlabel("training sentences")
    axes.set_ylabel("share of wrong labels")
    axes.legend()
    figure.tight_layout()
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(RESULTS / "factor_graph_bound.png", dpi=110)
    return "factor_graph_bound.png"


TABLES = {"tagging": tagging, "bound": bound}
