"""Part-of-speech tagging of Universal Dependencies: voted CRFs against CRFs.

Five folds of train, validation and test parts. Features are the words around a token, affixes and shapes, and
label n-grams up to the given order, the same for all learners.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import trelliswork as tw
from experiments._report import Made, load, made, options, store, write
from experiments._samples import take
from experiments.factor_graph.comparison import report
from experiments.factor_graph.treebanks import TEMPLATE, read
from trelliswork.features import TokenWindow
from trelliswork.metrics import token_error

RESULT = "factor_graph/tagging"


def split(n: int, fold: int, folds: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Train, validation and test part: one fold each for the last two."""
    pieces = np.array_split(rng.permutation(n), folds)
    test, validation = pieces[fold], pieces[(fold + 1) % folds]
    rest = [p for i, p in enumerate(pieces) if i not in (fold, (fold + 1) % folds)]
    return np.concatenate(rest), validation, test


def sentence_error(y: Any, predicted: Any) -> float:
    """Share of the sentences with a mistake."""
    return float(np.mean([a != b for a, b in zip(y, predicted, strict=True)]))


def settings(chain: tw.Chain, m: int, tol: float, max_iter: int) -> dict[str, tuple[Any, list[float]]]:
    """A model and the penalties to try for every learner, per sentence of the training part.

    Each starts from the weights of the last: from strong to weak penalties, StructBoost from weak to
    strong (its first weights, those of a CRF, must not be small). With equal r and no loss the voted CRF
    is the L1-CRF, so both have the same solver and the same rule to stop.
    """
    common: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "n_jobs": 1}
    few = {**common, "max_iter": min(60, max_iter)}  # its steps are the dearest, and its weights level off
    equal = {"lam": 1.0, "beta": 0.0, "r": [1.0] * (chain.order + 1), "loss": None}
    paper: dict[str, Any] = {"penalty_mode": "absolute"}
    # In small steps, so that there are models of nearly the same number of weights to compare.
    strengths = [0.35 * 2 ** (-k / 2) for k in range(11)]
    return {
        "L2-CRF": (tw.CRF(chain, 0.0, warm_start=True, **common), [0.3, 0.1, 0.03, 0.01, 0.003]),
        "L1-CRF": (tw.VotedCRF(chain, **equal, **paper, **common), [s / m for s in strengths]),
        # r is about 100 for all orders here: lam r_k then spans what the L1 penalties span.
        "VCRF": (tw.VotedCRF(chain, beta=0.005 / m, **paper, **common), [s / (100 * m) for s in strengths]),
        "StructBoost": (tw.StructBoost(chain, warm_start=True, **paper, **few), [0.1, 0.3, 1.0, 3.0]),
    }


def candidates(kind: str, model: Any, penalties: list[float], data: Any) -> list[tuple[float, np.ndarray]]:
    """Every penalty with its weights."""
    X, y = data[0]
    if isinstance(model, tw.VotedCRF):
        model.fit_path(X, y, penalties)
        return [(p["lam"] * len(y), p["coef"]) for p in model.path_]
    fitted = []
    for penalty in penalties:
        if kind == "StructBoost":
            model.set_params(lam=penalty / (100 * len(y)), beta=0.02 / len(y))
        else:
            model.set_params(l2=penalty)
        fitted.append((penalty, model.fit(X, y).coef_.copy()))
    return fitted


def one_fold(args: Any, X: Any, y: Any, size: int, fold: int) -> dict[str, Any]:
    """Errors on the validation and the test part and the number of weights, for every penalty."""
    window = TokenWindow.from_template(TEMPLATE)
    train, validation, test = split(len(X), fold, args.folds, np.random.default_rng([args.seed, len(X)]))
    if size:
        # Small training parts are tuned on few sentences as well: a large part would be a luxury.
        # Drawn anew for every fold: the first ones would be the same in several folds.
        rng = np.random.default_rng([args.seed, len(X), fold])
        train, validation = rng.permutation(train)[:size], rng.permutation(validation)[: 2 * size]
    data = [(window.transform(take(X, part)), take(y, part)) for part in (train, validation, test)]
    chain = tw.Chain(args.order, emissions="observed")
    out: dict[str, Any] = {"sentences": len(train), "tokens": sum(map(len, data[0][1]))}
    out["date"] = str(datetime.date.today())
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
        tol=(2e-4, "stop when the norm of the (proximal) gradient is this share of the first one"),
        max_iter=(300, "iterations of every fit"),
        boost=(200, "largest training part for StructBoost"),
        seed=(0, "seed of the folds"),
    )
    stored, former = load(RESULT), made(RESULT)
    for fold in stored.values():  # older folds are those of the last result
        fold.setdefault("date", former.date if former else "")
    protocol = f"order {args.order}, {args.folds} folds, {args.sentences} sentences, tol {args.tol}"
    protocol += f", {args.max_iter} iterations, seed {args.seed}"
    folds = [int(f) for f in args.only.split(",")] if args.only else list(range(args.folds))
    for name in args.treebanks.split(","):
        X, y = read(args.data, name)
        some = np.random.default_rng(args.seed).permutation(len(X))[: args.sentences]
        X, y = take(X, some), take(y, some)
        for size in map(int, args.sizes.split(",")):
            for fold in folds:
                key = f"{name}, {size or 'all'}, fold {fold}, {protocol}"
                if key not in stored:
                    stored[key] = one_fold(args, X, y, size, fold)
                    store(RESULT, dict(sorted(stored.items())))
    shown = [fold for key, fold in stored.items() if key.endswith(protocol)]
    seconds = sum(part["seconds"] for fold in shown for part in fold.values() if isinstance(part, dict))
    kept = Made(min(fold["date"] for fold in shown), f"{seconds:.0f}")
    title = "Part-of-speech tagging: voted CRF against CRFs"
    write(RESULT, title, report(stored, protocol, args), kept=kept)
