"""Pictures of the guide: ``python docs/pictures.py`` draws them again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import trelliswork as tw


def canvas(size: tuple[float, float]) -> tuple[Any, Any]:
    """An empty figure of a size in inches, and its axes without frame."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcdefaults()  # whatever else was drawn in this process
    matplotlib.rcParams["svg.hashsalt"] = "trelliswork"  # the same picture, the same bytes
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=size)
    axes.axis("off")
    return figure, axes


def save(figure: Any, path: Path) -> None:
    """Write a figure, without the date."""
    metadata = {"Date": None} if path.suffix == ".svg" else None
    figure.savefig(path, bbox_inches="tight", facecolor="white", metadata=metadata)


def de_bruijn(text: str, path: Path) -> None:
    """Draw the graph of the bigrams of a string: one arrow for each, with its count."""
    canvas((1, 1))  # settings of matplotlib
    save(tw.plots.ngrams(tw.ngram_counts(text, 2)).figure, path)


# Layers of the package, top down: name, lower and upper edge, colour.
BANDS = (
    ("you", 8.6, 9.7, "#ffffff"),
    ("learners/", 6.7, 8.4, "#eef3fa"),
    ("structures/\nchain/", 2.3, 6.5, "#f3f7ec"),
    ("dp/chain/", 0.4, 2.1, "#fbf1e6"),
)

# Boxes of the walk: centre, width, file (empty for what you type and get), what is done there.
WALK_BOXES = (
    (1.7, 9.15, 3.3, "", 'X = [["the", "cat"]]\ny = [["D", "N"]]'),
    (6.3, 9.15, 3.3, "", "model\nwith space_, coef_"),
    (11.1, 9.15, 3.3, "", 'X = [["the", "cat"]]'),
    (15.0, 9.15, 3.3, "", '[["D", "N"]]'),
    (1.7, 7.5, 3.3, "crf.py, base.py", "CRF.fit"),
    (6.3, 7.5, 3.3, "optimize/smooth.py", "lbfgs"),
    (11.1, 7.5, 3.3, "verbs.py", "predict"),
    (1.7, 5.75, 3.9, "structure.py, space.py", "prepare, bind, pack"),
    (11.1, 5.75, 3.3, "space.py", "pack"),
    (1.7, 4.3, 3.3, "parts.py", "scores"),
    (6.3, 4.3, 3.3, "parts.py", "pull"),
    (11.1, 4.3, 3.3, "parts.py", "scores"),
    (15.0, 4.3, 3.3, "parts.py", "unpack"),
    (4.0, 2.9, 7.9, "verbs.py", "expect: constraints, threads"),
    (13.05, 2.9, 7.2, "verbs.py", "argmax: constraints, threads"),
    (4.0, 1.25, 7.9, "first_order.py", "forward_backward: sums over all label sequences"),
    (13.05, 1.25, 7.2, "first_order.py", "viterbi: finds the best label sequence"),
)

# Arrows of the walk: from, to, what is passed, where that is written.
WALK_ARROWS = (
    ((1.7, 8.75), (1.7, 7.9), "", (0, 0)),
    ((1.7, 7.1), (1.7, 6.15), "tokens, labels", (1.85, 6.6)),
    ((1.7, 5.35), (1.7, 4.7), "a Batch", (1.85, 5.02)),
    ((1.7, 3.9), (1.7, 3.3), "scores of parts", (1.85, 3.6)),
    ((1.7, 2.5), (1.7, 1.65), "contiguous arrays", (1.85, 2.2)),
    ((6.3, 1.65), (6.3, 2.5), "", (0, 0)),
    ((6.3, 3.3), (6.3, 3.9), "expected parts", (6.45, 3.6)),
    ((6.3, 4.7), (6.3, 7.1), "gradient", (6.45, 5.75)),
    ((5.2, 7.1), (3.35, 4.4), "weights", (4.5, 5.75)),
    ((6.3, 7.9), (6.3, 8.75), "", (0, 0)),
    ((11.1, 8.75), (11.1, 7.9), "", (0, 0)),
    ((11.1, 7.1), (11.1, 6.15), "tokens", (11.25, 6.6)),
    ((11.1, 5.35), (11.1, 4.7), "a Batch", (11.25, 5.02)),
    ((11.1, 3.9), (11.1, 3.3), "scores of parts", (11.25, 3.6)),
    ((11.1, 2.5), (11.1, 1.65), "contiguous arrays", (11.25, 2.2)),
    ((15.0, 1.65), (15.0, 2.5), "", (0, 0)),
    ((15.0, 3.3), (15.0, 3.9), "codes 0, 1", (15.15, 3.6)),
    ((15.0, 4.7), (15.0, 8.75), "labels", (15.15, 5.75)),
)


