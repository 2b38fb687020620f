"""The cheat sheet: one page of A4, as PDF and as a picture. The build of the site calls :func:`draw`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

# Three columns of boxes: a heading, then lines of code and what they do.
COLUMNS: list[list[tuple[str, list[tuple[str, str]]]]] = [
    [
        (
            "Two choices",
            [
                ("import trelliswork as tw", ""),
                ("model = tw.CRF(tw.Chain())", "learner(structure)"),
                ("model.fit(X, y)", "lists of inputs, outputs"),
                ("model.predict(X)", "outputs of the same kind as y"),
                ("model.score(X, y)", "share that is right"),
            ],
        ),
        (
            "Structures: an output is ...",
            [
                ("Chain()", "a label per token"),
                ("Grammar()", "a parse tree"),
                ("RNA()", "base pairs, as dot-bracket"),
                ("Alignment()", "two gapped sequences"),
                ("Retrieval(Alignment())", "the relative among candidates"),
                ("Classes(taxonomy=None)", "one label"),
                ("Transducer()", "a string along the input"),
                ("Derivations(build)", "anything built step by step"),
            ],
        ),
        (
            "Options of chains",
            [
                ('scheme="BIO"', "forbids I-X after O"),
                ("order=2", "labels see two neighbours"),
                ('emissions="observed"', "smaller models"),
                ('transitions="observed"', "only pairs seen in training"),
            ],
        ),
        (
            "Outputs known in part",
            [
                ('["D", None, {"N", "V"}]', "any label, one of two"),
                ('"((??...??))"', "unknown bases"),
                ("fit(X, y)", "takes them as they are"),
                ("predict(X, known=...)", "predicts the rest"),
            ],
        ),
    ],
    [
        (
            "Learners: weights from ...",
            [
                ("CRF", "likelihood; the default"),
                ("StructuredSVM", "margins, any loss, kernels"),
                ("ZScore, SODA", "moments; one pass, shards merge"),
                ("Perceptron", "mistakes; fast, streams"),
                ("VotedCRF, StructBoost", "a loss inside of the objective"),
                ("KLRSO", "probabilities that see the input"),
                ("Generative", "counts: HMM, PCFG, naive Bayes"),
                ("Fixed", "weights that you have"),
                ("KernelRegression", "n-gram counts of strings"),
            ],
        ),
        (
            "Questions to a model",
            [
                ("predict_kbest(X, k=5)", "best outputs with probabilities"),
                ("predict_marginals(X)", "probability of every part"),
                ("predict_mea(X)", "most parts right on average"),
                ('predict_min_risk(X, loss="edit")', "least expected loss"),
                ("log_prob(X, y)", "of given outputs"),
                ("sample(X, 10)", "random outputs"),
                ("tw.explain(model, x)", "why not the second best?"),
                ("weights_by_name()", "what was learnt"),
            ],
        ),
        (
            "What holds weights back",
            [
                ("CRF(l1=0, l2='auto')", "larger: simpler, less sure"),
                ("StructuredSVM(C=1)", "larger: fits harder"),
                ("SODA(reg='auto')", "larger: simpler"),
                ("VotedCRF(lam=.15, beta=.15)", "larger: fewer weights"),
            ],
        ),
    ],
    [
        (
            "Choose and judge",
            [
                ("tw.tuned(learner, X, y)", "settings by cross-validation"),
                ("tw.compare(X, y, tw.Chain())", "all learners, same folds"),
                ("metrics.entity_f1(y, found)", "and bracket_f1, base_pair_f1"),
                ("tw.scorers", "for GridSearchCV"),
            ],
        ),
        (
            "Text, files, pipelines",
            [
                ("tw.make_pipeline(TokenWindow(), crf)", ""),
                ("io.read_conll(path)", "also trees, FASTA, Stockholm"),
                ('tw.save(model, "m.tw")', "no pickle"),
                ('tw.load("m.tw")', "runs no code"),
                ('tw.pretrained("rna")', "folds without training"),
            ],
        ),
        (
            "Pictures (tw.plots, ax in, ax out)",
            [
                ("transitions, marginals", "label sequences"),
                ("tree, taxonomy", "trees, classes"),
                ("arcs, structure, dotplot", "RNA"),
                ("alignment, posterior, matrix", "alignments"),
                ("weights, history, path", "what and how it learnt"),
                ("confusion, calibration", "how good it is"),
                ("learning_curve, comparison", "who is better"),
            ],
        ),
        (
            "Command line",
            [
                ("trelliswork train tag train.conll -o m.tw", ""),
                ("  parse, fold, align, transduce, classify", ""),
                ("trelliswork predict m.tw new.conll", ""),
                ("trelliswork evaluate m.tw test.conll", ""),
                ("trelliswork compare tag train.conll", ""),
                ("trelliswork inspect m.tw", ""),
                ("trelliswork serve m.tw", ""),
                ("trelliswork fold new.fa", ""),
            ],
        ),
    ],
]
WIDTH, HEIGHT = 11.69, 8.27  # A4, inches
LINE, HEAD, GAP = 0.197, 0.3, 0.2


def draw(folder: Path) -> list[Path]:
    """Write ``trelliswork-cheatsheet.pdf`` and ``.png``; a column that does not fit on the page is an error.

    Parameters
    ----------
    folder : Path
        Where to write.
    """
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # whatever examples of the gallery set
        return _drawn(Figure(figsize=(WIDTH, HEIGHT)), folder)


def _drawn(figure: Any, folder: Path) -> list[Path]:
    """Draw on an empty page, and write it."""
    page = figure.add_axes((0, 0, 1, 1))
    page.set(xlim=(0, WIDTH), ylim=(0, HEIGHT))
    page.set_axis_off()
    page.text(0.45, HEIGHT - 0.52, "Trelliswork", fontsize=19, weight="bold", color="#0072B2", va="center")
    page.text(2.5, HEIGHT - 0.53, "a structure, a learner, the same verbs", fontsize=11,
              color="#444444", va="center")  # fmt: skip
    width = (WIDTH - 0.9 - 2 * 0.25) / 3
    for k, column in enumerate(COLUMNS):
        left, top = 0.45 + k * (width + 0.25), HEIGHT - 0.95
        for heading, rows in column:
            height = HEAD + LINE * len(rows) + 0.08
            page.add_patch(_box(left, top - height, width, height))
            page.text(
                left + 0.12, top - 0.19, heading, fontsize=10, weight="bold", color="#0072B2", va="center"
            )
            for i, (code, meaning) in enumerate(rows):
                y = top - HEAD - LINE * (i + 0.55)
                page.text(left + 0.12, y, code, fontsize=7.6, family="monospace", va="center")
                page.text(
                    left + width - 0.1, y, meaning, fontsize=7.2, color="#444444", va="center", ha="right"
                )
            top -= height + GAP
        if top + GAP < 0.25:
            raise ValueError(f"column {k + 1} of the cheat sheet does not fit on the page")
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"trelliswork-cheatsheet.{ending}" for ending in ("pdf", "png")]
    figure.savefig(paths[0], metadata={"CreationDate": None, "Title": "Trelliswork cheat sheet"})
    figure.savefig(paths[1], dpi=130)
    return paths


def _box(left: float, bottom: float, width: float, height: float) -> object:
    from matplotlib.patches import FancyBboxPatch

    return FancyBboxPatch((left, bottom), width, height, boxstyle="round,pad=0,rounding_size=0.08",
                          facecolor="#f5f8fc", edgecolor="#c9d8ea", linewidth=0.8)  # fmt: skip


if __name__ == "__main__":
    for written in draw(Path(__file__).parent / "_build" / "cheatsheet"):
        print(written)
