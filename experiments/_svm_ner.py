"""Named entities on 300 Spanish sentences (Tables 2-3), and the number of constraints (section 4)."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import trelliswork as tw
from experiments._report import markdown, options, write
from trelliswork.kernels import Polynomial
from trelliswork.metrics import token_error

CHAIN = tw.Chain(start=False, end=False, unknown=False)
N_FOLDS = 5

# Chosen, like the settings of the CRF and the perceptron, on the sentences 300-599 of esp.train.
TEMPLATE = (
    "bias, boundary; lower, word, suffix:1-4, prefix:1-4, flags, shape, postag=col:1, postag=col:1[:2]; "
    "lower, suffix:3, flags, shape, postag=col:1, postag=col:1[:2] @ -2,-1,1,2"
)
FORMS = {
    "SVM_2": ("l2", None),
    "SVM_1, margin rescaling": ("l1", "margin"),
    "SVM_2, margin rescaling": ("l2", "margin"),
    "SVM_2, slack rescaling": ("l2", "slack"),
}
PAPER = {
    "HMM": ("", "9.36", "", ""),
    "CRF": ("", "5.17", "", ""),
    "perceptron": ("", "5.94", "", ""),
    "SVM_2": ("0.2", "5.1", "2824", "1.02"),
    "SVM_2, slack rescaling": ("0.4", "5.1", "2626", "1.10"),
    "SVM_2, margin rescaling": ("0.3", "5.1", "2628", "1.17"),
}


def read(folder: str) -> Any:
    from trelliswork.io import read_conll

    return read_conll(os.path.join(folder, "conll2002-es", "esp.train.gz"))


def mean_loss(model: Any, y: Sequence[Any]) -> float:
    """Mean Hamming loss of the outputs of the support set."""
    return float(
        np.mean([sum(a != b for a, b in zip(y[i], output, strict=True)) for i, output, _ in model.support_])
    )


def ner(arguments: Sequence[str]) -> None:
    """Training and test error of generative and discriminative learners, five folds."""
    args = options(
        arguments,
        sentences=(300, "sentences"),
        folds=(N_FOLDS, "folds to run"),
        C=(1.0, "C of the machines"),
        only=("", "learners whose names hold this, in a result of their own"),
    )
    from trelliswork.features import TokenWindow

    data = read(args.data)
    y = data.y[: args.sentences]
    X = TokenWindow.from_template(TEMPLATE).transform(data.X[: args.sentences])
    words = TokenWindow.from_template("word").transform(data.X[: args.sentences])
    learners: dict[str, tuple[Any, Any]] = {
        "HMM": (words, lambda: tw.Generative(tw.Chain(min_count=2), smoothing=0.1)),
        "CRF": (X, lambda: tw.CRF(CHAIN, l2=0.1)),
        "perceptron": (X, lambda: tw.Perceptron(CHAIN, max_iter=30)),
    }
    for name, (slack, rescale) in FORMS.items():
        learners[name] = (
            X,
            lambda slack=slack, rescale=rescale: tw.StructuredSVM(
                CHAIN, args.C, slack=slack, rescale=rescale, kernel=Polynomial(2), tol=0.01, n_jobs=1
            ),
        )
    rows: list[list[Any]] = []
    learners = {name: learner for name, learner in learners.items() if args.only in name}
    for name, (inputs, make) in learners.items():
        seen: dict[str, list[float]] = {key: [] for key in ("train", "test", "constraints", "loss", "time")}
        for fold in range(args.folds):
            held = np.arange(len(y)) % N_FOLDS == fold
            inside, outside = np.flatnonzero(~held), np.flatnonzero(held)
            truth = [y[i] for i in inside]
            started = time.process_time()
            model = make().fit(inputs[inside], truth)
            seen["time"].append(time.process_time() - started)
            seen["train"].append(100 * token_error(truth, model.predict(inputs[inside])))
            seen["test"].append(100 * token_error([y[i] for i in outside], model.predict(inputs[outside])))
            if isinstance(model, tw.StructuredSVM):
                seen["constraints"].append(float(model.n_constraints_))
                seen["loss"].append(mean_loss(model, truth))
        paper = PAPER.get(name, ("", "", "", ""))
        rows.append(
            [
                name,
                _shown(seen["train"], 2),
                paper[0],
                _shown(seen["test"], 2),
                paper[1],
                _shown(seen["constraints"], 0),
                paper[2],
                _shown(seen["loss"], 2),
                paper[3],
                f"{np.mean(seen['time']):.1f}",
            ]
        )
        print(rows[-1], flush=True)
        _write_ner(args, rows, y)


def _shown(values: list[float], decimals: int) -> str:
    if not values:
        return ""
    return f"{np.mean(values):.{decimals}f} ({np.std(values):.{decimals}f})"


def _write_ner(args: Any, rows: list[list[Any]], y: Sequence[Any]) -> None:
    header = ["learner", "train error %", "paper", "test error %", "paper", "constraints", "paper"]
    header += ["average loss", "paper", "training, cpu s a fold"]
    body = markdown(header, rows)
    body += (
        f"\n\nThe first {args.sentences} sentences of esp.train ({sum(map(len, y)):,} tokens; the paper's "
        f"subset is unknown), {args.folds} of the folds i mod {N_FOLDS}, means and standard deviations. "
        f"Machines: polynomial kernel of degree 2 on the features of a token, C = {args.C:g}, gap 1 %. "
        f"Average loss: mean Hamming loss of the outputs of the support set. Features: `{TEMPLATE}`; these, "
        "l2 = 0.1 of the CRF and 30 passes of the perceptron (linear here) were chosen on the sentences "
        "300-599. The HMM sees words alone, rare ones (once) as unknown, smoothing 0.1."
    )
    write(
        f"svm_isos/ner{'_' * bool(args.only)}{args.only}", "Structural SVM: named entities (Tables 2-3)", body
    )


# -- constraints -----------------------------------------------------------------------------------


def bound(rescale: str, slack: str, C: float, n: int, D: float, R: float, eps: float) -> float:
    """Largest number of constraints (theorem of section 4; the L1 bounds from the same step sizes)."""
    if slack == "l2":
        return (C * (D**2 if rescale == "slack" else D) * R**2 + n * D) / eps**2
    return max(2 * n * D / eps, 8 * C * (D**3 if rescale == "slack" else D) * R**2 / eps**2)


def _growth(rows: list[list[Any]]) -> str:
    """Slope of log constraints against log n of every form."""
    shown = []
    for form in dict.fromkeys((row[1], row[2]) for row in rows):
        points = np.log([(row[0], row[3]) for row in rows if (row[1], row[2]) == form])
        if len(points) > 1:
            shown.append(f"{form[0]} {form[1]} {np.polyfit(*points.T, 1)[0]:.2f}")
    return ", ".join(shown)


def constraints(arguments: Sequence[str]) -> None:
    """Constraints that the working-set algorithm adds, against n and against the bound."""
    args = options(
        arguments,
        C=(1.0, "C"),
        eps=(0.01, "relative gap, and precision of the bound"),
        largest=(1600, "sentences at the most"),
    )
    from trelliswork.features import TokenWindow

    data = read(args.data)
    rows: list[list[Any]] = []
    for n in (n for n in (12, 25, 50, 100, 200, 400, 800, 1600) if n <= args.largest):
        X, y = TokenWindow.tutorial(false_flags=False).transform(data.X[:n]), data.y[:n]
        for slack in ("l2", "l1"):
            for rescale in ("slack", "margin"):
                model = tw.StructuredSVM(
                    CHAIN, args.C, slack=slack, rescale=rescale, solver="working-set", tol=args.eps, n_jobs=1
                )
                model.fit(X, y)
                batch = model.space_.pack(X, y)
                at = np.array([i for i, _, _ in model.support_])
                outputs = model.space_.pack(X[at], [output for _, output, _ in model.support_])
                apart = batch.subset(at).gold() - outputs.gold()
                R = float(np.sqrt(apart.multiply(apart).sum(axis=1).max()))
                D = float(max(map(len, y)))
                limit = bound(rescale, slack, args.C, n, D, R, args.eps)
                added = model.n_constraints_
                rows.append(
                    [n, slack, rescale, added, added / n, len(model.support_), model.n_iter_, f"{limit:.2g}"]
                )
                print(rows[-1], flush=True)
    header = ["sentences", "slack", "rescaling", "constraints", "per sentence", "in use", "rounds", "bound"]
    body = markdown(header, rows)
    body += (
        f"\n\nThe first sentences of esp.train, tutorial features, linear, Hamming loss, C = {args.C:g}, "
        f"working-set algorithm to a relative gap of {args.eps:g}. The bound takes eps = {args.eps:g}, D = "
        "length of the longest sentence and, for R, the longest feature difference in the support set (R "
        "itself is larger, and so is the bound). Exponents of growth with n, from least squares on the "
        f"logarithms: {_growth(rows)}. The paper: far fewer constraints than the bound, and sublinear growth."
    )
    write("svm_isos/constraints", "Structural SVM: number of constraints (section 4)", body)