def pieces(path: Path) -> None:
    """Draw the alignment of a word that a transducer found: letters above what they are written as."""
    X = ["cat", "act", "tic", "city", "ice", "acid", "face"]
    y = ["kat", "akt", "tik", "siti", "is", "asid", "fas"]
    model = tw.CRF(tw.Transducer(), l2=0.1).fit(X, y)
    canvas((1, 1))  # settings of matplotlib
    save(tw.plots.pieces(model, "tice").figure, path)


def walk(path: Path) -> None:
    """Draw one sentence on its way through the layers, in ``fit`` and in ``predict``."""
    import matplotlib
    from matplotlib.patches import FancyArrowPatch, Rectangle

    figure, axes = canvas((13, 8.2))
    for name, bottom, top, colour in BANDS:
        axes.add_patch(Rectangle((-2.1, bottom), 19.0, top - bottom, facecolor=colour, edgecolor="none"))
        axes.text(-1.95, (bottom + top) / 2, name, ha="left", va="center", fontsize=11.5, color="#444444")
    for x, heading in ((4.0, "CRF(Chain()).fit(X, y)"), (13.05, "model.predict(X)")):
        axes.text(x, 10.05, heading, ha="center", va="center", fontsize=14, family="monospace")
    for x, y, width, file, deed in WALK_BOXES:
        edge = "#2c6fbb" if file else "#999999"
        axes.add_patch(
            Rectangle((x - width / 2, y - 0.4), width, 0.8, facecolor="white", edgecolor=edge, linewidth=1.2)
        )
        if file:
            axes.text(x, y + 0.17, file, ha="center", va="center", fontsize=10.5, weight="bold")
            axes.text(x, y - 0.17, deed, ha="center", va="center", fontsize=10.5)
        else:
            axes.text(x, y, deed, ha="center", va="center", fontsize=10, family="monospace")
    for start, end, what, place in WALK_ARROWS:
        axes.add_patch(
            FancyArrowPatch(
                start, end, arrowstyle="-|>", mutation_scale=14, shrinkA=0, shrinkB=0, color="#2c6fbb"
            )
        )
        axes.text(*place, what, ha="left", va="center", fontsize=10.5, color="#1d4e86")
    axes.set(xlim=(-2.2, 17.0), ylim=(0.3, 10.4))
    with matplotlib.rc_context({"svg.fonttype": "none"}):  # much text: letters as letters, not as outlines
        save(figure, path)


