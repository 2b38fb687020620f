"""A General Regression Framework for Learning String-to-String Mappings: kernel regression and pre-images.

OCR letters, ten folds, each used once for training and nine times for testing, as in the paper. Every choice
(kernel, ridge, strengths, language model and its weight) is made on one third of the training words with
models of the other two thirds; test words are only scored. The language models know the words of the
training fold, as in the paper.
"""

from __future__ import annotations

import gzip
import itertools
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.svm import SVC

import trelliswork as tw
from experiments._pictures import save
from experiments._report import load, markdown, options, store, write
from trelliswork.kernels import RBF, Composed, Linear, Normalized, Polynomial, Spectrum, VectorNGrams
from trelliswork.losses import Edit

PLAIN = Polynomial(3)
COSINE = Composed(Normalized(Linear()), Polynomial(3))


class Words:
    """Words as sequences of letter images."""

    def __init__(self, folder: str):
        data = np.load(Path(folder) / "ocr-letters" / "letters.npz")
        word = data["word_id"]
        starts = np.concatenate([[0], np.flatnonzero(np.diff(word)) + 1, [len(word)]])
        pixels = data["pixels"].astype(float)
        letters = "".join(chr(97 + c) for c in data["labels"])
        self.X = [pixels[a:b] for a, b in itertools.pairwise(starts)]
        self.y = [letters[a:b] for a, b in itertools.pairwise(starts)]
        self.fold = data["word_fold"]

    def part(self, index: Any) -> tuple[list[np.ndarray], list[str]]:
        """Some of the words."""
        return [self.X[i] for i in index], [self.y[i] for i in index]

    def split(self, fold: int) -> tuple[Any, Any, Any, Any]:
        """Training words, test words, and the training words cut into two thirds and one third."""
        own = np.flatnonzero(self.fold == fold)
        third = np.arange(len(own)) % 3 == 0
        return (
            self.part(own),
            self.part(np.flatnonzero(self.fold != fold)),
            self.part(own[~third]),
            self.part(own[third]),
        )


def accuracy(truth: Sequence[str], found: Sequence[Any]) -> float:
    """Per cent of the letters that are right, position by position."""
    right = sum(a == b for u, v in zip(truth, found, strict=True) for a, b in zip(u, v, strict=False))
    return 100.0 * right / sum(map(len, truth))


def edit_accuracy(truth: Sequence[str], found: Sequence[Any]) -> float:
    """100 minus insertions, deletions and substitutions per hundred true letters."""
    distance = Edit()
    errors = sum(distance(a, b) for a, b in zip(truth, found, strict=True))
    return 100.0 * (1.0 - errors / sum(map(len, truth)))


def best(candidates: Sequence[Any], score: Callable[[Any], float]) -> Any:
    """The first candidate with the highest score."""
    scores = [score(c) for c in candidates]
    return candidates[int(np.argmax(scores))]


