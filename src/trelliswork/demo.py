"""The demonstration: read handwritten dates with several learners and compare them.

Digits come with scikit-learn (real handwriting, 8 x 8 pixels); dates are drawn at random
and their digits blurred with noise, so that the neighbours of a digit help to read it.
Training and test dates use different handwritten digits. Settings are chosen by cross-validation
on the training dates.
"""

from __future__ import annotations

import html
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone

__all__ = ["handwritten_dates", "run"]


class Dates(NamedTuple):
    """Handwritten dates.

    Attributes
    ----------
    X : list of ndarray of shape (8, 64)
        Pixels of the eight digits of each date, in [0, 1].
    y : list of list of str
        The digits, ``YYYYMMDD``.
    """

    X: list[np.ndarray]
    y: list[list[str]]


def handwritten_dates(
    n_train: int = 400, n_test: int = 400, noise: float = 0.25, seed: int = 0
) -> tuple[Dates, Dates]:
    """Draw training and test dates.

    Parameters
    ----------
    n_train, n_test : int
        Number of dates.
    noise : float
        Standard deviation of the noise on each pixel.
    seed : int
        Seed.

    Returns
    -------
    train, test : Dates
        No handwritten digit is in both.

    Examples
    --------
    >>> from trelliswork.demo import handwritten_dates
    >>> train, test = handwritten_dates(n_train=3, n_test=2)
    >>> len(train.X), train.X[0].shape, len(train.y[0])
    (3, (8, 64), 8)
    """
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(seed)
    images, labels = load_digits(return_X_y=True)
    images = images / 16.0
    order = rng.permutation(len(labels))
    halves = order[: len(order) // 2], order[len(order) // 2 :]
    start = np.datetime64("1950-01-01")
    n_days = int((np.datetime64("2030-01-01") - start).astype(int))

    def draw(n: int, pool: np.ndarray) -> Dates:
        by_digit = [pool[labels[pool] == d] for d in range(10)]
        X, y = [], []
        for day in rng.integers(n_days, size=n):
            digits = [int(c) for c in str(start + day).replace("-", "")]
            pixels = np.stack([images[rng.choice(by_digit[d])] for d in digits])
            X.append(np.clip(pixels + rng.normal(0, noise, pixels.shape), 0, 1))
            y.append([str(d) for d in digits])
        return Dates(X, y)

    return draw(n_train, halves[0]), draw(n_test, halves[1])


class DigitByDigit(BaseEstimator):
    """A learner of sequences on single digits: what is left without neighbours.

    Parameters
    ----------
    learner : estimator
        What reads a digit.
    """

    def __init__(self, learner: Any):
        self.learner = learner

    def fit(self, X: Any, y: Any) -> DigitByDigit:
        """Fit to all digits of all dates."""
        self.model_ = clone(self.learner).fit(_single(X), [[digit] for row in y for digit in row])
        return self

    def predict(self, X: Any) -> list[list[str]]:
        """Read one digit after the other."""
        labels = iter(self.model_.predict(_single(X)))
        return [[next(labels)[0] for _ in x] for x in X]


def _single(X: Any) -> list[Any]:
    return [x[t : t + 1] for x in X for t in range(len(x))]


def contenders() -> dict[str, Any]:
    """Learners by the names that the table shows."""
    from trelliswork import (
        CRF,
        SODA,
        Chain,
        Generative,
        KernelRegression,
        NGramModel,
        Perceptron,
        Positions,
        StructuredSVM,
        ZScore,
    )
    from trelliswork.kernels import Composed, Linear, Normalized, Polynomial

    regression = KernelRegression(
        Composed(Normalized(Linear()), Polynomial(3)),
        Positions(language_model=NGramModel(3), lm_weight=0.1),
        ridge=0.3,
    )
    return {
        "digit by digit (no chain)": DigitByDigit(CRF(Chain(start=False, end=False))),
        "HMM": Generative(Chain()),
        "Z-score": ZScore(Chain()),
        "SODA": SODA(Chain(), loss="hamming"),
        "Perceptron": Perceptron(Chain()),
        "Structural SVM": StructuredSVM(Chain(), tol=0.01),
        "Kernel regression, trigrams": regression,
        "CRF": CRF(Chain()),
        "CRF, order 2": CRF(Chain(order=2)),
    }


class Row(NamedTuple):
    """One line of the test."""

    name: str
    digits: float
    dates: float
    model: Any


def on_new_dates(comparison: Any, train: Dates, test: Dates) -> list[Row]:
    """All learners with the settings that were chosen, fitted to all training dates, on the test dates."""
    from trelliswork.metrics import sequence_accuracy, token_accuracy

    rows = []
    for name, failure in zip(comparison.table["learner"], comparison.table["failure"], strict=True):
        if failure is None:
            model = comparison.learner(name).fit(*train)
            predicted = model.predict(test.X)
            rows.append(
                Row(name, token_accuracy(test.y, predicted), sequence_accuracy(test.y, predicted), model)
            )
    return rows


def run(folder: str | Path = "demo-output", budget: float = 90.0) -> Path:
    """Compare learners, print tables, and write two HTML pages.

    Parameters
    ----------
    folder : path
        Where to write ``index.html``, what was read, and ``learners.html``, the comparison.
    budget : float, default=90.0
        Seconds for the comparison.

    Returns
    -------
    Path
        The page.
    """
    from rich.console import Console
    from rich.table import Table

    from trelliswork import Chain, compare

    console = Console()
    train, test = handwritten_dates()
    console.print("Reading handwritten dates. Learners, cross-validated and tuned on 400 dates:")
    comparison = compare(
        train.X, train.y, Chain(), contenders(), scoring="token_accuracy", budget=budget, verbose=1
    )
    print(comparison)
    console.print("Fitted to all of them, on 400 other dates in other hands:")
    rows = on_new_dates(comparison, train, test)
    table = Table("learner", "digits right", "dates right")
    for row in rows:
        table.add_row(row.name, f"{row.digits:.1%}", f"{row.dates:.1%}")
    console.print(table)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "index.html"
    page.write_text(_page(rows, test), encoding="utf-8")
    comparison.to_html(folder / "learners.html", title="Learners that read handwritten dates")
    console.print(f"Pictures, confidences and second guesses: {page}; curves: {folder / 'learners.html'}")
    console.print(how_to_open_the_page(sys.argv[0]), markup=False, highlight=False, soft_wrap=True)
    return page


def how_to_open_the_page(command: str) -> str:
    """Where models of all kinds can be tried in a browser, and what has to be installed for that.

    Parameters
    ----------
    command : str
        How this program was started.

    Examples
    --------
    >>> from trelliswork.demo import how_to_open_the_page
    >>> how_to_open_the_page(".venv/bin/trelliswork").split(": ")[0]
    'To try models of all kinds in a browser'
    """
    program = Path(command if Path(command).name == "trelliswork" else "trelliswork")
    missing = [name for name in ("starlette", "uvicorn", "httptools") if find_spec(name) is None]
    install = f"{program.with_name('pip')} install '.[web]', then " if missing else ""
    return (
        f"To try models of all kinds in a browser: {install}{program} serve, and open http://127.0.0.1:8000/"
    )


_SCRIPT = """
const holder = document.getElementById("dates");
for (const date of data.dates) {
  const chain = {tokens: date.tokens, output: date.output, labels: data.labels, marginals: date.marginals,
    wrong: date.wrong, faces: date.pixels.map(drawPixels)};
  const panel = el("div", {class: "panel"});
  const look = (t) => panel.replaceChildren(drawDistribution(data.labels, date.marginals[t]));
  holder.append(el("div", {}, drawChain(chain, {onLook: look}), el("p", {class: "note"}, date.note), panel));
}
"""


def _page(rows: list[Row], test: Dates) -> str:
    """What was read, drawn by the code that also draws the page of ``trelliswork serve``."""
    from trelliswork.plots.drawing import document

    table = "".join(
        f"<tr><td>{html.escape(r.name)}</td><td>{r.digits:.1%}</td><td>{r.dates:.1%}</td></tr>" for r in rows
    )
    # The perceptron's scores are no probabilities; a CRF's are.
    row = max((r for r in rows if r.name.startswith("CRF")), key=lambda r: r.dates)
    body = (
        "<h1>Reading handwritten dates</h1>"
        "<p>Each date is a sequence of eight noisy pictures; a learner labels all eight together. Under each "
        "picture: the digit that was read and its probability; point at it to see the others. "
        "What was read wrong has a red frame.</p>"
        "<table><tr><th>learner</th><th>digits right</th><th>dates right</th></tr>"
        f'{table}</table><p><a href="learners.html">How their settings were chosen</a></p>'
        f"<h2>What the {html.escape(row.name)} reads</h2><div id='dates'></div>"
    )
    data = {"labels": list(map(str, row.model.classes_)), "dates": _read_dates(row.model, test)}
    return document("Handwritten dates", body, modules=["dom", "chain", "pixels"], script=_SCRIPT, data=data)


def _read_dates(model: Any, test: Dates, n: int = 12) -> list[dict[str, Any]]:
    """The first dates with what was read, as the drawings take them."""
    shown = test.X[:n]
    out = []
    for x, y, guess, p, best in zip(
        shown,
        test.y,
        model.predict(shown),
        model.predict_marginals(shown),
        model.predict_kbest(shown, k=2),
        strict=False,
    ):
        second = best[1] if len(best) > 1 else best[0]
        note = (
            f"truth {_dashed(y)}, best {_dashed(best[0].output)} ({best[0].probability:.0%}), "
            f"second {_dashed(second.output)} ({second.probability:.0%})"
        )
        out.append(
            {
                "tokens": [f"digit {t + 1}" for t in range(len(guess))],
                "output": list(map(str, guess)),
                "marginals": np.round(p, 4).tolist(),
                "wrong": [a != b for a, b in zip(guess, y, strict=True)],
                "pixels": np.round(x, 2).tolist(),
                "note": note,
            }
        )
    return out


def _dashed(y: list[str]) -> str:
    text = "".join(y)
    return f"{text[:4]}-{text[4:6]}-{text[6:]}"
