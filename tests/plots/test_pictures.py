"""What is in the pictures of models and outputs: elements, numbers and names, not pixels."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from matplotlib.colors import to_rgb

import trelliswork as tw
from trelliswork import plots
from trelliswork.plots._canvas import COLORS

X = [["the", "old", "man"], ["a", "boat"], ["the", "man", "left"]]
Y = [["D", "A", "N"], ["D", "N"], ["D", "N", "V"]]
TREE = {"animal": {"cat": {}, "dog": {}}, "plant": {"oak": {}}}


@pytest.fixture(scope="module")
def crf():
    return tw.CRF(tw.Chain(), l2=0.1).fit(X, Y)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def written(ax, tmp_path):
    """The picture as SVG with letters as letters: what a reader can find in it."""
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none"}):
        ax.figure.savefig(tmp_path / "picture.svg")
    return (tmp_path / "picture.svg").read_text(encoding="utf-8")


def test_colours_can_be_told_apart():
    """Seen with dichromacy (Viénot, Brettel, Mollon 1999), no two colours of the palette are close."""
    reduce = {
        "protanopia": [[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]],
        "deuteranopia": [[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]],
    }
    linear = np.array([to_rgb(color) for color in COLORS]) ** 2.2
    for matrix in reduce.values():
        seen = np.clip(linear @ np.array(matrix).T, 0, 1) ** (1 / 2.2)
        apart = np.abs(seen[:, None] - seen).max(axis=2) + np.eye(len(seen))
        assert apart.min() > 0.08


def test_transitions(crf, tmp_path):
    ax = plots.transitions(crf, title="what follows what")
    table = np.asarray(ax.images[0].get_array())
    assert np.allclose(table, crf.tables()["transitions"])
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("next label", "label", "what follows what")
    text = written(ax, tmp_path)
    assert all(f">{label}</text>" in text for label in "ADNV")
    scheme = tw.CRF(tw.Chain(scheme="BIO")).fit([["Ada", "left"]] * 2, [["B-PER", "O"]] * 2)
    shown = plots.transitions(scheme).images[0].get_array()
    assert shown.mask.sum() == 0 or np.isinf(scheme.tables()["transitions"]).sum() == shown.mask.sum()
    with pytest.raises(tw.InputError, match="label sequences"):
        plots.transitions(tw.Fixed(tw.Alignment("linear"), {("match",): 1.0}))


def test_marginals(crf):
    ax = plots.marginals(crf, ["the", "old", "boat"], width=14)
    assert texts(ax)[::2] == ["the", "old", "boat"]
    assert [note.split()[0] for note in texts(ax)[1::2]] == ["D", "A", "N"]
    sure = crf.predict_marginals([["the", "old", "boat"]])[0].max(axis=1)
    strengths = [patch.get_alpha() for patch in ax.patches]
    assert np.argsort(sure).tolist() == np.argsort(strengths).tolist()
    lines = {round(text.get_position()[1], 3) for text in ax.texts}
    assert len(lines) == 4  # two lines of text, each with labels below
    with pytest.raises(tw.InputError, match="3 tokens but words has 1"):
        plots.marginals(crf, ["the", "old", "boat"], words=["a"])


def test_weights(crf):
    ax = plots.weights(crf, top=5)
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == sorted(widths)
    assert max(map(abs, widths)) == pytest.approx(np.abs(crf.coef_).max())
    names = [label.get_text() for label in plots.weights(crf, "transition").get_yticklabels()]
    assert names
    assert all(name.startswith("transition") for name in names)
    with pytest.raises(tw.InputError, match="no weight other than zero"):
        plots.weights(crf, "nowhere")


def test_history(crf):
    ax = plots.history(crf)
    drawn = ax.lines[0].get_ydata()
    assert drawn[-1] == pytest.approx(crf.history_[-1]["objective"])
    watched = tw.CRF(tw.Chain()).fit(X, Y, X_dev=X, y_dev=Y)
    assert len(plots.history(watched).figure.axes) == 2
    svm = tw.StructuredSVM(tw.Chain()).fit(X, Y)
    assert plots.history(svm).get_ylabel() == "gap"
    with pytest.raises(tw.InputError, match="no number 'nothing'"):
        plots.history(crf, "nothing")
    with pytest.raises(tw.InputError, match="does not search"):
        plots.history(tw.Fixed(tw.Chain(), {("emission", "a", "A"): 1.0}))


def test_learning_curve():
    ax = plots.learning_curve({"HMM": tw.Generative(tw.Chain())}, X, Y, X, Y, sizes=[1, 3])
    assert ax.lines[0].get_xdata().tolist() == [1, 3]
    assert ax.lines[0].get_ydata()[1] == tw.Generative(tw.Chain()).fit(X, Y).score(X, Y)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["HMM"]
    with pytest.raises(tw.InputError, match="between 1 and the number of samples, 3"):
        plots.learning_curve([tw.Generative(tw.Chain())], X, Y, X, Y, sizes=[9])


def test_learning_curves_of_twelve_learners_can_be_told_apart():
    learners = {f"smoothing {k}": tw.Generative(tw.Chain(), smoothing=1.0 + k) for k in range(12)}
    lines = plots.learning_curve(learners, X, Y, X, Y, sizes=[3]).lines
    assert len({(line.get_color(), line.get_marker(), line.get_linestyle()) for line in lines}) == 12
    assert len({line.get_marker() for line in lines}) == 12


def test_confusion():
    ax = plots.confusion(["cat", "cat", "dog"], ["cat", "dog", "dog"], share=False)
    assert np.asarray(ax.images[0].get_array()).tolist() == [[1, 1], [0, 1]]
    many = [str(k) for k in range(40)]
    ax = plots.confusion(many + ["7"], many + ["8"], top=5)
    assert {"7", "8"} <= {label.get_text() for label in ax.get_yticklabels()}
    with pytest.raises(tw.InputError, match="sample 0"):
        plots.confusion([["a", "b"]], [["a"]])


@pytest.mark.parametrize(
    ("structure", "x", "y"),
    [
        (tw.Chain(), ["the", "cat"], ["D", "N"]),
        (tw.RNA("g6"), "GGGAAACCC", "(((...)))"),
        (tw.Alignment("linear"), ("ACGT", "AGT"), ("ACGT", "A-GT")),
        (tw.Grammar(min_count=1), ["they", "run"], "(S (N they) (V run))"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_calibration(structure, x, y):
    model = tw.CRF(structure, l2=0.001).fit([x] * 3, [y] * 3)
    ax = plots.calibration(model, [x], [y], n_bins=4)
    means, shares = ax.lines[1].get_xdata(), ax.lines[1].get_ydata()
    assert ((shares >= 0) & (shares <= 1)).all()
    assert means[-1] > 0.75
    assert shares[-1] == 1.0
    assert len(ax.patches) == len(means)


def test_calibration_of_classes():
    rows, labels = [["fur"], ["leaf"]], ["cat", "oak"]
    ax = plots.calibration(tw.CRF(tw.Classes()).fit(rows, labels), rows, labels, n_bins=2)
    assert ax.lines[1].get_ydata().tolist() == [0, 1]
    with pytest.raises(tw.InputError, match="list of parts"):
        plots.calibration(tw.Generative(tw.Transducer()).fit(["ab"], ["ab"]), ["ab"], ["ab"])


def test_tree():
    text = "(S (NP (D the) (N dog)) (VP (V barks)))"
    ax = plots.tree(text, probabilities={("NP", 0, 2): 1.0})
    place = {t.get_text(): t.get_position() for t in ax.texts}
    assert [place[word][0] for word in ("the", "dog", "barks")] == [0, 1, 2]
    assert {place[word][1] for word in ("the", "dog", "barks")} == {0}
    assert place["S"][1] > place["NP"][1] > place["D"][1]
    assert len(ax.lines) == 8  # a line from every node and word to what is above it
    boxes = {t.get_text(): t.get_bbox_patch().get_facecolor() for t in ax.texts}
    assert boxes["NP"] != boxes["VP"]


def test_taxonomy():
    ax = plots.taxonomy(tw.Classes(TREE), {"cat": 0.5, "dog": 0.3, "oak": 0.2})
    assert set(texts(ax)) == {"all 1.00", "animal 0.80", "plant 0.20", "cat 0.50", "dog 0.30", "oak 0.20"}
    place = {t.get_text().split()[0]: t.get_position() for t in ax.texts}
    assert place["all"][0] < place["animal"][0] < place["cat"][0] == place["oak"][0]
    assert len(ax.lines) == 5
    dag = [("all", "animal"), ("all", "pet"), ("animal", "dog"), ("pet", "dog"), ("pet", "fern")]
    assert len(plots.taxonomy(dag).texts) == 5
    with pytest.raises(tw.InputError, match="no taxonomy"):
        plots.taxonomy(tw.Classes())


def test_pieces_and_ngrams():
    model = tw.Generative(tw.Transducer()).fit(["cat", "act", "ice"], ["kat", "akt", "is"])
    assert texts(plots.pieces(model, "ace"))[::2] == ["a", "c", "e"]
    ax = plots.ngrams(tw.ngram_counts("banana", 2))
    assert len(ax.patches) == 5
    thick = sorted(patch.get_linewidth() for patch in ax.patches)
    assert thick[-1] == thick[-2] > thick[0]  # "an" and "na" occur twice
    with pytest.raises(tw.InputError, match="no pair of symbols"):
        plots.ngrams({"abc": 1})


def test_comparison():
    table = {
        "learner": ["CRF", "HMM", "SVM"],
        "score": [0.9, 0.8, None],
        "standard_error": [0.02, float("nan"), None],
        "near_best": [True, False, False],
    }
    ax = plots.comparison(table)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["HMM", "CRF"]
    with pytest.raises(tw.InputError, match=r"what .* returns"):
        plots.comparison({"learner": []})


def test_axes_in_axes_out(crf):
    from matplotlib.figure import Figure

    given = Figure().subplots()
    assert plots.transitions(crf, ax=given) is given
    with pytest.raises(tw.InputError, match="Matplotlib axes"):
        plots.transitions(crf, ax="here")