def stacked(scores: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    return np.concatenate(scores), np.cumsum([0, *map(len, scores)])


# -- Table 1.1 -----------------------------------------------------------------------------------


def one_fold(words: Words, fold: int) -> dict[str, Any]:
    """Every row of Table 1.1 for one fold."""
    train, test, fit, dev = words.split(fold)
    out: dict[str, Any] = {}
    seconds: dict[str, float] = {}

    def regression(kernel: Any, ridge: float, **more: Any) -> tw.KernelRegression:
        return tw.KernelRegression(kernel, tw.Positions(), ridge=ridge, **more)

    started = time.perf_counter()
    literal = regression(PLAIN, 0.01).fit(*train)
    out["REG, plain cubic kernel, ridge 0.01"] = accuracy(test[1], literal.predict(test[0]))
    choices = [(COSINE, r) for r in (0.03, 0.1, 0.3, 1.0)] + [(PLAIN, r) for r in (1e2, 1e4)]
    kernel, ridge = best(choices, lambda c: accuracy(dev[1], regression(*c).fit(*fit).predict(dev[0])))
    model = regression(kernel, ridge).fit(*train)
    G, offsets = stacked(model.decision_function(test[0]))
    out["REG"] = accuracy(test[1], model.code_.decode(G, offsets))
    out["REG chosen"] = f"{'normalised' if kernel is COSINE else 'plain'}, ridge {ridge:g}"
    seconds["REG"] = time.perf_counter() - started

    started = time.perf_counter()
    inner = stacked(regression(kernel, ridge).fit(*fit).decision_function(dev[0]))
    for n in (2, 3):
        models = [tw.NGramModel(n), tw.NGramModel(n, smoothing="add", a=0.001)]
        tried = [
            tw.Positions(language_model=m, lm_weight=w) for m in models for w in (0.03, 0.06, 0.12, 0.25, 0.5)
        ]
        chosen = best(tried, lambda o: accuracy(dev[1], o.bind(fit[1]).decode(*inner)))
        out[f"REG-Viterbi n={n}"] = accuracy(test[1], chosen.bind(train[1]).decode(G, offsets))
        out[f"REG-Viterbi n={n} chosen"] = f"{chosen.language_model.smoothing}, weight {chosen.lm_weight:g}"
    seconds["REG-Viterbi"] = time.perf_counter() - started

    started = time.perf_counter()

    def constrained(kernel: Any, ridge: float, eta: float) -> tw.KernelRegression:
        return tw.KernelRegression(kernel, tw.Positions(shared=False), ridge=ridge, eta=eta)

    for kernel, name, ridges in (
        (COSINE, "normalised", (0.1, 1.0, 10.0)),
        (PLAIN, "plain", (1.0, 1e6)),
    ):
        found = {
            (ridge, eta): accuracy(dev[1], constrained(kernel, ridge, eta).fit(*fit).predict(dev[0]))
            for eta in (0.0, 0.01, 0.1, 1.0)
            for ridge in ridges
        }
        for eta in (0.0, 1.0, None):
            settings = [s for s in found if eta is None or s[1] == eta]
            chosen = best(settings, lambda s, found=found: found[s])
            label = f"REG-constraints, {name}, eta {'chosen' if eta is None else f'{eta:g}'}"
            model = constrained(kernel, *chosen).fit(*train)
            out[label] = accuracy(test[1], model.predict(test[0]))
            out[label + " chosen"] = f"ridge {chosen[0]:g}, eta {chosen[1]:g}"
    seconds["REG-constraints"] = time.perf_counter() - started

    started = time.perf_counter()
    flat = [(np.concatenate(X), list("".join(y))) for X, y in (train, test, fit, dev)]

    def machine(C: float) -> SVC:
        return SVC(kernel="poly", degree=3, gamma=1 / 128, coef0=1.0, C=C)

    C = best([1.0, 10.0, 100.0], lambda c: machine(c).fit(*flat[2]).score(*flat[3]))
    out["SVM per letter"] = 100 * machine(C).fit(*flat[0]).score(*flat[1])
    seconds["SVM per letter"] = time.perf_counter() - started

    started = time.perf_counter()
    rows = [(X, [list(w) for w in y]) for X, y in (train, test, fit, dev)]

    def crf(l2: float) -> tw.CRF:
        return tw.CRF(tw.Chain(), l2=l2, n_jobs=2)

    l2 = best([1.0, 10.0], lambda v: accuracy(dev[1], crf(v).fit(*rows[2]).predict(dev[0])))
    out["chain CRF (linear)"] = accuracy(test[1], crf(l2).fit(*rows[0]).predict(test[0]))
    seconds["chain CRF"] = time.perf_counter() - started

    started = time.perf_counter()
    svm = tw.StructuredSVM(tw.Chain(), 300.0, kernel=Polynomial(3, gamma=1 / 128), tol=0.05)
    out["chain SVM (cubic)"] = accuracy(test[1], svm.fit(*rows[0]).predict(test[0]))
    seconds["chain SVM"] = time.perf_counter() - started
    return out | {"seconds": seconds}


PAPER = {
    "REG, plain cubic kernel, ridge 0.01": "79.5 (0.4)",
    "REG": "79.5 (0.4)",
    "REG-constraints, normalised, eta 0": "84.1 (0.8)",
    "REG-constraints, normalised, eta 1": "88.5 (0.9)",
    "REG-constraints, normalised, eta chosen": "-",
    "REG-constraints, plain, eta 0": "84.1 (0.8)",
    "REG-constraints, plain, eta 1": "88.5 (0.9)",
    "REG-constraints, plain, eta chosen": "-",
    "REG-Viterbi n=2": "86.1 (0.7)",
    "REG-Viterbi n=3": "98.2 (0.3)",
    "SVM per letter": "80.9 (0.5)",
    "chain CRF (linear)": "-",
    "chain SVM (cubic)": "87.0 (0.4), M3N",
}


def folds_of(text: str) -> list[int]:
    return [int(f) for f in text.split(",")]


def by_fold(name: str, args: Any, run: Callable[[int], dict[str, Any]]) -> list[dict[str, Any]]:
    """Run the folds that were asked for and return all that are known."""
    for fold in folds_of(args.folds):
        started = time.perf_counter()
        found = run(fold)
        found["total"] = time.perf_counter() - started
        store(name, load(name) | {str(fold): found}, sort_keys=True)  # read again: folds may run side by side
        print(f"fold {fold}: {found['total']:.1f} s", flush=True)
    results = load(name)
    return [results[f] for f in sorted(results)]


def summary(found: list[dict[str, Any]], names: dict[str, str]) -> list[list[Any]]:
    rows = []
    for name, paper in names.items():
        values = [f[name] for f in found if name in f]
        if values:
            spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
            picks = sorted({f[name + " chosen"] for f in found if name + " chosen" in f})
            rows.append([name, f"{np.mean(values):.1f} ({spread:.1f})", paper, "; ".join(picks)])
    return rows


def table1(arguments: Sequence[str]) -> None:
    """Table 1.1: letters right, per cent, words given letter by letter."""
    args = options(arguments, folds=("0,1,2,3,4,5,6,7,8,9", "training folds"))
    words = Words(args.data)
    found = by_fold("string_regression/table1", args, lambda f: one_fold(words, f))
    total = sum(f["total"] for f in found)
    parts = {k: sum(f["seconds"][k] for f in found) for k in found[0]["seconds"]}
    body = markdown(
        ["technique", f"ours, mean of {len(found)} folds (sd)", "paper (sd)", "chosen on the training fold"],
        summary(found, PAPER),
    )
    spent = ", ".join(f"{k} {v:.0f}" for k, v in parts.items())
    body += f"\n\n{len(found)} folds took {total:.0f} s of wall time together ({spent})."
    write("string_regression/table1", "Table 1.1: OCR letters, perfect segmentation", body)


# -- string to string ------------------------------------------------------------------------------


def voters(width: float | None) -> list[Any]:
    """Input kernels of five regressors."""
    return [
        Normalized(VectorNGrams(1, Polynomial(2), width=width)),
        Normalized(VectorNGrams(1, Polynomial(3), width=width)),
        Normalized(VectorNGrams(2, Polynomial(2), width=width)),
        Normalized(VectorNGrams(2, Polynomial(3), width=width)),
        Normalized(VectorNGrams(1, RBF(0.05), width=width)),
    ]


def strings_fold(words: Words, fold: int, n_test: int) -> dict[str, Any]:
    """Strings without a mapping of letters to images."""
    train, test, fit, dev = words.split(fold)
    if n_test:
        some = np.random.default_rng(fold).permutation(len(test[1]))[:n_test]
        test = [test[0][i] for i in some], [test[1][i] for i in some]
    out: dict[str, Any] = {}

    def inner(width: float) -> float:
        model = tw.KernelRegression(voters(width)[0], tw.NGrams(2, preimage="euler"), ridge="loo")
        return edit_accuracy(dev[1], model.fit(*fit).predict(dev[0]))

    chosen = best([2.0, 1.0, 0.5], inner)
    out["width"] = chosen
    for label, width in (("all pairs", None), ("near pairs", chosen)):
        kernels = voters(width)
        euler = tw.NGrams(2, preimage="euler")
        others = [tw.KernelRegression(k, tw.NGrams(2), ridge="loo") for k in kernels[1:]]
        model = tw.KernelRegression(kernels[0], euler, ridge="loo", vote=others).fit(*train)
        G = model.decision_function(test[0])
        Z = model.predict_counts(test[0])
        ranked = tw.NGrams(2, language_model=tw.NGramModel(3)).bind(train[1])
        counts = model.code_.counts(G)
        results = {
            "one regressor, plain Euler": model.code_.decode(G),
            "one regressor, thresholds then repair": tw.NGrams(2).bind(train[1]).decode_counts(counts),
            "one regressor, repair of real counts": tw.NGrams(2).bind(train[1]).decode(G),
            "one regressor, repair, ranked by language model": ranked.decode(G),
            "vote of five, plain Euler": model.code_.decode_counts(Z),
            "vote of five, repair, ranked by language model": ranked.decode_counts(Z),
        }
        for name, found in results.items():
            out[f"{label}: {name}"] = edit_accuracy(test[1], found)
            out[f"{label}: {name} (words)"] = 100.0 * float(np.mean([a == b for a, b in zip(test[1], found)]))
    return out


def strings(arguments: Sequence[str]) -> None:
    """Section 1.7.3: string to string, extra and missing letters count as errors."""
    args = options(
        arguments,
        folds=("0,1,2,3,4,5,6,7,8,9", "training folds"),
        words=(0, "test on so many words of the other folds, drawn at random; 0 for all"),
    )
    words = Words(args.data)
    found = by_fold("string_regression/strings", args, lambda f: strings_fold(words, f, args.words))
    rows = []
    for name in [k for k in found[0] if k.endswith("(words)")]:
        plain = name.removesuffix(" (words)")
        paper = {"one regressor, plain Euler": "65.3 (2.3)", "vote of five, plain Euler": "75.6 (1.5)"}
        values, whole = [f[plain] for f in found], [f[name] for f in found]
        spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
        cell = paper.get(plain.split(": ")[1], "-")
        rows.append([plain, f"{np.mean(values):.1f} ({spread:.1f})", cell, f"{np.mean(whole):.1f}"])
    body = markdown(
        ["system", f"letters, mean of {len(found)} folds (sd)", "paper (sd)", "whole words"], rows
    )
    widths = ", ".join(f"{w:g}" for w in sorted({f["width"] for f in found}))
    body += f"""

Test words of each fold: {args.words or "all of the nine other folds"}{" drawn at random" * bool(args.words)}.
Letters: 100 minus insertions, deletions and substitutions per hundred true letters. "All pairs" is the kernel
that the paper prints, a sum over all pairs of letter images, normalised; it does not know the order of the
letters. "Near pairs" weighs pairs by the distance of their positions, exp(-(i - j)^2 / (2 w^2)), w chosen
on a third of the training words (chosen: {widths}). Ridges by leave-one-out error. Five regressors: unigrams
of images with polynomials of degree 2 and 3 and a Gaussian, bigrams with degrees 2 and 3; output bigrams."""
    write("string_regression/strings", "String to string, OCR words without a letter mapping", body)


# -- Figure 1.7 ------------------------------------------------------------------------------------


def basis(arguments: Sequence[str]) -> None:
    """Figure 1.7: error against the number of basis functions, fold 1."""
    args = options(arguments, fold=(1, "training fold"), sizes=("25,50,100,200,400,800,1600", "basis sizes"))
    words = Words(args.data)
    train, test, _, _ = words.split(args.fold)
    sizes = [int(s) for s in args.sizes.split(",")]
    curves: dict[str, list[float]] = {}
    rows = []
    for size in sizes:
        row: list[Any] = [size]
        for method in ("random", "cholesky", "greedy"):
            model = tw.KernelRegression(
                COSINE, tw.Positions(), ridge=0.1, basis=size, basis_method=method, random_state=0
            )
            started = time.perf_counter()
            model.fit(*train)
            seconds = time.perf_counter() - started
            error = 100.0 - accuracy(test[1], model.predict(test[0]))
            curves.setdefault(method, []).append(error)
            row += [error, f"{seconds:.1f} s"]
        rows.append(row)
        print(row, flush=True)
    whole = tw.KernelRegression(COSINE, tw.Positions(), ridge=0.1).fit(*train)
    error = 100.0 - accuracy(test[1], whole.predict(test[0]))
    body = markdown(["basis functions", "random", "fit", "incomplete Cholesky", "fit", "greedy", "fit"], rows)
    body += f"\n\nAll {len(whole.dual_coef_)} training letters: error {error:.2f} %."
    _picture(curves, sizes, error, len(whole.dual_coef_))
    write("string_regression/basis", "Figure 1.7: letters wrong (%) against basis functions", body)


def _picture(curves: dict[str, list[float]], sizes: list[int], error: float, n: int) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    for name, values in curves.items():
        axes.semilogx(sizes, values, "o-", label=name)
    axes.plot([n], [error], "ks", label="all letters")
    axes.set(xlabel="basis functions", ylabel="letters wrong, %")
    axes.legend()
    figure.tight_layout()
    save(figure, "string_regression/basis", dpi=100)


# -- grapheme to phoneme -----------------------------------------------------------------------------


def pronunciations(folder: str, part: str, language: str) -> tuple[list[str], list[list[str]]]:
    X, y = [], []
    with gzip.open(Path(folder) / "sigmorphon-g2p-2020" / f"{part}.tsv.gz", "rt", encoding="utf-8") as file:
        for line in file:
            own, word, phones = line.rstrip("\n").split("\t")
            if own == language:
                X.append(word)
                y.append(phones.split())
    return X, y


def cmudict(folder: str, n: int) -> dict[str, tuple[list[str], list[list[str]]]]:
    """First pronunciation of words of letters alone, stress marks dropped; parts drawn at random."""
    found: dict[str, list[str]] = {}
    with gzip.open(Path(folder) / "cmudict" / "cmudict.dict.gz", "rt", encoding="utf-8") as file:
        for line in file:
            word, *phones = line.split("#")[0].split()
            if word.isalpha() and word.isascii():
                found.setdefault(word, [p.rstrip("012") for p in phones])
    order = np.random.default_rng(0).permutation(sorted(found))[: n + 1500].tolist()
    parts = {"train": order[:n], "dev": order[n : n + 1000], "test": order[n + 1000 :]}
    return {name: (list(words), [found[w] for w in words]) for name, words in parts.items()}


def g2p(arguments: Sequence[str]) -> None:
    """Grapheme to phoneme: word and phoneme error."""
    args = options(
        arguments,
        languages=("dut,fre,hun", "SIGMORPHON languages"),
        cmu=(8000, "CMUdict training words; 0 leaves it out"),
        dev=(200, "development words"),
    )
    sets = {
        language: {p: pronunciations(args.data, p, language) for p in ("train", "dev", "test")}
        for language in args.languages.split(",")
    }
    sets = {name: parts for name, parts in sets.items() if name}
    if args.cmu:
        sets["CMUdict"] = cmudict(args.data, args.cmu)
    peers = {"dut": "23.8", "fre": "11.1", "hun": "6.2"}
    for name, parts in sets.items():
        started = time.perf_counter()
        candidates = [
            tw.KernelRegression(
                Normalized(Spectrum(1, 5, boundary=True)),
                tw.NGrams(n, language_model=tw.NGramModel(4)),
                ridge=ridge,
                solver="dual",
            )
            for n in (2, 3)
            for ridge in (0.03,)
        ]
        few = [part[: args.dev] for part in parts["dev"]]
        scores = [edit_accuracy(few[1], m.fit(*parts["train"]).predict(few[0])) for m in candidates]
        model = candidates[int(np.argmax(scores))]
        X, y = parts["test"]
        found = model.predict(X)
        wrong = 100.0 * float(np.mean([a != b for a, b in zip(y, found, strict=True)]))
        chosen = f"n = {model.output.n}, ridge {model.ridge:g}"
        seconds = time.perf_counter() - started
        row = [
            name,
            len(parts["train"][0]),
            wrong,
            100.0 - edit_accuracy(y, found),
            peers.get(name, "-"),
            chosen,
            f"{seconds:.0f} s",
        ]
        store("string_regression/g2p", load("string_regression/g2p") | {name: row}, sort_keys=True)
        print(row, flush=True)
    rows = list(load("string_regression/g2p").values())
    body = markdown(
        [
            "set",
            "training words",
            "word error %",
            "phoneme error %",
            "Phonetisaurus word error %",
            "chosen",
            "time",
        ],
        rows,
    )
    body += (
        "\n\nThe length of the output n-grams is chosen on the first development words. The "
        "regression sees which letter n-grams a word has, not where, and predicts which phoneme n-grams its "
        "pronunciation has: a baseline for learners that align letters with phonemes."
    )
    write("string_regression/g2p", "Grapheme to phoneme by string regression", body)


TABLES = {"table1": table1, "strings": strings, "basis": basis, "g2p": g2p}