def scores_of_all_outputs(path: Path) -> None:
    """Draw the scores of all outputs of one sentence: what moments and margins ask of the true one."""
    import itertools

    X = [["the", "old", "man", "left", "a", "boat"], ["a", "man", "left"], ["the", "old", "boat"]]
    y = [["D", "A", "N", "V", "D", "N"], ["D", "N", "V"], ["D", "A", "N"]]
    canvas((1, 1))  # settings of matplotlib
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.6, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    outputs = [list(labels) for labels in itertools.product("ADNV", repeat=6)]
    for axes, learner in (
        (left, tw.ZScore(tw.Chain(), reference="uniform")),
        (right, tw.StructuredSVM(tw.Chain())),
    ):
        model = learner.fit(X, y)
        batch = model.pack([X[0]] * len(outputs), outputs)
        scores = batch.gold_values(model.part_scores(batch, [X[0]] * len(outputs)))
        true = scores[outputs.index(y[0])]
        if axes is left:
            mean, deviation = float(scores.mean()), float(scores.std())
            axes.hist(scores, bins=60, color=tw.plots.COLORS[5])
            axes.axvline(mean, color="#666666", linestyle="--", label="mean")
            axes.axvline(
                true, color=tw.plots.COLORS[1], label=f"truth: {(true - mean) / deviation:.1f} deviations"
            )
            axes.set(xlabel="score", ylabel="outputs", title="moments")
            axes.legend(frameon=False, fontsize=8)
        else:
            wrong = np.array([sum(a != b for a, b in zip(labels, y[0])) for labels in outputs])
            rng = np.random.default_rng(0)
            axes.plot(
                wrong + rng.uniform(-0.2, 0.2, len(wrong)),
                scores,
                ".",
                markersize=2,
                color=tw.plots.COLORS[5],
            )
            axes.plot(0, true, "o", color=tw.plots.COLORS[1], label="truth")
            axes.plot([0, 6], [true, true - 6], "--", color="#666666", label="truth less wrong labels")
            axes.set(xlabel="wrong labels", ylabel="score", title="margins")
            axes.legend(frameon=False, fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    save(figure, path)


def overview(path: Path) -> None:
    """Draw four outputs, one for each of four structures: what stands at the top of the README."""
    canvas((1, 1))  # settings of matplotlib
    from matplotlib.figure import Figure

    from trelliswork.features import TokenWindow
    from trelliswork.web.demos import sentences

    figure = Figure(figsize=(10, 6.2), layout="constrained")
    (text, tree), (fold, columns) = figure.subplots(2, 2, width_ratios=[1.25, 1], height_ratios=[1, 1.25])
    tagger = tw.make_pipeline(TokenWindow(), tw.CRF(tw.Chain(scheme="BIO", emissions="observed")))
    words = "Maria Haddad took the train from Vienna to Port Elizabeth on 3 May .".split()
    tw.plots.marginals(tagger.fit(*sentences(300)), words, width=34, title="label sequences", ax=text)
    trees = [
        "(S (NP (D the) (N man)) (VP (VP (V saw) (NP (D the) (N dog))) (PP (P with) (NP (D a) (N hat)))))",
        "(S (NP (D a) (N dog)) (VP (V saw) (NP (NP (D the) (N man)) (PP (P with) (NP (D a) (N hat))))))",
    ]
    inputs = [[word.rstrip(")") for word in t.split() if not word.startswith("(")] for t in trees]
    parser = tw.Generative(tw.Grammar(min_count=1, vertical=1)).fit(inputs, trees)
    sentence = "the man saw a dog with the hat".split()
    tw.plots.tree(parser.predict([sentence])[0], title="parse trees", ax=tree)
    model = tw.pretrained("rna")
    [chances] = model.predict_marginals([TRNA])
    pairs = {(i, j): float(chances[i, j]) for i in range(len(TRNA)) for j in range(i + 1, len(TRNA))}
    structure = model.predict_mea([TRNA])[0]
    tw.plots.structure(TRNA, structure, probabilities=pairs, title="RNA structures", ax=fold)
    scores = {("match",): 1.6, ("mismatch",): -0.8, ("open",): -2.4, ("extend",): -0.6}
    pair = ("GATTACAGATTACAAATCGTAGC", "GATACAGTTACAATCGTTAGC")
    tw.plots.posterior(tw.Fixed(tw.Alignment("affine"), scores), pair, ax=columns)
    columns.set_title("alignments", fontsize=10)
    for axes in (text, tree):
        axes.title.set_fontsize(10)
    save(figure, path)


TRNA = "GCGGAUUUAGCUCAGUUGGGAGAGCGCCAGACUGAAGAUCUGGAGGUCCUGUGUUCGAUCCACAGAAUUCGCACCA"


def planar_rna(path: Path) -> None:
    """Draw a transfer RNA as the model of the package folds it."""
    model = tw.pretrained("rna")
    P = model.predict_marginals([TRNA])[0]
    n = len(TRNA)
    pairs = {(i, j): float(P[i, j]) for i in range(n) for j in range(i + 1, n)}
    canvas((1, 1))  # settings of matplotlib
    save(tw.plots.structure(TRNA, model.predict_mea([TRNA])[0], probabilities=pairs).figure, path)


def calibration(path: Path) -> None:
    """Draw the table of calibration that ``python -m experiments rna accuracy`` wrote."""
    text = (Path(__file__).parent.parent / "experiments/results/rna/accuracy.md").read_text(encoding="utf-8")
    body = text.split("| probability |")[1].split("\n\n")[0]
    rows = [line.split("|")[1:-1] for line in body.splitlines()[2:]]
    mean, right = ([float(row[k]) for row in rows] for k in (2, 3))
    figure, axes = canvas((3.6, 3.4))
    axes.axis("on")
    axes.plot([0, 100], [0, 100], color="#b5b5b5", linewidth=0.8)
    axes.plot(mean, right, "o-", color="#2c6fbb")
    axes.set(xlabel="probability of the pair, %", ylabel="right, %", xlim=(0, 100), ylim=(0, 100))
    save(figure, path)


if __name__ == "__main__":
    images = Path(__file__).parent / "images"
    de_bruijn("banana", images / "de-bruijn.svg")
    walk(images / "walk.svg")
    overview(images / "overview.svg")
    scores_of_all_outputs(images / "all-outputs.png")
    planar_rna(images / "rna-planar.svg")
    calibration(images / "rna-calibration.svg")
    pieces(images / "transducer.svg")
